"""Defaults of schemas, and removal of nulls that are not allowed.

A null in a field that is not nullable counts as absent: it is replaced by the default, or dropped if there is none.
Nulls inside maps and lists stay, and validation refuses them.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from uniteddeployment.embedded.crd.structural import NOTHING, Node

Defaulter = Callable[[Any], None]

_SHARED = (str, int, float, bool)


def compile_defaulter(node: Node) -> Defaulter:
    """The function that sets defaults in a value in place."""
    given = {name: sub.default for name, sub in node.properties.items() if sub.default is not NOTHING}
    plain = {name: value for name, value in given.items() if isinstance(value, _SHARED)}
    copied = {name: value for name, value in given.items() if name not in plain}
    not_nullable = frozenset(name for name, sub in node.properties.items() if not sub.nullable)
    children = {name: compile_defaulter(sub) for name, sub in node.properties.items() if _deep(sub)}
    additional = node.additional
    entry = compile_defaulter(additional) if additional is not None and _deep(additional) else None
    item = compile_defaulter(node.items) if node.items is not None and _deep(node.items) else None

    def complete_fields(obj: dict[str, Any]) -> None:
        nulls = [key for key, value in obj.items() if value is None and key in not_nullable]
        for key in nulls:
            del obj[key]
        for key, value in plain.items():
            if key not in obj:
                obj[key] = value
        for key, value in copied.items():
            if key not in obj:
                obj[key] = deepcopy(value)
        for key, inner in children.items():
            below = obj.get(key)
            if below is not None:
                inner(below)

    def complete(value: Any) -> None:
        if type(value) is dict:
            if node.properties:
                complete_fields(value)
            if additional is not None:
                _entries(value, ((k, v) for k, v in value.items() if k not in node.properties), additional, entry)
        elif type(value) is list and node.items is not None:
            _entries(value, enumerate(value), node.items, item)

    return complete


def _entries(container: Any, entries: Any, node: Node, inner: Defaulter | None) -> None:
    for key, value in entries:
        if value is None and not node.nullable and node.default is not NOTHING:
            container[key] = deepcopy(node.default)
        if inner is not None:
            inner(container[key])


def _deep(node: Node) -> bool:
    """Whether values of this node can contain defaults."""
    entry = node.additional or node.items
    return bool(node.properties) or (entry is not None and (entry.default is not NOTHING or _deep(entry)))
