"""An HTTPS proxy in front of an API server, with faults that a port cannot have: errors, and another certificate.

It has a certificate of its own, so clients need the kubeconfig ``config``. Writes can be counted as they pass.
"""

import asyncio
import copy
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.control_planes import ControlPlane
from tests.support.forwarder import Forwarder
from uniteddeployment.embedded.serving.tls import Authority, server_context

ADDRESS = "127.0.0.1"
_WRITES = (b"PATCH ", b"POST ", b"PUT ", b"DELETE ")
_ERROR = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":%d}'


class FaultProxy(Forwarder):
    """``on_write`` is called with False before a write is passed on, and with True before its answer is."""

    def __init__(self, plane: ControlPlane, on_write: Callable[[bool], None] | None = None) -> None:
        super().__init__(*plane.address)
        self._plane = plane
        self._on_write = on_write
        self._status = 0
        self._present(Authority(plane.name))

    @property
    def config(self) -> dict[str, Any]:
        """A kubeconfig that trusts the certificate that is presented now."""
        config = through(self._plane.config, self.port)
        authority = b64encode(self._authority.certificate).decode()
        config["clusters"][0]["cluster"]["certificate-authority-data"] = authority
        return config

    def present(self, authority: Authority) -> None:
        """Break all connections, and present a certificate of another authority from now on."""
        self._present(authority)
        self._do(self._break())

    def answer(self, status: int) -> None:
        """Break all connections, and answer each request with an error from now on; 0 ends it."""
        self._status = status
        self._do(self._break())

    def _present(self, authority: Authority) -> None:
        self._authority = authority
        self._context = server_context(authority, authority.server(ADDRESS))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await writer.start_tls(self._context)
        if self._status:
            await reader.readuntil(b"\r\n\r\n")
            body = _ERROR % self._status
            head = f"HTTP/1.1 {self._status} Error\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            return
        far = await asyncio.open_connection(*self._target, ssl=self._plane.api.tls)
        writes = _Writes(self._on_write)
        await self._join((reader, writer), far, writes.sent, writes.answered)


class _Writes:
    """Finds the writes on one connection, and their answers. Clients send a request when the last one is answered."""

    def __init__(self, on_write: Callable[[bool], None] | None) -> None:
        self._on_write = on_write
        self._waiting = False

    def sent(self, piece: bytes) -> None:
        if self._on_write is not None and piece.startswith(_WRITES):
            self._waiting = True
            self._on_write(False)

    def answered(self, _piece: bytes) -> None:
        if self._on_write is not None and self._waiting:
            self._waiting = False
            self._on_write(True)


def through(config: Mapping[str, Any], port: int) -> dict[str, Any]:
    """The kubeconfig of a cluster for those who connect to a port in front of it."""
    changed = copy.deepcopy(dict(config))
    changed["clusters"][0]["cluster"]["server"] = f"https://{ADDRESS}:{port}"
    return changed
