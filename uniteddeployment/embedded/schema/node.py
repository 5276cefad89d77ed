"""Schemas for merging, patching and field ownership: one view of built-in definitions and CRD schemas.

A :class:`Node` is an immutable, lazily resolved view of raw OpenAPI with the ``x-kubernetes-*`` extensions. It has what
patches and field ownership need to know: which fields are declared, whether a list is atomic, a set or a map, and the
merge key of strategic merge patch. It validates nothing.

Where the schema is open (``x-kubernetes-preserve-unknown-fields``, free-form values) the kind is ``any``: objects are
merged key by key, lists and scalars are replaced.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from cachetools import LRUCache

from uniteddeployment.embedded.apimachinery.resources import RawSchema
from uniteddeployment.embedded.schema.object_meta import TYPE_META
from uniteddeployment.embedded.schema.wire import always_written


class Kind(StrEnum):
    """The shape of a value."""

    SCALAR = "scalar"
    OBJECT = "object"
    """An object with declared fields."""
    MAP = "map"
    """An object whose values all have one schema."""
    LIST = "list"
    ANY = "any"


class Absent:
    """Marks a field whose absence has no implied value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

_KEY_DEFAULTS: Final[Mapping[tuple[str, str], Any]] = {
    ("ContainerPort", "protocol"): "TCP",
    ("ServicePort", "protocol"): "TCP",
}
"""Defaults of fields that are list keys, where the built-in definitions have none."""

_TOP_LEVEL: Final = frozenset({"metadata", "spec", "status"})

_POINTERS: Final = frozenset(
    {
        ("DaemonSetSpec", "selector"),
        ("DeploymentSpec", "selector"),
        ("ReplicaSetSpec", "selector"),
        ("StatefulSetSpec", "selector"),
    }
)
"""Required fields that are null, not empty, when they are not set."""

_FREE_FORM: Final = frozenset({"RawExtension", "FieldsV1", "JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool"})
_OPAQUE: Final = frozenset({"RawExtension"})
"""Free-form values that have a single owner."""
_UNTYPED: Final = frozenset({"Quantity", "IntOrString", "Time", "MicroTime"})
_SCALARS: Final = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}


