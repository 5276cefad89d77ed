"""JSON patch (RFC 6902) for the ``overrides`` of a subset, with errors that name the operation and its field.

The ``jsonpatch`` library applies the operations. This module translates its errors, compares values of ``test`` as JSON
values, and limits copied bytes and nesting depth, as API servers do. It copies only the lists and objects on the path
to a change, so the cost of an operation depends on the change and not on the size of the document.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointer, JsonPointerException

from uniteddeployment_api import limits
from uniteddeployment_api.strategic import PatchError

Operation = Mapping[str, Any]

OPERATIONS = ("add", "replace", "remove", "test", "move", "copy")


@dataclass(slots=True)
class CopyBudget:
    """Bytes of JSON that the copy operations of one list may still copy."""

    left: int = limits.MAX_COPIED_BYTES

    def spend(self, value: Any, where: str) -> None:
        """Account for a copy of ``value``. Raises PatchError if the budget is exceeded."""
        self.left -= limits.size(value)
        if self.left < 0:
            most = limits.mebibytes(limits.MAX_COPIED_BYTES)
            raise PatchError(where, f"the copy operations of a subset must not copy more than {most} in total")


def apply(document: Any, operations: Sequence[Operation], budget: CopyBudget | None = None) -> Any:
    """Return ``document`` with the operations applied in order. ``document`` itself is not changed.

    Raises PatchError with the location in the list, such as ``[0].path``. Callers that apply a list in several calls
    pass the same ``budget`` to each.
    """
    result = document
    budget = budget or CopyBudget()
    for index, operation in enumerate(operations):
        result = _applied(result, operation, f"[{index}]", budget)
    return result


def tokens(pointer: str) -> tuple[str, ...]:
    """Split a JSON pointer into its unescaped steps. Raises ValueError if ``pointer`` is not a JSON pointer."""
    try:
        return tuple(JsonPointer(pointer).parts)
    except JsonPointerException:
        raise ValueError(
            "not a JSON pointer: it must start with /; inside a key, write ~0 for ~ and ~1 for /"
        ) from None


def _applied(document: Any, operation: Operation, where: str, budget: CopyBudget) -> Any:
    op = operation["op"]
    if op not in OPERATIONS:
        raise PatchError(f"{where}.op", f"must be {', '.join(OPERATIONS[:-1])} or {OPERATIONS[-1]}, not {op!r}")
    path = _pointer(operation, "path", where)
    if op in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"{where}.value", "required")
    if op == "remove" and not path.parts:
        raise PatchError(f"{where}.path", "the whole workload cannot be removed")
    if op == "test":
        if not _same(_resolved(document, path, f"{where}.path"), operation["value"]):
            raise PatchError(f"{where}.value", f"the value of {operation['path']} is different")
        return document
    changed = [path.parts]
    if op in ("add", "replace"):
        _check_depth(path, operation["value"], f"{where}.path")
    elif op in ("move", "copy"):
        source = _pointer(operation, "from", where)
        value = _resolved(document, source, f"{where}.from")
        _check_depth(path, value, f"{where}.path")
        if op == "copy":
            budget.spend(value, f"{where}.from")
        else:
            changed.append(source.parts)
    for parts in changed:
        document = _unshared(document, parts)
    try:
        return JsonPatch([dict(operation)]).apply(document, in_place=True)
    except (JsonPatchException, JsonPointerException) as error:
        raise PatchError(f"{where}.path", str(error)) from None


def _check_depth(path: JsonPointer, value: Any, where: str) -> None:
    left = limits.MAX_DEPTH - len(path.parts)
    if left < 0 or limits.deeper_than(value, left):
        raise PatchError(where, f"the result must not be nested more than {limits.MAX_DEPTH} levels deep")


def _unshared(document: Any, parts: Sequence[str]) -> Any:
    """Return ``document`` with copies of only those lists and objects that contain the change at ``parts``."""
    result = node = copy.copy(document)
    for part in parts[:-1]:
        if isinstance(node, dict) and part in node:
            step: Any = part
        elif isinstance(node, list) and part.isascii() and part.isdecimal() and int(part) < len(node):
            step = int(part)
        else:
            break  # the library reports the invalid path
        node[step] = node = copy.copy(node[step])
    return result


def _pointer(operation: Operation, field: str, where: str) -> JsonPointer:
    text = operation.get(field)
    if not isinstance(text, str):
        raise PatchError(f"{where}.{field}", "required")
    try:
        tokens(text)
    except ValueError as error:
        raise PatchError(f"{where}.{field}", str(error)) from None
    return JsonPointer(text)


def _resolved(document: Any, pointer: JsonPointer, where: str) -> Any:
    try:
        return pointer.resolve(document)
    except JsonPointerException:
        raise PatchError(where, f"{pointer.path} does not exist") from None


def _same(a: Any, b: Any) -> bool:
    """Compare as JSON values: unlike in Python, true does not equal 1."""
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(left, right) for left, right in zip(a, b, strict=True))
    return bool(a == b)
