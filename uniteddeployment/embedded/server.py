"""HTTPS around a cluster.

Contract: one port on one address, TLS with the cluster's own authority, HTTP/1.1. A request becomes a
:class:`~uniteddeployment.embedded.http.Request`, and everything else is the cluster's. Being cut off breaks open
connections and refuses new ones as soon as they are made.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.faults import Settings
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.requests.body import LIMIT
from uniteddeployment.embedded.tls import Authority, identity_of, server_context

SHUTDOWN_SECONDS: Final = 1.0


@dataclass(slots=True)
class RunningServer:
    """A cluster that can be reached. ``ca`` is the certificate that clients are to trust, PEM."""

    url: str
    ca: bytes
    port: int
    authority: Authority
    _listener: asyncio.Server
    _front: "_Front"
    _closed: bool = field(default=False)

    async def close(self) -> None:
        """Stop listening and end all connections. The cluster goes on."""
        if self._closed:
            return
        self._closed = True
        self._listener.close()
        self._front.stop()
        await self._front.server.shutdown(SHUTDOWN_SECONDS)
        await self._listener.wait_closed()


class _Front:
    """Connections of one server, and how their requests are answered."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.server = web.Server(self._answer, handler_cancellation=True, access_log=None)
        self._streaming: set[RequestHandler] = set()
        self._unsubscribe = cluster.faults.subscribe(self._on_faults)

    def stop(self) -> None:
        """Break off the watches, which would go on for ever."""
        self._unsubscribe()
        for connection in tuple(self._streaming):
            _break(connection)

    def connection(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        if self._cluster.faults.now.cut_off:
            return _Refusal()
        return self.server()

    def _on_faults(self, settings: Settings) -> None:
        if settings.cut_off:
            for connection in tuple(self.server.connections):
                _break(connection)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._cluster.request(await _read(request))
            if response.stream is not None:
                return await self._stream(request, response.stream, response)
        except ConnectionError:
            _break(request.protocol)
            # The connection is gone; aiohttp wants to be told so by an exception that it knows.
            raise asyncio.CancelledError from None
        return web.Response(status=response.status, headers=_headers(response), body=response.body)

    async def _stream(
        self, request: web.BaseRequest, stream: AsyncIterator[bytes], response: Response
    ) -> web.StreamResponse:
        """Pass a watch on until it ends or the client goes."""
        connection = request.protocol
        answer = web.StreamResponse(status=response.status, headers=_headers(response))
        self._streaming.add(connection)
        try:
            await answer.prepare(request)
            async for chunk in stream:
                await answer.write(chunk)
            await answer.write_eof()
        finally:
            self._streaming.discard(connection)
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        return answer


def _headers(response: Response) -> CIMultiDict[str]:
    headers = CIMultiDict(response.headers)
    for warning in response.warnings:
        headers.add("warning", warning)
    return headers


class _Refusal(asyncio.Protocol):
    """A connection that is broken off as soon as it is there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # asyncio's contract for stream servers
        transport.abort()


def _break(connection: RequestHandler) -> None:
    """Break a connection off without a word."""
    transport = connection.transport
    if isinstance(transport, asyncio.Transport):
        transport.abort()


async def _read(request: web.BaseRequest) -> Request:
    """The request as the cluster takes it; of a body that is too large, just enough to refuse it."""
    raw_path, _, raw_query = request.raw_path.partition("?")
    body = b""
    if request.body_exists:
        chunks, size = [], 0
        async for chunk in request.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > LIMIT:
                break
        body = b"".join(chunks)
    return Request(
        method=request.method,
        path=unquote(raw_path),
        query=tuple(parse_qsl(raw_query, keep_blank_values=True)) if raw_query else (),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=body,
        peer=_peer(request),
    )


def _peer(request: web.BaseRequest) -> Identity | None:
    transport = request.transport
    return None if transport is None else identity_of(transport.get_extra_info("peercert"))


async def start(
    cluster: Cluster, *, port: int = 0, host: str = "127.0.0.1", authority: Authority | None = None
) -> RunningServer:
    """Serve a cluster (port 0: any free one). Raises OSError if the port is taken."""
    own = authority or Authority(cluster.name)
    context = server_context(own, own.server(host, "localhost", "127.0.0.1", "::1"))
    front = _Front(cluster)
    try:
        listener = await asyncio.get_running_loop().create_server(
            front.connection, host, port, ssl=context, backlog=1024, reuse_address=True
        )
    except OSError:
        front.stop()
        raise
    bound = _port(listener)
    shown = f"[{host}]" if ":" in host else host
    return RunningServer(f"https://{shown}:{bound}", own.certificate, bound, own, listener, front)


def _port(listener: asyncio.Server) -> int:
    with contextlib.suppress(IndexError):
        bound: socket.socket = listener.sockets[0]
        return int(bound.getsockname()[1])
    return 0
