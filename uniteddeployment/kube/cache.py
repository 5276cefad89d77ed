"""The copy of a collection that a reflector keeps, and how changes and lists go into it.

No I/O and no time: what comes in are decoded events and lists, what goes out are calls of ``on_change`` with old and
new. For a deletion, ``old`` has the resource version of the deletion, as in the watch event. An object that does not
decode is noted in ``malformed`` and its last good state stays, for what we knew is better than nothing (I8).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import msgspec
import structlog

from uniteddeployment.kube.errors import TooMany
from uniteddeployment.kube.meta import HasMeta
from uniteddeployment.kube.watch import DELETED, Change, Key

T = TypeVar("T", bound=HasMeta)

MOST_MALFORMED = 1000
"""How many objects that do not decode are noted, of a collection whose size is limited."""
_LOGGED, _LOGGED_EVERY = 100, 1000
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Snapshot(Generic[T]):
    """A list as it comes in."""

    objects: dict[Key, T] = field(default_factory=dict)
    odd: dict[Key, str] = field(default_factory=dict)
    version: str = ""
    most: int | None = None
    """How many objects it may have; any number if None."""

    def put(self, found: T) -> None:
        """Raises TooMany."""
        meta = found.metadata
        key = (meta.namespace, meta.name)
        self.odd.pop(key, None)
        self.objects[key] = found
        check_size(len(self.objects), self.most)

    def take(self, event: Change[T]) -> None:
        """Raises TooMany."""
        if event.type == DELETED:
            meta = event.object.metadata
            self.odd.pop((meta.namespace, meta.name), None)
            self.objects.pop((meta.namespace, meta.name), None)
        else:
            self.put(event.object)

    def skip(self, kind: str, key: Key, why: str) -> None:
        """Raises TooMany."""
        if kind == DELETED:
            self.objects.pop(key, None)
            self.odd.pop(key, None)
        else:
            self.odd[key] = why
            check_malformed(len(self.odd), self.most)


def check_size(count: int, most: int | None) -> None:
    """Raises TooMany."""
    if most is not None and count > most:
        raise TooMany(f"there are more than {most} objects, and no more are kept")


def check_malformed(count: int, most: int | None) -> None:
    """Raises TooMany. Forgetting which objects cannot be read would make them look deleted."""
    if most is not None and count > MOST_MALFORMED:
        raise TooMany(f"more than {MOST_MALFORMED} objects cannot be read")


class Cache(Generic[T]):
    """The objects by namespace and name. ``what`` is how log lines call the collection.

    ``most`` is how many objects are kept; changes that would make it more raise TooMany.
    """

    def __init__(
        self, on_change: Callable[[T | None, T | None], None], what: dict[str, str], *, most: int | None = None
    ) -> None:
        self.store: dict[Key, T] = {}
        self.malformed: dict[Key, str] = {}
        self.malformed_total = 0
        self._on_change = on_change
        self._what = what
        self._most = most

    def take(self, events: list[Change[T]]) -> None:
        """The hot path: many changes, each to the copy and to whoever listens."""
        store, malformed, tell = self.store, self.malformed, self._tell
        for event in events:
            new = event.object
            meta = new.metadata
            key = (meta.namespace, meta.name)
            if malformed:
                malformed.pop(key, None)
            if event.type == DELETED:
                old = store.pop(key, None)
                if old is not None:
                    tell(_at(old, meta.resource_version), None)
            else:
                old = store.get(key)
                if old is None:
                    check_size(len(store) + 1, self._most)
                store[key] = new
                if old is None or old.metadata.resource_version != meta.resource_version:
                    tell(old, new)

    def skip(self, kind: str, key: Key, why: str) -> None:
        """An object that does not decode: its last good state stays, unless it was deleted."""
        self.malformed_total += 1
        if kind != DELETED:
            self._note_malformed(key, why)
            return
        self.malformed.pop(key, None)
        old = self.store.pop(key, None)
        if old is not None:
            self._tell(old, None)

    def replace(self, snapshot: Snapshot[T]) -> None:
        """Makes the copy what the list says. The whole copy is new before the first difference is told."""
        store, fresh = self.store, snapshot.objects
        gone = [key for key in store if key not in fresh and key not in snapshot.odd]
        told: list[tuple[T | None, T | None]] = [(_at(store.pop(key), snapshot.version), None) for key in gone]
        for key, new in fresh.items():
            old = store.get(key)
            if old is None or not _same(old, new):
                told.append((old, new))
            store[key] = new
        self.malformed_total += len(snapshot.odd)
        self.malformed = {key: why for key, why in self.malformed.items() if key in snapshot.odd}
        for key, why in snapshot.odd.items():
            self._note_malformed(key, why)
        for old, changed in told:
            self._tell(old, changed)

    def _tell(self, old: T | None, new: T | None) -> None:
        try:
            self._on_change(old, new)
        except Exception:  # noqa: BLE001  # a listener's mistake about one object must not hide all others from it
            _log.exception("a listener failed", **self._what)

    def _note_malformed(self, key: Key, why: str) -> None:
        if key not in self.malformed:
            check_malformed(len(self.malformed) + 1, self._most)
        if key not in self.malformed and (self.malformed_total <= _LOGGED or self.malformed_total % _LOGGED_EVERY == 0):
            _log.warning(
                "an object cannot be read and is skipped", namespace=key[0], object=key[1], why=why, **self._what
            )
        self.malformed[key] = why


def _at(last: T, version: str) -> T:
    """The last state of an object with the resource version at which it was seen to be gone."""
    metadata = msgspec.structs.replace(cast("Any", last.metadata), resource_version=version)
    return cast("T", msgspec.structs.replace(cast("Any", last), metadata=metadata))


def _same(old: HasMeta, new: HasMeta) -> bool:
    was, now = old.metadata, new.metadata
    return was.resource_version == now.resource_version and was.uid == now.uid
