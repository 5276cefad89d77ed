"""The metadata schema of custom resources and of resources embedded in them."""

from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import RawSchema

_STRING: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_INT64: Final = {"type": "integer", "format": "int64"}
_STRING_MAP: Final = {"type": "object", "additionalProperties": {"type": "string"}}

_OWNER: Final[RawSchema] = {
    "type": "object",
    "required": ["apiVersion", "kind", "name", "uid"],
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "apiVersion": _STRING,
        "kind": _STRING,
        "name": _STRING,
        "uid": _STRING,
        "controller": {"type": "boolean"},
        "blockOwnerDeletion": {"type": "boolean"},
    },
}

_MANAGER: Final[RawSchema] = {
    "type": "object",
    "properties": {
        "apiVersion": _STRING,
        "fieldsType": _STRING,
        "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "manager": _STRING,
        "operation": _STRING,
        "subresource": _STRING,
        "time": _TIME,
    },
}

OBJECT_META: Final[RawSchema] = {
    "type": "object",
    "properties": {
        "annotations": _STRING_MAP,
        "creationTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INT64,
        "deletionTimestamp": _TIME,
        "finalizers": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "generateName": _STRING,
        "generation": _INT64,
        "labels": _STRING_MAP,
        "managedFields": {"type": "array", "items": _MANAGER, "x-kubernetes-list-type": "atomic"},
        "name": _STRING,
        "namespace": _STRING,
        "ownerReferences": {
            "type": "array",
            "items": _OWNER,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
        },
        "resourceVersion": _STRING,
        "selfLink": _STRING,
        "uid": _STRING,
    },
}
"""The schema of metadata, with the list types that field ownership needs."""

TYPE_META: Final[RawSchema] = {"apiVersion": _STRING, "kind": _STRING, "metadata": OBJECT_META}


def with_meta(schema: RawSchema) -> dict[str, Any]:
    """The schema of a whole custom resource, with apiVersion, kind and metadata."""
    return {**schema, "type": "object", "properties": {**(schema.get("properties") or {}), **TYPE_META}}
