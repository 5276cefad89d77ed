"""Decoding of definitions: schemas inside them are structs at every level.

``items`` may be a schema or a list of schemas, ``additionalProperties`` a schema or a bool. The decoder of built-in
kinds leaves such fields alone. This module decodes them, so that later code can rely on the types inside schemas.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

import msgspec
from cachetools import LRUCache

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.decoding import DecodeError, conform
from uniteddeployment.embedded.builtin.shapes import shape_of
from uniteddeployment.embedded.crd.validate import type_name

KIND: Final = "CustomResourceDefinition"
_PACKAGE: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_MAPS: Final = ("properties", "patternProperties", "definitions")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_decoded: LRUCache[bytes, None] = LRUCache(256)
"""Digests of schemas that decoding would leave as they are. A definition is decoded with each change of its status, and
a simulation creates the same definitions in each of its clusters."""
_GO_TYPES: Final = {"integer": "number", "boolean": "bool"}


def decode(crd: Obj) -> list[str]:
    """Decode a definition in place and return the errors of strict decoding."""
    errors = conform(crd, shape_of(f"{_PACKAGE}.{KIND}"), KIND, "v1")
    for index, version in enumerate((crd.get("spec") or {}).get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None and _digest(schema) not in _decoded:
            unknown = _inside(schema, f"spec.versions[{index}].schema.openAPIV3Schema")
            if not unknown:
                _decoded[_digest(schema)] = None
            errors += unknown
    return errors


def _digest(schema: dict[str, Any]) -> bytes:
    return blake2b(msgspec.json.encode(schema), digest_size=16).digest()


def _inside(schema: dict[str, Any], path: str) -> list[str]:
    """Decode the parts of a decoded schema that the decoder left alone."""
    errors: list[str] = []
    for sub, at, decoded in _schemas(schema, path):
        if not decoded:
            unknown = conform(sub, shape_of(f"{_PACKAGE}.JSONSchemaProps"), KIND, "v1")
            errors += [text.replace('"', f'"{at}.', 1) for text in unknown]
        errors += _inside(sub, at)
    return errors


def _schemas(schema: dict[str, Any], path: str) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """The schemas one level below: (schema, path, whether it is decoded). A null is an empty schema."""
    for key in _MAPS:
        named = schema.get(key) or {}
        named.update({name: {} for name, sub in named.items() if sub is None})
        for name, sub in named.items():
            yield sub, f"{path}.{key}.{name}", True
    for key in _LISTS:
        if schema.get(key):
            schema[key] = [{} if sub is None else sub for sub in schema[key]]
        for index, sub in enumerate(schema.get(key) or ()):
            yield sub, f"{path}.{key}[{index}]", True
    if schema.get("not") is not None:
        yield schema["not"], f"{path}.not", True
    for key in ("additionalProperties", "additionalItems"):
        sub = schema.get(key)
        if sub is not None and not isinstance(sub, bool):
            yield _struct(sub, "JSONSchemaPropsOrBool"), f"{path}.{key}", False
    items = schema.get("items")
    if isinstance(items, list):
        for index, sub in enumerate(items):
            yield _struct(sub, "JSONSchemaProps"), f"{path}.items[{index}]", False
    elif items is not None:
        yield _struct(items, "JSONSchemaPropsOrArray"), f"{path}.items", False


def _struct(value: Any, wanted: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    go_type = _GO_TYPES.get(type_name(value), type_name(value))
    raise DecodeError(KIND, "v1", f"json: cannot unmarshal {go_type} into Go value of type v1.{wanted}")
