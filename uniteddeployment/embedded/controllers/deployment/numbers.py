"""The arithmetic of a Deployment: surge and unavailable, proportional scaling, the next change of a rolling update.

Pure functions of the Deployment and its ReplicaSets.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.workloads.ownership import is_deleting
from uniteddeployment.embedded.controllers.workloads.rounding import scaled

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"


def replicas_of(obj: Obj) -> int:
    """``spec.replicas``."""
    count: int = obj["spec"].get("replicas", 1)
    return count


def total_replicas(replica_sets: Iterable[Obj]) -> int:
    """The sum of ``spec.replicas`` of these ReplicaSets."""
    return sum(replicas_of(replica_set) for replica_set in replica_sets)


def total_status(replica_sets: Iterable[Obj], count: str) -> int:
    """The sum of a count in the statuses of these ReplicaSets."""
    return sum((replica_set.get("status") or {}).get(count, 0) for replica_set in replica_sets)


def is_rolling(deployment: Obj) -> bool:
    """Whether the strategy is RollingUpdate (and not Recreate)."""
    return bool(deployment["spec"]["strategy"]["type"] == "RollingUpdate")


def fenceposts(deployment: Obj) -> tuple[int, int]:
    """(maxSurge, maxUnavailable) as numbers. Surge rounds up and unavailable down; if both are 0, unavailable is 1."""
    if not is_rolling(deployment):
        return 0, 0
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    total = replicas_of(deployment)
    surge = scaled(rolling.get("maxSurge", "25%"), total, up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), total, up=False)
    return surge, unavailable if surge or unavailable else 1


def max_surge(deployment: Obj) -> int:
    """The maximum number of pods above ``spec.replicas``."""
    return fenceposts(deployment)[0]


def max_unavailable(deployment: Obj) -> int:
    """The maximum number of unavailable pods."""
    return min(fenceposts(deployment)[1], replicas_of(deployment))


def annotated_number(replica_set: Obj, annotation: str) -> int | None:
    """The number in an annotation; None if it is absent or invalid."""
    text = (replica_set["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def active(replica_sets: Iterable[Obj]) -> list[Obj]:
    """The ReplicaSets that should have pods."""
    return [replica_set for replica_set in replica_sets if replicas_of(replica_set) > 0]


def by_age(replica_sets: Iterable[Obj]) -> list[Obj]:
    """Sorted by age, oldest first."""
    return sorted(replica_sets, key=lambda rs: (rs["metadata"]["creationTimestamp"], rs["metadata"]["name"]))


def is_scaling(deployment: Obj, replica_sets: Iterable[Obj]) -> bool:
    """Whether ``spec.replicas`` changed since it was recorded on the ReplicaSets."""
    recorded = (annotated_number(replica_set, DESIRED) for replica_set in active(replica_sets))
    return any(number is not None and number != replicas_of(deployment) for number in recorded)


def new_size(deployment: Obj, new: Obj | None, others: Iterable[Obj]) -> int:
    """The size that the newest ReplicaSet may have: all replicas or, in a rolling update, as many as the surge
    allows.
    """
    have = replicas_of(new) if new is not None else 0
    wanted = replicas_of(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - have - total_replicas(others)
    return have + min(room, wanted - have) if room > 0 else have


def is_saturated(deployment: Obj, new: Obj | None) -> bool:
    """Whether the newest ReplicaSet has all pods of the Deployment, and all are available."""
    if new is None:
        return False
    wanted = replicas_of(deployment)
    available = (new.get("status") or {}).get("availableReplicas", 0)
    return bool(replicas_of(new) == annotated_number(new, DESIRED) == available == wanted)


def sole_or_latest(new: Obj | None, old: Sequence[Obj]) -> Obj | None:
    """The only active ReplicaSet, or the newest one if none is active; None if several are active."""
    candidates = active([*old, *([new] if new is not None else [])])
    if len(candidates) > 1:
        return None
    if candidates:
        return candidates[0]
    if new is not None:
        return new
    return by_age(old)[-1] if old else None


def proportional_sizes(deployment: Obj, replica_sets: Iterable[Obj]) -> list[tuple[Obj, int]]:
    """New sizes when a Deployment is scaled during a rollout: each ReplicaSet gets its share of the difference.

    Shares are relative to the maximum size of the Deployment when the ReplicaSet was last scaled. The largest
    ReplicaSet gets the rounding remainder.
    """
    sets = active(replica_sets)
    wanted = replicas_of(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    difference = allowed - total_replicas(sets)
    sets = by_age(sets)
    if difference > 0:
        sets.reverse()  # among equals the newest grows first, and the oldest shrinks first
    sets.sort(key=replicas_of, reverse=True)
    sizes = []
    given = 0
    for replica_set in sets:
        share = _share(deployment, replica_set, difference, given)
        given += share
        sizes.append(replicas_of(replica_set) + share)
    if sizes:
        sizes[0] = max(0, sizes[0] + difference - given)
    return list(zip(sets, sizes, strict=True))


def _share(deployment: Obj, replica_set: Obj, difference: int, given: int) -> int:
    if difference == given:
        return 0
    size = replicas_of(replica_set)
    wanted = replicas_of(deployment)
    if wanted == 0:
        fraction = -size
    else:
        before = annotated_number(replica_set, MAX) or (deployment.get("status") or {}).get("replicas", 0)
        if not before:
            return 0
        # Round half up with integers, because two clusters must agree on the number.
        fraction = (2 * size * (wanted + max_surge(deployment)) + before) // (2 * before) - size
    left = difference - given
    return min(fraction, left) if difference > 0 else max(fraction, left)


def rolling_scale_down(deployment: Obj, new: Obj, old: Sequence[Obj]) -> list[tuple[Obj, int]]:
    """New sizes of old ReplicaSets in a rolling update: unavailable pods go first, then as many others as allowed.

    At least ``replicas - maxUnavailable`` pods stay available; unavailable pods of the newest ReplicaSet count against
    them.
    """
    every = [*old, new]
    floor = replicas_of(deployment) - max_unavailable(deployment)
    missing = replicas_of(new) - (new.get("status") or {}).get("availableReplicas", 0)
    budget = total_replicas(every) - floor - missing
    if total_replicas(old) == 0 or budget <= 0:
        return []
    sizes = {rs["metadata"]["name"]: replicas_of(rs) for rs in old}
    for replica_set in by_age(old):
        available = (replica_set.get("status") or {}).get("availableReplicas", 0)
        unavailable = min(budget, max(0, replicas_of(replica_set) - available))
        sizes[replica_set["metadata"]["name"]] -= unavailable
        budget -= unavailable
    spare = total_status(every, "availableReplicas") - floor
    for replica_set in by_age(old):
        name = replica_set["metadata"]["name"]
        removed = min(max(0, spare), sizes[name])
        sizes[name] -= removed
        spare -= removed
    return [
        (rs, sizes[rs["metadata"]["name"]]) for rs in by_age(old) if sizes[rs["metadata"]["name"]] != replicas_of(rs)
    ]


def surplus_history(deployment: Obj, old: Iterable[Obj]) -> list[Obj]:
    """Empty old ReplicaSets beyond ``revisionHistoryLimit``, lowest revision first."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    past = [replica_set for replica_set in old if not is_deleting(replica_set)]
    if limit is None or len(past) <= limit:
        return []
    past.sort(key=lambda rs: (annotated_number(rs, REVISION) or 0, rs["metadata"]["name"]))
    return [rs for rs in past[: len(past) - limit] if _is_empty(rs)]


def _is_empty(replica_set: Obj) -> bool:
    status = replica_set.get("status") or {}
    seen = status.get("observedGeneration", 0) >= replica_set["metadata"]["generation"]
    return seen and replicas_of(replica_set) == 0 and status.get("replicas", 0) == 0
