"""The base class of controllers: a set of keys that need work, and a function that syncs one key."""

from collections.abc import Callable
from random import Random
from typing import ClassVar, Protocol

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock, Timer
from uniteddeployment.embedded.errors import StatusError

Key = tuple[str, str]
"""(namespace, name)"""

FIRST_RETRY = 0.01
LAST_RETRY = 5.0


class EventSink(Protocol):
    """The interface through which a controller records Events."""

    def event(self, obj: Obj, type_: str, reason: str, message: str, *, component: str) -> None: ...


class Controller:
    """A level-triggered controller: :meth:`enqueue` queues a key, :meth:`sync` moves the cluster to its desired state.

    Everything runs in one thread, so a key is never synced twice at once. Keys are synced in the order of their
    arrival, in a later turn of the event loop than the write that caused them; a key that is queued several times is
    synced once.

    If ``sync`` fails, the key is retried with increasing delay, without affecting other keys. A StatusError (usually a
    conflict) is expected. Any other error is a bug and is raised afterwards, so that the clock's event loop reports it.
    ``errors`` counts both, and ``last_error`` is the latest.
    """

    name: ClassVar[str]
    errors: int
    last_error: Exception | None

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        self.access = access
        self.clock = clock
        self.random = random
        self.events = events
        self._dirty: dict[Key, None] = {}
        self._turn: Timer | None = None
        self._later: dict[Key, tuple[float, Timer]] = {}
        self._failures: dict[Key, int] = {}
        self._unsubscribe: list[Callable[[], None]] = []
        self._running = False
        self.errors = 0
        self.last_error = None

    def start(self) -> None:
        """Subscribe, and queue all existing objects."""
        self._running = True
        self.setup()

    def stop(self) -> None:
        """Unsubscribe and drop all queued work."""
        self._running = False
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
        for _, timer in self._later.values():
            timer.cancel()
        self._later.clear()
        self._dirty.clear()
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def setup(self) -> None:
        """Subscribe to resources (see :meth:`watch`) and queue existing objects."""
        raise NotImplementedError

    def sync(self, key: Key) -> None:
        """Reconcile one object."""
        raise NotImplementedError

    def watch(self, resource: str, keys: Callable[[Obj], Key | None]) -> None:
        """Queue ``keys(obj)`` for each existing object and for each later change."""

        def note(obj: Obj) -> None:
            key = keys(obj)
            if key is not None:
                self.enqueue(key)

        self._unsubscribe.append(self.access.subscribe(resource, lambda change: note(change.obj)))
        for obj in self.access.list(resource):
            note(obj)

    def enqueue(self, key: Key, after: float = 0.0) -> None:
        """Queue ``key`` now or after a delay in seconds; the shortest of several delays applies."""
        if not self._running:
            return
        if after > 0:
            self._enqueue_later(key, after)
            return
        self._dirty[key] = None
        if self._turn is None:
            self._turn = self.clock.call_soon(self._work)

    def _enqueue_later(self, key: Key, after: float) -> None:
        due = self.clock.monotonic() + after
        scheduled = self._later.get(key)
        if scheduled is not None:
            if scheduled[0] <= due:
                return
            scheduled[1].cancel()

        def arrive() -> None:
            del self._later[key]
            self.enqueue(key)

        self._later[key] = (due, self.clock.call_later(after, arrive))

    def _work(self) -> None:
        self._turn = None
        keys = list(self._dirty)
        self._dirty.clear()
        bugs: list[Exception] = []
        for key in keys:
            if not self._running:
                break
            try:
                self.sync(key)
            except StatusError as error:
                self._note_failure(key, error)
            except Exception as error:  # noqa: BLE001  # raised below, when the other keys have had their turn
                self._note_failure(key, error)
                bugs.append(error)
            else:
                self._failures.pop(key, None)
        if bugs:
            raise bugs[0] if len(bugs) == 1 else ExceptionGroup(f"controller {self.name}", bugs)

    def _note_failure(self, key: Key, error: Exception) -> None:
        self.errors += 1
        self.last_error = error
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.enqueue(key, after=min(FIRST_RETRY * 2 ** min(failures, 16), LAST_RETRY))
