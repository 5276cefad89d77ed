"""A transport whose writes reach only the server that was identified (I14)."""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from uniteddeployment.kube.errors import NotIdentified, Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer, Stream, Transport

_MOST_ATTEMPTS = 8
"""Other writes may take a connection that was just identified, but not forever."""


class IdentifiedTransport:
    """Holds a write back while its connection is new, until ``identify`` has accepted the server.

    ``identify`` asks the server who it is, and raises KubeError if it is another one than expected. Nothing is asked as
    long as connections last: the probes of a cluster identify the connection that its next write takes.
    """

    def __init__(self, transport: Transport, name: str, identify: Callable[[], Awaitable[None]]) -> None:
        self._transport = transport
        self._name = name
        self._identify = identify

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # handed on
        if request.reads:
            return await self._transport.send(request, timeout=timeout)
        request = replace(request, identified=True)
        for _ in range(_MOST_ATTEMPTS):
            try:
                return await self._transport.send(request, timeout=timeout)
            except NotIdentified:
                await self._identify()
        raise Unreachable(self._name, "its connections do not last")

    def stream(self, request: Request, *, timeout: float) -> contextlib.AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request, timeout=timeout)

    async def close(self) -> None:
        await self._transport.close()
