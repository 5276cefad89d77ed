"""What clusters hold, kept up to date by watches in threads: tests wait for a state without asking again and again.

A watch that breaks or falls silent is not opened again: its cluster is gone or frozen, and what it had shown stays.
"""

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import Any

from tests.support.control_planes import ControlPlane
from tests.support.waiting import WAIT_SECONDS

Listener = Callable[[str, dict[str, Any], bool], None]
"""Called with the name of the cluster, an object that has changed there, and whether it is gone."""


class Mirror:
    """Objects by cluster, path of their collection, namespace and name."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._changed: defaultdict[str, threading.Condition] = defaultdict(lambda: threading.Condition(self._lock))
        self._listeners: defaultdict[str, list[Listener]] = defaultdict(list)
        self._objects: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = defaultdict(dict)

    @contextmanager
    def follow(self, plane: ControlPlane, path: str) -> Iterator[None]:
        """Follow a collection of all namespaces while the block runs."""
        with closing(HTTPSConnection(*plane.address, context=plane.api.tls)) as connection:
            connection.request("GET", f"{path}?watch=1", headers=plane.api.authorization)
            reading = threading.Thread(target=self._read, args=(plane.name, path, connection.getresponse()))
            reading.start()
            try:
                yield
            finally:
                with suppress(OSError):  # the cluster has ended
                    connection.sock.shutdown(socket.SHUT_RDWR)  # the other thread must not be in the middle of a read
                reading.join()

    def _read(self, cluster: str, path: str, answer: HTTPResponse) -> None:
        with suppress(OSError, HTTPException):  # the cluster ends, or we do
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                    self._take(cluster, path, event["object"], gone=event["type"] == "DELETED")

    def _take(self, cluster: str, path: str, found: dict[str, Any], *, gone: bool) -> None:
        namespace, name = found["metadata"].get("namespace", ""), found["metadata"]["name"]
        with self._lock:
            objects = self._objects[cluster, path, namespace]
            if gone:
                objects.pop(name, None)
            else:
                objects[name] = found
            for listener in self._listeners[namespace]:
                listener(cluster, found, gone)
            self._changed[namespace].notify_all()

    def listen(self, namespace: str, listener: Listener) -> None:
        """Call a function for each change in a namespace."""
        with self._lock:
            self._listeners[namespace].append(listener)

    def objects(self, cluster: str, path: str, namespace: str) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._objects[cluster, path, namespace].values())

    def get(self, cluster: str, path: str, namespace: str, name: str) -> dict[str, Any]:
        """An object; empty if there is none."""
        with self._lock:
            return self._objects[cluster, path, namespace].get(name, {})

    def until(self, namespace: str, condition: Callable[[], object], what: Callable[[], str]) -> None:
        """Wait until something holds; asked again when an object of the namespace changes."""
        deadline = time.monotonic() + WAIT_SECONDS
        with self._lock:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"not within {WAIT_SECONDS:g} s: {what()}"
                self._changed[namespace].wait(min(left, 1.0))
