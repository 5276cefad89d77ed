"""The object store: objects as JSON, one version counter and a bounded history of changes.

Contract: an entry holds the JSON of an object *without* apiVersion and kind. The table knows them, so versions that
differ in name only need no second copy. Decoded objects live in a bounded cache and are shared: copy before changing.
The store knows no rules of the API; callers validate before they commit. Each commit advances the resourceVersion, adds
one entry to the history and calls each listener once.

Memory: an entry costs one small object, a key in a sorted list and a slot of a dict. Entries are immutable, and the
history shares their bytes with the tables.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from uniteddeployment.embedded.apimachinery.resources import Obj

Key = tuple[str, str]
"""(namespace, name); the namespace of cluster-scoped objects is empty."""

EventType = Literal["ADDED", "MODIFIED", "DELETED"]

AFTER_ALL = chr(0x10FFFF)
"""Sorts after every name."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class HistoryGoneError(Exception):
    """The requested version is older than the history."""


class Entry:
    """One version of an object. Immutable; compared by identity."""

    __slots__ = ("key", "owners", "raw", "rv")

    def __init__(self, key: Key, raw: bytes, rv: int, owners: tuple[str, ...]) -> None:
        self.key = key
        self.raw = raw
        self.rv = rv
        self.owners = owners


@dataclass(slots=True, eq=False)
class Event:
    """One commit. For a deletion ``after`` is the last state, with the version of the deletion."""

    rv: int
    type: EventType
    table: "Table"
    after: Entry
    before: Entry | None
    at: float
    encoded: dict[object, bytes] | None = None
    """Encoded forms of this event, so that watchers of the same form share one encoding."""


Listener = Callable[[Event], None]


class HistoryLimits(NamedTuple):
    """Bounds of the history; the first one that is reached applies."""

    events: int = 20_000
    bytes: int = 32 << 20
    seconds: float | None = None


class Image(NamedTuple):
    """What a store holds at one moment, to begin others with. Entries and decoded objects are shared, not copied."""

    rv: int
    tables: Mapping[str, Sequence[tuple[Entry, Obj]]]


