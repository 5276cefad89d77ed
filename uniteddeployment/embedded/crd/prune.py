"""Pruning of fields that a schema does not declare.

:func:`compile_pruner` compiles a schema to one function, which changes an object in place and returns the paths of
dropped fields, or None in the usual case that there are none. It also normalizes numbers, as the real server stores
``2.0`` as ``2``.
"""

from collections.abc import Callable
from typing import Any

from uniteddeployment.embedded.crd.structural import META_FIELDS, Node, parse
from uniteddeployment.embedded.schema.object_meta import OBJECT_META

Pruner = Callable[[Any], list[str] | None]
"""Prunes a value; returns the paths of dropped fields relative to it (``.name``, ``[0].name``)."""


def compile_pruner(root: Node) -> Callable[[Any], list[str]]:
    """Prunes custom resources except their metadata; the paths are in the real server's order."""
    prune = _fields(root, is_root=True)
    embedded = _embedded(root)

    def pruned(obj: Any) -> list[str]:
        unknown = sorted(prune(obj) or ())
        if embedded is not None:
            unknown += embedded(obj) or ()
        return [path.removeprefix(".") for path in unknown]

    return pruned


def _fields(node: Node, *, is_root: bool = False) -> Pruner:
    """The pruner of one node, for values of any type."""
    prune_map = _map_pruner(node, META_FIELDS if node.embedded or is_root else frozenset[str]())
    prune_list = _list_pruner(node)

    def prune(value: Any) -> list[str] | None:
        kind = type(value)
        if kind is dict:
            return prune_map(value)
        return prune_list(value) if kind is list else None

    return prune


def _map_pruner(node: Node, kept: frozenset[str]) -> Pruner:
    children = {name: _fields(sub) for name, sub in node.properties.items()}
    additional = None if node.additional is None else _fields(node.additional)
    preserve = node.preserve

    def prune(value: dict[str, Any]) -> list[str] | None:
        paths: list[str] = []
        dropped: list[str] = []
        for key, item in value.items():
            if key in kept:
                continue
            inner = children.get(key, additional)
            kind = type(item)
            if inner is None:
                if not preserve:
                    dropped.append(key)
            elif kind is dict or kind is list:
                below = inner(item)
                if below:
                    paths += [f".{key}{path}" for path in below]
            elif kind is float and item.is_integer() and abs(item) < 2**63:
                value[key] = int(item)
        for key in dropped:
            del value[key]
            paths.append(f".{key}")
        return paths

    return prune


def _list_pruner(node: Node) -> Pruner:
    if node.items is None and node.preserve:
        return lambda _value: None
    inner = _drop_all if node.items is None else _fields(node.items)

    def prune(value: list[Any]) -> list[str] | None:
        dropped: list[str] = []
        for index, item in enumerate(value):
            below = inner(item)
            if below:
                dropped += [f"[{index}]{path}" for path in below]
        return dropped

    return prune


def _drop_all(value: Any) -> list[str] | None:
    """Nothing is declared: maps lose all fields."""
    if type(value) is dict:
        dropped = [f".{key}" for key in value]
        value.clear()
        return dropped
    if type(value) is list:
        return [f"[{index}]{path}" for index, item in enumerate(value) for path in _drop_all(item) or ()]
    return None


def _embedded(node: Node) -> Pruner | None:
    """The pruner of the metadata of embedded resources below a node, or None if there are none."""
    children = {name: inner for name, sub in node.properties.items() if (inner := _embedded(sub))}
    additional = _embedded(node.additional) if node.additional else None
    items = _embedded(node.items) if node.items else None
    own = node.embedded
    if not (own or children or additional or items):
        return None

    def prune(value: Any) -> list[str] | None:
        dropped: list[str] = []
        if type(value) is dict:
            if own:
                dropped += [f".metadata{path}" for path in _METADATA(value.get("metadata")) or ()]
            for key, item in value.items():
                inner = children.get(key, additional)
                if inner is not None:
                    dropped += [f".{key}{path}" for path in inner(item) or ()]
        elif type(value) is list and items is not None:
            dropped += [f"[{index}]{path}" for index, item in enumerate(value) for path in items(item) or ()]
        return dropped

    return prune


_METADATA: Pruner = _fields(parse(OBJECT_META))
