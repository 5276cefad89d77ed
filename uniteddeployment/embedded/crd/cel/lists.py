"""Functions on lists, sets and optionals."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

from uniteddeployment.embedded.crd.cel.functions import function
from uniteddeployment.embedded.crd.cel.operators import add
from uniteddeployment.embedded.crd.cel.values import NONE, CelError, NoOverloadError, Optional, equal


def _list(value: Any) -> list[Any]:
    if type(value) is list:
        return value
    raise NoOverloadError


def _ordered(value: Any) -> list[Any]:
    """A list with comparable items."""
    items = _list(value)
    if any(isinstance(item, dict | list) or item is None for item in items):
        raise NoOverloadError
    return items


@function("isSorted", "list<A>.() bool")
def is_sorted(value: Any) -> bool:
    items = _ordered(value)
    return all(a <= b for a, b in pairwise(items))


@function("sum", "list<int>.() int | list<uint>.() uint | list<double>.() double | list<duration>.() duration")
def total(value: Any) -> Any:
    items = _list(value)
    if not items:
        return 0
    result = items[0]
    if not isinstance(result, int | float | timedelta):
        raise NoOverloadError
    for item in items[1:]:
        result = add(result, item)
    return result


@function("min", "list<A>.() A")
def smallest(value: Any) -> Any:
    items = _ordered(value)
    if not items:
        raise CelError("min called on empty list")
    return min(items)


@function("max", "list<A>.() A")
def largest(value: Any) -> Any:
    items = _ordered(value)
    if not items:
        raise CelError("max called on empty list")
    return max(items)


@function("indexOf", "list<A>.(A) int")
def index_of(value: Any, wanted: Any) -> int:
    return next((index for index, item in enumerate(_list(value)) if equal(item, wanted)), -1)


@function("lastIndexOf", "list<A>.(A) int")
def last_index_of(value: Any, wanted: Any) -> int:
    items = _list(value)
    return next((index for index in reversed(range(len(items))) if equal(items[index], wanted)), -1)


# Sets


@function("sets.contains", "(list<A>,list<A>) bool")
def sets_contains(container: Any, wanted: Any) -> bool:
    return all(any(equal(item, other) for other in _list(container)) for item in _list(wanted))


@function("sets.intersects", "(list<A>,list<A>) bool")
def sets_intersects(left: Any, right: Any) -> bool:
    return any(any(equal(item, other) for other in _list(right)) for item in _list(left))


@function("sets.equivalent", "(list<A>,list<A>) bool")
def sets_equivalent(left: Any, right: Any) -> bool:
    return sets_contains(left, right) and sets_contains(right, left)


# Optionals


def _optional(value: Any) -> Optional:
    if type(value) is Optional:
        return value
    raise NoOverloadError


@function("optional.of", "(A) optional<A>")
def optional_of(value: Any) -> Optional:
    return Optional(value)


@function("optional.none", "() optional<A>")
def optional_none() -> Optional:
    return NONE


@function("optional.ofNonZeroValue", "(A) optional<A>")
def optional_of_non_zero(value: Any) -> Optional:
    empty = value is None or (isinstance(value, str | bytes | list | dict | int | float) and not value)
    return NONE if empty else Optional(value)


@function("hasValue", "optional<A>.() bool")
def has_value(value: Any) -> bool:
    return _optional(value).present


@function("value", "optional<A>.() A")
def value_of(value: Any) -> Any:
    if not _optional(value).present:
        raise CelError("optional.none() dereference")
    return value.value


@function("orValue", "optional<A>.(A) A")
def or_value(value: Any, default: Any) -> Any:
    return value.value if _optional(value).present else default


@function("or", "optional<A>.(optional<A>) optional<A>")
def or_optional(value: Any, other: Any) -> Optional:
    return value if _optional(value).present else _optional(other)
