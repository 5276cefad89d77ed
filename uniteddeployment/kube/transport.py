"""The transport of requests to an API server: the interface, and its implementation with aiohttp.

A transport carries requests and answers without examining them. Its only error is ``Unreachable``: there was no answer,
for whatever reason. It returns answers of every status.
"""

import asyncio
import contextlib
import functools
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from uniteddeployment.kube import credentials
from uniteddeployment.kube.connections import USE, Connector, Use
from uniteddeployment.kube.errors import KubeError, TooLarge, Unreachable
from uniteddeployment.kube.requests import Query, Request

if TYPE_CHECKING:
    from typing_extensions import Buffer

CONNECT_SECONDS = 5.0

_USER_AGENT = "uniteddeployment"
_READ_BUFFER = 1 << 18
_KEEPALIVE_SECONDS = 30.0
_NOT_TLS = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
"""What OpenSSL calls an answer without TLS."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    identified: Callable[[], None] = field(default=_nothing, compare=False)
    """To be called if the answer identifies the server: from then on, its connection takes writes that ask for that."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer whose body comes in chunks; their boundaries have no meaning."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class Transport(Protocol):
    """Carries requests to one API server."""

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the request
        """Send a request and return the answer. Raises ``Unreachable`` if there is none within ``timeout`` seconds."""
        ...

    def stream(self, request: Request, *, timeout: float) -> contextlib.AbstractAsyncContextManager[Stream]:
        """Send a request and return the answer with its body as a stream. ``timeout`` is until the answer begins."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class AiohttpTransport:
    """HTTP/1.1 with aiohttp: one session per cluster, with the TLS settings and the token of the ``Connection``.

    HTTP/2 is not used: API servers limit its streams, and decoding its frames costs Python more than connections do.
    Redirects are not followed, so that no token is sent to another address.

    ``guard`` is called whenever bytes are about to be sent; it raises ``NotLeading`` to prevent that. A request passes
    through buffers, and a process that is frozen meanwhile would send it when it resumes. This needs an event loop that
    sends through the given socket, as asyncio's own loop does and uvloop does not.
    """

    def __init__(
        self,
        connection: credentials.Connection,
        *,
        connect_timeout: float = CONNECT_SECONDS,
        guard: Callable[[], None] | None = None,
    ) -> None:
        self._connection = connection
        self._connect_timeout = connect_timeout
        self._guard = guard
        self._base = URL(connection.server)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """One for probes and the writes that they identify the server for, and one for all other requests: a watch must
        not take the connection of the last probe."""
        self._closed = False

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the request
        with self._translated(timeout):
            async with asyncio.timeout(timeout):
                use = Use(identified=request.identified)
                response = await self._open(request, use)
                try:
                    body = await self._body(request, response)
                except BaseException:
                    response.close()
                    raise
                response.release()
                return Answer(response.status, response.headers, body, use.identify)

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # see send
        with self._translated(timeout):
            async with asyncio.timeout(timeout):
                response = await self._open(request, Use())
        chunks = self._chunks(response)
        try:
            yield Stream(response.status, response.headers, chunks)
        finally:
            response.close()
            await chunks.aclose()

    async def close(self) -> None:
        self._closed = True
        for session in self._sessions.values():
            await session.close()

    async def _body(self, request: Request, response: aiohttp.ClientResponse) -> bytes:
        """Read the whole body. Raises TooLarge as soon as it is known to be too large."""
        announced = response.content_length
        body = bytearray()
        if announced is None or announced <= request.max_bytes:
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > request.max_bytes:
                    break
            else:
                return bytes(body)
        raise TooLarge(self._connection.name, f"{request.verb} {request.resource}", request.max_bytes)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        while True:
            with self._translated(None):
                chunk = await response.content.readany()
            if not chunk:
                return
            yield chunk

    async def _open(self, request: Request, use: Use) -> aiohttp.ClientResponse:
        """Send the request. If the token is refused and its provider has another one, send it once more."""
        tokens = self._connection.tokens
        token = await tokens.token() if tokens is not None else None
        response = await self._request(request, token, use)
        if response.status != 401 or tokens is None:
            return response
        fresh = await tokens.token(refused=token)
        if fresh == token:
            return response
        response.release()
        return await self._request(request, fresh, use)

    async def _request(self, request: Request, token: str | None, use: Use) -> aiohttp.ClientResponse:
        headers = dict(request.headers)
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        before = USE.set(use)
        try:
            return await self._opened(apart=request.identified or request.verb == "probe").request(
                request.method,
                self._url(request),
                headers=headers,
                data=request.body or None,
                allow_redirects=False,
                server_hostname=self._connection.tls_server_name or None,
            )
        finally:
            USE.reset(before)

    def _url(self, request: Request) -> URL:
        """Build the URL from its parts, which takes a third of the time of parsing it."""
        base = self._base
        path = base.raw_path.rstrip("/") + quote(request.path, safe="/:@")
        query = _encoded(request.query)
        return URL.build(scheme=base.scheme, authority=base.raw_authority, path=path, query_string=query, encoded=True)

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext | bool:
        return self._connection.tls_context() or False

    def _opened(self, *, apart: bool) -> aiohttp.ClientSession:
        """A session. It is created at its first request, since it belongs to the running event loop."""
        if self._closed:
            raise Unreachable(self._connection.name, "this connection was closed")
        session = self._sessions.get(apart)
        if session is None:
            connector = Connector(
                self._connection.name,
                ssl=self._tls,
                # No limit: clients limit their requests, and with a limit, long watches would block those.
                limit=0,
                keepalive_timeout=_KEEPALIVE_SECONDS,
                socket_factory=functools.partial(_socket, guard=self._guard),
            )
            session = self._sessions[apart] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                # Compression of a list costs the server and the client more time than it saves in most networks.
                headers={"user-agent": _USER_AGENT, "accept-encoding": "identity"},
                read_bufsize=_READ_BUFFER,
                # A few compressed bytes can expand to gigabytes, and no compression was requested.
                auto_decompress=False,
                # ``send`` has its own time-out, which includes the time to get a token.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout),
            )
        return session

    @contextlib.contextmanager
    def _translated(self, timeout: float | None) -> Iterator[None]:
        """Raise ``Unreachable`` for every error of a socket, with a readable reason and without secrets."""
        try:
            yield
        except aiohttp.ConnectionTimeoutError:
            raise Unreachable(self._connection.name, f"no answer within {self._connect_timeout:g} s") from None
        except TimeoutError:
            why = "the connection timed out" if timeout is None else f"no answer within {timeout:g} s"
            raise Unreachable(self._connection.name, why) from None
        except (aiohttp.ClientError, OSError) as error:
            if self._guard is not None:
                self._guard()  # raises if it was the guard that prevented the request
            raise Unreachable(self._connection.name, _why(error)) from None
        except credentials.CredentialsError as error:
            raise Unreachable(self._connection.name, str(error)) from None
        except (ValueError, RuntimeError) as error:
            # From encoding names and headers, or from a session that is closed meanwhile. Messages may quote a header.
            raise Unreachable(self._connection.name, f"the request cannot be sent ({type(error).__name__})") from None


@functools.lru_cache(maxsize=512)
def _encoded(query: Query) -> str:
    """The encoded query. It is cached, since most requests of a controller share a few queries."""
    return urlencode(query)


def _why(error: aiohttp.ClientError | OSError) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"TLS: {_tls_reason(error.certificate_error)}"
        case aiohttp.ClientConnectorDNSError():
            return f"no such host: {error.host}"
        case aiohttp.ClientConnectorSSLError():
            return f"TLS: {_tls_reason(error.os_error)}"
        case aiohttp.ClientConnectorError():
            return f"cannot connect to {error.host}:{error.port}: {_os_reason(error.os_error)}"
        case aiohttp.ServerDisconnectedError() | ConnectionResetError() | BrokenPipeError():
            return "the server closed the connection"
        case aiohttp.ClientPayloadError():
            return "the answer ended early"
        case ssl.SSLError():
            return f"TLS: {_tls_reason(error)}"
        case aiohttp.InvalidURL():
            return "the server's address is not a URL"
        case OSError():
            return error.strerror or type(error).__name__
        case _:
            return type(error).__name__


def _os_reason(error: OSError) -> str:
    """The reason in the words of the operating system: asyncio puts words of its own into the error."""
    return os.strerror(error.errno).lower() if error.errno else error.strerror or "refused"


def _tls_reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError) and error.reason in _NOT_TLS:
        return "the server does not speak TLS, as if it were a server for http://"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return "the handshake failed"


class _GuardedSocket(socket.socket):
    """Calls a guard before it sends bytes."""

    guard: Callable[[], None]

    def send(self, data: "Buffer", flags: int = 0) -> int:
        self._check()
        return super().send(data, flags)

    def sendmsg(self, *args: Any) -> int:
        self._check()
        return super().sendmsg(*args)

    def _check(self) -> None:
        try:
            self.guard()
        except KubeError as error:
            raise ConnectionAbortedError(str(error)) from None  # the kind of error that event loops handle


def _socket(address: aiohttp.AddrInfoType, *, guard: Callable[[], None] | None = None) -> socket.socket:
    """A socket that detects within about 30 s that the other side is gone, also while it only reads a watch."""
    family, kind, protocol, _, _ = address
    made: socket.socket
    if guard is None:
        made = socket.socket(family, kind, protocol)
    else:
        made = _GuardedSocket(family, kind, protocol)
        made.guard = guard
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 30_000)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
