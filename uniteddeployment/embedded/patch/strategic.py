"""Strategic merge patch: a merge patch that merges lists by the keys that the schema names.

Directives: ``$patch`` (replace, delete) in maps and in list items, ``$deleteFromPrimitiveList/...``,
``$setElementOrder/...`` and ``$retainKeys``. Error messages are the real server's, which answers some errors (a missing
merge key) with 500.
"""

from typing import Any, Final

from uniteddeployment.embedded.apimachinery.golang import go_plain
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import Cause, StatusError, bad_request, invalid
from uniteddeployment.embedded.patch.ordering import in_order, partition
from uniteddeployment.embedded.schema.node import ANY, Kind, Node

PATCH: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
SET_ORDER: Final = "$setElementOrder/"
DELETE_FROM: Final = "$deleteFromPrimitiveList/"


def apply(doc: Obj, patch: Obj, node: Node) -> Obj:
    """Apply a strategic merge patch. Neither argument is changed; the result may share parts with both.

    Raises StatusError: 400 for malformed directives, 422 for values of the wrong type, 500 for list items without their
    merge key.
    """
    result = _merge_map(doc, patch, node)
    mismatch = _mismatch(patch, node)
    if mismatch:
        raise invalid(
            "", "", "", [Cause("FieldValueInvalid", f'Invalid value: "{go_plain(patch)}": {mismatch}', "patch")]
        )
    return result


def _merge_map(original: dict[str, Any], patch: dict[str, Any], node: Node) -> dict[str, Any]:
    directive = patch.get(PATCH)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != PATCH}
    if directive == "delete":
        return {}
    if PATCH in patch:
        raise StatusError(500, "", f"unknown patch type: {directive} in map: {go_plain(patch)}")
    result = _retained(original, patch)
    done = {RETAIN_KEYS}
    for name, order in patch.items():
        if name.startswith(SET_ORDER):
            done |= {name, name.removeprefix(SET_ORDER)}
            _merge_ordered(result, patch, name.removeprefix(SET_ORDER), order, node)
    for name, value in patch.items():
        if name not in done:
            _merge_field(result, name, value, node)
    return result


def _retained(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A copy of ``original`` with the keys that ``$retainKeys`` names."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    keys = patch[RETAIN_KEYS]
    if not isinstance(keys, list):
        raise bad_request("invalid patch format of retainKeys")
    for name, value in patch.items():
        directive = name == RETAIN_KEYS or name.startswith((DELETE_FROM, SET_ORDER))
        if value is not None and not directive and name not in keys:
            raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in keys}


def _merge_field(result: dict[str, Any], name: str, value: Any, node: Node) -> None:
    if name.startswith(DELETE_FROM):
        name = name.removeprefix(DELETE_FROM)
        if not isinstance(value, list):
            raise bad_request("invalid patch format of primitive list")
        if isinstance(result.get(name), list):
            result[name] = [item for item in result[name] if item not in value]
        return
    if value is None:
        result.pop(name, None)
        return
    present = result.get(name)
    child = node.child(name) or ANY
    if isinstance(present, dict) and isinstance(value, dict):
        result[name] = value if child.patch_replace else _merge_map(present, value, child)
    elif isinstance(present, list) and isinstance(value, list):
        result[name] = _merge_list(present, value, child)
    else:
        result[name] = _plain(value)


