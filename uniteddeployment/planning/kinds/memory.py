"""What a workload's own controller remembers of revisions, told from its status and its pods.

The controllers of StatefulSets and of OpenKruise's kinds know two revisions: the current one, at which they create the
pods that the partition holds, and the one of the template. When all pods are at the template's revision, or when there
are no pods, that one becomes the current one too, and the revision before it is forgotten. From then on a partition
creates no pod at the stable revision, however high it is.
"""

from uniteddeployment.planning.kinds.base import Demand
from uniteddeployment.planning.observed import Pod, Workload


def current_revision(demand: Demand, found: Workload) -> str | None:
    """The revision, as we call it, that its controller takes for the current one; None if that cannot be told.

    Its status has the controller's own name for it. A pod has both names on its labels.
    """
    for pod in demand.pods.pods:
        if _is_current(pod, found):
            return pod.revision
    return found.revision if at_one_revision(found) else None


def at_one_revision(found: Workload) -> bool:
    """Whether its controller says that the revision of the template is the current one."""
    status = found.status
    return found.observed and bool(status.current_revision) and status.current_revision == status.update_revision


def remembers(demand: Demand, found: Workload, revision: str) -> bool:
    """Whether its controller creates the pods that the partition holds at this revision, and goes on doing so.

    It does while the template shows that revision and no other is current, and as long as a pod of that revision
    lives: without one, the update may be complete at any moment.
    """
    if found.revision == revision and at_one_revision(found):
        return current_revision(demand, found) == revision
    return any(pod.living and pod.revision == revision and _is_current(pod, found) for pod in demand.pods.pods)


def remembers_another(demand: Demand, found: Workload) -> bool:
    """Whether its controller creates the pods that the partition holds at another revision than the target."""
    return any(pod.living and pod.revision != demand.target and _is_current(pod, found) for pod in demand.pods.pods)


def grows(demand: Demand, found: Workload) -> bool:
    """Whether its controller has pods to create for the replicas that are asked for."""
    if demand.replicas > found.spec.replicas:
        return True
    settled = at_one_revision(found) or found.revision == demand.stable
    return settled and found.observed and found.status.replicas < demand.replicas


def _is_current(pod: Pod, found: Workload) -> bool:
    """Whether a pod is at the revision that its controller calls the current one; its label may be the hash alone."""
    label, name = pod.controller_revision, found.status.current_revision
    return bool(label) and (name == label or name.endswith(f"-{label}"))
