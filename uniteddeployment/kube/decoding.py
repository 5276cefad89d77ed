"""Decodes untrusted JSON. The outcome is always a value or a :class:`DecodingError`.

The decoder fails on values that are nested too deep for the stack. Such an object is decoded again without everything
that is nested deeper than :data:`KEPT_DEPTH`, so that messages can name it and validation can report its depth.
"""

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

KEPT_DEPTH = 100
"""Values nested deeper than this are read as null, in objects that are nested too deep to be decoded."""
FAILURES = (ValueError, RecursionError)
"""The exceptions of decoders. Errors of msgspec and of text encodings are ValueErrors."""
_MOST_TOKENS = 50_000
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]++|[\]}]++', re.DOTALL)

_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


class DecodingError(ValueError):
    """Bytes that cannot be decoded. The message names the path and the expected type, never the content."""


def decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type. It is kept, since building one takes longer than using it, and there are few types."""
    known = _DECODERS.get(type_)
    if known is None:
        known = _DECODERS[type_] = msgspec.json.Decoder(type_)
    return known


def decode(data: bytes | msgspec.Raw, type_: type[T]) -> T:
    """The value in ``data``. Raises DecodingError."""
    try:
        return decoder(type_).decode(data)
    except RecursionError:
        shallow = without_depth(bytes(data), KEPT_DEPTH)
    except ValueError as error:
        raise DecodingError(str(error)) from None
    try:
        return decoder(type_).decode(shallow)
    except FAILURES as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise DecodingError(why) from None


def without_depth(data: bytes, depth: int) -> bytes:
    """JSON in which every list and object that is nested deeper than ``depth`` is null.

    The work is bounded: the end of a text with very many brackets stays as it is, and cannot be decoded.
    """
    kept: list[bytes] = []
    level, start = 0, 0
    for number, token in enumerate(_TOKEN.finditer(data)):
        first, count = data[token.start()], token.end() - token.start()
        if number > _MOST_TOKENS:
            break
        if first in b"[{":
            if level <= depth < level + count:
                kept += [data[start : token.start() + depth - level], b"null"]
            level += count
        elif first in b"]}":
            if level - count <= depth < level:
                start = token.end() - (depth - (level - count))
            level -= count
    kept.append(data[start:] if level <= depth else b"")
    return b"".join(kept)
