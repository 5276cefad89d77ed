"""The result of planning one subset: its numbers, its state, and what people should know of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.stored import RevisionCount, StoredCondition
from uniteddeployment.text import shortened

LONGEST_MESSAGE = 1024
"""Characters of what is said of a subset."""


class State(StrEnum):
    """Ordered: an application is in the first state that applies to it or to one of its subsets."""

    DELETING = "Deleting"
    """Its workloads are being removed."""
    STALLED = "Stalled"
    """Somebody has to act; waiting does not help."""
    UNKNOWN = "Unknown"
    """A cluster does not answer, so nobody knows how it is there now."""
    PAUSED = "Paused"
    """``spec.paused`` is set: nothing is changed."""
    PROGRESSING = "Progressing"
    """Changes are being made, or pods are not ready yet."""
    HELD = "Held"
    """As asked for: partitions keep some pods at the old revision."""
    READY = "Ready"
    """As asked for: every pod is ready at the updated revision."""


def first(states: Iterable[State]) -> State:
    """The state of the whole from the states of its parts; of nothing, Ready."""
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
    """Pods of a subset, as its cluster shows them."""

    observed: int = 0
    ready: int = 0
    updated: int = 0
    updated_ready: int = 0


@dataclass(frozen=True, slots=True)
class SubsetResult:
    """One subset as the plan leaves it."""

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
    """What is being waited for or in the way; the reason of its number when there is nothing."""
    reason: str = ""
    """Why it has this number of replicas."""
    stalled: bool = False
    generation: int = 0
    revisions: tuple[RevisionCount, ...] = ()
    """The pods of each revision that has any."""
    last_observed: str | None = None
    ordinals_start: int | None = None
    reserved: int = 0
    """How many of the replicas wait for a node, to have stand-ins."""
    covered: int = 0
    """How many of those do have stand-ins."""
    conditions: tuple[StoredCondition, ...] = ()
    paused: bool = False

    def __post_init__(self) -> None:
        """Cut the message here, so that what is compared with the stored status is what is stored."""
        object.__setattr__(self, "message", shortened(self.message, LONGEST_MESSAGE))

    @property
    def held(self) -> bool:
        """Whether its partition keeps pods at the old revision."""
        return self.partition > 0 and self.counts.updated < self.replicas

    @property
    def state(self) -> State:
        return of_subset(
            stalled=self.stalled,
            reachable=self.reach is Reach.READY,
            paused=self.paused,
            settled=self.settled,
            held=self.held,
        )
