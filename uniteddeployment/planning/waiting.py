"""Which pods of a subset wait for a node, and which of those scaling down would take away."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.observed import PodTally
from uniteddeployment.planning.times import since


@dataclass(frozen=True, slots=True)
class Order:
    """How pods with ordinals come."""

    first: int = 0
    """The lowest ordinal."""
    one_by_one: bool = True
    """Whether one is made only when all before it are ready."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods of what a subset was given that have no node."""

    pods: int
    removable: int
    """How many pods scaling down would take away without touching one that has a node."""


def waiting(pods: PodTally, given: int, order: Order | None, *, critical: int, now: str) -> Waiting:
    """The pods that had no node for ``critical`` seconds, without those that are there on top of what was given."""
    stuck = [ordinal for ordinal, begun in pods.unscheduled if since(begun, now) >= critical]
    if order is not None:
        return _waiting_in_order(sorted(pod.ordinal for pod in pods.pods)[:given], given, frozenset(stuck), order)
    surplus = max(0, sum(pods.living.values()) - given)
    count = min(max(0, len(stuck) - surplus), given)
    return Waiting(count, count)


def _waiting_in_order(there: Sequence[int], given: int, stuck: frozenset[int], order: Order) -> Waiting:
    """Pods go from the top, so one that waits below another that runs cannot be taken away.

    Where they are made one after the other, those that are missing wait for the one that waits.
    """
    count = sum(1 for ordinal in there if ordinal in stuck)
    missing = given - len(there)
    if not count or (missing and not order.one_by_one):
        return Waiting(count, 0)
    removable = min(missing, max(0, order.first + given - 1 - there[-1]))
    if removable == missing:
        removable += next((place for place, ordinal in enumerate(reversed(there)) if ordinal not in stuck), len(there))
    return Waiting(count + missing, removable)
