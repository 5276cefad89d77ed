"""Requests, responses and users, independent of sockets."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a token or a client certificate authenticates.

    ``extra`` holds further attributes from the authenticator: pairs of a key and its values.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``path`` is decoded and has no query; header names are in lower case.

    ``peer`` is the identity that the client's certificate proves, if the client presented one.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    peer: Identity | None = None


class ByteStream(Protocol):
    """The chunks of a watch. The reader closes the stream; the cluster ends it."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def __anext__(self) -> bytes: ...

    async def aclose(self) -> None: ...

    def end(self) -> None: ...


@dataclass(slots=True)
class Response:
    """One response: a body or, for a watch, a stream of chunks that lasts until either side ends it."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    stream: ByteStream | None = None
    warnings: tuple[str, ...] = ()
    """Values of Warning headers, one header each."""
