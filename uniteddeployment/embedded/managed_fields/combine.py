"""The two steps of an apply: merge a value into another by the schema, and remove paths from a value."""

from typing import Any

from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.field_set import Fields
from uniteddeployment.embedded.managed_fields.typed import descend, elements
from uniteddeployment.embedded.schema.node import ANY, Kind, Node


def merge(node: Node, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """Merge ``applied`` into ``live``. The result shares parts with both."""
    result = dict(live)
    for name, value in applied.items():
        if name in live:
            result[name] = _merge(node.child(name) or ANY, live[name], value)
        else:
            result[name] = value
    return result


def _merge(node: Node, live: Any, applied: Any) -> Any:
    if live is applied:
        return live
    if node.kind is Kind.SCALAR or node.atomic:
        return applied
    if node.kind is Kind.LIST:
        if isinstance(live, list) and live and (applied is None or isinstance(applied, list)):
            return _merge_lists(node, live, applied) if applied else live
        return applied
    if isinstance(live, dict) and live and (applied is None or isinstance(applied, dict)):
        return merge(node, live, applied) if applied else live
    return applied


def _merge_lists(node: Node, live: list[Any], applied: list[Any]) -> list[Any]:
    """Applied items in their order; items only in ``live`` stay before the shared item that they preceded."""
    theirs, ours = elements(node, live), elements(node, applied)
    counts: dict[str, int] = {}
    for name in theirs:
        counts[name] = counts.get(name, 0) + 1
    known = {name: item for name, item in zip(theirs, live, strict=True) if counts[name] == 1}
    wanted = set(ours)
    shared = iter([name for name in ours if name in counts])
    following = next(shared, None)
    result: list[Any] = []
    at = 0
    for name, item in zip(ours, applied, strict=True):
        while at < len(live) and theirs[at] != following:
            if theirs[at] not in wanted:
                result.append(live[at])
            at += 1
        result.append(_merge(node.items, known[name], item) if name in known else item)
        if name == following:
            at = min(at + 1, len(live))
            following = next(shared, None)
    result.extend(live[index] for index in range(at, len(live)) if theirs[index] not in wanted)
    return result


def remove(node: Node, value: dict[str, Any], fields: Fields) -> dict[str, Any] | None:
    """Remove the members of a set and everything below them from ``value``; None if nothing is left.

    Containers that become empty are removed too, unless the schema allows them to be null.
    """
    result: dict[str, Any] = {}
    for name, item in value.items():
        path = fieldset.field(name)
        below = fields.get(path)
        if below is None:
            result[name] = item
        elif not fieldset.is_member(below):
            child = descend(node, path)[0]
            left = _remove(child, item, below)
            if left is not None or item is None or child.nullable:
                result[name] = left
    return result or None


def _remove(node: Node, value: Any, fields: Fields) -> Any:
    if node.kind is Kind.SCALAR or not value or node.atomic:
        return value
    if isinstance(value, dict):
        return remove(node, value, fields)
    if isinstance(value, list) and node.kind is Kind.LIST:
        return _remove_items(node, value, fields)
    return value


def _remove_items(node: Node, items: list[Any], fields: Fields) -> list[Any] | None:
    result: list[Any] = []
    for name, item in zip(elements(node, items), items, strict=True):
        below = fields.get(name)
        if below is None:
            result.append(item)
        elif not fieldset.is_member(below):
            left = _remove(node.items, item, below)
            if left is not None:
                result.append(left)
    return result or None
