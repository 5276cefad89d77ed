"""The limit on the nesting of objects. Code that walks an object may recurse up to this depth.

A real server allows 10,000 levels, which Python's stack does not. The limit leaves room for several calls per level.
"""

import re
from typing import Any, Final

MAX_DEPTH: Final = 200

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


class NestingError(ValueError):
    """A value that nests deeper than MAX_DEPTH."""


def check_json(text: bytes) -> None:
    """Check JSON before it is decoded. Raises NestingError with the message of Go's decoder."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _STRINGS.sub(b"", text).translate(None, _NO_BRACKETS).decode():
        if bracket in "]}":
            depth -= 1
            continue
        depth += 1
        if depth > MAX_DEPTH:
            raise NestingError(f"invalid character '{bracket}' exceeded max depth")


def check_value(value: Any) -> None:
    """Check a decoded value, which may contain itself. Raises NestingError."""
    level = _containers([value])
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = _containers(
            item for container in level for item in (container.values() if isinstance(container, dict) else container)
        )
    if level:
        raise NestingError(f"exceeded max depth of {MAX_DEPTH}")


def _containers(values: Any) -> list[Any]:
    """The objects and lists among some values, each once."""
    return list({id(value): value for value in values if isinstance(value, (dict, list))}.values())
