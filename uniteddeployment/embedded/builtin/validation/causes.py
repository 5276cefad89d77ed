"""Field errors in the real server's words."""

import json
from collections.abc import Sequence
from typing import Any

from uniteddeployment.embedded.errors import Cause

NON_NEGATIVE = "must be greater than or equal to 0"
POSITIVE = "must be greater than 0"
IMMUTABLE = "field is immutable"


def show(value: Any) -> str:
    """A value in a message."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(path: str, value: Any, text: str) -> Cause:
    """A value that is malformed or out of bounds."""
    return Cause("FieldValueInvalid", f"Invalid value: {show(value)}: {text}", path)


def invalids(path: str, value: Any, texts: Sequence[str]) -> list[Cause]:
    """One cause for each error of a value."""
    return [invalid(path, value, text) for text in texts]


def required(path: str, text: str = "") -> Cause:
    """A missing value."""
    return Cause("FieldValueRequired", f"Required value: {text}" if text else "Required value", path)


def not_supported(path: str, value: Any, supported: Sequence[str]) -> Cause:
    """A value that is not in an enumeration."""
    texts = ", ".join(show(option) for option in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {show(value)}: supported values: {texts}", path)


def forbidden(path: str, text: str) -> Cause:
    """A value that may not be set or changed here."""
    return Cause("FieldValueForbidden", f"Forbidden: {text}", path)


def duplicate(path: str, value: Any) -> Cause:
    """A duplicate value."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {show(value)}", path)


def not_found(path: str, value: Any) -> Cause:
    """A reference to something that does not exist."""
    return Cause("FieldValueNotFound", f"Not found: {show(value)}", path)


def too_long(path: str, limit: int) -> Cause:
    """A text, or a map of texts, that is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", path)


def too_many(path: str, count: int, limit: int) -> Cause:
    """A list with too many items."""
    unit = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} {unit}", path)
