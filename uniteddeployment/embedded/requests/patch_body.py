"""Bodies of JSON, merge and strategic merge patches: decoded, and applied to an object."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.golang import go_plain
from uniteddeployment.embedded.apimachinery.json_document import Document, distinct, document, duplicates
from uniteddeployment.embedded.apimachinery.nesting import NestingError, check_value
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.builtin.decoding import complaints
from uniteddeployment.embedded.builtin.shapes import Field, Shape
from uniteddeployment.embedded.errors import bad_request
from uniteddeployment.embedded.patch import json_patch as jsonpatch
from uniteddeployment.embedded.patch import merge, strategic
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests.json_body import parse_json, repeated
from uniteddeployment.embedded.schema.node import Node

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"

_TEXT: Final = Field(shapes.STRING, "string")
_OPERATION: Final = Shape("jsonPatchOp", {"op": _TEXT, "path": _TEXT, "from": _TEXT, "value": shapes.ANYTHING})
_OPERATIONS: Final = Field(shapes.LIST, "[]handlers.jsonPatchOp", item=Field(shapes.STRUCT, "", shape=_OPERATION))


@dataclass(frozen=True, slots=True)
class PatchBody:
    """A decoded patch; ``complaints`` are errors of strict decoding in the patch itself."""

    media: str
    value: Any
    complaints: Sequence[str] = ()

    @property
    def strategic(self) -> bool:
        return self.media == STRATEGIC_PATCH

    @property
    def shown(self) -> str:
        """The value in errors about the result."""
        return json.dumps(go_plain(self.value), ensure_ascii=False) if self.strategic else "<object>"

    def apply_to(self, live: Obj, node: Node) -> Obj:
        """Apply the patch to ``live``; the result is private."""
        if self.media == MERGE_PATCH:
            return clone(merge.apply(live, self.value))
        if self.strategic:
            return clone(strategic.apply(live, self.value, node))
        patched = jsonpatch.apply(live, self.value)
        try:
            check_value(patched)
        except NestingError as error:
            raise bodies.bad_patch(str(error)) from error
        return clone(patched)


def read(media: str, body: bytes) -> PatchBody:
    """Decode a patch. Raises StatusError (400)."""
    prefix = "" if media == STRATEGIC_PATCH else "error decoding patch: "
    try:
        value = parse_json(body)
    except ValueError as error:
        raise bad_request(f"{prefix}{error}") from error
    if media == JSON_PATCH:
        return PatchBody(media, value, _operation_complaints(body, value))
    if value is None:
        if media == MERGE_PATCH:
            raise bad_request("Invalid JSON Patch")
        value = {}
    if not isinstance(value, dict):
        shape = bodies.json_type(value)
        raise bad_request(f"{prefix}json: cannot unmarshal {shape} into Go value of type map[string]interface {{}}")
    text = repeated(body, value)
    return PatchBody(media, value, () if text is None else distinct(duplicates(text)))


def _operation_complaints(body: bytes, value: Any) -> Sequence[str]:
    operations = value if isinstance(value, list) else ()
    known = _OPERATION.fields.keys()
    if all(operation.keys() <= known for operation in operations if isinstance(operation, dict)):
        text: Document | None = repeated(body, value)
    else:
        text = document(body)
    return () if text is None else [f"json patch {said}" for said in complaints(text, _OPERATIONS)]
