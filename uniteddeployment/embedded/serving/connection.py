"""One HTTP/1.1 connection: parses requests, passes them to the cluster and writes the responses.

Contract: the requests of a connection are answered one after another, in order. Without faults, a request that can be
answered at once never becomes a task. Watches and faults do, and a client that disconnects ends its task. ``httptools``
(llhttp) parses HTTP.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, unquote

import httptools

from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.requests.body import LIMIT
from uniteddeployment.embedded.serving.tls import identity_of

WAITING: Final = 64
"""Number of waiting requests at which a connection stops reading."""

_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_BAD: Final = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(slots=True)
class Connections:
    """The open connections of one server, and its cluster."""

    cluster: Cluster
    open: "set[Connection]" = field(default_factory=set)

    def abort(self) -> None:
        """Abort all connections."""
        for connection in tuple(self.open):
            connection.abort()


@dataclass(slots=True)
class _Message:
    """A request that is being read."""

    url: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)
    size: int = 0


class Connection(asyncio.Protocol):
    """The protocol of one connection; asyncio and httptools determine its public names."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._cluster = connections.cluster
        self._parser = httptools.HttpRequestParser(self)
        self._message = _Message()
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._peer: Identity | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, or abort it while the cluster is cut off."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # asyncio's contract for stream servers
        if self._cluster.faults.now.cut_off:
            transport.abort()
            return
        self._transport = transport
        self._peer = identity_of(transport.get_extra_info("peercert"))
        self._connections.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # why does not matter
        """Stop working for a client that disconnected."""
        self._connections.open.discard(self)
        self._transport = None
        self._waiting.clear()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._write(_BAD)
            self._close()

    def pause_writing(self) -> None:
        """Pause watches, because the client reads more slowly than the cluster writes."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume watches."""
        self._writable.set()

    def abort(self) -> None:
        """Abort the connection."""
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """Start a new request."""
        self._message = _Message()

    def on_url(self, url: bytes) -> None:
        """Append a part of the target."""
        self._message.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._message.headers.get(key)
        self._message.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """Answer clients that wait for permission to send the body."""
        if self._message.headers.get("expect", "").lower() == "100-continue":
            self._write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """Append a part of the body. Of a body that is too large, keep just enough to refuse it."""
        if self._message.size <= LIMIT:
            self._message.body.append(body)
            self._message.size += len(body)

    def on_message_complete(self) -> None:
        """Answer the complete request."""
        message = self._message
        raw_path, _, raw_query = message.url.decode("latin-1").partition("?")
        request = Request(
            method=self._parser.get_method().decode(),
            path=unquote(raw_path) if "%" in raw_path else raw_path,
            query=tuple(parse_qsl(raw_query, keep_blank_values=True)) if raw_query else (),
            headers=message.headers,
            body=b"".join(message.body),
            peer=self._peer,
        )
        self._receive(request, keep=self._parser.should_keep_alive())

    # Responses

    def _receive(self, request: Request, *, keep: bool) -> None:
        if self._task is None and self._cluster.faults.now.calm:
            response = self._cluster.handle(request)
            if response.stream is None:
                self._answer(request, response, keep=keep)
            else:
                response.stream = self._cluster.faults.through(response.stream)
                self._start(response)
            return
        self._waiting.append((request, keep))
        if self._task is None:
            self._start(None)
        elif len(self._waiting) >= WAITING and self._transport is not None:
            self._transport.pause_reading()

    def _start(self, response: Response | None) -> None:
        """Start a task for a watch or for the waiting requests."""
        self._task = asyncio.get_running_loop().create_task(self._serve(response))
        self._task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self.abort()
            if not isinstance(error, ConnectionError):
                raise error

    async def _serve(self, response: Response | None) -> None:
        if response is not None:
            await self._stream(response)
        while self._waiting:
            request, keep = self._waiting.popleft()
            if self._transport is not None:
                self._transport.resume_reading()
            answered = await self._cluster.request(request)
            if answered.stream is None:
                self._answer(request, answered, keep=keep)
            else:
                await self._stream(answered)

    def _answer(self, request: Request, response: Response, *, keep: bool) -> None:
        body = b"" if request.method == "HEAD" else response.body
        length = f"content-length: {len(response.body)}\r\n"
        self._write(_head(response, length if keep else f"{length}connection: close\r\n") + body)
        if not keep:
            self._close()

    async def _stream(self, response: Response) -> None:
        """Send a watch until it ends or the client disconnects."""
        stream = response.stream
        assert stream is not None  # noqa: S101  # the caller has looked
        try:
            self._write(_head(response, "transfer-encoding: chunked\r\n"))
            async for chunk in stream:
                self._write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await self._writable.wait()
            self._write(b"0\r\n\r\n")
        finally:
            await stream.aclose()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _head(response: Response, framing: str) -> bytes:
    """Status line and headers."""
    status = response.status
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n", framing]
    lines += [f"{name}: {value}\r\n" for name, value in response.headers.items()]
    lines += [f"warning: {value}\r\n" for value in response.warnings]
    return "".join([*lines, "\r\n"]).encode("utf-8")
