"""JSON patch (RFC 6902) for the ``overrides`` of a subset, with errors that name the operation and the field of it.

The ``jsonpatch`` library applies; here its errors become ours, and ``test`` compares as JSON does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointer, JsonPointerException

from uniteddeployment_api.strategic import PatchError

Operation = Mapping[str, Any]

OPERATIONS = ("add", "replace", "remove", "test", "move", "copy")


def apply(document: Any, operations: Sequence[Operation]) -> Any:
    """``document`` with the operations done in their order; it is not changed itself.

    Raises PatchError with ``[index].path`` or the like.
    """
    result = document
    for index, operation in enumerate(operations):
        result = _applied(result, operation, f"[{index}]")
    return result


def tokens(pointer: str) -> tuple[str, ...]:
    """The steps of a JSON pointer. Raises ValueError for text that is none."""
    try:
        return tuple(JsonPointer(pointer).parts)
    except JsonPointerException:
        raise ValueError("a JSON pointer starts with /, has ~0 for ~ and ~1 for a / inside a key") from None


def _applied(document: Any, operation: Operation, where: str) -> Any:
    op = operation["op"]
    if op not in OPERATIONS:
        raise PatchError(f"{where}.op", f"must be {', '.join(OPERATIONS[:-1])} or {OPERATIONS[-1]}, not {op!r}")
    path = _pointer(operation, "path", where)
    if op in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"{where}.value", "required")
    if op == "remove" and not path.parts:
        raise PatchError(f"{where}.path", "the whole workload cannot be removed")
    if op in ("move", "copy"):
        _resolved(document, _pointer(operation, "from", where), f"{where}.from")
    if op == "test":
        if not _same(_resolved(document, path, f"{where}.path"), operation["value"]):
            raise PatchError(f"{where}.value", f"{operation['path']} has another value")
        return document
    try:
        return JsonPatch([dict(operation)]).apply(document)
    except (JsonPatchException, JsonPointerException) as error:
        raise PatchError(f"{where}.path", str(error)) from None


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
        raise PatchError(where, f"there is no {pointer.path}") from None


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)
