"""Why a subset has the number that it has, in words that a person can act on."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.replicas.model import Mode, SubsetDemand
from uniteddeployment_api.int_or_percent import scaled


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a subset in pods: what the spec says, and what else binds it."""

    share: int | None
    low: int
    high: int
    hard: int
    pinned: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one subset."""

    demand: SubsetDemand
    number: int
    wish: int
    """What the subset would have if nothing had to stay where it runs."""
    waiting: int
    """Pods on top of ``number`` that wait to be scheduled."""
    limits: Limits
    total: int
    mode: Mode
    after_fixed: bool
    """Whether other subsets have fixed shares."""


def reason_of(outcome: Outcome) -> str:
    """Why the subset has this number: the strongest reason, the one to act on to change it."""
    demand, number, limits = outcome.demand, outcome.number, outcome.limits
    if outcome.waiting:
        return _noted(f"{outcome.waiting} could not be scheduled and wait, stand-ins run elsewhere", demand)
    if limits.pinned and number == limits.pinned and number >= outcome.wish:
        return _noted("kept: it cannot be scaled down now", demand)
    if number > outcome.wish:
        return "kept: moving is not allowed"
    if number < outcome.wish:
        return f"{outcome.wish} would be its share, but that would move pods, and moving is not allowed"
    return _bound(outcome) or _claim(outcome)


def _bound(outcome: Outcome) -> str:
    """The bound that stopped the subset from getting more, if one did."""
    demand, number, limits = outcome.demand, outcome.number, outcome.limits
    if number == limits.hard < limits.high:
        what = f"limited to {number}" if demand.may_grow else "kept: it cannot be scaled up now"
        return _noted(what, demand)
    if demand.capacity is not None and number > demand.capacity:
        return _noted(f"{number - demand.capacity} more than it can run: no other subset has room", demand)
    if demand.capacity is not None and number == demand.capacity < limits.hard:
        return _noted(f"limited to {number} by what it can run", demand)
    if demand.share is None and demand.maximum is not None and number == limits.high:
        return f"limited by maxReplicas {demand.maximum}"
    return ""


def _claim(outcome: Outcome) -> str:
    """What the subset has its number from."""
    demand, number, limits = outcome.demand, outcome.number, outcome.limits
    if demand.share is not None:
        return _share_reason(demand.share, number, outcome.total)
    if demand.minimum is not None and number < limits.low:
        return f"below minReplicas {demand.minimum}: the total {outcome.total} is used up"
    if demand.minimum is not None and number == limits.low:
        return f"minReplicas {demand.minimum}"
    if outcome.mode is Mode.FILL:
        return "filled in the order of the list" if number else "the subsets before it take everything"
    if demand.weight == 0 and number:
        return "weight 0: only what no other subset can take"
    if demand.weight is not None:
        return f"share of weight {demand.weight}"
    return "even share of what the fixed shares leave" if outcome.after_fixed else "even share"


def unplaced_reason(unplaced: int, total: int, demands: Sequence[SubsetDemand], limits: Sequence[Limits]) -> str:
    """Why pods have no place."""
    if not demands:
        return f"{unplaced} of {total} replicas have no place: there are no subsets"
    full = ", ".join(demand.name for demand, limit in zip(demands, limits, strict=True) if limit.hard < total)
    return f"{unplaced} of {total} replicas have no place: {full} may take no more"


def _share_reason(share: int | str, number: int, total: int) -> str:
    if isinstance(share, int):
        return f"fixed at {share}" if number == share else f"less than the fixed {share}: the total is {total}"
    text = f"{share} of {total}"
    return text if number == scaled(share, total) else f"{text}, fitted to the other shares"


def _noted(text: str, demand: SubsetDemand) -> str:
    return f"{text}: {demand.note}" if demand.note else text
