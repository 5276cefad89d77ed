"""Clusters, controllers and commands as processes of their own, for benchmarks and end-to-end tests."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.support.preloaded import Forked, Preloaded

UD = [sys.executable, "-m", "uniteddeployment.cli"]
_IN_A_POD = """
import sys
from pathlib import Path
from uniteddeployment.kube import kubeconfig
kubeconfig.SERVICE_ACCOUNT = Path(sys.argv.pop(1))
from uniteddeployment.cli.main import main
main()
"""
START_SECONDS = 60.0
"""How long a program may take to start: several of them start side by side on a busy machine."""


@dataclass
class Process:
    """A running program and the file that its output goes to."""

    popen: subprocess.Popen[bytes] | Forked
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


_forks: list[Preloaded] = []
"""The process that ``ud`` is forked from, if there is one."""


@contextmanager
def forked_from(forks: Preloaded) -> Iterator[None]:
    """Fork processes of ``ud`` from this one while the block runs, instead of starting a program each time."""
    _forks.append(forks)
    try:
        yield
    finally:
        _forks.remove(forks)


def start(
    arguments: Sequence[str],
    out: IO[bytes],
    *,
    environment: Mapping[str, str],
    stdin: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
    service_account: Path | None = None,
    session: bool = False,
) -> subprocess.Popen[bytes] | Forked:
    """Start ``ud``, in a session of its own if asked for. Its errors go where its output goes, unless ``errors`` is
    given.
    """
    with Path(os.devnull).open("rb") as nothing:
        stdin, errors = stdin or nothing, errors or out
        if _forks:
            return _forks[-1].start(
                arguments,
                stdin=stdin.fileno(),
                out=out.fileno(),
                errors=errors.fileno(),
                environment=environment,
                service_account=service_account,
                session=session,
            )
        command = UD if service_account is None else [sys.executable, "-c", _IN_A_POD, str(service_account)]
        return subprocess.Popen(
            [*command, *arguments],
            stdin=stdin,
            stdout=out,
            stderr=errors,
            env=environment,
            start_new_session=session,
        )


def run(
    arguments: Sequence[str], *, environment: Mapping[str, str], stdin: str, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run ``ud`` to its end."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write(stdin.encode())
        given.seek(0)
        code = start(arguments, out, environment=environment, stdin=given, errors=errors).wait(seconds)
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(["ud", *arguments], code, out.read().decode(), errors.read().decode())


@contextmanager
def ud(
    *arguments: str, log: Path, env: Mapping[str, str] | None = None, service_account: Path | None = None
) -> Iterator[Process]:
    """``ud`` with these arguments, until the block ends. ``env`` is its whole environment.

    ``service_account`` is the folder in which it finds what a kubelet mounts into pods.
    """
    with log.open("wb") as out:
        popen = start(arguments, out, environment=os.environ if env is None else env, service_account=service_account)
    process = Process(popen, log)
    try:
        yield process
    finally:
        if popen.poll() is None:
            process.stop()
