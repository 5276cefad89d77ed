"""The annotation of client-side ``kubectl apply``, where server-side apply by kubectl has to do with it.

An object that kubectl applied on the client's side is taken over by ``kubectl apply --server-side`` without conflicts,
and the annotation is kept in step so that a user may go back.
"""

from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery.nesting import NestingError, check_json
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields import typed
from uniteddeployment.embedded.managed_fields.compare import compare
from uniteddeployment.embedded.managed_fields.field_set import Fields
from uniteddeployment.embedded.schema.node import Node

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def owned(live: Obj, node: Node) -> Fields:
    """What the annotation says was applied and is still as it says. Empty if there is no such annotation."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
    if not text:
        return {}
    try:
        check_json(text.encode())
        applied = msgspec.json.decode(text)
        if not isinstance(applied, dict):
            return {}
        typed.validate(node, applied)
    except (msgspec.DecodeError, NestingError, typed.TypedError):
        return {}
    difference = compare(node, applied, live)
    fields = typed.field_set(node, applied)
    for gone in (difference.modified, difference.added, difference.removed):
        fields = fieldset.difference(fields, gone)
    return fields


def refresh(merged: Obj, patch: Obj) -> Obj:
    """``merged`` with the annotation, if it has one, saying what was applied now."""
    metadata: dict[str, Any] = merged.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if ANNOTATION not in annotations:
        return merged
    inner = {name: value for name, value in (patch.get("metadata") or {}).items() if name != "managedFields"}
    if isinstance(inner.get("annotations"), dict):
        inner["annotations"] = {name: value for name, value in inner["annotations"].items() if name != ANNOTATION}
    text = msgspec.json.encode({**patch, "metadata": inner}, order="deterministic").decode() + "\n"
    return {**merged, "metadata": {**metadata, "annotations": {**annotations, ANNOTATION: text}}}