def _plain(value: Any) -> Any:
    """A new value without directives and without nulls."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if item is not None and not _directive(name)}
    if isinstance(value, list):
        kept = [item for item in value if not (isinstance(item, dict) and item.get(PATCH) in ("delete", "replace"))]
        return [_plain(item) for item in kept]
    return value


def _directive(name: str) -> bool:
    return name in (PATCH, RETAIN_KEYS) or name.startswith((SET_ORDER, DELETE_FROM))


def _merge_list(original: list[Any], patch: list[Any], node: Node) -> list[Any]:
    if not node.patch_merge:
        return patch
    if not original and not patch:
        return original
    if any(isinstance(item, list) for item in (*original, *patch)):
        raise StatusError(422, "Invalid", "lists of lists are not supported", details={})
    if not any(isinstance(item, dict) for item in (*original, *patch)):
        merged = list(dict.fromkeys([*original, *patch]))
        return in_order(*partition(merged, patch, ""), patch, original, "")
    key = node.merge_key
    if not key:
        raise StatusError(500, "", f"cannot merge lists without merge key for {node.definition}")
    original, wanted = _special_items(original, patch, key)
    if wanted is None:
        return original
    merged = _merge_items(original, wanted, key, node.items)
    return in_order(*partition(merged, wanted, key), wanted, original, key)


def _key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise StatusError(500, "", f"expected a map[string]interface {{}}, but received a {type(item).__name__}")
    if key not in item:
        raise StatusError(500, "", f"map: {go_plain(item)} does not contain declared merge key: {key}")
    return item[key]


def _has_key(item: Any, key: str, value: Any) -> bool:
    return isinstance(item, dict) and key in item and item[key] == value


def _special_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any] | None]:
    """Apply items with ``$patch``: returns the list to merge into and the items to merge (None if there are none
    left).
    """
    plain: list[Any] = []
    replaced = False
    for item in patch:
        directive = item.get(PATCH) if isinstance(item, dict) else None
        if directive is None:
            plain.append(item)
        elif directive == "delete":
            deleted = _key_of(item, key)
            original = [other for other in original if not _has_key(other, key, deleted)]
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise StatusError(500, "", "merging lists cannot yet be specified in the patch")
        else:
            raise StatusError(500, "", f"unknown patch type: {directive} in map: {go_plain(item)}")
    return (plain, None) if replaced else (original, plain)


def _merge_items(original: list[Any], patch: list[Any], key: str, node: Node) -> list[Any]:
    result = list(original)
    for item in patch:
        wanted = _key_of(item, key)
        for index, existing in enumerate(result):
            if _has_key(existing, key, wanted):
                result[index] = _merge_map(existing, item, node)
                break
        else:
            result.append(_plain(item))
    return result


def _merge_ordered(result: dict[str, Any], patch: dict[str, Any], name: str, order: Any, node: Node) -> None:
    """Merge a list whose order the patch determines."""
    original, wanted = result.get(name), patch.get(name)
    if not isinstance(order, list) or (wanted is not None and not isinstance(wanted, list)):
        raise bad_request("invalid patch format of setElementOrder list")
    if original is None and wanted is None:
        return
    child = node.child(name) or ANY
    key = child.merge_key
    if wanted:
        _check_order(wanted, order, key)
    if wanted is None:
        merged = list(original or ())
    elif original is None:
        merged = _plain(wanted)
    else:
        merged = _merge_list(original, wanted, child)
    result[name] = in_order(*partition(merged, order, key), order, original or [], key)


def _check_order(wanted: list[Any], order: list[Any], key: str) -> None:
    """Check that the patch's items are in the order list, in the same order."""

    def name(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    kept = [item for item in wanted if not (isinstance(item, dict) and item.get(PATCH) == "delete")]
    places = iter(order)
    if all(any(name(place) == name(item) for place in places) for item in kept):
        return
    message = (
        f"The order in patch list:\n{go_plain(wanted)}\n doesn't match $setElementOrder list:\n{go_plain(order)}\n"
    )
    raise StatusError(500, "", message)


def _mismatch(value: Any, node: Node) -> str:
    """The real server's message about a value that does not fit its field's type; empty if it fits."""
    if value is None or node.kind is Kind.ANY or (node.scalar == "untyped" and node.kind is Kind.SCALAR):
        return ""
    if node.kind is Kind.SCALAR:
        return _scalar_mismatch(value, node)
    if node.kind is Kind.LIST:
        if not isinstance(value, list):
            return f"cannot restore slice from {_go_kind(value)}"
        below = [(item, node.items) for item in value]
    else:
        if not isinstance(value, dict):
            return f"cannot restore {'map from' if node.kind is Kind.MAP else 'struct from:'} {_go_kind(value)}"
        below = [(item, node.child(name) or ANY) for name, item in value.items() if not _directive(name)]
    return next((mismatch for mismatch in (_mismatch(item, child) for item, child in below) if mismatch), "")


def _scalar_mismatch(value: Any, node: Node) -> str:
    wanted = node.type_name
    if isinstance(value, str):
        return "" if wanted == "string" else f"unrecognized type: {wanted}"
    if isinstance(value, bool):
        return "" if wanted == "bool" else f"unrecognized type: {wanted}"
    if isinstance(value, int | float):
        if wanted.startswith(("int", "float", "double")) and (isinstance(value, int) or value.is_integer()):
            return ""
        if wanted in ("float64", "double"):
            return ""
        convertible = wanted != "bool" and not (wanted == "string" and isinstance(value, float))
        return f"cannot convert {_go_kind(value)} to {wanted}" if convertible else f"unrecognized type: {wanted}"
    return f"unrecognized type: {wanted}"


def _go_kind(value: Any) -> str:
    names = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
    return names[type(value)]
