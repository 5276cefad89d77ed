"""Writes to one cluster for one application, which go on by themselves when they take long.

A pass starts them and waits for a short grace. Those that are answered by then are part of the pass. The others are in
flight: later passes write nothing to that cluster for that application, and the key is queued again when they are
finished. So a slow cluster delays no other one (I10), and there is never more than one sequence of writes for a key and
a cluster (I1).

All flights run in one task group: none outlives :meth:`Flights.run`.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from uniteddeployment.controller.host import Key
from uniteddeployment.controller.observe import Memory
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.steps import Event, MemberStep

GRACE_SECONDS = 0.5
"""How long a pass waits for the answers of clusters."""
MOST_LATE = 500
"""How many applications may wait for one cluster at once; each holds its plan in memory."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Outcome:
    """How writes went. ``failed`` says that they have to be tried again."""

    failed: bool = False
    done: list[MemberStep] = field(default_factory=list)
    """The steps that changed something."""
    untold: list[MemberStep] = field(default_factory=list)
    """Those of them that no Event speaks of."""
    host_error: str = ""
    events: list[Event] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Take in how other writes went."""
        self.failed = self.failed or other.failed
        self.done += other.done
        self.untold += other.untold
        self.events += other.events


@dataclass(slots=True, eq=False)
class Flight:
    """The writes of one application in one cluster."""

    subject: Subject
    memory: Memory
    cluster: str
    steps: Sequence[MemberStep]
    begun: float
    """When it began, in the loop's time."""
    outcome: Outcome = field(default_factory=Outcome)
    position: int = 0
    """Which step is being carried out."""
    obsolete: bool = False
    """The application has been changed since it was planned: the write that is under way is the last one."""
    left: bool = False
    """The pass that started it has ended without it."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        return self.subject.namespace, self.subject.name

    @property
    def remaining(self) -> Sequence[MemberStep]:
        """The step that is being carried out and those after it."""
        return self.steps[self.position :]


class Flights:
    """Starts flights and knows which there are.

    ``carry_out`` makes the writes of one; ``landed`` is called with each that a pass does not wait for any more, when
    it is finished.
    """

    def __init__(self, carry_out: Callable[[Flight], Awaitable[None]], landed: Callable[[Flight], None]) -> None:
        self._carry_out = carry_out
        self._landed = landed
        self._flights: dict[Key, dict[str, Flight]] = {}
        self._late: Counter[str] = Counter()
        """Cluster -> flights that were not finished within the grace and still are not."""
        self._tasks: asyncio.TaskGroup | None = None
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Hold the flights until cancelled; then they are cancelled, too."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await self._stop.wait()

    def of(self, key: Key) -> Mapping[str, Flight]:
        """Cluster -> the flight of an application there."""
        return self._flights.get(key, {})

    def remaining(self, key: Key) -> Mapping[str, Sequence[MemberStep]]:
        """Cluster -> the steps of an application that are not finished there."""
        return {cluster: flight.remaining for cluster, flight in self.of(key).items()}

    def crowded(self, cluster: str) -> bool:
        """Whether so many applications wait for a cluster that the next one has to come again later."""
        return self._late[cluster] >= MOST_LATE

    @contextlib.contextmanager
    def begun(
        self, subject: Subject, memory: Memory, members: Mapping[str, Sequence[MemberStep]]
    ) -> Iterator[Sequence[Flight]]:
        """Write the steps of each cluster while a pass goes on; what is not finished after that is left in flight."""
        flights = [self._start(subject, memory, cluster, steps) for cluster, steps in members.items()]
        try:
            yield flights
        finally:
            for flight in flights:
                if not flight.finished.is_set():
                    flight.left = True
                    self._late[flight.cluster] += 1

    def supersede(self, subject: Subject) -> None:
        """Let flights that were planned for something else end after the write that is under way."""
        for flight in self.of((subject.namespace, subject.name)).values():
            if _asked(flight.subject) != _asked(subject):
                flight.obsolete = True

    async def wait(self, flights: Sequence[Flight]) -> list[Flight]:
        """Wait for flights for a short grace; gives those that are finished.

        A cluster that lets others wait already is not waited for again.
        """
        await _all_finished([flight for flight in flights if not self._late[flight.cluster]], GRACE_SECONDS)
        return [flight for flight in flights if flight.finished.is_set()]

    async def drain(self) -> None:
        """Wait until all flights are finished."""
        while self._flights:
            flights = [flight for found in self._flights.values() for flight in found.values()]
            await _all_finished(flights, None)

    def _start(self, subject: Subject, memory: Memory, cluster: str, steps: Sequence[MemberStep]) -> Flight:
        if self._tasks is None:
            raise RuntimeError("flights need Flights.run")
        flight = Flight(subject, memory, cluster, steps, asyncio.get_running_loop().time())
        if cluster in self.of(flight.key):
            raise RuntimeError(f"{subject.key} is being written to {cluster} already")
        self._tasks.create_task(self._fly(flight))
        self._flights.setdefault(flight.key, {})[cluster] = flight
        return flight

    async def _fly(self, flight: Flight) -> None:
        try:
            await self._carry_out(flight)
        except Exception:  # noqa: BLE001  # logged, and tried again with the key
            # One application's trouble in one cluster must not end the work on all others.
            _log.exception("writes failed", key=flight.subject.key, cluster=flight.cluster)
            flight.outcome.failed = True
        finally:
            self._end(flight)
        if flight.left:
            self._landed(flight)

    def _end(self, flight: Flight) -> None:
        flights = self._flights[flight.key]
        del flights[flight.cluster]
        if not flights:
            del self._flights[flight.key]
        flight.finished.set()
        if flight.left:
            self._late[flight.cluster] -= 1


async def _all_finished(flights: Iterable[Flight], seconds: float | None) -> None:
    """Wait until all of them are finished, but no longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            for flight in flights:
                await flight.finished.wait()
    except TimeoutError:
        return


def _asked(subject: Subject) -> tuple[Any, ...]:
    """What users and Kubernetes ask of an application: what a plan follows from, beside what clusters show."""
    return subject.uid, subject.generation, subject.deleting, subject.orphan, subject.annotations
