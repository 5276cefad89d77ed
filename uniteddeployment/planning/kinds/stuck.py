"""Pods that keep a StatefulSet from going on: not ready, at a revision that nobody wants any more.

With the pod management policy OrderedReady the StatefulSet controller waits for every pod to be ready before it updates
any, also for a broken pod that only an update could mend (kubernetes/kubernetes#67250). The documented way out is to
delete that pod: it comes back at the wanted revision. One at a time, and it serves nobody, so no budget is touched.
"""

from uniteddeployment.planning.kinds.base import Demand
from uniteddeployment.planning.observed import Pod, Workload
from uniteddeployment.planning.steps import DeletePod


def stuck_pod(demand: Demand, found: Workload, partition: int) -> DeletePod | None:
    """The deletion that lets the StatefulSet go on, or None."""
    policy = demand.app.workload_template["spec"].get("podManagementPolicy", "OrderedReady")
    if policy != "OrderedReady" or found.revision != demand.target or not found.observed:
        return None
    pods = demand.pods.pods
    if any(pod.metadata.deletion_timestamp is not None for pod in pods):
        return None
    lowest = found.first_ordinal + partition
    wrong = [pod for pod in pods if pod.revision != demand.target and not pod.ready and pod.ordinal >= lowest]
    if not wrong:
        return None
    pod: Pod = max(wrong, key=lambda pod: pod.ordinal)
    why = f"not ready at revision {pod.revision or 'unknown'}, it keeps the StatefulSet from revision {demand.target}"
    return DeletePod(demand.cluster, demand.subset.name, pod.metadata.name, pod.metadata.uid, why)
