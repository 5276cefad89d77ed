"""Operators, conversions and the functions of the CEL standard."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from uniteddeployment.embedded.crd.cel.functions import function
from uniteddeployment.embedded.crd.cel.values import (
    CelError,
    NoOverloadError,
    TypeValue,
    UInt,
    checked,
    duration,
    equal,
    is_number,
    no_key,
    timestamp,
    type_of,
)
from uniteddeployment.embedded.crd.field_errors import number
from uniteddeployment.embedded.crd.regex import PatternError, compile_re2

_ARITHMETIC = "(int,int) int | (uint,uint) uint | (double,double) double"


def _same_number(a: Any, b: Any) -> type:
    kind = type(a)
    if kind is type(b) and is_number(a):
        return kind
    raise NoOverloadError


def _integer(kind: type, value: int) -> int:
    if kind is UInt:
        if not 0 <= value < 2**64:
            raise CelError("unsigned integer overflow")
        return UInt(value)
    return checked(value)


@function(
    "_+_",
    f"{_ARITHMETIC} | (string,string) string | (bytes,bytes) bytes | (list<A>,list<A>) list<A> | "
    "(timestamp,duration) timestamp | (duration,timestamp) timestamp | (duration,duration) duration",
)
def add(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is other:
        if kind is int or kind is UInt:
            return _integer(kind, int(a) + int(b))
        if kind in (float, str, bytes, list, timedelta):
            return a + b
    elif {kind, other} == {datetime, timedelta}:
        return a + b
    raise NoOverloadError


@function(
    "_-_",
    f"{_ARITHMETIC} | (timestamp,timestamp) duration | (timestamp,duration) timestamp | (duration,duration) duration",
)
def subtract(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is other:
        if kind is int or kind is UInt:
            return _integer(kind, int(a) - int(b))
        if kind in (float, datetime, timedelta):
            return a - b
    elif kind is datetime and other is timedelta:
        return a - b
    raise NoOverloadError


@function("_*_", _ARITHMETIC)
def multiply(a: Any, b: Any) -> Any:
    kind = _same_number(a, b)
    return a * b if kind is float else _integer(kind, int(a) * int(b))


@function("_/_", _ARITHMETIC)
def divide(a: Any, b: Any) -> Any:
    kind = _same_number(a, b)
    if kind is float:
        if b == 0.0:
            return float("nan") if a == 0.0 else float("inf") if a > 0 else float("-inf")
        return a / b
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(int(a)) // abs(int(b))
    return _integer(kind, quotient if (a < 0) == (b < 0) else -quotient)


@function("_%_", "(int,int) int | (uint,uint) uint")
def modulo(a: Any, b: Any) -> Any:
    kind = _same_number(a, b)
    if kind is float:
        raise NoOverloadError
    if b == 0:
        raise CelError("modulus by zero")
    rest = abs(int(a)) % abs(int(b))
    return _integer(kind, -rest if a < 0 else rest)


@function("-_", "(int) int | (double) double | (duration) duration")
def negate(a: Any) -> Any:
    if type(a) is int:
        return checked(-a)
    if type(a) in (float, timedelta):
        return -a
    raise NoOverloadError


_NUMERIC = ("int", "uint", "double")
_ORDERED = " | ".join(
    [f"({a},{b}) bool" for a in _NUMERIC for b in _NUMERIC]
    + [f"({a},{a}) bool" for a in ("bool", "string", "bytes", "timestamp", "duration")]
)


def _ordering(name: str, compare: Callable[[Any, Any], Any]) -> None:
    def run(a: Any, b: Any) -> bool:
        if type(a) is type(b) or (is_number(a) and is_number(b)):
            if isinstance(a, list | dict) or a is None:
                raise NoOverloadError
            return bool(compare(a, b))
        raise NoOverloadError

    function(name, _ORDERED)(run)


_ordering("_<_", lambda a, b: a < b)
_ordering("_<=_", lambda a, b: a <= b)
_ordering("_>_", lambda a, b: a > b)
_ordering("_>=_", lambda a, b: a >= b)


@function("@in", "(A,list<A>) bool | (A,map<A,B>) bool")
def contained(item: Any, container: Any) -> bool:
    if type(container) is dict:
        return type(item) in (str, bool, int, UInt) and item in container
    if type(container) is list:
        return any(equal(item, entry) for entry in container)
    raise NoOverloadError


@function("_[_]", "(list<A>,int) A | (map<A,B>,A) B")
def index(container: Any, key: Any) -> Any:
    if type(container) is list:
        if type(key) is not int:
            raise NoOverloadError
        if not 0 <= key < len(container):
            raise CelError(f"index out of bounds: {key}")
        return container[key]
    if type(container) is dict:
        if key not in container:
            raise no_key(key)
        return container[key]
    raise NoOverloadError


@function(
    "size",
    "(string) int | string.() int | (bytes) int | bytes.() int | (list<A>) int | list<A>.() int | (map<A,B>) int | "
    "map<A,B>.() int",
)
def size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise NoOverloadError


def pattern_of(text: str) -> re.Pattern[str]:
    """A regular expression."""
    try:
        return compile_re2(text)
    except PatternError as error:
        raise CelError(str(error)) from None


@function("matches", "(string,string) bool | string.(string) bool")
def matches(text: str, pattern: str) -> bool:
    return pattern_of(pattern).search(text) is not None


@function("type", "(A) type")
def type_function(value: Any) -> TypeValue:
    return type_of(value)


@function("dyn", "(A) dyn")
def dyn(value: Any) -> Any:
    return value


# Conversions


@function("int", "(int) int | (uint) int | (double) int | (string) int | (timestamp) int | (duration) int")
def to_int(value: Any) -> int:
    kind = type(value)
    if kind in (int, UInt):
        return checked(int(value))
    if kind is float:
        if not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if kind is str:
        try:
            return checked(int(value))
        except ValueError:
            raise CelError(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None
    if kind is datetime:
        return int(value.timestamp())
    if kind is timedelta:
        return int(value / timedelta(microseconds=1)) * 1000
    raise NoOverloadError


@function("uint", "(int) uint | (uint) uint | (double) uint | (string) uint")
def to_uint(value: Any) -> UInt:
    number_ = to_int(value)
    if number_ < 0:
        raise CelError("unsigned integer overflow")
    return UInt(number_)


@function("double", "(int) double | (uint) double | (double) double | (string) double")
def to_double(value: Any) -> float:
    if is_number(value):
        return float(value)
    if type(value) is str:
        try:
            return float(value)
        except ValueError:
            raise CelError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None
    raise NoOverloadError


@function(
    "string",
    "(int) string | (uint) string | (double) string | (bool) string | (string) string | (bytes) string | "
    "(timestamp) string | (duration) string",
)
def to_string(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return number(value)
    if kind in (int, UInt):
        return str(int(value))
    if kind is bytes:
        return str(value.decode("utf-8", errors="replace"))
    if kind is datetime:
        text: str = value.isoformat()
        return text.replace("+00:00", "Z")
    if kind is timedelta:
        return f"{number(value.total_seconds())}s"
    raise NoOverloadError


@function("bytes", "(string) bytes | (bytes) bytes")
def to_bytes(value: Any) -> bytes:
    return value if type(value) is bytes else str.encode(value)


@function("bool", "(bool) bool | (string) bool")
def to_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    words = {"true": True, "True": True, "TRUE": True, "t": True, "1": True}
    words |= {"false": False, "False": False, "FALSE": False, "f": False, "0": False}
    if value in words:
        return words[value]
    raise CelError(f'strconv.ParseBool: parsing "{value}": invalid syntax')


@function("timestamp", "(string) timestamp | (timestamp) timestamp | (int) timestamp")
def to_timestamp(value: Any) -> datetime:
    if type(value) is datetime:
        return value
    if type(value) is int:
        return datetime.fromtimestamp(value, UTC)
    return timestamp(value)


@function("duration", "(string) duration | (duration) duration | (int) duration")
def to_duration(value: Any) -> timedelta:
    if type(value) is timedelta:
        return value
    if type(value) is int:
        return timedelta(microseconds=value // 1000)
    return duration(value)


# Parts of times


def _zoned(value: datetime, zone: str) -> datetime:
    try:
        return value.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        raise CelError(f"unknown time zone {zone}") from None


def _part(name: str, get: Callable[[datetime], int], length: Callable[[timedelta], int] | None = None) -> None:
    def run(value: Any, zone: str = "UTC") -> int:
        if type(value) is datetime:
            return get(_zoned(value, zone))
        if type(value) is timedelta and length is not None:
            return length(value)
        raise NoOverloadError

    overloads = "timestamp.() int | timestamp.(string) int"
    function(name, overloads if length is None else f"{overloads} | duration.() int")(run)


_part("getFullYear", lambda t: t.year)
_part("getMonth", lambda t: t.month - 1)
_part("getDate", lambda t: t.day)
_part("getDayOfMonth", lambda t: t.day - 1)
_part("getDayOfWeek", lambda t: t.isoweekday() % 7)
_part("getDayOfYear", lambda t: t.timetuple().tm_yday - 1)
_part("getHours", lambda t: t.hour, lambda d: int(d.total_seconds() / 3600))
_part("getMinutes", lambda t: t.minute, lambda d: int(d.total_seconds() / 60))
_part("getSeconds", lambda t: t.second, lambda d: int(d.total_seconds()))
_part("getMilliseconds", lambda t: t.microsecond // 1000, lambda d: int(d.total_seconds() * 1000))
