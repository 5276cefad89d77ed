"""A list of a collection while it is received: its objects and those that cannot be decoded."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from uniteddeployment.kube.errors import TooMany
from uniteddeployment.kube.meta import HasMeta
from uniteddeployment.kube.watch import DELETED, Change, Key

T = TypeVar("T", bound=HasMeta)

MOST_UNDECODABLE = 1000
"""How many undecodable objects are noted, of a collection whose size is limited."""


@dataclass(slots=True)
class Snapshot(Generic[T]):
    """A list as it comes in. Every method raises TooMany if the list has more than it may have."""

    objects: dict[Key, T] = field(default_factory=dict)
    undecodable: dict[Key, str] = field(default_factory=dict)
    """Key -> why the object cannot be decoded."""
    version: str = ""
    """The resource version of the list."""
    most: int | None = None
    """How many objects it may have; any number if None."""

    def put(self, item: T) -> None:
        """Add an object."""
        meta = item.metadata
        key = (meta.namespace, meta.name)
        self.undecodable.pop(key, None)
        self.objects[key] = item
        check_size(len(self.objects), self.most)

    def take(self, events: list[Change[T]]) -> None:
        """Apply events of a streaming list. This is a hot path."""
        objects, undecodable = self.objects, self.undecodable
        for event in events:
            meta = event.object.metadata
            key = (meta.namespace, meta.name)
            if undecodable:
                undecodable.pop(key, None)
            if event.type == DELETED:
                objects.pop(key, None)
            else:
                objects[key] = event.object
        check_size(len(objects), self.most)

    def skip(self, kind: str, key: Key, why: str) -> None:
        """Note an object that cannot be decoded. ``kind`` is the type of its event."""
        if kind == DELETED:
            self.objects.pop(key, None)
            self.undecodable.pop(key, None)
        else:
            self.undecodable[key] = why
            check_undecodable(len(self.undecodable), self.most)


def check_size(count: int, most: int | None) -> None:
    """Raises TooMany."""
    if most is not None and count > most:
        raise TooMany(f"there are more than {most} objects, and no more are kept")


def check_undecodable(count: int, most: int | None) -> None:
    """Raises TooMany: objects that are not noted as undecodable would look deleted."""
    if most is not None and count > MOST_UNDECODABLE:
        raise TooMany(f"more than {MOST_UNDECODABLE} objects cannot be decoded")
