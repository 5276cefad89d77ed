"""Structs for the parts that all Kubernetes objects have, and the format of times.

Tens of thousands of them are decoded from watches, so they are small: unknown fields are skipped, and the garbage
collector does not examine them (``gc=False`` is safe, since values that are decoded from JSON have no cycles).
"""

from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.text import shortened

NAME_LENGTH = 253
"""Characters of the longest name of an object."""


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A reference to an owner. When the owners are deleted, the object is deleted as well."""

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
    """The part of ``metadata`` that identifies an object and its state."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class HasMeta(Protocol):
    """An object with ``metadata``, as reflectors and caches require it."""

    @property
    def metadata(self) -> Identified: ...


class PartialObject(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    """The metadata of an object of any kind."""

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
    """The identity of an undecodable object, as far as it is readable, cut to the length of names."""
    try:
        loose = decode(raw, _Loose).metadata
    except DecodingError:
        return ObjectMeta()
    name, namespace, version = (
        shortened(part, NAME_LENGTH) if isinstance(part, str) else ""
        for part in (loose.name, loose.namespace, loose.resource_version)
    )
    return ObjectMeta(name=name, namespace=namespace, resource_version=version)


class ListMeta(msgspec.Struct, gc=False, rename="camel"):
    """The ``metadata`` of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Status(msgspec.Struct, rename="camel"):
    """The object by which a server reports an error, or the end of a deletion."""

    message: str = ""
    reason: str = ""
    status: str = ""
    code: int = 0
    details: dict[str, Any] | None = None


class ScaleSpec(msgspec.Struct, omit_defaults=True):
    """The desired replicas."""

    replicas: int = 0


class ScaleStatus(msgspec.Struct):
    """The actual replicas, and the label selector of their pods."""

    replicas: int = 0
    selector: str = ""


class Scale(msgspec.Struct, rename="camel"):
    """autoscaling/v1 Scale, which every scalable kind has as a subresource."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ScaleSpec = msgspec.field(default_factory=ScaleSpec)
    status: ScaleStatus = msgspec.field(default_factory=ScaleStatus)


class ObjectReference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A reference to an object, as in Events."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


def utc_now() -> datetime:
    """The current time in UTC; the default of every injected wall clock."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """The time in full seconds, as the API writes it in most places: ``2024-05-01T12:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(moment: datetime) -> str:
    """The time as a MicroTime, the format of Leases and Events: ``2024-05-01T12:00:00.000000Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
