"""What is divided, over what, and what comes out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Mode(Enum):
    """In which order subsets are given what no minimum and no fixed share claims."""

    SPREAD = "Spread"
    """In proportion to the weights."""
    FILL = "Fill"
    """In list order, each up to its maximum."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """How many pods that run may be moved to another subset in one round; None is any number.

    A pod that goes because the total fell, or because a maximum or a limit demands it, is not a move, nor is one that
    could not be scheduled where it was.
    """

    moves: int | None


NEVER = Disruption(0)
FREE = Disruption(None)


def bounded(moves: int) -> Disruption:
    """At most so many moves a round."""
    return Disruption(moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetRequest:
    """One subset: what it asks for, what it could take, and what runs there."""

    name: str
    share: int | str | None = None
    """A fixed share: a number, or a percentage of the total."""
    weight: int | None = None
    """Its part in proportion to the others; 1 if not given. 0 is for what nobody else can take."""
    minimum: int | str | None = None
    maximum: int | str | None = None
    capacity: int | None = None
    """How many pods it can probably run (an estimate). More are placed there only if nobody else can take them."""
    limit: int | None = None
    """How many pods it may get at most, for a reason that is not in the spec: ``note`` tells it."""
    current: int = 0
    """How many pods it has now."""
    may_grow: bool = True
    may_shrink: bool = True
    note: str = ""
    """Why there is a capacity, a limit or a bar to growing or shrinking, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRequest:
    """A total and the subsets that it is divided over. Without a total, the sum of the fixed shares is the total."""

    total: int | None
    subsets: tuple[SubsetRequest, ...]
    mode: Mode = Mode.SPREAD
    disruption: Disruption = FREE
    reserve: bool = False
    """Keep the pods that could not be scheduled where they are, and run stand-ins for them elsewhere: the sum is then
    larger than the total."""


@dataclass(frozen=True, slots=True)
class SubsetAllocation:
    """How many pods a subset gets, and why this number."""

    name: str
    replicas: int
    reason: str
    reserved: int = 0
    """How many of the replicas wait to be scheduled while stand-ins run elsewhere."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The division. ``unplaced`` pods have no place; ``problem`` says why, or where the shares do not fit the total."""

    subsets: tuple[SubsetAllocation, ...]
    unplaced: int = 0
    problem: str = ""

    @property
    def replicas(self) -> Mapping[str, int]:
        """The numbers by subset name."""
        return {subset.name: subset.replicas for subset in self.subsets}
