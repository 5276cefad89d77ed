"""Processes of ``ud`` that need not import anything: they are forked from a process that has imported all of it.

A process of ``ud`` uses more CPU time for its imports than for most commands, and end-to-end tests start hundreds.
Forked processes have their own pid, environment, working directory, output and end, like any other.
"""

import array
import json
import os
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import launcher

ENTRY = "UD_TESTS_ENTRY"
"""Environment variable: the function that a forked process runs, as ``module:function``."""
MAIN = "uniteddeployment.cli.main:main"


class Forked:
    """A process that was forked for us, with the methods of ``subprocess.Popen`` that tests use."""

    def __init__(self, args: Sequence[str], connection: socket.socket) -> None:
        self.args = args
        self.returncode: int | None = None
        self._connection = connection
        self._answers = connection.makefile()
        self.pid = int(self._answers.readline())

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as ready:
                ready.register(self._connection, selectors.EVENT_READ)
                if ready.select(seconds):
                    self.returncode = int(self._answers.readline())
                    self._answers.close()
                    self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@dataclass(frozen=True)
class Preloaded:
    """The process that forks, while it runs."""

    path: Path

    def start(
        self,
        arguments: Sequence[str],
        *,
        out: int,
        errors: int,
        stdin: int,
        environment: Mapping[str, str],
        folder: Path | None = None,
        service_account: Path | None = None,
        session: bool = False,
    ) -> Forked:
        """Start ``ud`` with these streams. ``service_account`` is where it finds what a kubelet mounts into pods.

        With ``session``, it gets a session, and so a process group, of its own.
        """
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.path))
        asked: dict[str, Any] = {"arguments": list(arguments), "environment": dict(environment)}
        asked |= {"folder": str(folder or Path.cwd()), "session": session}
        if service_account is not None:
            asked["service_account"] = str(service_account)
        streams = array.array("i", (stdin, out, errors))
        sent = json.dumps(asked).encode() + b"\n"
        connection.sendmsg([sent], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        return Forked(["ud", *arguments], connection)

    def launcher(self, file: Path, entry: str = MAIN) -> None:
        """Write a program for shells: ``ud``, or another one that starts with the function ``entry``."""
        command = shlex.join([sys.executable, "-ES", launcher.__file__, str(self.path)])
        file.write_text(f'#!/bin/sh\n{ENTRY}={entry} exec {command} "$@"\n')
        file.chmod(0o755)


@contextmanager
def preloaded() -> Iterator[Preloaded]:
    """Run the process that forks, until the block ends."""
    with (
        tempfile.TemporaryDirectory(prefix="ud-") as folder,
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server", f"{folder}/socket"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield Preloaded(Path(folder, "socket"))
        finally:
            process.stdin.close()
