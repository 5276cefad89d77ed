"""Values read by a schema: paths of list items, validation, and the set of paths of a value.

The rules and error messages are those of server-side apply.
"""

from typing import Any

from uniteddeployment.embedded.apimachinery.golang import go_syntax, go_type, go_value
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.field_set import LEAF, SELF, Fields
from uniteddeployment.embedded.schema.node import ANY, Kind, Node


class TypedError(Exception):
    """A value that does not fit its schema; ``errors`` are complete messages with paths."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__(errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors]))
        self.errors = errors


class ItemError(Exception):
    """A list item that has no path."""


def element(node: Node, item: Any) -> str:
    """The path element of an item of a set or of a list of type map. Raises ItemError."""
    if node.list_type == "set":
        if isinstance(item, dict):
            raise ItemError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise ItemError("not supported: associative list with lists as elements")
        if item is None:
            raise ItemError("associative list without keys has an element that's an explicit null")
        return fieldset.value(item)
    if item is None:
        raise ItemError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ItemError("associative list with keys may not have non-map elements")
    keys = {}
    for name in node.keys:
        if name in item:
            keys[name] = item[name]
        elif name in node.key_defaults:
            keys[name] = node.key_defaults[name]
    if not keys:
        names = " ".join(f'"{name}"' for name in node.keys)
        raise ItemError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return fieldset.key(keys)


def elements(node: Node, items: list[Any]) -> list[str]:
    """The path elements of a stored list. Items without a path (old data) get their index."""
    path_elements = []
    for index, item in enumerate(items):
        try:
            path_elements.append(element(node, item))
        except ItemError:
            path_elements.append(f"i:{index}")
    return path_elements


def validate(node: Node, value: Any) -> None:
    """Check types, declared fields and the uniqueness of keys. Raises TypedError."""
    errors: list[str] = []
    _validate(node, value, "", errors)
    if errors:
        raise TypedError(errors)


def _validate(node: Node, value: Any, path: str, errors: list[str]) -> None:
    if value is None or node is ANY:
        return
    mismatch = ""
    if node.kind is Kind.SCALAR:
        mismatch = _wrong_scalar(node, value)
    elif node.kind is Kind.LIST:
        if isinstance(value, list):
            _validate_list(node, value, path, errors)
            return
        mismatch = f"expected list, got {go_value(value)}"
    elif isinstance(value, dict):
        for name, item in value.items():
            child = node.child(name)
            if child is None:
                errors.append(f"{path}.{name}: field not declared in schema")
                return
            _validate(child, item, f"{path}.{name}", errors)
        return
    elif node.kind is not Kind.ANY:
        mismatch = f"expected map, got {go_value(value)}"
    if mismatch:
        errors.append(f"{path}: {mismatch}" if path else mismatch)


def _wrong_scalar(node: Node, value: Any) -> str:
    scalar = node.scalar
    if scalar == "string":
        return "" if isinstance(value, str) else f"expected string, got {go_syntax(value)}"
    if scalar == "numeric":
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if fits else f"expected numeric (int or float), got {go_type(value)}"
    if scalar == "boolean":
        return "" if isinstance(value, bool) else f"expected boolean, got {go_value(value)}"
    return "" if not isinstance(value, dict | list) else f"expected any scalar, got {go_value(value)}"


def _validate_list(node: Node, items: list[Any], path: str, errors: list[str]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if node.atomic:
            _validate(node.items, item, f"{path}[{index}]", errors)
            continue
        try:
            path_element = element(node, item)
        except ItemError as error:
            errors.append(f"{path}: element {index}: {error}")
            return
        shown = fieldset.show_element(path_element)
        if path_element in seen:
            errors.append(f"{path}: duplicate entries for key {shown}")
        seen.add(path_element)
        _validate(node.items, item, path + shown, errors)


def field_set(node: Node, value: Any) -> Fields:
    """The paths that a manager who applies this value owns."""
    return _map_fields(node, value) if isinstance(value, dict) else {}


def _fields(node: Node, value: Any) -> Fields | None:
    """The node of a value below the top; None if it has nothing to own."""
    if isinstance(value, dict) and node.kind in (Kind.OBJECT, Kind.MAP, Kind.ANY):
        return LEAF if node.atomic else (_map_fields(node, value) or None)
    if isinstance(value, list) and node.kind is Kind.LIST:
        return LEAF if node.atomic else (_list_fields(node, value) or None)
    if value is None and node.kind is not Kind.SCALAR:
        return LEAF if node.atomic else None
    return LEAF


def _map_fields(node: Node, value: dict[str, Any]) -> Fields:
    result: Fields = {}
    declared = node.fields
    for name, item in value.items():
        child = declared.get(name)
        below = _fields(ANY if child is None and node.open is False else child or node.items, item)
        if below and SELF not in below and child is None:
            below = {SELF: LEAF, **below}
        elif below is None and (child is None or item is None or (isinstance(item, dict) and not item)):
            below = LEAF
        if below is not None:
            result[fieldset.field(name)] = below
    return result


def _list_fields(node: Node, items: list[Any]) -> Fields:
    result: Fields = {}
    for path_element, item in zip(elements(node, items), items, strict=True):
        if path_element in result:
            result[path_element] = LEAF
            continue
        below = _fields(node.items, item)
        result[path_element] = {SELF: LEAF, **below} if below and SELF not in below else below or LEAF
    return result


def named_members(fields: Fields, node: Node) -> Fields:
    """The set, with every declared field of an object that has members below it made a member."""
    result: Fields = {}
    for name, below in fields.items():
        if not below:
            result[name] = below
            continue
        inner, named = descend(node, name)
        grown = named_members(below, inner)
        result[name] = {SELF: LEAF, **grown} if named and SELF not in grown else grown
    return result


def reconciled(fields: Fields, node: Node) -> Fields:
    """The set with paths below an atomic value merged into one; the same set if there are none."""
    result = fields
    for name, below in fields.items():
        if not below or name == SELF:
            continue
        inner, _ = descend(node, name)
        folded = LEAF if inner.atomic else reconciled(below, inner)
        if folded is not below:
            result = dict(result) if result is fields else result
            result[name] = folded
    return result


def descend(node: Node, name: str) -> tuple[Node, bool]:
    """The schema below a path element, and whether the element is a declared field."""
    if name[0] == "f":
        child = node.fields.get(name[2:])
        if child is not None:
            return child, True
        return (node.items if node.open else ANY), False
    return (node.items if node.kind is Kind.LIST else ANY), False
