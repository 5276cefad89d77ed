"""What every part of the request path works with: the store, what is served, the clock, and chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import msgspec

from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.registry import Registry
from uniteddeployment.embedded.resources import Obj, Resource
from uniteddeployment.embedded.store import Store

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


class Endable(Protocol):
    """What can be ended from this side."""

    def end(self) -> None: ...


class OpenWatch(Protocol):
    """A watch that a client has open."""

    @property
    def resource(self) -> Resource: ...

    @property
    def stream(self) -> Endable: ...


@dataclass(frozen=True, slots=True)
class Core:
    """One cluster without its doors."""

    store: Store
    registry: Registry
    clock: Clock
    random: Random
    watches: set[OpenWatch] = field(default_factory=set)
    """The open watches."""


class Gate(Protocol):
    """What a write of a user must pass besides the authorization of its request. Each raises StatusError."""

    def creating(self, key: str, obj: Obj) -> None: ...

    def changing(self, key: str, new: Obj, old: Obj) -> None: ...

    def creating_by_update(self) -> None:
        """A PUT or an apply is about to create what was not there."""


@dataclass(slots=True)
class Call:
    """How a write is asked for, and what the server wants to say besides its answer."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    """What becomes of unknown fields: Strict, Warn or Ignore."""
    force: bool = False
    """Whether an apply takes fields from their owners."""
    warnings: list[str] = field(default_factory=list)
    gate: Gate | None = None
    """None for who may do everything, and for controllers of the cluster."""


def clone(obj: Mapping[str, Any]) -> Obj:
    """A private deep copy of a JSON object (several times faster than ``copy.deepcopy``)."""
    copied: Obj
    try:
        copied = _unpack(_pack(obj))
    except OverflowError:
        # Integers beyond 64 bits, which free-form fields of custom resources may have.
        copied = msgspec.json.decode(msgspec.json.encode(obj))
    return copied
