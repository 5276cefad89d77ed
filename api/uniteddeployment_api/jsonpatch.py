"""JSON patch (RFC 6902) for the ``overrides`` of a subset, with errors that name the operation.

Applying is pure: the document is copied, so that a patch that fails half-way has changed nothing.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment_api.strategic import PatchError

Operation = Mapping[str, Any]


def apply(document: Any, operations: Sequence[Operation]) -> Any:
    """``document`` with the operations done in their order. Raises PatchError with ``[index].path`` or the like."""
    result = copy.deepcopy(document)
    for index, operation in enumerate(operations):
        result = _applied(result, operation, f"[{index}]")
    return result


def tokens(pointer: str) -> tuple[str, ...]:
    """The steps of a JSON pointer. Raises ValueError for text that is none."""
    if pointer and not pointer.startswith("/"):
        raise ValueError("a JSON pointer starts with /")
    steps = pointer.split("/")[1:]
    if any(step.replace("~0", "").replace("~1", "").find("~") >= 0 for step in steps):
        raise ValueError("in a JSON pointer ~ is written ~0 and / inside a key ~1")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _applied(document: Any, operation: Operation, where: str) -> Any:
    path = _tokens(operation, "path", where)
    match operation["op"]:
        case "add":
            return _add(document, path, copy.deepcopy(_value(operation, where)), f"{where}.path")
        case "remove":
            _remove(document, path, f"{where}.path")
        case "replace":
            _find(document, path, f"{where}.path")
            return _replace(document, path, copy.deepcopy(_value(operation, where)), f"{where}.path")
        case "test":
            if not _same(_find(document, path, f"{where}.path"), _value(operation, where)):
                raise PatchError(f"{where}.value", f"{operation['path']} has another value")
        case "copy":
            taken = _find(document, _tokens(operation, "from", where), f"{where}.from")
            return _add(document, path, copy.deepcopy(taken), f"{where}.path")
        case "move":
            source = _tokens(operation, "from", where)
            if path[: len(source)] == source and path != source:
                raise PatchError(f"{where}.path", "a value cannot be moved into itself")
            return _add(document, path, _remove(document, source, f"{where}.from"), f"{where}.path")
        case other:
            raise PatchError(f"{where}.op", f"must be add, replace, remove, test, move or copy, not {other!r}")
    return document


def _tokens(operation: Operation, field: str, where: str) -> tuple[str, ...]:
    pointer = operation.get(field)
    if not isinstance(pointer, str):
        raise PatchError(f"{where}.{field}", "required")
    try:
        return tokens(pointer)
    except ValueError as error:
        raise PatchError(f"{where}.{field}", str(error)) from None


def _value(operation: Operation, where: str) -> Any:
    if "value" not in operation:
        raise PatchError(f"{where}.value", "required")
    return operation["value"]


def _find(document: Any, path: Sequence[str], where: str) -> Any:
    node = document
    for depth, step in enumerate(path):
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list):
            node = node[_index(step, len(node) - 1, where)]
        else:
            raise PatchError(where, f"there is no {_pointer(path[: depth + 1])}")
    return node


def _add(document: Any, path: Sequence[str], value: Any, where: str) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1], where), path[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(last, len(parent), where), value)
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise PatchError(where, f"{_pointer(path[:-1])} is neither an object nor a list")
    return document


def _replace(document: Any, path: Sequence[str], value: Any, where: str) -> Any:
    if not path:
        return value
    parent, last = _find(document, path[:-1], where), path[-1]
    parent[int(last) if isinstance(parent, list) else last] = value
    return document


def _remove(document: Any, path: Sequence[str], where: str) -> Any:
    if not path:
        raise PatchError(where, "the whole workload cannot be removed")
    taken = _find(document, path, where)
    parent, last = _find(document, path[:-1], where), path[-1]
    del parent[int(last) if isinstance(parent, list) else last]
    return taken


def _index(step: str, last: int, where: str) -> int:
    if not (step.isascii() and step.isdecimal()) or (len(step) > 1 and step[0] == "0"):
        raise PatchError(where, f"{step!r} is not the number of an entry of the list")
    if int(step) > last:
        raise PatchError(where, f"the list has no entry {step}")
    return int(step)


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)


def _pointer(path: Sequence[str]) -> str:
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in path)
