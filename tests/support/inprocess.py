"""A transport that stays in the process: requests go straight into an embedded cluster, faults and all."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from uniteddeployment.embedded import http
from uniteddeployment.kube.credentials import StaticToken, TokenProvider
from uniteddeployment.kube.errors import NotIdentified, Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer, Stream


class Serves(Protocol):
    """What is needed of an embedded cluster."""

    async def request(self, request: http.Request) -> http.Response: ...


class InProcessTransport:
    """Carries requests into a cluster of this process, with a token or with those of a provider."""

    def __init__(self, cluster: Serves, token: str | TokenProvider, name: str) -> None:
        self._cluster = cluster
        self._tokens = StaticToken(token) if isinstance(token, str) else token
        self._name = name
        self.sent: list[Request] = []
        """Every request, for tests that count them."""
        self.before: Callable[[Request], None] = lambda _: None
        """Called with each request just before the cluster sees it, for tests of what happens at that moment."""
        self._identified: object = None
        """The cluster that was identified. All connections to it break when another one takes its address."""

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the protocol
        server = getattr(self._cluster, "server", self._cluster)
        if request.identified and server is not self._identified:
            raise NotIdentified(f"{self._name}: the connection is new")

        def identified() -> None:
            self._identified = server

        response = await self._ask(request, timeout)
        return Answer(response.status, response.headers, response.body, identified)

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # part of the protocol
        response = await self._ask(request, timeout)
        chunks = response.stream if response.stream is not None else _once(response.body)
        try:
            yield Stream(response.status, response.headers, self._guarded(chunks))
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()

    async def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, request: Request, seconds: float) -> http.Response:
        """Send a request. If the token is refused and its provider has another one, send it once more."""
        token = await self._tokens.token()
        response = await self._ask_as(token, request, seconds)
        if response.status == 401 and (fresh := await self._tokens.token(refused=token)) != token:
            response = await self._ask_as(fresh, request, seconds)
        return response

    async def _ask_as(self, token: str, request: Request, seconds: float) -> http.Response:
        self.sent.append(request)
        headers = {**request.headers, "authorization": f"Bearer {token}", "user-agent": "uniteddeployment"}
        try:
            async with asyncio.timeout(seconds):
                self.before(request)
                return await self._cluster.request(
                    http.Request(request.method, request.path, request.query, headers, request.body)
                )
        except TimeoutError:
            raise Unreachable(self._name, f"no answer within {seconds:g} s") from None
        except ConnectionError as error:
            raise Unreachable(self._name, str(error) or "connection refused") from None
        except ssl.SSLError as error:
            raise Unreachable(self._name, f"TLS: {getattr(error, 'verify_message', '') or error.reason}") from None

    async def _guarded(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            async for chunk in chunks:
                yield chunk
        except ConnectionError as error:
            raise Unreachable(self._name, str(error) or "connection reset") from None


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
