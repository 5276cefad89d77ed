"""The schemas of OpenAPI documents: built-in kinds with their descriptions, and custom kinds with their metadata."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.builtin.shapes import definitions
from uniteddeployment.embedded.discovery.descriptions import METADATA, TYPE_META, described

Json = dict[str, Any]

SCHEMAS: Final = "#/components/schemas/"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_SPECIAL: Final[Mapping[str, Json]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    f"{META}Time": {"type": "string", "format": "date-time"},
    f"{META}MicroTime": {"type": "string", "format": "date-time"},
    f"{META}FieldsV1": {"type": "object"},
    f"{META}Patch": {"type": "object"},
    f"{META}ListMeta": {
        "type": "object",
        "properties": {
            "continue": {"type": "string"},
            "remainingItemCount": {"type": "integer", "format": "int64"},
            "resourceVersion": {"type": "string"},
            "selfLink": {"type": "string"},
            "shardInfo": {"$ref": f"{META}ShardInfo"},
        },
    },
    f"{META}ShardInfo": {"type": "object", "required": ["selector"], "properties": {"selector": {"type": "string"}}},
}
"""Schemas whose wire format differs from their definition."""

_EMBEDDED_META: Final = {
    "apiVersion": {
        "type": "string",
        "description": "apiVersion defines the versioned schema of this representation of an object. More info: "
        f"{_CONVENTIONS}#resources",
    },
    "kind": {
        "type": "string",
        "description": "kind is a string value representing the type of this object. In CamelCase. More info: "
        f"{_CONVENTIONS}#types-kinds",
    },
    "metadata": {"$ref": f"{META}ObjectMeta", "description": METADATA},
}
"""The fields that a schema with ``x-kubernetes-embedded-resource`` gets."""


def gvk_of(resource: Resource) -> Json:
    """The group, version and kind as documents have them."""
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def name_of(resource: Resource) -> str:
    """The name of the schema of a resource's kind."""
    if resource.custom:
        return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    key = (resource.group, resource.version, resource.kind)
    return _names().get(key, "io.k8s.apimachinery.pkg.runtime.RawExtension")


def custom_kind(resource: Resource, schema: Mapping[str, Any]) -> Json:
    """The schema of a custom kind with the fields that every kind has."""
    result = {**schema, "properties": {**schema.get("properties", {})}}
    result["properties"].update(
        apiVersion={"type": "string", "description": TYPE_META["apiVersion"]},
        kind={"type": "string", "description": TYPE_META["kind"]},
        metadata={"$ref": f"{META}ObjectMeta", "description": METADATA},
    )
    return {**result, **marks(resource)}


def marks(resource: Resource) -> Json:
    """The extensions of the schema of a custom kind."""
    result: Json = {"x-kubernetes-group-version-kind": [gvk_of(resource)]}
    if resource.field_selectors:
        result["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in resource.field_selectors]
    return result


def list_kind(resource: Resource) -> tuple[str, Json]:
    """The name and the schema of lists of a resource."""
    kind = resource.extra.get("listKind") or f"{resource.kind}List"
    item = name_of(resource)
    name = f"{item.rpartition('.')[0]}.{kind}"
    schema: Json = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": item}},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"{META}ListMeta"},
        },
        "x-kubernetes-group-version-kind": [{**gvk_of(resource), "kind": kind}],
    }
    if resource.custom:
        fields = schema["properties"]
        schema["description"] = f"{kind} is a list of {resource.kind}"
        fields["items"]["description"] = f"List of {resource.plural}. More info: {_CONVENTIONS}"
        fields["metadata"]["description"] = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"
    return name, described(name, schema)


def definition(name: str) -> Json:
    """A built-in definition by its name, with its descriptions."""
    return described(name, _SPECIAL.get(name) or definitions()[name])


def embedded(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with the metadata of an object, if it is one that contains an object."""
    if not schema.get("x-kubernetes-embedded-resource"):
        return schema
    required = list(schema.get("required", ()))
    required += [name for name in ("kind", "apiVersion") if name not in required]
    return {**schema, "required": required, "properties": {**schema.get("properties", {}), **_EMBEDDED_META}}


class Components:
    """The schemas of a document: those requested and those that they refer to."""

    def __init__(self) -> None:
        self.schemas: Json = {}

    def kind(self, resource: Resource) -> str:
        """The name of the schema of a resource's kind."""
        name = name_of(resource)
        if not resource.custom:
            self.add(name)
        elif name not in self.schemas:
            self.schemas[name] = self._expanded(custom_kind(resource, resource.schema))
        return name

    def list(self, resource: Resource) -> str:
        """The name of the schema of lists of a resource."""
        self.kind(resource)
        name, schema = list_kind(resource)
        if name not in self.schemas:
            self.schemas[name] = self._expanded(schema)
        return name

    def built_in(self, gvk: tuple[str, str, str]) -> str:
        """The name of the schema of a built-in kind."""
        name = _names()[gvk]
        self.add(name)
        return name

    def add(self, name: str) -> Json:
        """A reference to a schema, which is added to the document if it is missing."""
        if name not in self.schemas:
            self.schemas[name] = {}  # kinds refer to themselves
            self.schemas[name] = self._expanded(definition(name))
        return {"$ref": f"{SCHEMAS}{name}"}

    def _expanded(self, schema: Mapping[str, Any]) -> Json:
        """A definition with its references in the form of a document."""
        expanded: Json = {}
        for key, value in embedded(schema).items():
            if key == "$ref":
                reference = self.add(value)
                expanded.update(reference if len(schema) == 1 else {"allOf": [reference]})
            elif key == "properties":
                expanded[key] = {name: self._expanded(sub) for name, sub in value.items()}
            elif key in {"items", "additionalProperties"} and isinstance(value, Mapping):
                expanded[key] = self._expanded(value)
            else:
                expanded[key] = value
        return expanded


@lru_cache(maxsize=1)
def _names() -> dict[tuple[str, str, str], str]:
    """The definition of each built-in kind."""
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, content in definitions().items()
        for gvk in content.get("x-kubernetes-group-version-kind", ())
    }
