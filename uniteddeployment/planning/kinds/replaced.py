"""Updating pods by deleting them, where a controller has the target as its current revision and a stable template.

Such a controller creates pods before its partition at the target revision, but replaces none of its own accord. So one
pod after the other is deleted, each when all are available, as a StatefulSet's controller does it by default.
"""

from uniteddeployment.planning.kinds.base import Demand
from uniteddeployment.planning.kinds.places import Place
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.steps import DeletePod


def next_to_update(demand: Demand, found: Workload, place: Place | None) -> DeletePod | None:
    """The deletion of the pod that is to be updated next, or None if there is none or it has to wait."""
    pods, status = demand.pods.pods, found.status
    allowed = demand.replicas - demand.partition
    complete = found.observed and len(pods) == status.replicas == demand.replicas
    if not complete or demand.pods.living.get(demand.target, 0) >= allowed:
        return None
    if status.available_replicas < demand.replicas - demand.covered or not all(pod.living for pod in pods):
        return None
    old = [pod for pod in pods if pod.revision != demand.target]
    if place is not None:
        old = [pod for pod in old if 0 <= (place(pod.ordinal) or 0) < found.partition]
    if not old:
        return None
    pod = min(old, key=lambda pod: (pod.ready, pod.ordinal, pod.metadata.name))
    why = f"update it from revision {pod.revision or 'unknown'} to {demand.target}"
    return DeletePod(demand.cluster, demand.subset.name, pod.metadata.name, pod.metadata.uid, why)
