"""The cached copy of one collection: the newest known state of each object.

A reflector puts in watch events and lists, and whoever writes puts in the answers (:meth:`Cache.merge`). An answer is
as good as the watch event that follows it, and earlier. Three rules keep the newest state (I9):

* Lists and watches come in order, so the cache is complete up to a resource version. An answer up to that version is
  outdated: the cache has a newer state, or the object was deleted.
* A later answer is stored unless the cached copy is at least as new.
* Until its watch event comes, a stored answer is ahead of the watch: older events and lists do not replace it.

An object that cannot be decoded is noted in ``undecodable``, and its last good state stays (I8). There is no I/O and no
time here.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import structlog

from uniteddeployment.kube.index import Indexer
from uniteddeployment.kube.meta import HasMeta, Identified
from uniteddeployment.kube.snapshot import Snapshot, check_size, check_undecodable
from uniteddeployment.kube.versions import newer
from uniteddeployment.kube.watch import DELETED, Change, Key

T = TypeVar("T", bound=HasMeta)

_LOGGED, _LOGGED_EVERY = 100, 1000
_log = structlog.get_logger(__name__)


class Cache(Generic[T]):
    """The objects of one collection by namespace and name.

    ``on_change(old, new)`` is called for each change that a watch or a list shows, and not for answers to writes: the
    writer knows of those. ``old`` and ``new`` may have different uids, if a deletion in between was missed.

    ``indexes`` follow every change, before ``on_change``. ``adapt`` is applied to each object before it is stored; it
    must not change the metadata. ``most`` is how many objects watches and lists may add; one more raises TooMany.
    """

    def __init__(
        self,
        on_change: Callable[[T | None, T | None], None] | None = None,
        *,
        indexes: Sequence[Indexer[T]] = (),
        adapt: Callable[[T], T] | None = None,
        most: int | None = None,
    ) -> None:
        self.objects: dict[Key, T] = {}
        """Read it at will, and never write it."""
        self.version = ""
        """The resource version up to which the cache is complete; empty before the first list."""
        self.undecodable: dict[Key, str] = {}
        """Key -> why the object cannot be decoded."""
        self.undecodable_total = 0
        """How often an object could not be decoded."""
        self.log_names: dict[str, str] = {}
        """Names the collection in log lines; set by the reflector."""
        self.most = most
        self._on_change = on_change
        self._indexes = indexes
        self._adapt = adapt
        self._ahead: set[Key] = set()
        """Objects whose cached state is from an answer, and whose watch event has not come yet."""

    def get(self, key: Key) -> T | None:
        """The object with this namespace and name."""
        return self.objects.get(key)

    def select(self, keys: Iterable[Key]) -> list[T]:
        """The objects with these keys, sorted by key. Every key must be cached, as those in an index are."""
        return [self.objects[key] for key in sorted(keys)]

    def merge(self, answer: T) -> bool:
        """Store the answer to a request unless the cache is at least as new; return True if stored.

        ``on_change`` is not called. An answer whose order is not known is not stored; its watch event will come.
        """
        meta = answer.metadata
        if self.version and not newer(meta.resource_version, self.version):
            return False
        key = (meta.namespace, meta.name)
        old = self.objects.get(key)
        if old is not None and not newer(meta.resource_version, old.metadata.resource_version):
            return False
        self._ahead.add(key)
        self._put(key, old, self._adapt(answer) if self._adapt is not None else answer)
        return True

    def caught_up(self, version: str) -> None:
        """The watch has shown everything up to a resource version."""
        self.version = version

    def amend(self, key: Key, new: T) -> None:
        """Replace the cached copy by a variant of it, until the watch shows a newer state.

        For what is known of an object before its event comes, such as a deletion that was requested.
        """
        self._put(key, self.objects[key], new)

    def discard(self, key: Key) -> None:
        """Remove an object that a request has shown to be gone, before the watch event that says so."""
        old = self.objects.pop(key, None)
        self._ahead.discard(key)
        if old is not None:
            self._update_indexes(old, None)

    def take(self, events: list[Change[T]]) -> None:
        """Apply watch events, in order. This is the hot path."""
        objects, undecodable, ahead = self.objects, self.undecodable, self._ahead
        indexes, adapt, listened = self._indexes, self._adapt, self._on_change is not None
        for event in events:
            new = event.object
            meta = new.metadata
            version = self.version = meta.resource_version
            key = (meta.namespace, meta.name)
            if undecodable:
                undecodable.pop(key, None)
            if event.type == DELETED:
                self._delete(key, version)
                continue
            old = objects.get(key)
            if old is None:
                check_size(len(objects) + 1, self.most)
            elif old.metadata.resource_version == version and old.metadata.uid == meta.uid:
                ahead.discard(key)
                continue
            elif ahead and key in ahead:
                if newer(old.metadata.resource_version, version):
                    continue
                ahead.discard(key)
            if adapt is not None:
                new = adapt(new)
            objects[key] = new
            for index in indexes:
                index.update(old, new)
            if listened:
                self._call_listener(old, new)

    def skip(self, kind: str, key: Key, version: str, why: str) -> None:
        """Take note of an event whose object cannot be decoded: its last good state stays, unless it was deleted.

        ``kind`` is the type of the event, and ``version`` the object's resource version if that can be read.
        """
        self.undecodable_total += 1
        self.version = version or self.version
        if kind != DELETED:
            self._note_undecodable(key, why)
            return
        self.undecodable.pop(key, None)
        self._delete(key, version)

    def replace(self, snapshot: Snapshot[T]) -> None:
        """Make the copy equal to a list. The copy and the indexes are complete before the first call of a listener."""
        changes = [*self._remove_missing(snapshot), *self._add_listed(snapshot)]
        self.version = snapshot.version
        self.undecodable_total += len(snapshot.undecodable)
        self.undecodable = {key: why for key, why in self.undecodable.items() if key in snapshot.undecodable}
        for key, why in snapshot.undecodable.items():
            self._note_undecodable(key, why)
        for old, new in changes:
            self._call_listener(old, new)

    def _remove_missing(self, snapshot: Snapshot[T]) -> list[tuple[T | None, T | None]]:
        removed: list[tuple[T | None, T | None]] = []
        missing = [key for key in self.objects if key not in snapshot.objects and key not in snapshot.undecodable]
        for key in missing:
            if self._is_ahead(key, snapshot.version):
                continue  # created after the list was made
            old = self.objects.pop(key)
            self._update_indexes(old, None)
            removed.append((old, None))
        return removed

    def _add_listed(self, snapshot: Snapshot[T]) -> list[tuple[T | None, T | None]]:
        """Add what is new in a list. This is a hot path."""
        changed: list[tuple[T | None, T | None]] = []
        objects, indexes, adapt, listened = self.objects, self._indexes, self._adapt, self._on_change is not None
        for key, listed in snapshot.objects.items():
            if self._ahead and self._is_ahead(key, listed.metadata.resource_version):
                continue
            old = objects.get(key)
            if old is not None and _is_same_state(old.metadata, listed.metadata):
                continue  # the copy that indexes and others refer to stays, so that nothing is kept twice
            new = objects[key] = listed if adapt is None else adapt(listed)
            for index in indexes:
                index.update(old, new)
            if listened:
                changed.append((old, new))
        return changed

    def _is_ahead(self, key: Key, version: str) -> bool:
        """Return whether an answer has shown a later state of an object than this version. If not, it is caught up."""
        if key not in self._ahead:
            return False
        if newer(self.objects[key].metadata.resource_version, version):
            return True
        self._ahead.discard(key)
        return False

    def _delete(self, key: Key, version: str) -> None:
        """The object was gone as of a resource version."""
        if self._is_ahead(key, version):
            return  # it is back, or another object has its name
        old = self.objects.pop(key, None)
        if old is not None:
            self._update_indexes(old, None)
            self._call_listener(old, None)

    def _put(self, key: Key, old: T | None, new: T) -> None:
        self.objects[key] = new
        self._update_indexes(old, new)

    def _update_indexes(self, old: T | None, new: T | None) -> None:
        for index in self._indexes:
            index.update(old, new)

    def _call_listener(self, old: T | None, new: T | None) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(old, new)
        except Exception:  # noqa: BLE001  # a listener's error about one object must not hide the others from it
            _log.exception("a listener failed", **self.log_names)

    def _note_undecodable(self, key: Key, why: str) -> None:
        if key not in self.undecodable:
            check_undecodable(len(self.undecodable) + 1, self.most)
            if self.undecodable_total <= _LOGGED or self.undecodable_total % _LOGGED_EVERY == 0:
                _log.warning(
                    "object cannot be decoded and is skipped",
                    namespace=key[0],
                    object=key[1],
                    why=why,
                    **self.log_names,
                )
        self.undecodable[key] = why


def _is_same_state(old: Identified, new: Identified) -> bool:
    return old.resource_version == new.resource_version and old.uid == new.uid
