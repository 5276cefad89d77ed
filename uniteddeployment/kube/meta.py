"""The few parts of a Kubernetes object that every object has, as narrow structs, and the API's way to write time.

Structs here are decoded from watch bytes by the ten thousand, so they are kept small: unknown fields are skipped, and
the collector does not look into them (``gc=False`` is safe, since what is decoded from JSON has no cycles).
"""

from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.text import shortened

NAME_LENGTH = 253
"""Characters of the longest name that an object can have."""


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Who made this object and takes it along when it goes."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    """The part of ``metadata`` that controllers read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Identified(Protocol):
    """The part of ``metadata`` that says which object this is, and which state of it."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class HasMeta(Protocol):
    """Anything with ``metadata``: what reflectors and stores require of a type."""

    @property
    def metadata(self) -> Identified: ...


class PartialObject(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    """An object of which only the metadata matters; decodes from every kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _LooseMeta(msgspec.Struct, rename="camel"):
    name: Any = ""
    namespace: Any = ""
    resource_version: Any = ""


class _Loose(msgspec.Struct):
    metadata: _LooseMeta = msgspec.field(default_factory=_LooseMeta)


def identity(raw: msgspec.Raw) -> ObjectMeta:
    """What identifies an object that does not decode, as far as that can be read, cut to the length of names."""
    try:
        found = decode(raw, _Loose).metadata
    except DecodingError:
        return ObjectMeta()
    name, namespace, version = (
        shortened(part, NAME_LENGTH) if isinstance(part, str) else ""
        for part in (found.name, found.namespace, found.resource_version)
    )
    return ObjectMeta(name=name, namespace=namespace, resource_version=version)


class ListMeta(msgspec.Struct, gc=False, rename="camel"):
    """The ``metadata`` of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Status(msgspec.Struct, rename="camel"):
    """The object with which a server says that something went wrong, or that a deletion is done."""

    message: str = ""
    reason: str = ""
    status: str = ""
    code: int = 0
    details: dict[str, Any] | None = None


class ScaleSpec(msgspec.Struct, omit_defaults=True):
    """How many replicas are wanted."""

    replicas: int = 0


class ScaleStatus(msgspec.Struct):
    """How many replicas there are, and which label selector finds them."""

    replicas: int = 0
    selector: str = ""


class Scale(msgspec.Struct, rename="camel"):
    """autoscaling/v1 Scale: the one thing that every scalable kind has in common."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ScaleSpec = msgspec.field(default_factory=ScaleSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


class ObjectReference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Points at an object, as Events do."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


def utc_now() -> datetime:
    """The wall time, aware of its zone; the default of every injected wall clock here."""
    return datetime.now(UTC)


def micro_time(moment: datetime) -> str:
    """A MicroTime, as Leases and Events have it: ``2024-05-01T12:00:00.000000Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
