"""Types of CEL expressions: declarations of schemas and signatures of functions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from uniteddeployment.embedded.crd.cel.syntax import RESERVED
from uniteddeployment.embedded.crd.structural import Node, parse


@dataclass(frozen=True, slots=True)
class Type:
    """A type: ``list`` with its item, ``map`` with key and value, ``object`` with the node that declares its fields.

    ``root`` marks a whole resource, whose metadata is known. A single upper-case letter is a type parameter.
    """

    name: str
    args: tuple["Type", ...] = ()
    node: Node | None = None
    root: bool = False

    def __str__(self) -> str:
        if self.name == "optional":
            return f"optional_type({self.args[0]})"
        return f"{self.name}({', '.join(map(str, self.args))})" if self.args else self.name


DYN: Final = Type("dyn")
BOOL: Final = Type("bool")
INT: Final = Type("int")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
NULL: Final = Type("null")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
TYPE: Final = Type("type")

_FORMATS: Final = {"byte": BYTES, "date": TIMESTAMP, "date-time": TIMESTAMP, "duration": DURATION}
_SCALARS: Final = {"boolean": BOOL, "integer": INT, "number": DOUBLE}
_META: Final = parse({"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}})
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def list_of(element: Type) -> Type:
    """A list."""
    return Type("list", (element,))


def optional_of(value: Type) -> Type:
    """A value that may be absent."""
    return Type("optional", (value,))


@lru_cache(maxsize=4096)
def declared(node: Node, *, root: bool = False) -> Type | None:
    """The type that a schema declares; None for values that rules cannot access because nothing is declared."""
    if node.int_or_string:
        return DYN
    if node.type == "array":
        element = declared(node.items) if node.items is not None else None
        return Type("list", (element,), node) if element is not None else None
    if node.type == "object":
        if node.additional is None:
            return Type("object", (), node, root or node.embedded)
        value = declared(node.additional)
        return Type("map", (STRING, value), node) if value is not None else None
    if node.type == "string":
        return _FORMATS.get(node.raw.get("format", ""), STRING)
    return _SCALARS.get(node.type)


@lru_cache(maxsize=4096)
def fields_of(type_: Type) -> Mapping[str, tuple[str, Type]]:
    """The fields of an object type: name in expressions -> (name in JSON, type)."""
    node = type_.node
    if node is None:
        return {}
    fields: dict[str, tuple[str, Type]] = {}
    for name, sub in node.properties.items():
        kind = declared(sub)
        if kind is None:
            continue
        fields[name] = (name, kind)
        escaped = escape(name)
        if escaped is not None:
            fields[escaped] = (name, kind)
    if type_.root:
        fields["apiVersion"] = ("apiVersion", STRING)
        fields["kind"] = ("kind", STRING)
        fields["metadata"] = ("metadata", Type("object", (), _META))
    return fields


def escape(name: str) -> str | None:
    """A field name as an identifier; None if it cannot be one."""
    if name in RESERVED:
        return f"__{name}__"
    escaped = re.sub(r"__|[.\-/]", lambda match: _ESCAPES[match.group()], name)
    return escaped if _IDENTIFIER.fullmatch(escaped) else None


# Matching of arguments


def assignable(wanted: Type, given: Type, bound: dict[str, Type]) -> bool:
    """Whether a value of type ``given`` is acceptable as ``wanted``; binds type parameters."""
    if len(wanted.name) == 1:
        known = bound.get(wanted.name)
        if known is None or known is DYN:
            bound[wanted.name] = given
            return True
        return given is DYN or assignable(known, given, bound)
    if DYN in (wanted, given) or NULL in (wanted, given):
        return True
    if wanted.name != given.name:
        return False
    if wanted.name == "object":
        return wanted.node is given.node or wanted.node is None or given.node is None
    return all(assignable(a, b, bound) for a, b in zip(wanted.args, given.args, strict=False))


def substitute(type_: Type, bound: Mapping[str, Type]) -> Type:
    """A result type with its parameters substituted."""
    if len(type_.name) == 1:
        return bound.get(type_.name, DYN)
    if not type_.args:
        return type_
    return Type(type_.name, tuple(substitute(arg, bound) for arg in type_.args), type_.node, type_.root)


# Signatures


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of one overload; ``method``: the first argument is the receiver."""

    method: bool
    args: tuple[Type, ...]
    result: Type


_SIGNATURE: Final = re.compile(r"(?:(?P<target>[^()]+)\.)?\((?P<args>[^()]*)\) (?P<result>\S+)")
_NAME: Final = re.compile(r"[A-Za-z_]+|[<>,]")


def signatures(text: str) -> list[Signature]:
    """Parse overloads: ``list<A>.(A) int | (string,int) bool``."""
    return [_signature(part.strip()) for part in text.split("|")]


def _signature(text: str) -> Signature:
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise ValueError(f"invalid signature: {text}")
    target = match["target"]
    args = _types(match["args"])
    if target:
        args = (*_types(target), *args)
    return Signature(target is not None, args, _types(match["result"])[0])


def _types(text: str) -> tuple[Type, ...]:
    tokens = iter(_NAME.findall(text.replace(" ", "")))
    return tuple(_type_list(tokens))


def _type_list(tokens: Iterator[str]) -> list[Type]:
    """Types separated by commas, up to a closing bracket."""
    parsed: list[Type] = []
    for token in tokens:
        if token == ">":  # noqa: S105  # punctuation
            break
        if token == "<":  # noqa: S105  # punctuation
            parsed[-1] = Type(parsed[-1].name, tuple(_type_list(tokens)))
        elif token != ",":  # noqa: S105  # punctuation
            parsed.append(_BY_NAME.get(token) or Type(token))
    return parsed


_BY_NAME: Final = {type_.name: type_ for type_ in (DYN, BOOL, INT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION)}
