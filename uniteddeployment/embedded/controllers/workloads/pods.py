"""Pods as their controllers see them: made from a template, ready, available, and in what order they go."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import inf, log2
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.framework.times import seconds_since
from uniteddeployment.embedded.controllers.workloads.ownership import controller_reference, is_deleting

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
OUT_OF_REACH: Final = 1e9
"""Seconds that nobody waits for: some set ``minReadySeconds`` to its highest value to hold a rollout."""


def pod_from_template(template: Obj, owner: Obj, *, name: str = "", prefix: str = "") -> Obj:
    """A new pod of ``owner``; nothing of it is shared with the template but what lies deeper than spec's fields."""
    metadata = template.get("metadata") or {}
    made: Obj = {
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [controller_reference(owner)],
    }
    if name:
        made["name"] = name
    if prefix:
        made["generateName"] = prefix
    for field in ("labels", "annotations"):
        if metadata.get(field):
            made[field] = dict(metadata[field])
    if metadata.get("finalizers"):
        made["finalizers"] = list(metadata["finalizers"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": dict(template.get("spec") or {})}


def phase_of(pod: Obj) -> str:
    """The phase, ``Pending`` for a pod that nobody looked at yet."""
    return (pod.get("status") or {}).get("phase") or "Pending"


def is_ready(pod: Obj) -> bool:
    """Whether the pod's Ready condition is true."""
    return bool(condition_of(pod.get("status"), "Ready").get("status") == "True")


def _ready_since(pod: Obj) -> str | None:
    since: str | None = condition_of(pod.get("status"), "Ready").get("lastTransitionTime")
    return since


def is_finished(pod: Obj) -> bool:
    """Whether all containers ended and none is started again."""
    return phase_of(pod) in {"Succeeded", "Failed"}


def is_active(pod: Obj) -> bool:
    """Whether the pod runs or is going to: neither finished nor on its way out."""
    return not is_finished(pod) and not is_deleting(pod)


def seconds_to_available(pod: Obj, min_ready_seconds: int, now: datetime) -> float:
    """How long a pod has to stay ready until it counts as available: 0 when it does, inf when it is not ready."""
    if not is_ready(pod):
        return inf
    if min_ready_seconds == 0:
        return 0.0
    since = _ready_since(pod)
    return inf if not since else max(0.0, min_ready_seconds - seconds_since(since, now))


def is_available(pod: Obj, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for ``minReadySeconds``."""
    return seconds_to_available(pod, min_ready_seconds, now) <= 0


def next_availability(pods: Iterable[Obj], min_ready_seconds: int, now: datetime) -> float | None:
    """When, in seconds, to look again because the next ready pod becomes available; None if none is going to."""
    waits = (seconds_to_available(pod, min_ready_seconds, now) for pod in pods)
    waiting = [wait for wait in waits if 0 < wait < OUT_OF_REACH]
    return min(waiting) if waiting else None


def deletion_order(pods: Sequence[Obj], related: Iterable[Obj], now: datetime) -> list[Obj]:
    """``pods`` with those first that are missed least: not placed, not ready, cheap, crowded, young.

    ``related`` are the active pods of the same application; a node that runs many of them gives one up first.
    """
    crowd: dict[str, int] = {}
    for pod in related:
        node = pod["spec"].get("nodeName", "")
        crowd[node] = crowd.get(node, 0) + 1
    return sorted(pods, key=lambda pod: _worth(pod, crowd, now))


_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def _worth(pod: Obj, crowd: dict[str, int], now: datetime) -> tuple[Any, ...]:
    ready = is_ready(pod)
    metadata = pod["metadata"]
    node = pod["spec"].get("nodeName", "")
    return (
        bool(node),
        _PHASES.get(phase_of(pod), 2),
        ready,
        _deletion_cost(metadata.get("annotations") or {}),
        -crowd.get(node, 0),
        _age_class(_ready_since(pod) if ready else None, now),
        -_restarts(pod),
        _age_class(metadata.get("creationTimestamp"), now),
        metadata.get("uid", ""),
    )


def _deletion_cost(annotations: dict[str, str]) -> int:
    try:
        cost = int(annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0  # admission lets any text in; what is no number costs nothing
    return cost if -(2**31) <= cost < 2**31 else 0


def _age_class(since: str | None, now: datetime) -> int:
    """Ages in powers of two: among pods of about one age the choice is arbitrary, so that no zone is drained first."""
    if not since:
        return 0
    age = seconds_since(since, now)
    return int(log2(age)) + 1 if age >= 1 else 0


def _restarts(pod: Obj) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((status.get("restartCount", 0) for status in statuses), default=0)
