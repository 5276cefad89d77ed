"""JSON patch (RFC 6902) by the ``jsonpatch`` library, adjusted to the real server's library.

``replace`` adds a missing key, ``test`` compares JSON rather than Python values, and the whole document can be replaced
or tested but not added or removed.
"""

from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec
from jsonpatch import (
    AddOperation,
    CopyOperation,
    InvalidJsonPatch,
    JsonPatch,
    JsonPatchException,
    JsonPatchTestFailed,
    MoveOperation,
    PatchOperation,
    RemoveOperation,
    ReplaceOperation,
    TestOperation,
)
from jsonpointer import JsonPointerException

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import StatusError, bad_request

MAX_OPERATIONS: Final = 10_000
_REJECTED: Final = "the server rejected our request due to an error in our request"
_WHOLE: Final = frozenset({"replace", "test"})


class _Replace(ReplaceOperation):
    def apply(self, obj: Any) -> Any:
        parent, name = self.pointer.to_last(obj)
        if isinstance(parent, dict) and name is not None and name not in parent:
            parent[name] = self.operation["value"]
            return obj
        return super().apply(obj)


class _Test(TestOperation):
    def apply(self, obj: Any) -> Any:
        parent, name = self.pointer.to_last(obj)
        missing = isinstance(parent, dict) and name is not None and name not in parent
        value = None if missing else self.pointer.resolve(obj)
        if _text(value) != _text(self.operation.get("value")):
            raise JsonPatchTestFailed("testing path failed")
        return obj


def _text(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


class _Patch(JsonPatch):
    operations: ClassVar[MappingProxyType[str, type[PatchOperation]]] = MappingProxyType(
        {
            "add": AddOperation,
            "copy": CopyOperation,
            "move": MoveOperation,
            "remove": RemoveOperation,
            "replace": _Replace,
            "test": _Test,
        }
    )


def apply(doc: Obj, body: object) -> Obj:
    """Apply operations (decoded JSON) to ``doc``, which is not changed.

    Raises StatusError: 400 if ``body`` is not a list of operations, 413 for too many, 422 for one that cannot be
    applied.
    """
    operations = _operations(body)
    for operation in operations:
        if operation.get("path") == "" and operation.get("op") not in _WHOLE:
            raise _rejected()
    try:
        result = _Patch(operations).apply(msgspec.json.decode(msgspec.json.encode(doc)), in_place=True)
    except (JsonPatchException, JsonPointerException, InvalidJsonPatch, TypeError, IndexError, RecursionError) as error:
        raise _rejected() from error
    if not isinstance(result, dict):
        raise _rejected()
    return result


def _operations(decoded: object) -> list[dict[str, Any]]:
    if decoded is None:
        return []
    if not isinstance(decoded, list):
        raise bad_request(_mismatch(decoded, "[]handlers.jsonPatchOp"))
    if len(decoded) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(decoded)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity is too large: {message}")
    for operation in decoded:
        if not isinstance(operation, dict):
            raise bad_request(_mismatch(operation, "handlers.jsonPatchOp"))
    return decoded


def _mismatch(value: Any, wanted: str) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    shape = names.get(type(value), "null")
    return f"error decoding patch: json: cannot unmarshal {shape} into Go value of type {wanted}"


def _rejected() -> StatusError:
    return StatusError(422, "Invalid", _REJECTED, details={})
