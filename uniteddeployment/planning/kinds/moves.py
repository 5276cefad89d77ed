"""Moving replicas between the revisions of a Deployment subset, one safe write at a time.

There is one Deployment per revision, so the number of updated pods is the replicas of one object. Every set of numbers
that this module gives keeps three promises, whatever happens after the write: the new revision never grows beyond
``desired - partition`` (I6); the total never exceeds ``desired + surge``; no more than ``unavailable`` of the desired
pods are taken away before others are available (I7).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """One revision's Deployment: what is asked of it and what it has."""

    replicas: int
    available: int

    @property
    def serving(self) -> int:
        """Pods that are available and not about to be removed."""
        return min(self.replicas, self.available)


@dataclass(frozen=True, slots=True)
class Pace:
    """maxSurge and maxUnavailable as numbers of pods. Not both are zero."""

    surge: int
    unavailable: int


def pace(strategy: Mapping[str, object], desired: int) -> Pace:
    """The pace that a Deployment's ``strategy`` asks for, rounded as Kubernetes rounds (surge up, unavailable down)."""
    if strategy.get("type") == "Recreate":
        return Pace(surge=0, unavailable=max(desired, 1))
    rolling = strategy.get("rollingUpdate")
    values = rolling if isinstance(rolling, Mapping) else {}
    surge = resolve(values.get("maxSurge", "25%"), desired, round_up=True)
    unavailable = resolve(values.get("maxUnavailable", "25%"), desired, round_up=False)
    return Pace(surge, unavailable if surge or unavailable else 1)


_PERCENT_DIGITS = 9


def resolve(value: object, total: int, *, round_up: bool) -> int:
    """A count, or a percentage of ``total``. What cannot be read counts as nothing (admission refuses it)."""
    if isinstance(value, int):
        return max(0, value)
    percent = value.removesuffix("%") if isinstance(value, str) else ""
    if percent != value and percent.isascii() and percent.isdecimal() and len(percent) <= _PERCENT_DIGITS:
        share = total * int(percent)
        return -(-share // 100) if round_up else share // 100
    return 0


def goals(desired: int, partition: int, target: str, rest: str | None, sizes: Mapping[str, Size]) -> dict[str, int]:
    """Where the replicas of each revision are to end.

    The target gets what the partition leaves. What it has beyond that, since the partition was raised or the subset
    shrinks, it keeps unless there are too many pods: those beyond the partition go first then. Old pods stay where they
    are (one is not moved to another old revision without need). What is missing is added to the revision ``rest``; if
    there is none, it is not added at all. What is too many is taken from the other old revisions before ``rest``.
    """
    held = min(partition, desired)
    result = dict.fromkeys(sizes, 0)
    old = {revision: size.replicas for revision, size in sizes.items() if revision != target}
    updated = sizes[target].replicas if target in sizes else 0
    result[target] = max(desired - held, min(updated, desired - min(held, sum(old.values()))))
    spare = desired - result[target]
    for revision in sorted(old, key=lambda revision: (revision != rest, revision)):
        result[revision] = min(old[revision], spare)
        spare -= result[revision]
    if rest is not None and spare:
        result[rest] = result.get(rest, 0) + spare
    return result


def step(desired: int, pace: Pace, sizes: Mapping[str, Size], goal: Mapping[str, int], target: str) -> dict[str, int]:
    """The replicas that each revision is to have now, on the way to ``goal``."""
    result = {revision: sizes[revision].replicas if revision in sizes else 0 for revision in goal}
    _shrink(result, desired - pace.unavailable, sizes, goal)
    room = desired + pace.surge - sum(result.values())
    # The held revision first: were we cut off now, more of the known good version would be running.
    for revision in sorted(goal, key=lambda revision: (revision == target, revision)):
        grow = min(goal[revision] - result[revision], room)
        if grow > 0:
            result[revision] += grow
            room -= grow
    return result


def _shrink(result: dict[str, int], floor: int, sizes: Mapping[str, Size], goal: Mapping[str, int]) -> None:
    """Take away what is above its goal: first what serves nobody, then as much as keeps ``floor`` pods serving.

    A pod that does not serve may come back, so those of a shrinking revision count for the total that has to stay; of
    the other revisions only what serves counts. (The Deployment controller bounds its clean-up in the same way.)
    """
    floor = max(floor, 0)
    too_big = sorted(revision for revision in goal if result[revision] > goal[revision])
    kept = sum(size.serving for revision, size in sizes.items() if revision not in too_big)
    budget = kept + sum(result[revision] for revision in too_big) - floor
    spare = sum(size.serving for size in sizes.values()) - floor
    for idle_only in (True, False):
        for revision in too_big:
            serving = sizes[revision].serving
            cut = min(budget, result[revision] - goal[revision])
            cut = min(cut, result[revision] - serving if idle_only else spare)
            if cut > 0:
                result[revision] -= cut
                budget -= cut
                spare -= 0 if idle_only else cut
