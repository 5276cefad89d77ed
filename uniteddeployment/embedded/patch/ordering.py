"""The order of merged lists: the patch's order, with items that only the server has in between."""

from typing import Any


def _name(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _place(items: list[Any], item: Any, key: str) -> int:
    """The index of an item, or -1. A scan, because keys may be of any type."""
    wanted = _name(item, key)
    return next((index for index, other in enumerate(items) if _name(other, key) == wanted), -1)


def partition(merged: list[Any], order: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Split items into those in ``order`` and the others."""
    known = [item for item in merged if _place(order, item, key) >= 0]
    return known, [item for item in merged if _place(order, item, key) < 0]


def in_order(wanted: list[Any], rest: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """``wanted`` sorted by ``order``, with each of ``rest`` before the first item that it preceded in ``before``."""
    wanted = sorted(wanted, key=lambda item: _place(order, item, key))
    rest = sorted(rest, key=lambda item: _place(before, item, key))
    result: list[Any] = []
    waiting = 0
    for item in wanted:
        place = _place(before, item, key)
        while place >= 0 and waiting < len(rest) and 0 <= _place(before, rest[waiting], key) < place:
            result.append(rest[waiting])
            waiting += 1
        result.append(item)
    return result + rest[waiting:]
