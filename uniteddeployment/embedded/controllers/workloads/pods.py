"""Pods in the view of their controllers: creation from a template, readiness, availability, order of deletion."""

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
"""Seconds that count as forever: users set ``minReadySeconds`` to its maximum to hold a rollout."""


def pod_from_template(template: Obj, owner: Obj, *, name: str = "", prefix: str = "") -> Obj:
    """A new pod of ``owner``. It shares values with the template below the fields of ``spec``."""
    metadata = template.get("metadata") or {}
    pod_metadata: Obj = {
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [controller_reference(owner)],
    }
    if name:
        pod_metadata["name"] = name
    if prefix:
        pod_metadata["generateName"] = prefix
    for field in ("labels", "annotations"):
        if metadata.get(field):
            pod_metadata[field] = dict(metadata[field])
    if metadata.get("finalizers"):
        pod_metadata["finalizers"] = list(metadata["finalizers"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": dict(template.get("spec") or {})}


def phase_of(pod: Obj) -> str:
    """The phase; ``Pending`` if the pod has no status yet."""
    return (pod.get("status") or {}).get("phase") or "Pending"


def is_ready(pod: Obj) -> bool:
    """Whether the pod's Ready condition is true."""
    return bool(condition_of(pod.get("status"), "Ready").get("status") == "True")


def _ready_since(pod: Obj) -> str | None:
    since: str | None = condition_of(pod.get("status"), "Ready").get("lastTransitionTime")
    return since


def is_finished(pod: Obj) -> bool:
    """Whether all containers terminated and none will restart."""
    return phase_of(pod) in {"Succeeded", "Failed"}


def is_active(pod: Obj) -> bool:
    """Whether the pod is neither finished nor terminating."""
    return not is_finished(pod) and not is_deleting(pod)


def seconds_to_available(pod: Obj, min_ready_seconds: int, now: datetime) -> float:
    """Seconds for which a pod must stay ready to become available: 0 if it is available, inf if it is not ready."""
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
    """Seconds until the next ready pod becomes available; None if there is none."""
    waits = (seconds_to_available(pod, min_ready_seconds, now) for pod in pods)
    waiting = [wait for wait in waits if 0 < wait < OUT_OF_REACH]
    return min(waiting) if waiting else None


def deletion_order(pods: Sequence[Obj], related: Iterable[Obj], now: datetime) -> list[Obj]:
    """``pods`` in the order of deletion: unassigned, unready, low deletion cost, crowded node, young.

    ``related`` are the active pods of the same application; nodes with many of them lose one first.
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
        return 0  # admission accepts any text; an invalid cost counts as 0
    return cost if -(2**31) <= cost < 2**31 else 0


def _age_class(since: str | None, now: datetime) -> int:
    """Age on a logarithmic scale: among pods of similar age the order is arbitrary, so no zone is drained first."""
    if not since:
        return 0
    age = seconds_since(since, now)
    return int(log2(age)) + 1 if age >= 1 else 0


def _restarts(pod: Obj) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((status.get("restartCount", 0) for status in statuses), default=0)
