"""The OpenAPI v2 document: definitions of all served kinds. It has no paths; kubectl reads these in version 3.

Contract: custom kinds are published as a real server does it: version 2 cannot express junctors, nullable values and
unknown fields, so they are left out, and what remains describes less rather than anything wrong.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.discovery import schemas

Json = dict[str, Any]

DEFINITIONS: Final = "#/definitions/"
_SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_USED: Final = tuple(f"{schemas.META}{name}" for name in ("DeleteOptions", "Patch", "Status"))
_JUNCTORS: Final = frozenset(("allOf", "anyOf", "oneOf", "not"))
_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"


def document(resources: Iterable[Resource]) -> Json:
    """The body of ``/openapi/v2`` in JSON."""
    collected = _Definitions()
    for resource in resources:
        collected.resource(resource)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": {},
        "definitions": dict(sorted(collected.schemas.items())),
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer Token authentication",
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
            }
        },
        "security": [{"BearerToken": []}],
    }


class _Definitions:
    """The definitions so far; a definition brings those that it refers to."""

    def __init__(self) -> None:
        self.schemas: Json = {}

    def resource(self, resource: Resource) -> None:
        name = schemas.name_of(resource)
        if resource.custom:
            self.schemas[name] = self._expanded(_custom(resource))
        else:
            self._add(name)
        name, schema = schemas.list_kind(resource)
        self.schemas[name] = self._expanded(schema)
        for used in _USED if resource.scale is None else (*_USED, _SCALE):
            self._add(used)

    def _add(self, name: str) -> None:
        if name not in self.schemas:
            self.schemas[name] = {}  # kinds refer to themselves
            self.schemas[name] = self._expanded(schemas.definition(name))

    def _expanded(self, schema: Mapping[str, Any]) -> Json:
        expanded: Json = {}
        for key, value in schema.items():
            if key == "$ref":
                self._add(value)
                expanded[key] = f"{DEFINITIONS}{value}"
            elif key == "properties":
                expanded[key] = {name: self._expanded(sub) for name, sub in value.items()}
            elif key in {"items", "additionalProperties"} and isinstance(value, Mapping):
                expanded[key] = self._expanded(value)
            elif key == "oneOf":
                expanded["type"] = "string"  # quantities, and numbers that may be names
            elif key != "default":
                expanded[key] = value
        return expanded


def _custom(resource: Resource) -> Json:
    if resource.schema.get(_UNKNOWN):
        return {"type": "object", **schemas.marks(resource)}
    return schemas.custom_kind(resource, _reduced(resource.schema))


def _reduced(schema: Mapping[str, Any]) -> Json:
    """A structural schema without what version 2 cannot express."""
    reduced = {key: value for key, value in schema.items() if key not in _JUNCTORS and key != "nullable"}
    if schema.get("nullable") or schema.get(_UNKNOWN):
        for key in ("type", "items", "properties"):
            reduced.pop(key, None)
    fields: Mapping[str, Mapping[str, Any]] = reduced.get("properties", {})
    if fields:
        reduced["properties"] = {name: _reduced(sub) for name, sub in fields.items()}
        required = [name for name in reduced.get("required", ()) if not fields.get(name, {}).get("nullable")]
        reduced.pop("required", None)
        if required:
            reduced["required"] = required
    for key in ("items", "additionalProperties"):
        if isinstance(reduced.get(key), Mapping):
            reduced[key] = _reduced(reduced[key])
    return reduced if schema.get(_UNKNOWN) else dict(schemas.embedded(reduced))
