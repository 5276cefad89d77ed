"""Versions of a definition as messages quote them: the JSON of Go's internal types.

Fields have Go's names and order, and all of them are present.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

HOISTED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
"""Fields that move from the versions to the spec if all versions have equal values."""

Schema = Mapping[str, Any]
Field = tuple[str, str, Any]
"""Go's name, the name in OpenAPI, and the default value."""

_FIELDS: Final[Sequence[Field]] = (
    ("ID", "id", ""), ("Schema", "$schema", ""), ("Ref", "$ref", None), ("Description", "description", ""),
    ("Type", "type", ""), ("Nullable", "nullable", False), ("Format", "format", ""), ("Title", "title", ""),
    ("Default", "default", None), ("Maximum", "maximum", None), ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None), ("ExclusiveMinimum", "exclusiveMinimum", False), ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None), ("Pattern", "pattern", ""), ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None), ("UniqueItems", "uniqueItems", False), ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None), ("MaxProperties", "maxProperties", None), ("MinProperties", "minProperties", None),
    ("Required", "required", None), ("Items", "items", None), ("AllOf", "allOf", None), ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None), ("Not", "not", None), ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None), ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None), ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None), ("ExternalDocs", "externalDocs", None), ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False), ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None), ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)  # fmt: skip
_RULE: Final[Sequence[Field]] = (
    ("Rule", "rule", ""), ("Message", "message", ""), ("MessageExpression", "messageExpression", ""),
    ("Reason", "reason", None), ("FieldPath", "fieldPath", ""), ("OptionalOldSelf", "optionalOldSelf", None),
)  # fmt: skip
_COLUMN: Final[Sequence[Field]] = (
    ("Name", "name", ""), ("Type", "type", ""), ("Format", "format", ""), ("Description", "description", ""),
    ("Priority", "priority", 0), ("JSONPath", "jsonPath", ""),
)  # fmt: skip
_SCALE: Final[Sequence[Field]] = (
    ("SpecReplicasPath", "specReplicasPath", ""), ("StatusReplicasPath", "statusReplicasPath", ""),
    ("LabelSelectorPath", "labelSelectorPath", None),
)  # fmt: skip
_DOCS: Final[Sequence[Field]] = (("Description", "description", ""), ("URL", "url", ""))


def _struct(given: Mapping[str, Any], fields: Sequence[Field]) -> dict[str, Any]:
    return {name: absent if given.get(key) is None else given[key] for name, key, absent in fields}


def schema(given: Schema) -> dict[str, Any]:
    """A schema with everything below it."""
    shown = _struct(given, _FIELDS)
    return {name: value if value is None else _BELOW.get(name, _same)(value) for name, value in shown.items()}


def _same(value: Any) -> Any:
    return value


def _all(given: Sequence[Schema]) -> list[Any]:
    return [schema(item) for item in given]


def _named(given: Mapping[str, Schema]) -> dict[str, Any]:
    return {name: schema(given[name]) for name in sorted(given)}


def _or_bool(given: Any) -> dict[str, Any]:
    if isinstance(given, bool):
        return {"Allows": given, "Schema": None}
    return {"Allows": True, "Schema": schema(given)}


def _or_list(given: Any) -> dict[str, Any]:
    if isinstance(given, list):
        return {"Schema": None, "JSONSchemas": _all(given)}
    return {"Schema": schema(given), "JSONSchemas": None}


_BELOW: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Items": _or_list,
    "AllOf": _all,
    "OneOf": _all,
    "AnyOf": _all,
    "Not": schema,
    "Properties": _named,
    "PatternProperties": _named,
    "Definitions": _named,
    "AdditionalProperties": _or_bool,
    "AdditionalItems": _or_bool,
    "ExternalDocs": lambda given: _struct(given, _DOCS),
    "XValidations": lambda given: [_struct(rule, _RULE) for rule in given],
}


def _validation(given: Schema) -> dict[str, Any]:
    root = given.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if root is None else schema(root)}


def _subresources(given: Mapping[str, Any]) -> dict[str, Any]:
    scale = given.get("scale")
    return {"Status": given.get("status"), "Scale": None if scale is None else _struct(scale, _SCALE)}


_HOISTABLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "schema": _validation,
    "subresources": _subresources,
    "additionalPrinterColumns": lambda given: [_struct(column, _COLUMN) for column in given],
    "selectableFields": lambda given: [{"JSONPath": field.get("jsonPath", "")} for field in given],
}


def versions(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Versions without the fields that all of them have in common."""
    common = {key for key in HOISTED if all(version.get(key) == given[0].get(key) for version in given)}
    return [
        {
            "Name": version["name"],
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            **{
                key[0].upper() + key[1:]: None if key in common or version.get(key) is None else show(version[key])
                for key, show in _HOISTABLE.items()
            },
        }
        for version in given
    ]
