"""Compiled definitions of built-in kinds, for the decoder.

Contract: a :class:`Shape` is compiled on first use. It combines the OpenAPI definition with facts about the encoding
that OpenAPI does not contain (:mod:`~uniteddeployment.embedded.schema.wire`).
"""

import copy
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery.resources import RawSchema
from uniteddeployment.embedded.schema.wire import wire

STRING: Final = 0
INTEGER: Final = 1
BOOLEAN: Final = 2
NUMBER: Final = 3
STRUCT: Final = 4
LIST: Final = 5
MAP: Final = 6
ANY: Final = 7
QUANTITY: Final = 8
INT_OR_STRING: Final = 9
TIME: Final = 10
MICRO_TIME: Final = 11
BYTES: Final = 12

_NAMED = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": TIME,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": MICRO_TIME,
}
_SCALARS = {"string": STRING, "integer": INTEGER, "boolean": BOOLEAN, "number": NUMBER}
_ZERO: dict[int, Any] = {STRING: "", INTEGER: 0, BOOLEAN: False, NUMBER: 0}
_MISSING_WHEN_REQUIRED = frozenset((STRING, INTEGER, BOOLEAN))


@dataclass(slots=True, eq=False)
class Shape:
    """The fields of one definition."""

    name: str
    fields: dict[str, "Field"] = field(default_factory=dict)
    always: tuple[tuple[str, Any], ...] = ()


_SHAPELESS: Final = Shape("")


@dataclass(slots=True)
class Field:
    """One field. ``keep``: its zero value is written out; ``go``: its type in error messages.

    ``shape`` is the content of a struct, ``item`` the content of a list or map, ``bits`` the size of a number.
    """

    tag: int
    go: str
    keep: bool = False
    shape: Shape = _SHAPELESS
    item: "Field | None" = None
    bits: int = 64


ANYTHING: Final = Field(ANY, "interface {}")


@lru_cache(maxsize=1)
def definitions() -> dict[str, RawSchema]:
    """All definitions, by the names in ``$ref``."""
    raw = resources.files(__package__).joinpath("definitions.json").read_bytes()
    decoded: dict[str, RawSchema] = msgspec.json.decode(raw)
    return decoded


def resolve(name: str) -> RawSchema:
    """The definition of a ``$ref``."""
    return definitions()[name]


_compiled: dict[str, Shape] = {}


def shape_of(name: str) -> Shape:
    """The compiled form of a definition with properties."""
    shape = _compiled.get(name)
    if shape is not None:
        return shape
    definition = resolve(name)
    shape = _compiled[name] = Shape(name.rpartition(".")[2])
    facts = wire().get(".".join(name.split(".")[-3:]), {})
    required, zero = frozenset(definition.get("required", ())), frozenset(facts.get("zero", ()))
    for key, schema in definition["properties"].items():
        field = _field(schema)
        field.keep = key in required or key in zero or field.tag == STRUCT
        shape.fields[key] = field
    absent = {
        key: _ZERO[field.tag]
        for key, field in shape.fields.items()
        if key in required and field.tag in _MISSING_WHEN_REQUIRED
    }
    for key, value in facts.get("always", {}).items():
        field = shape.fields[key]
        absent[key] = _zero_of(field.shape) if value == {} and field.tag == STRUCT else value
    shape.always = tuple(absent.items())
    return shape


def _zero_of(shape: Shape) -> dict[str, Any]:
    return {key: copy.deepcopy(value) for key, value in shape.always}


def _field(schema: RawSchema) -> Field:
    name = schema.get("$ref")
    if name is not None:
        return _referenced(name)
    kind = schema.get("type")
    if kind == "array":
        item = _field(schema["items"])
        return Field(LIST, f"[]{item.go}", item=item)
    if kind == "object" and "additionalProperties" in schema:
        item = _field(schema["additionalProperties"])
        return Field(MAP, f"map[string]{item.go}", item=item)
    if schema.get("format") == "byte":
        return Field(BYTES, "[]uint8")
    if kind == "integer":
        bits = 32 if schema.get("format") == "int32" else 64
        return Field(INTEGER, f"int{bits}", bits=bits)
    if kind in _SCALARS:
        go = {"string": "string", "boolean": "bool", "number": "float64"}[kind]
        return Field(_SCALARS[kind], go)
    return Field(ANY, "interface {}")


def _referenced(name: str) -> Field:
    go = ".".join(name.split(".")[-2:])
    tag = _NAMED.get(name)
    if tag is not None:
        return Field(tag, go)
    if "properties" not in resolve(name):
        return Field(ANY, go)
    return Field(STRUCT, go, shape=shape_of(name))
