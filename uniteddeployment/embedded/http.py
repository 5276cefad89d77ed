"""What goes into the cluster and what comes out of it, without sockets."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: the user that a token or a client certificate stands for.

    ``extra`` has what else an authenticator knows: pairs of a key and its values.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``path`` is decoded and has no query; header names are in lower case.

    ``peer`` is the identity that the client's certificate proves, if it brought one.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    peer: Identity | None = None


class ByteStream(Protocol):
    """The chunks of a watch: the reader closes it, the cluster ends it."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def __anext__(self) -> bytes: ...

    async def aclose(self) -> None: ...

    def end(self) -> None: ...


@dataclass(slots=True)
class Response:
    """One answer: a body, or (for watches) a stream of chunks that goes on until either side ends it."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    stream: ByteStream | None = None
    warnings: tuple[str, ...] = ()
    """Values of Warning headers, each of which is a line of its own."""
