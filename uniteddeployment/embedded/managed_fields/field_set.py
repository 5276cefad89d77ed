"""Sets of field paths, in the form in which objects hold them (FieldsV1).

A set is a trie of nested dicts, as in ``managedFields``. Keys are path elements: ``f:name`` is a field, ``k:{...}`` the
list item with these keys, ``v:...`` the item of a set, ``i:0`` an index. A node without children is a member; a node
with children is a member only if it has the key ``.``. Stored sets therefore need no decoding, and results no encoding
except for the order of keys.

Sets are values: no function changes its arguments, and results share subtrees with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery.nesting import NestingError, check_json

Fields = dict[str, Any]
"""A set of paths. ``{}`` is the empty set at the top, and a single member anywhere below."""

SELF: Final = "."
LEAF: Final[Fields] = {}
"""A member without children. Shared: never changed."""

_KINDS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


class FieldsError(ValueError):
    """The text is not FieldsV1."""


def is_member(node: Mapping[str, Any]) -> bool:
    """Whether a node below the top is itself in the set."""
    return not node or SELF in node


def make(member: bool, children: Fields) -> Fields | None:
    """A node below the top, or None if it is not a member and has no children."""
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


@lru_cache(maxsize=8192)
def field(name: str) -> str:
    """The path element of a field."""
    return f"f:{name}"


def key(values: Mapping[str, Any]) -> str:
    """The path element of a list item with these keys."""
    return "k:" + msgspec.json.encode(dict(sorted(values.items()))).decode()


def value(item: Any) -> str:
    """The path element of an item of a set."""
    return "v:" + msgspec.json.encode(item).decode()


def union(a: Fields, b: Fields) -> Fields:
    """The union of two sets."""
    if not a or a is b:
        return b
    if not b:
        return a
    result = dict(a)
    for element, node in b.items():
        mine = result.get(element)
        result[element] = node if mine is None else _union(mine, node)
    return result


def _union(a: Fields, b: Fields) -> Fields:
    if a is b or not (a or b):
        return a
    member = not a or not b or SELF in a or SELF in b
    result: Fields = {SELF: LEAF} if member else {}
    result.update(a)
    for element, node in b.items():
        mine = result.get(element)
        result[element] = node if mine is None or element == SELF else _union(mine, node)
    return result


def difference(a: Fields, b: Fields) -> Fields:
    """The members of ``a`` that are not in ``b``; members below those of ``b`` stay."""
    if not a or not b:
        return a
    return _difference(a, b, top=True) or {}


def _difference(a: Fields, b: Fields, *, top: bool = False) -> Fields | None:
    children: Fields = {}
    changed = not top and is_member(a) and is_member(b)
    for element, node in a.items():
        if element == SELF:
            continue
        other = b.get(element)
        left = node if other is None else _difference(node, other)
        changed = changed or left is not node
        if left is not None:
            children[element] = left
    if not changed:
        return a
    return make(not top and is_member(a) and not is_member(b), children)


def without(a: Fields, b: Fields) -> Fields:
    """The members of ``a`` that are neither in ``b`` nor below a member of ``b``."""
    result: Fields = {}
    for element, node in a.items():
        other = b.get(element) if element != SELF else None
        if other is None:
            result[element] = node
        elif not is_member(other):
            left = without(node, other)
            if left or not node:
                result[element] = left
    return result


def intersection(a: Fields, b: Fields) -> Fields:
    """The intersection of two sets."""
    if not a or not b:
        return {}
    return _intersection(a, b, top=True) or {}


def _intersection(a: Fields, b: Fields, *, top: bool = False) -> Fields | None:
    children: Fields = {}
    for element, node in a.items():
        other = b.get(element) if element != SELF else None
        both = None if other is None else _intersection(node, other)
        if both is not None:
            children[element] = both
    return make(not top and is_member(a) and is_member(b), children)


def leaves(a: Fields) -> Fields:
    """The members that have no members below them."""
    return {element: leaves(node) for element, node in a.items() if element != SELF}


def has(a: Fields, path: Sequence[str]) -> bool:
    """Whether a path is in the set."""
    node = a
    for element in path:
        child = node.get(element)
        if child is None:
            return False
        node = child
    return bool(path) and is_member(node)


def insert(a: Fields, path: Sequence[str]) -> Fields:
    """The set with one more path."""
    added = LEAF
    for element in reversed(path):
        added = {element: added}
    return union(a, added)


def paths(a: Fields, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All members: at each place first its own, then those below, each in the canonical order."""
    ordered = sorted((element for element in a if element != SELF), key=_order)
    for element in ordered:
        if is_member(a[element]):
            yield (*prefix, element)
    for element in ordered:
        if a[element]:
            yield from paths(a[element], (*prefix, element))


