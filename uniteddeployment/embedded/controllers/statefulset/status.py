"""The status of a StatefulSet: counts, and the end of a rolling update."""

from collections.abc import Iterable
from datetime import datetime

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.statefulset.pods import revision_of
from uniteddeployment.embedded.controllers.workloads.ownership import is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_available, is_ready


def status_of(
    stateful_set: Obj, pods: Iterable[Obj], *, current: str, update: str, collisions: int, now: datetime
) -> Obj:
    """The status from ``pods``; zero counts are left out, as the real controller leaves them out.

    The current revision becomes the update revision only when all replicas have it and are ready.
    """
    spec = stateful_set["spec"]
    min_ready_seconds = spec.get("minReadySeconds", 0)
    total = ready = available = of_current = of_update = 0
    for pod in pods:
        total += 1
        ready += is_ready(pod)
        available += is_available(pod, min_ready_seconds, now)
        if not is_deleting(pod):
            of_current += revision_of(pod) == current
            of_update += revision_of(pod) == update
    rolling = spec["updateStrategy"]["type"] == "RollingUpdate"
    if rolling and of_update == ready == total == spec["replicas"]:
        current, of_current = update, of_update
    status: Obj = {
        "observedGeneration": stateful_set["metadata"]["generation"],
        "replicas": total,
        "readyReplicas": ready,
        "availableReplicas": available,
        "currentReplicas": of_current,
        "updatedReplicas": of_update,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": collisions,
    }
    for count in ("readyReplicas", "currentReplicas", "updatedReplicas"):
        if not status[count]:
            del status[count]
    conditions = (stateful_set.get("status") or {}).get("conditions")
    if conditions:
        status["conditions"] = conditions
    return status
