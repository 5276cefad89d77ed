"""Indexes of caches: they group the keys of objects and hold no objects themselves."""

from collections.abc import Callable, Collection, Hashable
from typing import Generic, Protocol, TypeVar

from uniteddeployment.kube.meta import HasMeta
from uniteddeployment.kube.watch import Key

T = TypeVar("T", bound=HasMeta)
T_contra = TypeVar("T_contra", bound=HasMeta, contravariant=True)
G = TypeVar("G", bound=Hashable)


class Indexer(Protocol[T_contra]):
    """Follows the objects of a cache."""

    def update(self, old: T_contra | None, new: T_contra | None, /) -> None:
        """An object was added (``old`` is None), changed or removed (``new`` is None)."""


class Index(Generic[G, T]):
    """The keys of a cache's objects by group, for example by the value of a label."""

    def __init__(self, group_of: Callable[[T], G]) -> None:
        self._group_of = group_of
        self._keys: dict[G, set[Key]] = {}

    def __contains__(self, group: object) -> bool:
        return group in self._keys

    def groups(self) -> Collection[G]:
        """All groups."""
        return self._keys.keys()

    def keys(self, group: G) -> Collection[Key]:
        """The keys of a group, in no order."""
        return self._keys.get(group, ())

    def update(self, old: T | None, new: T | None) -> None:
        before = None if old is None else self._group_of(old)
        after = None if new is None else self._group_of(new)
        if before == after:
            return
        if old is not None and before is not None:
            known = self._keys[before]
            known.discard((old.metadata.namespace, old.metadata.name))
            if not known:
                del self._keys[before]
        if new is not None and after is not None:
            self._keys.setdefault(after, set()).add((new.metadata.namespace, new.metadata.name))
