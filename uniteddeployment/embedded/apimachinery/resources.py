"""What the cluster knows of a kind: its names, its schema, and what is particular to it.

Built-in kinds (``builtin``) and custom resources (``crd``) both come as :class:`Resource`; the request path treats them
alike. Adding a kind is adding such a value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from uniteddeployment.embedded.errors import Cause

Obj = dict[str, Any]
"""A Kubernetes object as decoded JSON. What the store hands out is shared: never change it in place, copy it."""

RawSchema = Mapping[str, Any]
"""OpenAPI with the x-kubernetes-* extensions, as in a CRD or in the definitions of the built-in kinds."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a Table. ``cell`` computes it; ``now`` is for ages."""

    name: str
    type: str
    cell: Callable[[Obj, datetime], Any]
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where the scale subresource finds its numbers: dotted paths (``.spec.replicas``)."""

    replicas: str
    status_replicas: str
    selector: str | None = None


class Strategy(Protocol):
    """What is particular to a kind: pure functions on a private copy of an object.

    ``subresource`` is ``""``, ``"status"`` or another one that stores the whole object.
    """

    def conform(self, obj: Obj) -> Sequence[str]:
        """Drop in place what the schema does not know, and say what it was (``unknown field "spec.foo"``).

        Raises StatusError (400) for a value that cannot be decoded at all, worded as the real server does.
        """

    def default(self, obj: Obj) -> None:
        """Fill in defaults (after decoding, after each patch, and when an old stored object is read)."""

    def prepare_create(self, obj: Obj) -> None:
        """Drop what a client may not set (status where it is a subresource), set generation 1 where it is counted."""

    def prepare_update(self, new: Obj, old: Obj, subresource: str) -> None:
        """Keep spec and status apart, and raise the generation when what counts for it changed."""

    def validate_create(self, obj: Obj) -> Sequence[Cause]:
        """What is wrong with a new object, metadata excepted (the request path checks that)."""

    def validate_update(self, new: Obj, old: Obj, subresource: str) -> Sequence[Cause]:
        """What is wrong with a change, including of fields that may not change."""

    def warnings(self, new: Obj, old: Obj | None) -> Sequence[str]:
        """Texts for Warning headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One served resource in one version.

    ``schema`` is the raw schema of the kind, ``resolve`` finds what its ``$ref`` name. ``storage`` names the table of
    the store (empty: the key); versions of one resource share it, and ``decode``/``encode`` change an object between
    what is stored and what this version shows (the apiVersion is set by the request path).
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
    """A custom resource: strategic merge patch is refused (415), unknown fields are pruned by its own schema."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """``statefulsets.apps``, ``pods``: how the inside of the cluster names it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version
