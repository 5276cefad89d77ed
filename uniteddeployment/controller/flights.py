"""Writes in flight: the sequences of writes for one application to one cluster, which may outlast a pass.

A pass starts them and waits for a short grace. Those that are answered by then are part of the pass. The others go on:
later passes write nothing to that cluster for that application, and the key is queued again when they are finished. So
a slow cluster delays no other one (I10), and there is never more than one sequence of writes for a key and a cluster
(I1).

All flights run in one task group, so none outlives :meth:`Flights.run`.
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
"""How many applications may have late writes to one cluster; each keeps its plan in memory."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Outcome:
    """The outcome of writes. If ``failed`` is set, they have to be tried again."""

    failed: bool = False
    done: list[MemberStep] = field(default_factory=list)
    """The steps that changed something."""
    unmentioned: list[MemberStep] = field(default_factory=list)
    """Those of them that are not in ``events``."""
    broken: list[MemberStep] = field(default_factory=list)
    """The steps that failed."""
    host_error: str = ""
    events: list[Event] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Add the outcome of other writes."""
        self.failed = self.failed or other.failed
        self.done += other.done
        self.unmentioned += other.unmentioned
        self.broken += other.broken
        self.events += other.events


@dataclass(slots=True, eq=False)
class Flight:
    """The writes of one application in one cluster."""

    subject: Subject
    memory: Memory
    cluster: str
    steps: Sequence[MemberStep]
    started_at: float
    """When it started, in the loop's time."""
    outcome: Outcome = field(default_factory=Outcome)
    position: int = 0
    """The index of the step in progress."""
    obsolete: bool = False
    """The application was changed since the plan was made, so the write in progress is the last one."""
    late: bool = False
    """The pass that started it has ended before it."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        return self.subject.namespace, self.subject.name

    @property
    def remaining(self) -> Sequence[MemberStep]:
        """The step in progress and those after it."""
        return self.steps[self.position :]


class Flights:
    """Starts flights and keeps track of them.

    ``carry_out`` makes the writes of a flight. ``on_late`` is called with each late flight when it is finished.
    """

    def __init__(self, carry_out: Callable[[Flight], Awaitable[None]], on_late: Callable[[Flight], None]) -> None:
        self._carry_out = carry_out
        self._on_late = on_late
        self._flights: dict[Key, dict[str, Flight]] = {}
        self._late: Counter[str] = Counter()
        """Cluster -> the number of late flights in progress."""
        self._tasks: asyncio.TaskGroup | None = None
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Run the flights until cancelled; then they are cancelled as well."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await self._stop.wait()

    def of(self, key: Key) -> Mapping[str, Flight]:
        """Cluster -> the flight of an application."""
        return self._flights.get(key, {})

    def remaining(self, key: Key) -> Mapping[str, Sequence[MemberStep]]:
        """Cluster -> the unfinished steps of an application."""
        return {cluster: flight.remaining for cluster, flight in self.of(key).items()}

    def is_full(self, cluster: str) -> bool:
        """Whether so many applications have late writes to a cluster that the next one has to be retried later."""
        return self._late[cluster] >= MOST_LATE

    @contextlib.contextmanager
    def started(
        self, subject: Subject, memory: Memory, members: Mapping[str, Sequence[MemberStep]]
    ) -> Iterator[Sequence[Flight]]:
        """Start a flight for each cluster. Those that are not finished at the end of the block are late."""
        flights = [self._start(subject, memory, cluster, steps) for cluster, steps in members.items()]
        try:
            yield flights
        finally:
            for flight in flights:
                if not flight.finished.is_set():
                    flight.late = True
                    self._late[flight.cluster] += 1

    def supersede(self, subject: Subject) -> None:
        """Let flights for an earlier version of the application end after the write in progress."""
        for flight in self.of((subject.namespace, subject.name)).values():
            if _requested(flight.subject) != _requested(subject):
                flight.obsolete = True

    async def wait(self, flights: Sequence[Flight]) -> list[Flight]:
        """Wait for flights for a short grace; return those that are finished.

        Flights to a cluster with late flights are not waited for.
        """
        await _all_finished([flight for flight in flights if not self._late[flight.cluster]], GRACE_SECONDS)
        return [flight for flight in flights if flight.finished.is_set()]

    async def drain(self) -> None:
        """Wait until all flights are finished."""
        while self._flights:
            flights = [flight for by_cluster in self._flights.values() for flight in by_cluster.values()]
            await _all_finished(flights, None)

    def _start(self, subject: Subject, memory: Memory, cluster: str, steps: Sequence[MemberStep]) -> Flight:
        if self._tasks is None:
            raise RuntimeError("Flights.run is not running")
        flight = Flight(subject, memory, cluster, steps, asyncio.get_running_loop().time())
        if cluster in self.of(flight.key):
            raise RuntimeError(f"{subject.key} already has writes to {cluster} in flight")
        self._tasks.create_task(self._fly(flight))
        self._flights.setdefault(flight.key, {})[cluster] = flight
        return flight

    async def _fly(self, flight: Flight) -> None:
        try:
            await self._carry_out(flight)
        except Exception:  # noqa: BLE001  # logged, and tried again with the key
            # An error of one application in one cluster must not end the work on the others.
            _log.exception("writes failed", key=flight.subject.key, cluster=flight.cluster)
            flight.outcome.failed = True
        finally:
            self._end(flight)
        if flight.late:
            self._on_late(flight)

    def _end(self, flight: Flight) -> None:
        flights = self._flights[flight.key]
        del flights[flight.cluster]
        if not flights:
            del self._flights[flight.key]
        flight.finished.set()
        if flight.late:
            self._late[flight.cluster] -= 1


async def _all_finished(flights: Iterable[Flight], seconds: float | None) -> None:
    """Wait until all flights are finished, but at most for so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            for flight in flights:
                await flight.finished.wait()
    except TimeoutError:
        return


def _requested(subject: Subject) -> tuple[Any, ...]:
    """The parts of an application that users and Kubernetes write, and that plans depend on."""
    return subject.uid, subject.generation, subject.deleting, subject.orphan, subject.annotations
