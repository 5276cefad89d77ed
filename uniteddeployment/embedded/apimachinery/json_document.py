"""JSON with every field that a text has, also when an object has the same field several times.

Decoded JSON keeps the last of equal fields. Strict decoding has to report the others.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

COMPLAINTS_LIMIT: Final = 100
"""The real server reports no more problems of one body."""


class Document(dict[str, Any]):
    """A decoded object that keeps every pair of its text, in order."""

    pairs: tuple[tuple[str, Any], ...] = ()


def document(body: bytes) -> Any:
    """A JSON text that is known to be correct, with Documents for its objects."""
    return json.loads(body, object_pairs_hook=_document)


def _document(pairs: list[tuple[str, Any]]) -> Document:
    made = Document(pairs)
    made.pairs = tuple(pairs)
    return made


def duplicates(value: Any, path: str = "") -> Iterator[str]:
    """A complaint for each field that comes again, in the order of the text; the same may come several times."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from duplicates(item, f"{path}[{index}]")
    elif isinstance(value, Document):
        seen: set[str] = set()
        for key, item in value.pairs:
            at = f"{path}.{key}" if path else key
            if key in seen:
                yield complaint("duplicate", at)
            seen.add(key)
            yield from duplicates(item, at)


def complaint(problem: str, path: str) -> str:
    """A problem (unknown or duplicate) of a field as strict decoding reports it."""
    return f"{problem} field {json.dumps(path, ensure_ascii=False)}"


def distinct(complaints: Iterator[str]) -> list[str]:
    """Each complaint once, as many as the real server reports."""
    return list(dict.fromkeys(complaints))[:COMPLAINTS_LIMIT]
