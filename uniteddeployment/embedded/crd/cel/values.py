"""CEL values without a JSON equivalent, and evaluation errors.

Bool, int, double, string, bytes, null, list and map are Python's own. A uint is a :class:`UInt`; Kubernetes' extensions
are small immutable classes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1


class CelError(Exception):
    """An evaluation error; the text is the real evaluator's."""


class NoOverloadError(CelError):
    """The operator or function does not accept values of these types."""

    def __init__(self) -> None:
        super().__init__("no such overload")


class UInt(int):
    """An unsigned integer, a different type from int."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """The result of ``type(x)``."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Any = None
    present: bool = True


NONE: Final = Optional(present=False)


def no_key(key: Any) -> CelError:
    """The error for a missing entry of a map or an object."""
    return CelError(f"no such key: {key}")


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
}


def type_of(value: Any) -> TypeValue:
    """The runtime type of a value."""
    return TypeValue(_NAMES.get(type(value), f"kubernetes.{type(value).__name__}"))


def is_number(value: Any) -> bool:
    """Whether a value is an int, a uint or a double."""
    kind = type(value)
    return kind is int or kind is float or kind is UInt


def equal(left: Any, right: Any) -> bool:
    """Equality of any two values: values of different types are unequal, but numbers compare by value."""
    kind, other = type(left), type(right)
    if kind is other:
        return bool(left == right)
    if is_number(left) and is_number(right):
        return bool(left == right)
    return False


def checked(value: int) -> int:
    """An integer result. Raises CelError if it does not fit in 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError("integer overflow")


def timestamp(text: str) -> datetime:
    """An RFC 3339 time."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise CelError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse') from None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def duration(text: str) -> timedelta:
    """A duration such as ``1h30m`` or ``-1.5s``."""
    rest = text.lstrip("+-")
    seconds = 0.0
    if rest != "0":
        if not rest:
            raise CelError(f'time: invalid duration "{text}"')
        while rest:
            digits = len(rest) - len(rest.lstrip("0123456789."))
            letters = len(rest) - digits - len(rest[digits:].lstrip("hmsnuµ"))
            unit = rest[digits : digits + letters]
            if not digits or unit not in _UNITS:
                raise CelError(f'time: invalid duration "{text}"')
            seconds += float(rest[:digits]) * _UNITS[unit]
            rest = rest[digits + letters :]
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)