class Table:
    """The objects of one resource. ``read`` completes a decoded object: apiVersion, kind and defaults."""

    __slots__ = ("_listeners", "_owned", "entries", "history", "keys", "name", "read")

    def __init__(self, name: str, read: Callable[[Obj], Obj]) -> None:
        self.name = name
        self.read = read
        self.entries: dict[Key, Entry] = {}
        self.keys: list[Key] = []
        self.history: deque[Event] = deque()
        self._listeners: dict[str | None, list[Listener]] = {}
        self._owned: dict[str, dict[Key, None]] = {}

    def select(self, namespace: str | None) -> list[Entry]:
        """Entries of one namespace (None: of all), sorted."""
        entries = self.entries
        if namespace is None:
            return [entries[key] for key in self.keys]
        first = bisect_left(self.keys, (namespace, ""))
        last = bisect_left(self.keys, (namespace, AFTER_ALL), first)
        return [entries[key] for key in self.keys[first:last]]

    def owned(self, uid: str) -> list[Entry]:
        """Entries that name ``uid`` as an owner, sorted."""
        return [self.entries[key] for key in sorted(self._owned.get(uid, ()))]

    def listen(self, listener: Listener, namespace: str | None = None) -> Callable[[], None]:
        """Call ``listener`` after each commit in a namespace (None: in all); return a function that unsubscribes."""
        listeners = self._listeners.setdefault(namespace, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def listeners(self, namespace: str) -> list[Listener]:
        """The listeners for commits in this namespace."""
        return [*self._listeners.get(None, ()), *self._listeners.get(namespace, ())]

    def put(self, entry: Entry) -> None:
        """Set an entry and update the indexes."""
        before = self.entries.get(entry.key)
        if before is None:
            insort(self.keys, entry.key)
        elif before.owners != entry.owners:
            self._disown(before)
        self.entries[entry.key] = entry
        for uid in entry.owners:
            self._owned.setdefault(uid, {})[entry.key] = None

    def drop(self, entry: Entry) -> None:
        """Remove an entry."""
        del self.entries[entry.key]
        del self.keys[bisect_left(self.keys, entry.key)]
        self._disown(entry)

    def _disown(self, entry: Entry) -> None:
        for uid in entry.owners:
            keys = self._owned.get(uid)
            if keys is not None:
                keys.pop(entry.key, None)
                if not keys:
                    del self._owned[uid]


class Store:
    """All tables and the counter that orders their changes."""

    def __init__(
        self,
        *,
        monotonic: Callable[[], float],
        limits: HistoryLimits | None = None,
        cache_bytes: int = 4 << 20,
        image: Image | None = None,
    ) -> None:
        begun = image or Image(1, {})
        self._begun = dict(begun.tables)
        """What the image has of tables that do not exist yet."""
        self.rv = begun.rv
        self.compacted = self.rv - 1
        """Versions up to and including this one are no longer in the history."""
        self._monotonic = monotonic
        self._limits = limits or HistoryLimits()
        self.listeners: list[Listener] = []
        """Called for the commits of every table, after the table's own listeners."""
        self._tables: dict[str, Table] = {}
        self._history: deque[Event] = deque()
        self._history_bytes = 0
        self._decoded: dict[Entry, Obj] = {}
        self._decoded_bytes = 0
        self._cache_bytes = cache_bytes

    # Tables

    def table(self, name: str, read: Callable[[Obj], Obj]) -> Table:
        """The table of this name, created if it does not exist, with what the image has of it; ``read`` replaces the
        function that completes its objects.
        """
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = Table(name, read)
            for entry, obj in self._begun.pop(name, ()):
                table.put(entry)
                self._remember(entry, obj)
        elif table.read is not read:
            table.read = read
            for entry in table.entries.values():
                self._forget(entry)
        return table

    def discard(self, table: Table) -> None:
        """Drop a table and its objects without events, because its resource is no longer served."""
        for entry in table.entries.values():
            self._forget(entry)
        self._tables.pop(table.name, None)

    def tables(self) -> Sequence[Table]:
        return tuple(self._tables.values())

    def image(self) -> Image:
        """What it holds now."""
        held = {
            name: [(entry, self.obj(table, entry)) for entry in table.select(None)]
            for name, table in self._tables.items()
            if table.entries
        }
        return Image(self.rv, held)

    # Reading

    def obj(self, table: Table, entry: Entry) -> Obj:
        """The decoded object of an entry; shared, so copy before changing."""
        obj = self._decoded.get(entry)
        if obj is None:
            obj = table.read(_decode(entry.raw))
            self._remember(entry, obj)
        return obj

    def objects(self, table: Table, entries: Sequence[Entry]) -> list[Obj]:
        known = self._decoded
        return [known.get(entry) or self.obj(table, entry) for entry in entries]

    def snapshot(self, table: Table, rv: int) -> list[Entry]:
        """The entries as they were at ``rv``, sorted: the present with all later changes undone.

        Raises HistoryGoneError if the history does not go back that far.
        """
        self.compact()
        if rv < self.compacted:
            raise HistoryGoneError
        if not table.history or table.history[-1].rv <= rv:
            return table.select(None)
        past: dict[Key, Entry] = dict(table.entries)
        for event in reversed(table.history):
            if event.rv <= rv:
                break
            if event.before is None:
                del past[event.after.key]
            else:
                past[event.after.key] = event.before
        return [past[key] for key in sorted(past)]

    def since(self, table: Table, rv: int) -> list[Event]:
        """The events of a table after ``rv``. Raises HistoryGoneError if the history does not go back that far."""
        self.compact()
        if rv < self.compacted:
            raise HistoryGoneError
        return list(reversed(list(self._later(table, rv))))

    @staticmethod
    def _later(table: Table, rv: int) -> Iterator[Event]:
        for event in reversed(table.history):
            if event.rv <= rv:
                return
            yield event

    # Writing

    def create(self, table: Table, key: Key, obj: Obj) -> Obj:
        """Commit a new object. Sets its resourceVersion in place and caches it as the shared decoded object."""
        entry = self._next(key, obj)
        table.put(entry)
        self._remember(entry, obj)
        self._commit(Event(entry.rv, "ADDED", table, entry, None, self._monotonic()))
        return obj

    def replace(self, table: Table, key: Key, obj: Obj) -> Obj:
        """Commit a new state of an existing object."""
        before = table.entries[key]
        entry = self._next(key, obj)
        table.put(entry)
        self._remember(entry, obj)
        self._commit(Event(entry.rv, "MODIFIED", table, entry, before, self._monotonic()))
        self._forget(before)
        return obj

    def remove(self, table: Table, key: Key) -> Obj:
        """Commit a deletion. The last state gets the version of the deletion."""
        before = table.entries[key]
        last = self.obj(table, before)
        obj = {**last, "metadata": dict(last["metadata"])}
        entry = self._next(key, obj)
        table.drop(before)
        self._remember(entry, obj)
        self._commit(Event(entry.rv, "DELETED", table, entry, before, self._monotonic()))
        self._forget(before)
        self._forget(entry)
        return obj

    def _next(self, key: Key, obj: Obj) -> Entry:
        # Advance by two: like in a cluster with other writers, the version of a list is never that of an object.
        rv = self.rv + 1
        self.rv += 2
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(rv)
        references = metadata.get("ownerReferences")
        owners = tuple(reference["uid"] for reference in references) if references else ()
        raw = _encode({field: value for field, value in obj.items() if field not in ("apiVersion", "kind")})
        return Entry(key, raw, rv, owners)

    def _commit(self, event: Event) -> None:
        self._history.append(event)
        event.table.history.append(event)
        self._history_bytes += len(event.after.raw)
        if self._full():
            self.compact()
        for listener in (*event.table.listeners(event.after.key[0]), *self.listeners):
            listener(event)

    # Eviction

    def _full(self) -> bool:
        return len(self._history) > self._limits.events or self._history_bytes > self._limits.bytes

    def compact(self) -> None:
        """Drop history beyond its bounds."""
        seconds = self._limits.seconds
        oldest = None if seconds is None else self._monotonic() - seconds
        while self._history and (self._full() or (oldest is not None and self._history[0].at < oldest)):
            event = self._history.popleft()
            event.table.history.popleft()
            self._history_bytes -= len(event.after.raw)
            self.compacted = event.rv

    def _remember(self, entry: Entry, obj: Obj) -> None:
        self._decoded[entry] = obj
        self._decoded_bytes += len(entry.raw)
        while self._decoded_bytes > self._cache_bytes and len(self._decoded) > 1:
            oldest = next(iter(self._decoded))
            self._decoded_bytes -= len(oldest.raw)
            del self._decoded[oldest]

    def _forget(self, entry: Entry) -> None:
        if self._decoded.pop(entry, None) is not None:
            self._decoded_bytes -= len(entry.raw)