class Node:
    """One place in a schema. Immutable; its properties are computed on first use."""

    def __init__(
        self,
        raw: RawSchema,
        resolve: Callable[[str], RawSchema],
        *,
        usage: RawSchema | None = None,
        definition: str = "",
        implied: Any = ABSENT,
        root: bool = False,
    ) -> None:
        self.raw: Final = raw
        self.definition: Final = definition
        """Short name of the built-in definition, e.g. ``PodSpec``; empty inside custom resources."""
        self.implied: Final = implied
        """The meaning of an absent field: ABSENT, or the empty value that the real server would hold there."""
        self._resolve = resolve
        self._usage = raw if usage is None else usage
        self._root = root

    @cached_property
    def kind_name(self) -> str:
        """The kind that this schema describes, if the schema names it."""
        kinds = self.raw.get("x-kubernetes-group-version-kind")
        return str(kinds[0].get("kind", "")) if kinds else ""

    @cached_property
    def preserve_unknown(self) -> bool:
        return self.raw.get("x-kubernetes-preserve-unknown-fields") is True

    @cached_property
    def nullable(self) -> bool:
        return self.raw.get("nullable") is True

    @cached_property
    def embedded(self) -> bool:
        """An object with apiVersion, kind and metadata inside another object."""
        return self.raw.get("x-kubernetes-embedded-resource") is True

    @cached_property
    def int_or_string(self) -> bool:
        return self.raw.get("x-kubernetes-int-or-string") is True or self.raw.get("format") == "int-or-string"

    @cached_property
    def kind(self) -> Kind:
        type_ = self.raw.get("type")
        if self.definition in _FREE_FORM:
            return Kind.ANY
        if type_ == "array":
            return Kind.LIST
        if self.int_or_string or type_ in _SCALARS:
            return Kind.SCALAR
        if self._root or self.embedded or self.raw.get("properties"):
            return Kind.OBJECT
        if isinstance(self.raw.get("additionalProperties"), Mapping):
            return Kind.MAP
        if type_ == "object" and not self.preserve_unknown and self.raw.get("additionalProperties") is not True:
            return Kind.OBJECT
        return Kind.ANY

    @cached_property
    def scalar(self) -> str:
        """``string``, ``numeric``, ``boolean``, or ``untyped`` if any of them is allowed."""
        if self.kind is not Kind.SCALAR or self.int_or_string or self.definition in _UNTYPED:
            return "untyped"
        if self.raw.get("type") == "string" and self.raw.get("format", "") not in ("", "byte") and self.definition:
            return "untyped"
        return _SCALARS[self.raw["type"]]

    @cached_property
    def type_name(self) -> str:
        """The type in the real server's decoding errors: ``int32``, ``string``, ``bool``."""
        type_ = str(self.raw.get("type", ""))
        if type_ in ("integer", "number"):
            return str(self.raw.get("format") or {"integer": "int64", "number": "float64"}[type_])
        return "bool" if type_ == "boolean" else type_

    @cached_property
    def list_type(self) -> str:
        """``atomic``, ``set`` or ``map``."""
        declared = self.raw.get("x-kubernetes-list-type") or self._usage.get("x-kubernetes-list-type")
        if declared:
            return str(declared)
        if self.patch_merge:
            return "map" if self.merge_key else "set"
        return "atomic"

    @cached_property
    def atomic(self) -> bool:
        """Whether a list or a map is owned and replaced as one value."""
        if self.kind is Kind.LIST:
            return self.list_type == "atomic"
        if self.definition in _OPAQUE:
            return True
        return (self._usage.get("x-kubernetes-map-type") or self.raw.get("x-kubernetes-map-type")) == "atomic"

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The fields that identify the items of a list of type map, as declared."""
        declared = self.raw.get("x-kubernetes-list-map-keys") or ()
        if not declared and self.list_type == "map" and self.merge_key:
            declared = (self.merge_key,)
        return tuple(declared)

    @cached_property
    def key_defaults(self) -> Mapping[str, Any]:
        """Values of keys that an item may leave out."""
        item = self.items
        defaults: dict[str, Any] = {}
        for key in self.keys:
            field = item.fields.get(key)
            default = field.raw.get("default") if field is not None else None
            if default is None:
                default = _KEY_DEFAULTS.get((item.definition, key))
            if default is not None:
                defaults[key] = default
        return defaults

    @cached_property
    def _strategies(self) -> tuple[str, ...]:
        return tuple(str(self._usage.get("x-kubernetes-patch-strategy", "")).split(","))

    @cached_property
    def merge_key(self) -> str:
        """The key by which strategic merge patch identifies items; empty for lists of scalars."""
        return str(self._usage.get("x-kubernetes-patch-merge-key", ""))

    @cached_property
    def patch_merge(self) -> bool:
        """Whether strategic merge patch merges this list."""
        return "merge" in self._strategies

    @cached_property
    def patch_replace(self) -> bool:
        """Whether strategic merge patch replaces this map as a whole."""
        return "replace" in self._strategies

    @cached_property
    def retain_keys(self) -> bool:
        """Whether strategic merge patch may list the keys of this map to retain."""
        return "retainKeys" in self._strategies

    @cached_property
    def fields(self) -> Mapping[str, "Node"]:
        """The declared fields of an object."""
        if self.kind is not Kind.OBJECT:
            return {}
        fields = {name: self._child(raw, name) for name, raw in (self.raw.get("properties") or {}).items()}
        if (self._root or self.embedded) and not self.definition:
            fields |= {name: Node(raw, self._resolve) for name, raw in TYPE_META.items()}
        return fields

    @cached_property
    def implied_fields(self) -> Mapping[str, Any]:
        """Declared fields that an object of this kind always has, with their empty values."""
        return {name: node.implied for name, node in self.fields.items() if node.implied is not ABSENT}

    @cached_property
    def items(self) -> "Node":
        """The schema of a list's items, or of the values of a map or of a free-form value."""
        if self.kind is Kind.LIST and isinstance(self.raw.get("items"), Mapping):
            return self._child(self.raw["items"])
        extra = self.raw.get("additionalProperties")
        if self.kind is Kind.MAP and isinstance(extra, Mapping):
            return self._child(extra)
        return ANY

    @cached_property
    def open(self) -> bool:
        """Whether undeclared keys are allowed."""
        return self.kind in (Kind.MAP, Kind.ANY) or self.preserve_unknown

    def child(self, name: str) -> "Node | None":
        """The schema of a key of this map, or None if there can be no such key."""
        node = self.fields.get(name)
        if node is not None:
            return node
        return self.items if self.open else None

    def _child(self, raw: RawSchema, name: str = "") -> "Node":
        if not raw.get("$ref") and raw.get("allOf") and not raw.get("type") and len(raw["allOf"]) == 1:
            raw = {**raw["allOf"][0], **{key: value for key, value in raw.items() if key != "allOf"}}
        reference = str(raw.get("$ref", ""))
        if not reference:
            return Node(raw, self._resolve, implied=self._implied(name, raw, ""))
        path = reference.rsplit("/", 1)[-1]
        target, definition = self._resolve(path), path.rsplit(".", 1)[-1]
        implied = self._implied(name, target, definition)
        return Node(target, self._resolve, usage=raw, definition=definition, implied=implied)

    def _implied(self, name: str, target: RawSchema, definition: str) -> Any:
        """The empty value of a field that the real server holds as an embedded value rather than a pointer."""
        if not self.definition or not name:
            return ABSENT
        required = name in (self.raw.get("required") or ())
        always = (self.definition, name) in always_written() or (name in _TOP_LEVEL and bool(definition))
        if not (required or always):
            return ABSENT
        if target.get("type") == "array" or (self.definition, name) in _POINTERS or definition in _UNTYPED:
            return None
        return {"string": "", "integer": 0, "number": 0, "boolean": False, "object": {}}.get(target.get("type", ""))


def _no_reference(name: str) -> RawSchema:
    raise KeyError(name)


ANY: Final = Node({"x-kubernetes-preserve-unknown-fields": True}, _no_reference)
"""The schema of free-form values."""

_known: LRUCache[int, Node] = LRUCache(maxsize=2048)


def node_of(raw: RawSchema, resolve: Callable[[str], RawSchema]) -> Node:
    """The node of a whole kind. ``resolve`` looks up the definitions that ``$ref`` names.

    The same raw schema (by identity) yields the same cached node.
    """
    node = _known.get(id(raw))
    if node is None or node.raw is not raw:
        node = _known[id(raw)] = Node(raw, resolve, definition=_root_definition(raw), root=True)
    return node


def _root_definition(raw: RawSchema) -> str:
    """The name of a built-in kind; empty for a custom resource, whose schema refers to no definitions."""
    kinds = raw.get("x-kubernetes-group-version-kind")
    if kinds and kinds[0].get("kind"):
        return str(kinds[0]["kind"])
    metadata = (raw.get("properties") or {}).get("metadata") or {}
    return "Object" if "$ref" in metadata else ""
