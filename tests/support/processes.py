"""Clusters and controllers as processes of their own, on loopback, for benchmarks and end-to-end tests."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

UD = [sys.executable, "-m", "uniteddeployment.cli"]
START_SECONDS = 60.0
"""How long a program may take to start: several of them start side by side on a busy machine."""


@dataclass
class Process:
    """A running program and the file that its output goes to."""

    popen: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str, seconds: float = START_SECONDS) -> re.Match[str]:
        """The first match in its output. Raises AssertionError when it ends or takes too long."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.log.read_text())
            if found:
                return found
            if self.popen.poll() is not None:
                raise AssertionError(f"ended with {self.popen.returncode}:\n{self.log.read_text()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no {pattern!r} within {seconds:g} s:\n{self.log.read_text()}")
            time.sleep(0.01)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it and give its exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        try:
            return self.popen.wait(15)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            raise

    def cpu_seconds(self) -> float:
        """User and system time that it has used."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self, what: str = "VmHWM") -> float:
        """Its peak (VmHWM) or present (VmRSS) resident memory."""
        text = Path(f"/proc/{self.popen.pid}/status").read_text()
        found = re.search(rf"{what}:\s+(\d+) kB", text)
        return int(found.group(1)) / 1024 if found else 0.0


@contextmanager
def ud(*arguments: str, log: Path, env: dict[str, str] | None = None) -> Iterator[Process]:
    """``ud`` with these arguments, until the block ends."""
    with log.open("wb") as out:
        popen = subprocess.Popen(
            [*UD, *arguments], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
        )
    process = Process(popen, log)
    try:
        yield process
    finally:
        if popen.poll() is None:
            process.stop()
