"""The state of one cluster that requests work on: store, registry, clock, randomness and open watches."""

from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.storage.registry import Registry
from uniteddeployment.embedded.storage.store import Store


class Endable(Protocol):
    """Something that the cluster can end."""

    def end(self) -> None: ...


class OpenWatch(Protocol):
    """An open watch."""

    @property
    def resource(self) -> Resource: ...

    @property
    def stream(self) -> Endable: ...


@dataclass(frozen=True, slots=True)
class Core:
    """The state of one cluster."""

    store: Store
    registry: Registry
    clock: Clock
    random: Random
    watches: set[OpenWatch] = field(default_factory=set)

    def end_unserved_watches(self) -> None:
        """End the watches of resources that are no longer served."""
        for watch in tuple(self.watches):
            resource = watch.resource
            if self.registry.find(resource.group, resource.version, resource.plural) is None:
                watch.stream.end()
