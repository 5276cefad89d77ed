"""The status of a Deployment: counts and the conditions Available, Progressing and ReplicaFailure.

Pure functions of the Deployment, its ReplicaSets and the time. A condition's ``lastUpdateTime`` is the time of its last
change or of the rollout's last progress; the progress deadline counts from there.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.deployment.numbers import max_unavailable, replicas_of, total_status
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.framework.times import seconds_since

NO_DEADLINE: Final = 2**31 - 1
COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


def deadline_of(deployment: Obj) -> int | None:
    """``progressDeadlineSeconds``; None if there is no deadline."""
    seconds: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return None if seconds == NO_DEADLINE else seconds


def condition(type_: str, status: str, reason: str, message: str, now: datetime) -> Obj:
    """A condition with the present time as its transition time."""
    moment = timestamp(now)
    return {
        "type": type_,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def put(conditions: Sequence[Obj], new: Obj) -> list[Obj]:
    """``conditions`` with ``new``, unless the condition of that type is equal already."""
    old = next((c for c in conditions if c["type"] == new["type"]), None)
    if old is not None and (old["status"], old.get("reason")) == (new["status"], new["reason"]):
        return list(conditions)
    if old is not None and old["status"] == new["status"]:
        new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [*drop(conditions, new["type"]), new]


def drop(conditions: Sequence[Obj], type_: str) -> list[Obj]:
    """``conditions`` without those of a type."""
    return [c for c in conditions if c["type"] != type_]


def counted(deployment: Obj, new: Obj | None, old: Sequence[Obj], collisions: int, now: datetime) -> Obj:
    """The counts and the Available condition. Counts of zero are left out."""
    every = [*old, *([new] if new is not None else [])]
    wanted = replicas_of(deployment)
    available = total_status(every, "availableReplicas")
    status: Obj = {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": total_status(every, "replicas"),
        "updatedReplicas": total_status([new], "replicas") if new is not None else 0,
        "readyReplicas": total_status(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(replicas_of(rs) for rs in every) - available),
        "terminatingReplicas": total_status(every, "terminatingReplicas"),
    }
    for count in COUNTS:
        if not status[count]:
            del status[count]
    if collisions:
        status["collisionCount"] = collisions
    enough = available >= wanted - max_unavailable(deployment)
    verdict = condition(
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    status["conditions"] = put((deployment.get("status") or {}).get("conditions") or (), verdict)
    return status


def is_complete(deployment: Obj, status: Obj) -> bool:
    """Whether all pods have the newest template and are available, and no others exist."""
    wanted = replicas_of(deployment)
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    observed = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return observed and all(status.get(count, 0) == wanted for count in counts)


def has_moved(before: Obj, after: Obj) -> bool:
    """Whether a rollout progressed between two statuses."""

    def old_pods(status: Obj) -> int:
        left: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
        return left

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old_pods(after) < old_pods(before) or any(after.get(c, 0) > before.get(c, 0) for c in grown)


def seconds_to_deadline(deployment: Obj, now: datetime) -> float | None:
    """Seconds until the progress deadline; None if the rollout is over or exceeded it."""
    deadline = deadline_of(deployment)
    progressing = condition_of(deployment.get("status"), "Progressing")
    if deadline is None or not progressing:
        return None
    if progressing["reason"] in {"NewReplicaSetAvailable", "ProgressDeadlineExceeded"}:
        return None
    return deadline - seconds_since(progressing["lastUpdateTime"], now)


def with_progress(deployment: Obj, status: Obj, new: Obj | None, replica_sets: Sequence[Obj], now: datetime) -> Obj:
    """``status`` with the conditions Progressing and ReplicaFailure."""
    before = deployment.get("status") or {}
    conditions: list[Obj] = status["conditions"]
    if deadline_of(deployment) is None:
        conditions = drop(conditions, "Progressing")
    elif not _was_complete(before, status):
        conditions = _progress(deployment, status, new, now)
    conditions = drop(conditions, "ReplicaFailure")
    failure = _failure(new, replica_sets)
    if failure is not None:
        text = condition("ReplicaFailure", failure["status"], failure["reason"], failure["message"], now)
        conditions = put((*conditions, *_known(before, "ReplicaFailure")), text)
    return {**status, "conditions": conditions}


def _was_complete(before: Obj, status: Obj) -> bool:
    settled = condition_of(before, "Progressing").get("reason") == "NewReplicaSetAvailable"
    return settled and status.get("replicas", 0) == status.get("updatedReplicas", 0)


def _progress(deployment: Obj, status: Obj, new: Obj | None, now: datetime) -> list[Obj]:
    before = deployment.get("status") or {}
    kind, name = ("ReplicaSet", new["metadata"]["name"]) if new else ("Deployment", deployment["metadata"]["name"])
    subject = f'{kind} "{name}"'
    conditions: list[Obj] = status["conditions"]
    if is_complete(deployment, status):
        done = f"{subject} has successfully progressed."
        return put(conditions, condition("Progressing", "True", "NewReplicaSetAvailable", done, now))
    if has_moved(before, status):
        moving = condition("Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
        old = condition_of(before, "Progressing")
        if old.get("status") == "True":
            moving["lastTransitionTime"] = old["lastTransitionTime"]
        # Replace the condition even if it is equal: the deadline counts from the last progress.
        return [*drop(conditions, "Progressing"), moving]
    left = seconds_to_deadline(deployment, now)
    if left is not None and left <= 0:
        late = f"{subject} has timed out progressing."
        return put(conditions, condition("Progressing", "False", "ProgressDeadlineExceeded", late, now))
    return conditions


def _failure(new: Obj | None, replica_sets: Sequence[Obj]) -> Obj | None:
    """The reason why pods cannot be created: that of the newest ReplicaSet, else of any other."""
    order = [*([new] if new is not None else []), *replica_sets]
    failures = (condition_of(rs.get("status"), "ReplicaFailure") for rs in order)
    return next((failure for failure in failures if failure), None)


def _known(status: Obj, type_: str) -> list[Obj]:
    known = condition_of(status, type_)
    return [known] if known else []
