"""What OpenAPI documents say about built-in kinds beyond their fields: descriptions, enumerations and defaults.

``descriptions.json`` has the structure of the definitions and contains only these three keywords, as kube-apiserver
1.36.2 serves them at ``/openapi/v3``. Its texts, and those of the columns in ``builtin/kinds.json``, are part of
Kubernetes: copyright The Kubernetes Authors, Apache License 2.0, https://github.com/kubernetes/kubernetes.

Contract: the file is read when a document is requested for the first time. No request for an object needs it.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final

import msgspec

Json = dict[str, Any]

TYPE_META: Final = {
    "apiVersion": (
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert "
        "recognized schemas to the latest internal value, and may reject unrecognized values. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
    ),
    "kind": (
        "Kind is a string value representing the REST resource this object represents. Servers may infer this from "
        "the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
    ),
}
"""The descriptions of the two fields that every kind has; the file omits them."""

METADATA: Final = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_NESTED: Final = frozenset(("properties", "items", "additionalProperties"))


def described(name: str, schema: Mapping[str, Any]) -> Json:
    """A definition with what the file says about it."""
    result = _merged(schema, _descriptions().get(name, {}))
    if "x-kubernetes-group-version-kind" in schema:
        for field, description in TYPE_META.items():
            if field in result.get("properties", ()):
                result["properties"][field].setdefault("description", description)
    return result


def _merged(schema: Mapping[str, Any], says: Mapping[str, Any]) -> Json:
    result = {**schema, **{keyword: value for keyword, value in says.items() if keyword not in _NESTED}}
    if "properties" in schema:
        fields = says.get("properties", {})
        result["properties"] = {name: _merged(sub, fields.get(name, {})) for name, sub in schema["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            result[keyword] = _merged(schema[keyword], says.get(keyword, {}))
    return result


@lru_cache(maxsize=1)
def _descriptions() -> dict[str, Json]:
    raw = resources.files(__package__).joinpath("descriptions.json").read_bytes()
    decoded: dict[str, Json] = msgspec.json.decode(raw)
    return decoded
