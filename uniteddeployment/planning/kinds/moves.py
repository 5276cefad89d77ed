"""Moving replicas between the revisions of a Deployment subset, one safe write at a time.

There is one Deployment per revision, so the number of updated pods is the replicas of one object. All numbers that this
module returns keep three promises, whatever happens after the write: the new revision never grows beyond
``desired - partition`` (I6); the total never exceeds ``desired + surge``; at most ``unavailable`` of the desired pods
are removed before others are available (I7).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """The Deployment of one revision: the replicas that it is asked for, and the available ones."""

    replicas: int
    available: int

    @property
    def serving(self) -> int:
        """Pods that are available and not about to be removed."""
        return min(self.replicas, self.available)


@dataclass(frozen=True, slots=True)
class Pace:
    """maxSurge and maxUnavailable as numbers of pods. They are not both zero."""

    surge: int
    unavailable: int


def pace(strategy: Mapping[str, object], desired: int) -> Pace:
    """The pace that a Deployment's ``strategy`` asks for, rounded like Kubernetes does (surge up, unavailable down).

    >>> pace({}, 10)
    Pace(surge=3, unavailable=2)
    >>> pace({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "5%"}}, 10)
    Pace(surge=0, unavailable=1)
    """
    if strategy.get("type") == "Recreate":
        return Pace(surge=0, unavailable=max(desired, 1))
    rolling = strategy.get("rollingUpdate")
    values = rolling if isinstance(rolling, Mapping) else {}
    surge = resolve(values.get("maxSurge", "25%"), desired, round_up=True)
    unavailable = resolve(values.get("maxUnavailable", "25%"), desired, round_up=False)
    return Pace(surge, unavailable if surge or unavailable else 1)


_PERCENT_DIGITS = 9


def resolve(value: object, total: int, *, round_up: bool) -> int:
    """Resolve a count, or a percentage of ``total``. Anything else counts as 0 (admission refuses it).

    >>> resolve(3, 10, round_up=True), resolve("25%", 10, round_up=True), resolve("25%", 10, round_up=False)
    (3, 3, 2)
    """
    if isinstance(value, int):
        return max(0, value)
    percent = value.removesuffix("%") if isinstance(value, str) else ""
    if percent != value and percent.isascii() and percent.isdecimal() and len(percent) <= _PERCENT_DIGITS:
        share = total * int(percent)
        return -(-share // 100) if round_up else share // 100
    return 0


def goals(desired: int, partition: int, target: str, rest: str | None, sizes: Mapping[str, Size]) -> dict[str, int]:
    """Return the replicas that each revision is to have in the end.

    The target gets what the partition leaves. If it has more, because the partition was raised or the subset shrinks,
    it keeps them unless there are too many pods; then those beyond the partition go first. Old pods stay at their
    revisions (none is moved to another old revision without need). Missing pods are added to the revision ``rest``, or
    not at all if that is None. Superfluous ones are removed from the other old revisions before ``rest``.

    A canary of ten pods, of which the partition holds seven:

    >>> goals(10, 7, "new", "old", {"old": Size(10, 10)})
    {'old': 7, 'new': 3}

    The partition is raised to nine when three pods are updated already. They stay:

    >>> goals(10, 9, "new", "old", {"old": Size(7, 7), "new": Size(3, 3)})
    {'old': 7, 'new': 3}

    The subset shrinks to six, of which five are held. The updated pods beyond the partition go first:

    >>> goals(6, 5, "new", "old", {"old": Size(7, 7), "new": Size(3, 3)})
    {'old': 5, 'new': 1}
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
    """Return the replicas that each revision is to have now, on the way to ``goal``.

    Half of ten pods are to be updated, with maxSurge 3 and maxUnavailable 2. Two old pods go, and five new ones come:

    >>> step(10, Pace(surge=3, unavailable=2), {"old": Size(10, 10)}, {"old": 5, "new": 5}, "new")
    {'old': 8, 'new': 5}

    As long as none of the new ones is available, no further old pod goes:

    >>> step(10, Pace(3, 2), {"old": Size(8, 8), "new": Size(5, 0)}, {"old": 5, "new": 5}, "new")
    {'old': 8, 'new': 5}
    >>> step(10, Pace(3, 2), {"old": Size(8, 8), "new": Size(5, 2)}, {"old": 5, "new": 5}, "new")
    {'old': 6, 'new': 5}
    """
    result = {revision: sizes[revision].replicas if revision in sizes else 0 for revision in goal}
    _shrink(result, desired - pace.unavailable, sizes, goal)
    room = desired + pace.surge - sum(result.values())
    # The held revision grows first: if the cluster is cut off now, more pods of the known good version run.
    for revision in sorted(goal, key=lambda revision: (revision == target, revision)):
        grow = min(goal[revision] - result[revision], room)
        if grow > 0:
            result[revision] += grow
            room -= grow
    return result


def _shrink(result: dict[str, int], floor: int, sizes: Mapping[str, Size], goal: Mapping[str, int]) -> None:
    """Remove pods above their goals: first those that serve nobody, then as many as keep ``floor`` pods serving.

    A pod that does not serve may recover, so all pods of a shrinking revision count for the total that has to stay; of
    the other revisions only those that serve. (The Deployment controller bounds its clean-up in the same way.)
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
