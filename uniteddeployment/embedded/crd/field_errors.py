"""Field errors in the real server's words.

Each function creates the :class:`~uniteddeployment.embedded.errors.Cause` of one kind of error. A path is a linked list
of segments, so that validators render it only for errors.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from uniteddeployment.embedded.errors import Cause

Path = tuple["Path | None", str] | None
"""A path: that of the parent and the own segment (``.name``, ``[0]`` or ``[key]``); None is the whole object."""

OMIT: Final = object()
"""Marks a value that is too large for a message."""


def render(path: Path) -> str:
    """A path in messages: ``spec.items[2].name``; the whole object is ``<nil>``."""
    if path is None:
        return "<nil>"
    segments: list[str] = []
    while path is not None:
        segments.append(path[1])
        path = path[0]
    return "".join(reversed(segments)).removeprefix(".")


def child(path: Path, dotted: str) -> Path:
    """The path of a field below ``path``."""
    return (path, f".{dotted}")


def quote(value: Any) -> str:
    """A value in messages: strings quoted, everything else as JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return number(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def number(value: float) -> str:
    """A number in its shortest form."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e21 else repr(value)


def _valued(prefix: str, value: Any, detail: str) -> str:
    parts = [prefix] if value is OMIT else [prefix, quote(value)]
    return ": ".join([*parts, detail] if detail else parts)


def invalid(path: Path, value: Any, detail: str) -> Cause:
    """The value is malformed or out of bounds."""
    return Cause("FieldValueInvalid", _valued("Invalid value", value, detail), render(path))


def type_invalid(path: Path, value: Any, detail: str) -> Cause:
    """The value has the wrong type or format."""
    return Cause("FieldValueTypeInvalid", _valued("Invalid value", value, detail), render(path))


def required(path: Path, detail: str = "") -> Cause:
    """The value is missing."""
    return Cause("FieldValueRequired", _valued("Required value", OMIT, detail), render(path))


def forbidden(path: Path, detail: str) -> Cause:
    """The value may not be set here."""
    return Cause("FieldValueForbidden", _valued("Forbidden", OMIT, detail), render(path))


def duplicate(path: Path, value: Any) -> Cause:
    """The value is a duplicate."""
    return Cause("FieldValueDuplicate", _valued("Duplicate value", value, ""), render(path))


def not_supported(path: Path, value: Any, supported: Sequence[Any]) -> Cause:
    """The value is not in an enumeration."""
    texts = ", ".join(quote(item if isinstance(item, str) else quote(item)) for item in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {quote(value)}: supported values: {texts}", render(path)
    )


def too_long(path: Path, limit: int) -> Cause:
    """The text is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", render(path))


def too_many(path: Path, actual: int, limit: int) -> Cause:
    """The list or map has too many items."""
    unit = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {actual}: must have at most {limit} {unit}", render(path))
