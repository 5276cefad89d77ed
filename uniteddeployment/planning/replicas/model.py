"""The request of a division of replicas, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Mode(Enum):
    """The order in which subsets get the pods that no minimum and no fixed share claims."""

    SPREAD = "Spread"
    """In proportion to the weights."""
    FILL = "Fill"
    """In list order, each up to its maximum."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """The number of running pods that may be moved to another subset in one round; None for any number.

    Not every pod that goes is moved: the total may have fallen, a maximum or a limit may demand it, or the pod could
    not be scheduled where it was.
    """

    moves: int | None


NEVER = Disruption(0)
FREE = Disruption(None)


def bounded(moves: int) -> Disruption:
    """At most this many moves in one round."""
    return Disruption(moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetRequest:
    """One subset: what it asks for, what it can take, and what it runs."""

    name: str
    share: int | str | None = None
    """A fixed share: a number, or a percentage of the total."""
    weight: int | None = None
    """Its part in proportion to the others; 1 if not given. With 0 it only gets what nobody else can take."""
    minimum: int | str | None = None
    maximum: int | str | None = None
    capacity: int | None = None
    """An estimate of how many pods it can run. It gets more only if nobody else can take them."""
    limit: int | None = None
    """The most pods that it may get, for a reason outside of the spec, which ``note`` gives."""
    current: int = 0
    """Number of pods that it has now."""
    may_grow: bool = True
    may_shrink: bool = True
    note: str = ""
    """The reason of the capacity or the limit, or why it may not grow or shrink, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRequest:
    """A total and the subsets that it is divided over. Without a total, the sum of the fixed shares is the total."""

    total: int | None
    subsets: tuple[SubsetRequest, ...]
    mode: Mode = Mode.SPREAD
    disruption: Disruption = FREE
    reserve: bool = False
    """Keep pods that could not be scheduled where they are, and run stand-ins for them in other subsets. The sum is
    larger than the total then."""


@dataclass(frozen=True, slots=True)
class SubsetAllocation:
    """The number of pods that a subset gets, and why."""

    name: str
    replicas: int
    reason: str
    reserved: int = 0
    """Number of the replicas that wait to be scheduled while stand-ins run in other subsets."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The division."""

    subsets: tuple[SubsetAllocation, ...]
    unplaced: int = 0
    """Number of pods that no subset can take."""
    problem: str = ""
    """Why pods are unplaced, or how the fixed shares do not fit the total; empty if everything fits."""

    @property
    def replicas(self) -> Mapping[str, int]:
        """Subset -> its pods."""
        return {subset.name: subset.replicas for subset in self.subsets}
