"""The annotation of client-side ``kubectl apply`` in server-side apply by kubectl.

``kubectl apply --server-side`` takes over an object from client-side apply without conflicts, and the annotation is
kept up to date so that a user can go back.
"""

from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery.golang import go_json
from uniteddeployment.embedded.apimachinery.nesting import NestingError, check_json
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields import typed
from uniteddeployment.embedded.managed_fields.compare import compare
from uniteddeployment.embedded.managed_fields.field_set import Fields
from uniteddeployment.embedded.schema.node import Node

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def owned(live: Obj, node: Node) -> Fields:
    """The fields that the annotation applied and that still have its values. Empty without the annotation."""
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
    for changed in (difference.modified, difference.added, difference.removed):
        fields = fieldset.difference(fields, changed)
    return fields


def refresh(merged: Obj, patch: Obj) -> Obj:
    """``merged`` with the annotation updated to the applied configuration, if the annotation exists."""
    metadata: dict[str, Any] = merged.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return merged
    inner = {name: value for name, value in (patch.get("metadata") or {}).items() if name != "managedFields"}
    if isinstance(inner.get("annotations"), dict):
        inner["annotations"] = {name: value for name, value in inner["annotations"].items() if name != ANNOTATION}
    text = go_json({**patch, "metadata": inner}) + "\n"
    return {**merged, "metadata": {**metadata, "annotations": {**annotations, ANNOTATION: text}}}
