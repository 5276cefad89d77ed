"""One HTTP/1.1 connection of a client: bytes in, requests through the cluster, bytes out.

Contract: requests of a connection are answered one after another, in their order. While no fault is on, a request that
can be answered at once never becomes a task; watches and faults do, and a client that goes away ends its task.
``httptools`` (llhttp) reads HTTP; what is written is little enough to write by hand.
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
"""Requests that may wait on a connection before no more of them are read."""

_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_BAD: Final = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(slots=True)
class Connections:
    """The open connections of one server, and the cluster that they speak to."""

    cluster: Cluster
    open: "set[Connection]" = field(default_factory=set)

    def abort(self) -> None:
        """Break all of them off without a word."""
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
    """The protocol of one connection; its public names are those that asyncio and httptools call."""

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

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is here; it is sent away while the cluster is cut off."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # asyncio's contract for stream servers
        if self._cluster.faults.now.cut_off:
            transport.abort()
            return
        self._transport = transport
        self._peer = identity_of(transport.get_extra_info("peercert"))
        self._connections.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # why does not matter
        """The client is gone, and nobody waits for answers any more."""
        self._connections.open.discard(self)
        self._transport = None
        self._waiting.clear()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """More bytes of the client."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._write(_BAD)
            self._close()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._writable.set()

    def abort(self) -> None:
        """Break off without a word."""
        if self._transport is not None:
            self._transport.abort()

    # What httptools calls

    def on_message_begin(self) -> None:
        """A request begins."""
        self._message = _Message()

    def on_url(self, url: bytes) -> None:
        """A part of its target."""
        self._message.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._message.headers.get(key)
        self._message.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """Its body comes next, for which some clients want to be asked."""
        if self._message.headers.get("expect", "").lower() == "100-continue":
            self._write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A part of its body. Of one that is too large, just enough is kept to refuse it."""
        if self._message.size <= LIMIT:
            self._message.body.append(body)
            self._message.size += len(body)

    def on_message_complete(self) -> None:
        """It is complete."""
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

    # Answering

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
        """Work on what takes time, and on what comes behind it."""
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
        """Pass a watch on until it ends or the client goes."""
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
