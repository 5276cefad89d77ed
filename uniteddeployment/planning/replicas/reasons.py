"""The reason of each number, in words that a user can act on."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.replicas.model import Mode, SubsetRequest
from uniteddeployment_api.int_or_percent import scaled


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a subset in numbers of pods: those of the spec, and others."""

    low: int
    high: int
    hard: int
    pinned: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one subset, with its inputs."""

    subset: SubsetRequest
    number: int
    wish: int
    """Number of pods that the subset would get if pods could be moved freely."""
    reserved: int
    """Pods beyond ``number`` that wait to be scheduled."""
    limits: Limits
    total: int
    mode: Mode
    after_fixed: bool
    """Whether other subsets have fixed shares."""


def reason_of(decision: Decision) -> str:
    """The strongest reason of a number: the one to act on in order to change it."""
    subset, number, limits = decision.subset, decision.number, decision.limits
    if decision.reserved:
        return _noted(f"{decision.reserved} could not be scheduled and wait, stand-ins run elsewhere", subset)
    if limits.pinned and number == limits.pinned and number >= decision.wish:
        return _noted("kept: it cannot be scaled down now", subset)
    if number > decision.wish:
        return "kept: pods do not move without need"
    if number < decision.wish:
        return f"{decision.wish} would be its share, but pods do not move without need"
    return _bound(decision) or _claim(decision)


def _bound(decision: Decision) -> str:
    """The bound that kept the subset from getting more; empty if none did."""
    subset, number, limits = decision.subset, decision.number, decision.limits
    if number == limits.hard < limits.high:
        what = f"limited to {number}" if subset.may_grow else "kept: it cannot be scaled up now"
        return _noted(what, subset)
    if subset.capacity is not None and number > subset.capacity:
        return _noted(f"{number - subset.capacity} more than it can run: no other subset has room", subset)
    if subset.capacity is not None and number == subset.capacity < limits.hard:
        return _noted(f"limited to {number} by what it can run", subset)
    if subset.share is None and subset.maximum is not None and number == limits.high:
        return f"limited by maxReplicas {subset.maximum}"
    return ""


def _claim(decision: Decision) -> str:
    """The claim that the number follows from."""
    subset, number, limits = decision.subset, decision.number, decision.limits
    if subset.share is not None:
        return _share_reason(subset.share, number, decision.total)
    if subset.minimum is not None and number < limits.low:
        return f"below minReplicas {subset.minimum}: the total {decision.total} is used up"
    if subset.minimum is not None and number == limits.low:
        return f"minReplicas {subset.minimum}"
    if decision.mode is Mode.FILL:
        return "filled in the order of the list" if number else "the subsets before it take everything"
    if subset.weight == 0 and number:
        return "weight 0: only what no other subset can take"
    if subset.weight is not None:
        return f"share of weight {subset.weight}"
    return "even share of what the fixed shares leave" if decision.after_fixed else "even share"


def unplaced_reason(total: int, subsets: Sequence[SubsetRequest], limits: Sequence[Limits]) -> str:
    """Return why some of ``total`` pods cannot be placed."""
    if not subsets:
        return "there are no subsets"
    full = ", ".join(subset.name for subset, limit in zip(subsets, limits, strict=True) if limit.hard < total)
    return f"{full} may take no more"


def _share_reason(share: int | str, number: int, total: int) -> str:
    if isinstance(share, int):
        return f"fixed at {share}" if number == share else f"less than the fixed {share}: the total is {total}"
    text = f"{share} of {total}"
    return text if number == scaled(share, total) else f"{text}, fitted to the other shares"


def _noted(text: str, subset: SubsetRequest) -> str:
    return f"{text}: {subset.note}" if subset.note else text
