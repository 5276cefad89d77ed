"""Decodes the bytes of a watch into events, without I/O.

A watch sends one JSON document per line. The usual case is decoded in blocks: all complete lines of a chunk at once,
straight into the wanted type. A block with anything unusual in it (a bookmark, an error, an object that does not fit
the type) is decoded line by line, so that an undecodable object costs time but neither the stream nor its neighbours.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from uniteddeployment.kube import errors
from uniteddeployment.kube.decoding import FAILURES, DecodingError, decode
from uniteddeployment.kube.meta import HasMeta, ObjectMeta, PartialObject, Status, identity

T = TypeVar("T", bound=HasMeta)
Key = tuple[str, str]
"""Namespace (empty for what lives in none) and name."""

MAX_LINE_BYTES = 4 << 20
"""The longest event that is read. API servers store about 1.5 MiB of an object."""

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
_CHANGES = frozenset((ADDED, MODIFIED, DELETED))
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass(slots=True)
class Changes(Generic[T]):
    """Consecutive changes, as structs with ``type`` and ``object``."""

    events: "list[Change[T]]"


class Change(msgspec.Struct, Generic[T], gc=False):
    """One change. In decoded blocks, ``object`` has the concrete type of the watch."""

    type: str
    object: T


@dataclass(slots=True)
class Bookmark:
    """The server has sent every event up to this version; ``initial_end`` marks the end of the initial list."""

    resource_version: str
    initial_end: bool


@dataclass(slots=True)
class Undecodable:
    """A change whose object cannot be decoded. ``why`` names the path and the expected type, and quotes no content."""

    type: str
    key: Key
    resource_version: str
    why: str


@dataclass(slots=True)
class Failure:
    """The server ends the stream and says why."""

    error: errors.ApiError


Found: TypeAlias = Changes[T] | Bookmark | Undecodable | Failure


@cache
def _block_decoder(type_: type[T]) -> msgspec.json.Decoder[Any]:
    """The decoder of changes of a type. It is kept, since building the struct and the decoder takes 0.1 ms."""
    change = msgspec.defstruct("Change", [("type", str), ("object", type_)], gc=False)
    return msgspec.json.Decoder(change)


class _Raw(msgspec.Struct, gc=False):
    type: str = ""
    object: msgspec.Raw = msgspec.Raw(b"{}")


class WatchDecoder(Generic[T]):
    """Decodes one stream: feed it chunks, in order."""

    def __init__(self, type_: type[T]) -> None:
        self._block = _block_decoder(type_)
        self._type = type_
        self._rest = bytearray()

    @property
    def kept_bytes(self) -> int:
        """How many bytes of an incomplete line are kept."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[Found[T]]:
        """Decode the lines that are complete by now. The rest waits for the next chunk, up to MAX_LINE_BYTES."""
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            return self._keep(chunk)
        # Views, since the bytes of a large list are worth no copy more than needed.
        block = chunk if cut == len(chunk) else memoryview(chunk)[:cut]
        if self._rest:
            # Joined once per complete line, not once per piece of it.
            block = b"".join((self._rest, block))
            self._rest.clear()
        items = self._decoded(block)
        return items + self._keep(chunk[cut:]) if cut < len(chunk) else items

    def _keep(self, piece: bytes) -> list[Found[T]]:
        self._rest += piece
        if len(self._rest) <= MAX_LINE_BYTES:
            return []
        self._rest = bytearray()
        size = f"{MAX_LINE_BYTES >> 20} MiB"
        return [Failure(errors.Malformed(200, "TooLarge", f"the watch sent an event of more than {size}"))]

    def _decoded(self, block: bytes | memoryview) -> list[Found[T]]:
        try:
            events = self._block.decode_lines(block)
        except FAILURES:
            return self._line_by_line(bytes(block))
        for event in events:
            if event.type not in _CHANGES:
                return self._line_by_line(bytes(block))
        return [Changes(events)]

    def _line_by_line(self, block: bytes) -> list[Found[T]]:
        items: list[Found[T]] = []
        run: list[Change[T]] = []
        for line in block.split(b"\n"):
            if not line.strip():
                continue
            event = self._event(line)
            if isinstance(event, Change):
                if not run:
                    items.append(Changes(run))
                run.append(event)
            else:
                items.append(event)
                run = []
        return items

    def _event(self, line: bytes) -> Change[T] | Bookmark | Undecodable | Failure:
        try:
            raw = decode(line, _Raw)
        except DecodingError as error:
            # After a line that is not JSON, the position in the stream is unknown; only a new stream helps.
            return Failure(errors.Malformed(200, "Malformed", f"the watch sent a line that is not an event: {error}"))
        if raw.type == "BOOKMARK":
            meta = _bookmark(raw.object)
            ended = (meta.annotations or {}).get(_INITIAL_END) == "true"
            return Bookmark(meta.resource_version, ended)
        if raw.type in _CHANGES:
            try:
                return Change(raw.type, decode(raw.object, self._type))
            except DecodingError as error:
                meta = identity(raw.object)
                return Undecodable(raw.type, (meta.namespace, meta.name), meta.resource_version, str(error))
        return Failure(_refusal(raw))


def _bookmark(raw: msgspec.Raw) -> ObjectMeta:
    try:
        return decode(raw, PartialObject).metadata
    except DecodingError:
        return ObjectMeta()


def _refusal(raw: _Raw) -> errors.ApiError:
    try:
        said = decode(raw.object, Status)
    except DecodingError:
        said = Status(message="the watch ended with an unreadable error")
    return errors.from_status(said.code or 500, said.reason, said.message, said.details)
