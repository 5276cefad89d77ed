"""``python -m tests.support.fork_server SOCKET``: imports all of ``ud``, and forks a process of it for each request.

A connection carries one request: a line of JSON with the streams of the new process. The answers are its pid and, when
it has ended, its exit code. The server ends, with all that it has started, when its standard input is closed.
"""

import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import uniteddeployment
import uniteddeployment_rollout
from tests.support.preloaded import ENTRY, MAIN
from uniteddeployment.kube import kubeconfig

_STANDARD = (0, 1, 2)
_MOST_BYTES = 1 << 20


class _Server:
    """Forks a process for each request and reports its end."""

    def __init__(self, path: str) -> None:
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(path)
        self._server.listen(64)
        self._children: dict[int, socket.socket] = {}
        self._woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which then close the standard input
        self._selector = selectors.DefaultSelector()
        for source in (self._server, self._woken, sys.stdin):
            self._selector.register(source, selectors.EVENT_READ)

    def next_request(self) -> dict[str, Any] | None:
        """Serve until a request is to be carried out in this process, which is a new one; None at the end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    self._end()
                    return None
                if key.fileobj == self._woken:
                    os.read(self._woken, 4096)
                    self._reap()
                elif (request := self._accept()) is not None:
                    return request

    def _accept(self) -> dict[str, Any] | None:
        """Fork for a request. Returns the request in the new process, and None in this one."""
        connection, _ = self._server.accept()
        message, streams, *_ = socket.recv_fds(connection, _MOST_BYTES, len(_STANDARD))
        while not message.endswith(b"\n"):
            message += connection.recv(_MOST_BYTES)
        pid = os.fork()
        if pid:
            for stream in streams:
                os.close(stream)
            self._children[pid] = connection
            connection.sendall(b"%d\n" % pid)
            return None
        self._leave(connection, streams)
        request: dict[str, Any] = json.loads(message)
        return request

    def _leave(self, connection: socket.socket, streams: Sequence[int]) -> None:
        """Give up everything that belongs to the process that forks."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        for each in (self._server, connection, *self._children.values()):
            each.close()
        for number, stream in zip(_STANDARD, streams, strict=True):
            os.dup2(stream, number)
            os.close(stream)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._children.pop(pid) as connection:
                try:
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                except OSError:
                    continue  # nobody waits for it any more

    def _end(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)


def _become(request: Mapping[str, Any]) -> None:
    """Be a process of ``ud`` as the request describes it."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    if request.get("session"):
        os.setsid()
    sys.argv = ["ud", *request["arguments"]]
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        lines = mode == "w" and (number == 2 or os.isatty(number))
        stream = open(number, mode, 1 if lines else -1, encoding, errors or None, closefd=False)  # noqa: SIM115  # as the interpreter does
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if "service_account" in request:
        kubeconfig.SERVICE_ACCOUNT = Path(request["service_account"])


def _run() -> None:
    """Run ``ud``, and end without tearing down the interpreter, which takes longer than most commands."""
    code: object = 0
    module, _, function = os.environ.pop(ENTRY, MAIN).partition(":")
    try:
        getattr(importlib.import_module(module), function)()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def _import_all() -> None:
    for package in (uniteddeployment, uniteddeployment_rollout):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


if __name__ == "__main__":
    _import_all()
    server = _Server(sys.argv[1])
    gc.collect()
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    todo = server.next_request()
    if todo is not None:
        _become(todo)
        _run()
