"""A controller of the embedded cluster: a set of keys that need work, and a function that does it for one key."""

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
    """Where a controller tells people what it did: writes or counts up an Event about ``obj``."""

    def event(self, obj: Obj, type_: str, reason: str, message: str, *, component: str) -> None: ...


class Controller:
    """Level-triggered: :meth:`enqueue` notes a key, :meth:`sync` makes the cluster as that key's object wants it.

    Everything runs in one thread, so a key is never synced twice at once. Work is done in the order of the keys'
    arrival, in a later turn of the loop than the write that caused it; keys noted meanwhile are done once.

    What comes out of ``sync`` as an error is tried again with growing delay and costs other keys nothing. A StatusError
    (a conflict, mostly) is all in a day's work; anything else is a bug, and is raised in the end, for the clock to
    report. Both are counted in ``errors``, and ``last_error`` is the latest of them.
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
        """Subscribe and look at everything that is there."""
        self._running = True
        self.setup()

    def stop(self) -> None:
        """Unsubscribe and forget all work."""
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
        """Subscribe to what matters (see :meth:`watch`) and enqueue what exists."""
        raise NotImplementedError

    def sync(self, key: Key) -> None:
        """Bring one object to where it should be."""
        raise NotImplementedError

    def watch(self, resource: str, keys: Callable[[Obj], Key | None]) -> None:
        """Enqueue ``keys(obj)`` for each object that is there now and for each later change of one."""

        def note(obj: Obj) -> None:
            key = keys(obj)
            if key is not None:
                self.enqueue(key)

        self._unsubscribe.append(self.access.subscribe(resource, lambda change: note(change.obj)))
        for obj in self.access.list(resource):
            note(obj)

    def enqueue(self, key: Key, after: float = 0.0) -> None:
        """Work on ``key`` soon, or after a delay in seconds (the earliest of several delays counts)."""
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
        known = self._later.get(key)
        if known is not None:
            if known[0] <= due:
                return
            known[1].cancel()

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
