"""Resources: the names of a kind, its schema and its strategy.

Built-in kinds (``builtin``) and custom resources (``crd``) are both :class:`Resource` values, which the request path
treats alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from uniteddeployment.embedded.apimachinery.json_document import Document
from uniteddeployment.embedded.errors import Cause

Obj = dict[str, Any]
"""A Kubernetes object as decoded JSON. Objects from the store are shared: never change them in place."""

RawSchema = Mapping[str, Any]
"""OpenAPI with the x-kubernetes-* extensions, as in a CRD or in the definitions of the built-in kinds."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a Table. ``cell`` computes the value of an object at a time (for ages)."""

    name: str
    type: str
    cell: Callable[[Obj, datetime], Any]
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Dotted paths (``.spec.replicas``) of the fields that the scale subresource shows."""

    replicas: str
    status_replicas: str
    selector: str | None = None


class Strategy(Protocol):
    """The behavior of a kind: pure functions on a private copy of an object.

    ``subresource`` is ``""``, ``"status"`` or another subresource that stores the whole object.
    """

    def conform(self, obj: Obj) -> Sequence[str]:
        """Drop unknown fields in place and return messages about them (``unknown field "spec.foo"``).

        Raises StatusError (400) with the real server's message if a value cannot be decoded.
        """

    def complaints(self, document: Document, unknown: Sequence[str]) -> Sequence[str]:
        """The errors of strict decoding for a text with duplicate fields, in the real server's order.

        ``unknown`` is the result of :meth:`conform`.
        """

    def default(self, obj: Obj) -> None:
        """Set defaults: after decoding, after each patch, and when an old stored object is read."""

    def prepare_create(self, obj: Obj) -> None:
        """Drop fields that a client may not set (such as status, if it is a subresource) and set generation 1 if
        counted.
        """

    def prepare_update(self, new: Obj, old: Obj, subresource: str) -> None:
        """Keep spec and status apart, and raise the generation if a field changed that counts for it."""

    def validate_create(self, obj: Obj) -> Sequence[Cause]:
        """Validate a new object. The request path validates the metadata."""

    def validate_update(self, new: Obj, old: Obj, subresource: str) -> Sequence[Cause]:
        """Validate a change, including changes of immutable fields."""

    def warnings(self, new: Obj, old: Obj | None) -> Sequence[str]:
        """Texts for Warning headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One served resource in one version.

    ``schema`` is the raw schema of the kind; ``resolve`` looks up its ``$ref`` names. ``storage`` is the name of the
    table in the store (default: the key). The versions of a resource share a table, and ``decode``/``encode`` convert
    between the stored form and this version (the request path sets the apiVersion).
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    strategy: Strategy
    schema: RawSchema
    resolve: Callable[[str], RawSchema]
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    status: bool = False
    scale: ScalePaths | None = None
    storage: str = ""
    columns: tuple[Column, ...] = ()
    field_selectors: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    decode: Callable[[Obj], Obj] | None = None
    encode: Callable[[Obj], Obj] | None = None
    custom: bool = False
    """A custom resource: strategic merge patch is refused (415), and its own schema prunes unknown fields."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    key: str = field(init=False)
    """The name of the resource inside the cluster: ``statefulsets.apps``, ``pods``."""
    api_version: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the names once: each request asks for them many times."""
        object.__setattr__(self, "key", f"{self.plural}.{self.group}" if self.group else self.plural)
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
