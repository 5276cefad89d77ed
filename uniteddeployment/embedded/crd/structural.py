"""Structural schemas as trees of nodes, which the compilers of pruning, defaulting and validation walk.

The nested schemas of ``allOf``, ``anyOf``, ``oneOf`` and ``not`` are nodes too; only validation uses them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import RawSchema

NOTHING: Final = object()
"""Marks a missing default or a missing old value, as opposed to null."""

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One place of a structural schema."""

    raw: RawSchema
    type: str = ""
    default: Any = NOTHING
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str = "atomic"
    map_keys: tuple[str, ...] = ()
    map_type: str = "granular"
    required: tuple[str, ...] = ()
    properties: Mapping[str, "Node"] = field(default_factory=dict)
    additional: "Node | None" = None
    items: "Node | None" = None
    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    negated: "Node | None" = None
    rules: tuple[Mapping[str, Any], ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The JSON types that a value may have; empty for any."""
        if self.int_or_string:
            return ("integer", "string")
        return (self.type,) if self.type else ()


def parse(raw: RawSchema) -> Node:
    """Parse a schema, which is known to be structural."""
    additional = raw.get("additionalProperties")
    embedded = bool(raw.get("x-kubernetes-embedded-resource"))
    required = tuple(raw.get("required") or ())
    return Node(
        raw=raw,
        type=raw.get("type", ""),
        default=raw["default"] if raw.get("default") is not None else NOTHING,
        nullable=bool(raw.get("nullable")),
        preserve=bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        embedded=embedded,
        int_or_string=bool(raw.get("x-kubernetes-int-or-string")),
        list_type=raw.get("x-kubernetes-list-type") or "atomic",
        map_keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
        map_type=raw.get("x-kubernetes-map-type") or "granular",
        required=tuple(dict.fromkeys(("apiVersion", "kind", *required))) if embedded else required,
        properties={name: parse(sub) for name, sub in (raw.get("properties") or {}).items()},
        additional=_additional(additional),
        items=parse(raw["items"]) if isinstance(raw.get("items"), Mapping) else None,
        all_of=tuple(parse(sub) for sub in raw.get("allOf") or ()),
        any_of=tuple(parse(sub) for sub in raw.get("anyOf") or ()),
        one_of=tuple(parse(sub) for sub in raw.get("oneOf") or ()),
        negated=parse(raw["not"]) if isinstance(raw.get("not"), Mapping) else None,
        rules=tuple(raw.get("x-kubernetes-validations") or ()),
    )


def _additional(additional: Any) -> Node | None:
    """``true`` allows any value and preserves all of it."""
    if isinstance(additional, Mapping):
        return parse(additional)
    return parse({"x-kubernetes-preserve-unknown-fields": True}) if additional is True else None
