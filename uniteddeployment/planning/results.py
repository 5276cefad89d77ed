"""The result of planning one subset: its numbers, its state and its message."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.stored import RevisionCount, StoredCondition, StoredDrift
from uniteddeployment.text import shortened

LONGEST_MESSAGE = 1024
"""The most characters of the message of a subset."""


class State(StrEnum):
    """The state of an application or of a subset, for conditions, kubectl's columns and ``ud get``.

    States are ordered: an application is in the first state that applies to it or to one of its subsets.
    """

    DELETING = "Deleting"
    """Its workloads are being removed."""
    STALLED = "Stalled"
    """A user has to act; waiting does not help."""
    UNKNOWN = "Unknown"
    """A cluster does not answer, so its present state is unknown."""
    PAUSED = "Paused"
    """``spec.paused`` is set, so nothing is changed."""
    PROGRESSING = "Progressing"
    """Changes are being made, or pods are not ready yet."""
    HELD = "Held"
    """As asked for: partitions hold some pods at the old revision."""
    READY = "Ready"
    """As asked for: every pod is ready at the updated revision."""


def first(states: Iterable[State]) -> State:
    """The first of several states; Ready if there are none."""
    order = list(State)
    return min(states, key=order.index, default=State.READY)


def of_subset(*, stalled: bool, reachable: bool, paused: bool, settled: bool, held: bool) -> State:
    """The state of one subset."""
    if stalled:
        return State.STALLED
    if not reachable:
        return State.UNKNOWN
    if paused:
        return State.PAUSED
    if not settled:
        return State.PROGRESSING
    return State.HELD if held else State.READY


@dataclass(frozen=True, slots=True)
class Counts:
    """The pods of a subset, as its cluster shows them."""

    observed: int = 0
    ready: int = 0
    updated: int = 0
    updated_ready: int = 0


@dataclass(frozen=True, slots=True)
class SubsetResult:
    """The outcome of planning one subset."""

    name: str
    cluster: str
    reach: Reach
    workload: str
    replicas: int
    partition: int
    revision: str
    counts: Counts
    settled: bool
    message: str
    """The reason why it is not settled; otherwise the reason of its number."""
    reason: str = ""
    """Why it has this number of replicas."""
    stalled: bool = False
    generation: int = 0
    revisions: tuple[RevisionCount, ...] = ()
    """The pods of each revision that has any."""
    last_observed: str | None = None
    ordinals_start: int | None = None
    reserved: int = 0
    """Number of the replicas that wait for a node and are meant to have stand-ins in other subsets."""
    covered: int = 0
    """Number of those that have stand-ins."""
    assigned: int = 0
    """Number of replicas for the status: those that its workload has as long as the next number is not written."""
    desired: int = 0
    """Number of replicas that it will have when nothing moves any more."""
    kept: int = 0
    """Number of its ready pods that certainly stay with the present number of replicas."""
    moved: int = 0
    """Number of its replicas that run elsewhere until failback returns them."""
    possibly_running: int = 0
    """Number of pods that its cluster may still run while it cannot be seen."""
    conditions: tuple[StoredCondition, ...] = ()
    stable_revision: str = ""
    """The stable revision, if it is not the target revision."""
    paused: bool = False
    last_drift: StoredDrift | None = None
    """The last changes of others to its workload that were reverted."""

    def __post_init__(self) -> None:
        """Cut the message here, so that the same text is stored and compared with what is stored."""
        object.__setattr__(self, "message", shortened(self.message, LONGEST_MESSAGE))

    @property
    def counted(self) -> Counts:
        """The pods that count for the application: without those of a lost cluster that run elsewhere by now."""
        if self.reach is Reach.READY or self.desired >= self.counts.observed:
            return self.counts
        numbers = (self.counts.observed, self.counts.ready, self.counts.updated, self.counts.updated_ready)
        return Counts(*(min(number, self.desired) for number in numbers))

    @property
    def held(self) -> bool:
        """Whether its partition holds pods at the old revision."""
        return self.partition > 0 and self.counts.updated < self.replicas

    @property
    def state(self) -> State:
        """Its state."""
        return of_subset(
            stalled=self.stalled,
            reachable=self.reach is Reach.READY,
            paused=self.paused,
            settled=self.settled,
            held=self.held,
        )
