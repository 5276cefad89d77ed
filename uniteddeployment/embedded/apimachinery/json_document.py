"""JSON documents that keep duplicate fields.

Decoding keeps the last of several equal fields; strict decoding must report the others.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

COMPLAINTS_LIMIT: Final = 100
"""The maximum number of errors that the real server reports for one body."""


class Document(dict[str, Any]):
    """A decoded object that keeps every key-value pair of its text, in order."""

    pairs: tuple[tuple[str, Any], ...] = ()


def document(body: bytes) -> Any:
    """Decode JSON that is known to be valid, with Documents for its objects."""
    return json.loads(body, object_pairs_hook=_document)


def _document(pairs: list[tuple[str, Any]]) -> Document:
    made = Document(pairs)
    made.pairs = tuple(pairs)
    return made


def duplicates(value: Any, path: str = "") -> Iterator[str]:
    """An error for each duplicate field, in the order of the text; errors may repeat."""
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
    """The error text for an unknown or duplicate field."""
    return f"{problem} field {json.dumps(path, ensure_ascii=False)}"


def distinct(complaints: Iterator[str]) -> list[str]:
    """Each error once, up to the real server's maximum."""
    return list(dict.fromkeys(complaints))[:COMPLAINTS_LIMIT]
