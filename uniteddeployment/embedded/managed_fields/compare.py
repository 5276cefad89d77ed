"""The differences between two values, as three sets of paths."""

from dataclasses import dataclass
from typing import Any

from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.field_set import LEAF, SELF, Fields
from uniteddeployment.embedded.managed_fields.typed import elements
from uniteddeployment.embedded.schema.node import Kind, Node


class _Missing:
    """Marks an absent value, as opposed to null."""


_MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paths that were added, modified and removed."""

    added: Fields
    modified: Fields
    removed: Fields

    def touched(self) -> Fields:
        """Paths that were added or modified."""
        return fieldset.union(self.added, self.modified)


class _Side:
    """The three sets of one place while they are collected from the places below."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Fields = {}
        self.modified: Fields = {}
        self.removed: Fields = {}

    def leaf(self, name: str, old: Any, new: Any) -> None:
        if old is _MISSING:
            self.added[name] = LEAF
        elif new is _MISSING:
            self.removed[name] = LEAF
        else:
            self.modified[name] = LEAF

    def graft(self, name: str, below: "_Side", old: Any, new: Any) -> None:
        """Attach the sets of the place ``name``; a container that was added or removed is a member itself."""
        if old is _MISSING:
            self.added[name] = {SELF: LEAF, **below.added} if below.added else LEAF
        elif below.added:
            self.added[name] = below.added
        if new is _MISSING:
            self.removed[name] = {SELF: LEAF, **below.removed} if below.removed else LEAF
        elif below.removed:
            self.removed[name] = below.removed
        if below.modified:
            self.modified[name] = below.modified


def compare(node: Node, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Compare two objects. Equal parts are not walked."""
    top = _Side()
    _maps(node, old, new, top)
    return Comparison(top.added, top.modified, top.removed)


def _maps(node: Node, old: dict[str, Any], new: dict[str, Any], into: _Side) -> None:
    declared = node.fields
    fallback = node.items
    implied = node.implied_fields
    for name, now in new.items():
        was = old.get(name, _MISSING)
        if was is now or was == now:
            continue
        if was is _MISSING and name in implied and old is not _NOTHING:
            was = implied[name]
            if was == now:
                continue
        _values(declared.get(name, fallback), fieldset.field(name), was, now, into)
    if len(old) == len(new) and old.keys() == new.keys():
        return
    for name, was in old.items():
        if name in new:
            continue
        now = implied[name] if name in implied and new is not _NOTHING else _MISSING
        if was != now:
            _values(declared.get(name, fallback), fieldset.field(name), was, now, into)


_NOTHING: dict[str, Any] = {}
"""Marks an absent container; compared by identity, so that it differs from an empty one."""


def _values(node: Node, name: str, old: Any, new: Any, into: _Side) -> None:
    """Compare one place whose values differ, or of which one is missing."""
    old_shape, new_shape = _shape(node, old), _shape(node, new)
    if old_shape is not None and new_shape is not None and old_shape is not new_shape:
        # A free-form map became another type: the paths below it are removed, and the place itself is modified.
        removed, added = _below(node, old, _MISSING).removed, _below(node, _MISSING, new).added
        if old_shape is not str and removed:
            into.removed[name] = removed
        if new_shape is not str and added:
            into.added[name] = added
        into.modified[name] = LEAF
        return
    shape = old_shape or new_shape
    if shape is None or shape is str or not _full(old, new):
        into.leaf(name, old, new)
    else:
        into.graft(name, _below(node, old, new), old, new)


def _below(node: Node, old: Any, new: Any) -> _Side:
    """The sets below a place whose values are maps or lists, or of which one is missing or null."""
    below = _Side()
    if isinstance(old, list) or isinstance(new, list):
        _lists(node, old if isinstance(old, list) else [], new if isinstance(new, list) else [], below)
    elif isinstance(old, dict) or isinstance(new, dict):
        _maps(node, old if isinstance(old, dict) else _NOTHING, new if isinstance(new, dict) else _NOTHING, below)
    return below


def _shape(node: Node, value: Any) -> type | None:
    """The shape by which a value is walked: map, list, atomic (str), or that of the other side (None)."""
    if value is _MISSING or value is None:
        return None
    if isinstance(value, dict) and node.kind is not Kind.SCALAR and not node.atomic:
        return dict
    if isinstance(value, list) and node.kind is Kind.LIST and not node.atomic:
        return list
    return str


def _full(old: Any, new: Any) -> bool:
    """Replace an empty or missing container by _NOTHING if both are, so that they compare as one value."""
    return (isinstance(old, dict | list) and bool(old)) or (isinstance(new, dict | list) and bool(new))


def _lists(node: Node, old: list[Any], new: list[Any], into: _Side) -> None:
    before, after = _index(node, old), _index(node, new)
    for name, now in after.items():
        was = before.get(name, _MISSING)
        if was is not now and was != now:
            _items(node.items, name, was, now, into)
    for name, was in before.items():
        if name not in after:
            _items(node.items, name, was, _MISSING, into)


def _items(node: Node, name: str, old: Any, new: Any, into: _Side) -> None:
    """The items at one path. Several items are one value, owned under that path."""
    if isinstance(old, _Twins) and isinstance(new, _Twins):
        into.modified[name] = LEAF
    elif isinstance(old, _Twins):
        if new is not _MISSING:
            _values(node, name, _MISSING, new, into)
        into.removed[name] = LEAF
    elif isinstance(new, _Twins):
        if old is not _MISSING:
            _values(node, name, old, _MISSING, into)
        into.added[name] = LEAF
    else:
        _values(node, name, old, new, into)


@dataclass(slots=True)
class _Twins:
    """Items of one list that have the same path."""

    items: list[Any]


def _index(node: Node, items: list[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, item in zip(elements(node, items), items, strict=True):
        if name not in result:
            result[name] = item
        elif isinstance(result[name], _Twins):
            result[name].items.append(item)
        else:
            result[name] = _Twins([result[name], item])
    return result
