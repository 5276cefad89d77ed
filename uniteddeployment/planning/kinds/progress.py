"""The progress of a workload with a partition: the revisions that its controller knows, its pods, and those missing.

The controllers of StatefulSets and of OpenKruise's kinds know two revisions: the current one, at which they create the
pods that the partition holds, and that of the template. When all pods are at the template's revision, or when there are
no pods, that one becomes the current one too, and the earlier revision is forgotten. From then on a partition creates
no pod at the stable revision, however high it is.
"""

from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.observed import Pod, Workload
from uniteddeployment.planning.results import Counts


def current_revision(context: SubsetContext, workload: Workload) -> str | None:
    """The revision, by our name, that the controller regards as the current one; None if that is unknown.

    The status has the controller's own name for it. A pod has both names in its labels.
    """
    for pod in context.pods.pods:
        if _is_current(pod, workload):
            return pod.revision
    return workload.revision if at_one_revision(workload) else None


def at_one_revision(workload: Workload) -> bool:
    """Return True if its controller reports that the revision of the template is the current one."""
    status = workload.status
    return workload.observed and bool(status.current_revision) and status.current_revision == status.update_revision


def remembers(context: SubsetContext, workload: Workload, revision: str) -> bool:
    """Return True if its controller creates the pods that the partition holds at this revision, and goes on doing so.

    It does while the template shows that revision and no other is current, and as long as a pod of that revision
    lives: without one, the update may be complete at any moment.
    """
    if workload.revision == revision and at_one_revision(workload):
        return current_revision(context, workload) == revision
    return any(pod.living and pod.revision == revision and _is_current(pod, workload) for pod in context.pods.pods)


def remembers_another(context: SubsetContext, workload: Workload) -> bool:
    """Return True if its controller creates the pods that the partition holds at another revision than the target."""
    others = (pod for pod in context.pods.pods if pod.living and pod.revision != context.target)
    return any(_is_current(pod, workload) for pod in others)


def grows(context: SubsetContext, workload: Workload) -> bool:
    """Return True if its controller has pods to create for the replicas that are asked for."""
    if context.replicas > workload.spec.replicas:
        return True
    settled = at_one_revision(workload) or workload.revision == context.stable
    return settled and workload.observed and workload.status.replicas < context.replicas


def _is_current(pod: Pod, workload: Workload) -> bool:
    """Return True if a pod is at the revision that its controller calls the current one.

    The pod's label may be the whole name of that revision or only the hash at its end.
    """
    label, name = pod.controller_revision, workload.status.current_revision
    return bool(label) and (name == label or name.endswith(f"-{label}"))


def counts_of(context: SubsetContext, workload: Workload | None) -> Counts:
    """The pods of a subset, counted by their labels where those identify them, else by the status of the workload."""
    if context.replaces or (workload is not None and context.adopted(context.target)):
        return _counts_of_status(context, workload)
    if workload is None or not workload.status.observed_generation:
        return _counts_of_pods(context)
    ready = workload.status.ready_replicas
    return Counts(
        observed=workload.status.replicas,
        ready=ready,
        updated=context.pods.living.get(context.target, 0),
        updated_ready=min(context.pods.ready.get(context.target, 0), ready),
    )


def _counts_of_status(context: SubsetContext, workload: Workload | None) -> Counts:
    """The counts by the status of the workload, where labels do not identify its pods.

    The pods of an adopted workload have none of our labels, and those of a workload that it replaces have the same
    labels. The status does not say which of the ready pods are updated: as few as possible are assumed.
    """
    if workload is None:
        return Counts()
    status = workload.status
    updated = 0
    if workload.revision == context.target and workload.observed:
        updated = status.updated_replicas
    elif workload.revision == context.stable and workload.observed and not at_one_revision(workload):
        # The template shows the stable revision, so the pods that are not at it are those that were updated before.
        updated = status.replicas - status.updated_replicas
    return Counts(
        observed=status.replicas,
        ready=status.ready_replicas,
        updated=updated,
        updated_ready=max(0, updated + status.ready_replicas - status.replicas),
    )


def _counts_of_pods(context: SubsetContext) -> Counts:
    """The pods themselves, while no workload counts them, for example while it is recreated."""
    pods = context.pods
    return Counts(
        observed=pods.total,
        ready=sum(pods.ready.values()),
        updated=pods.living.get(context.target, 0),
        updated_ready=pods.ready.get(context.target, 0),
    )


def progress(context: SubsetContext, workload: Workload, counts: Counts, expected: int) -> str:
    """The pods that are missing, in words; empty if none are. ``expected`` pods are to be updated and ready."""
    if not workload.observed:
        return "until its controller has seen the change"
    why = context.why_not_ready
    if counts.observed != context.replicas or counts.ready < context.replicas - context.covered:
        return f"{counts.ready} of {context.replicas} pods ready{why}"
    if counts.updated_ready < expected - context.covered:
        return f"{counts.updated_ready} of {expected} pods updated and ready{why}"
    return ""
