"""Stored JSON as CEL values of a declared type, and equality of such values.

A number field may hold a JSON integer and is a double in CEL; strings with a format are timestamps, durations or bytes.
Lists that are sets or maps compare in any order, and ``+`` merges them by item.
"""

import base64
import binascii
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from uniteddeployment.embedded.crd.cel.declarations import BYTES, DOUBLE, DURATION, TIMESTAMP, Type, fields_of
from uniteddeployment.embedded.crd.cel.values import CelError, duration, equal, timestamp

Convert = Callable[[Any], Any]
Equal = Callable[[Any, Any], bool]


def _to_double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _to_timestamp(value: Any) -> Any:
    return timestamp(value) if type(value) is str else value


def _to_duration(value: Any) -> Any:
    return duration(value) if type(value) is str else value


def _to_bytes(value: Any) -> Any:
    if type(value) is not str:
        return value
    try:
        return base64.b64decode(value)
    except (binascii.Error, ValueError):
        raise CelError("illegal base64 data") from None


_SCALAR: Final = {DOUBLE: _to_double, TIMESTAMP: _to_timestamp, DURATION: _to_duration, BYTES: _to_bytes}


@lru_cache(maxsize=4096)
def converter(type_: Type) -> Convert | None:
    """The function from stored values to CEL values of a type; None if they are the same."""
    if type_.name == "list":
        inner = converter(type_.args[0])
        if inner is None:
            return None
        element = inner
        return lambda value: [element(item) for item in value] if type(value) is list else value
    if type_.name == "map":
        inner = converter(type_.args[1])
        if inner is None:
            return None
        entry = inner
        return lambda value: {k: entry(item) for k, item in value.items()} if type(value) is dict else value
    return _SCALAR.get(type_)


@lru_cache(maxsize=4096)
def comparator(type_: Type) -> Equal:
    """Equality of two values of a type."""
    return _comparator(type_, frozenset()) or equal


def _comparator(type_: Type, seen: frozenset[Type]) -> Equal | None:
    """Equality of two values of a type; None if ordinary equality applies."""
    if type_ in seen:
        return None
    seen |= {type_}
    if type_.name == "list":
        element = _comparator(type_.args[0], seen)
        list_type = type_.node.list_type if type_.node is not None else "atomic"
        if list_type == "set" or (list_type == "map" and type_.node is not None):
            return _unordered(entry_key(type_), element or equal)
        return _pairwise(element) if element is not None else None
    if type_.name == "map":
        entry = _comparator(type_.args[1], seen)
        return _fields({}, entry) if entry is not None else None
    if type_.name == "object":
        special = {real: compare for real, kind in fields_of(type_).values() if (compare := _comparator(kind, seen))}
        return _fields(special, None) if special else None
    return None


def _pairwise(element: Equal) -> Equal:
    def compare(left: Any, right: Any) -> bool:
        if type(left) is not list or type(right) is not list:
            return equal(left, right)
        return len(left) == len(right) and all(element(a, b) for a, b in zip(left, right, strict=True))

    return compare


def _unordered(key: Callable[[Any], str], element: Equal) -> Equal:
    def compare(left: Any, right: Any) -> bool:
        if type(left) is not list or type(right) is not list:
            return equal(left, right)
        others = {key(item): item for item in right}
        return len(left) == len(right) and all(
            key(item) in others and element(item, others[key(item)]) for item in left
        )

    return compare


def _fields(special: dict[str, Equal], entry: Equal | None) -> Equal:
    def compare(left: Any, right: Any) -> bool:
        if type(left) is not dict or type(right) is not dict:
            return equal(left, right)
        if left.keys() != right.keys():
            return False
        return all((special.get(name) or entry or equal)(item, right[name]) for name, item in left.items())

    return compare


def entry_key(type_: Type) -> Callable[[Any], str]:
    """The identity of an item of a set or of a list with keys."""
    keys = type_.node.map_keys if type_.node is not None and type_.node.list_type == "map" else ()
    if not keys:
        return lambda item: json.dumps(item, sort_keys=True)
    return lambda item: json.dumps([item.get(key) for key in keys] if type(item) is dict else item)


def joined(type_: Type) -> Callable[[Any, Any], Any] | None:
    """The function by which ``+`` merges two lists of a type that are sets or maps; None for atomic lists."""
    if type_.name != "list" or type_.node is None or type_.node.list_type not in {"set", "map"}:
        return None
    key = entry_key(type_)

    def join(left: list[Any], right: list[Any]) -> list[Any]:
        entries = {key(item): item for item in left}
        entries.update((key(item), item) for item in right)
        return list(entries.values())

    return join
