"""Why a subset has the number that it has, in words that a person can act on."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.allocation.model import Mode, SubsetDemand
from uniteddeployment_api.shares import scaled


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a subset in pods: what the spec says, and what else binds it."""

    share: int | None
    low: int
    high: int
    hard: int
    pinned: int


def reason_of(demand: SubsetDemand, number: int, wish: int, limits: Limits, total: int, mode: Mode) -> str:
    """The reason of ``number``. ``wish`` is what the subset would have if nothing had to stay where it runs."""
    if limits.pinned and number == limits.pinned and number >= wish:
        return _noted("kept: the subset cannot be scaled down now", demand)
    if number > wish and number <= demand.current:
        return "kept: moving is not allowed"
    if number < wish:
        return "not grown: that would move pods, and moving is not allowed"
    if number == limits.hard < limits.high:
        return _noted(f"limited to {limits.hard}", demand)
    if demand.capacity is not None and number > demand.capacity:
        return _noted(f"{number - demand.capacity} more than it can probably run: no other subset has room", demand)
    if demand.capacity is not None and number == demand.capacity:
        return _noted(f"limited to {number} by what it can probably run", demand)
    if demand.share is not None:
        return _share_reason(demand, number, total)
    if demand.maximum is not None and number == limits.high:
        return f"limited by maxReplicas {demand.maximum}"
    if demand.minimum is not None and number == limits.low:
        return f"minReplicas {demand.minimum}"
    if demand.minimum is not None and number < limits.low:
        return f"below minReplicas {demand.minimum}: the total is used up"
    if mode is Mode.FILL:
        return "filled in the order of the list" if number else "the subsets before it take everything"
    if demand.weight is not None:
        return f"share of weight {demand.weight}"
    return "even share of what is left"


def unplaced_reason(unplaced: int, total: int, demands: Sequence[SubsetDemand], limits: Sequence[Limits]) -> str:
    """Why pods have no place."""
    if not demands:
        return f"{unplaced} of {total} replicas have no place: there are no subsets"
    bound = [
        demand.name for demand, limit in zip(demands, limits, strict=True) if limit.hard < total or demand.weight == 0
    ]
    return f"{unplaced} of {total} replicas have no place: {', '.join(bound)} may take no more"


def _share_reason(demand: SubsetDemand, number: int, total: int) -> str:
    share = demand.share
    if isinstance(share, str):
        text = f"{share} of {total}"
        return text if number == scaled(share, total) else f"{text}, fitted to the other shares"
    return (
        f"fixed at {number}" if number == share else f"less than the fixed {share}: the shares exceed the total {total}"
    )


def _noted(text: str, demand: SubsetDemand) -> str:
    return f"{text}: {demand.note}" if demand.note else text