def canonical(a: Fields) -> Fields:
    """The set with its keys in the order of the real server; the same set if they are in order."""
    changed = False
    children: Fields = {}
    for element, node in a.items():
        ordered = canonical(node) if node else node
        changed = changed or ordered is not node
        children[element] = ordered
    elements = list(a)
    if len(elements) > 1:
        wanted = sorted(elements)
        if wanted[-1][0] != "f" and wanted[-1] != SELF:
            wanted = sorted(elements, key=_order)
        if wanted != elements:
            return {element: children[element] for element in wanted}
    return children if changed else a


def _order(element: str) -> tuple[int, Any]:
    if element == SELF:
        return (-1, "")
    kind, text = element[0], element[2:]
    if kind == "k":
        return (1, [(name, _rank(item)) for name, item in sorted(msgspec.json.decode(text).items())])
    if kind == "v":
        return (2, _rank(msgspec.json.decode(text)))
    return (3, int(text)) if kind == "i" else (0, text)


def _rank(item: Any) -> tuple[int, Any]:
    """Sort key: numbers, then strings, then booleans, then the rest."""
    if isinstance(item, bool):
        return (2, item)
    if isinstance(item, int | float):
        return (0, item)
    if isinstance(item, str):
        return (1, item)
    return (3, repr(item))


def parse(raw: object) -> Fields:
    """Check FieldsV1 from a client and return it in canonical form. Raises FieldsError."""
    if not isinstance(raw, dict):
        raise FieldsError("FieldsV1 must be an object")
    return canonical(_parse(raw))


def _parse(raw: dict[str, Any]) -> Fields:
    result: Fields = {}
    for element, node in raw.items():
        if not isinstance(node, dict):
            raise FieldsError(f"invalid node at {element!r}")
        if element == SELF:
            result[SELF] = LEAF
            continue
        result[_element(element)] = _parse(node)
    return result if result.keys() != {SELF} else LEAF


@lru_cache(maxsize=8192)
def _element(text: str) -> str:
    kind, colon, rest = text.partition(":")
    if not colon or kind not in _KINDS:
        raise FieldsError(f"missing or unknown prefix in path element {text!r}")
    if kind == "f":
        return text
    try:
        check_json(rest.encode())
        decoded = msgspec.json.decode(rest)
    except (msgspec.DecodeError, NestingError) as error:
        raise FieldsError(f"path element {text!r}: {error}") from error
    if kind == "k":
        if not isinstance(decoded, dict) or not decoded:
            raise FieldsError(f"path element {text!r} must have an object of keys")
        return key(decoded)
    if kind == "i" and (isinstance(decoded, bool) or not isinstance(decoded, int)):
        raise FieldsError(f"path element {text!r} must have an index")
    return value(decoded) if kind == "v" else f"i:{decoded}"


def show(path: Sequence[str]) -> str:
    """A path in messages: ``.spec.containers[name="a"].image``."""
    return "".join(show_element(element) for element in path)


def show_element(element: str) -> str:
    """A path element in messages: ``.spec``, ``[name="a",port=80]``, ``[="x"]``, ``[0]``."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "i":
        return f"[{text}]"
    decoded = msgspec.json.decode(text)
    if kind == "v":
        return f"[={show_value(decoded)}]"
    return "[" + ",".join(f"{name}={show_value(item)}" for name, item in decoded.items()) + "]"


def show_value(item: Any) -> str:
    """A scalar in messages."""
    return msgspec.json.encode(item).decode()
