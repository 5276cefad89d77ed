"""What a workload's own controller remembers of revisions, told from its status and its pods.

The controllers of StatefulSets and of OpenKruise's kinds know two revisions: the current one, at which they create the
pods that the partition holds, and the one of the template. When all pods are at the template's revision, or when there
are no pods, that one becomes the current one too, and the revision before it is forgotten. From then on a partition
creates no pod at the stable revision, however high it is.
"""

from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.observed import Pod, Workload
from uniteddeployment.planning.results import Counts


def current_revision(context: SubsetContext, found: Workload) -> str | None:
    """The revision, as we call it, that its controller takes for the current one; None if that cannot be told.

    Its status has the controller's own name for it. A pod has both names on its labels.
    """
    for pod in context.pods.pods:
        if _is_current(pod, found):
            return pod.revision
    return found.revision if at_one_revision(found) else None


def at_one_revision(found: Workload) -> bool:
    """Whether its controller says that the revision of the template is the current one."""
    status = found.status
    return found.observed and bool(status.current_revision) and status.current_revision == status.update_revision


def remembers(context: SubsetContext, found: Workload, revision: str) -> bool:
    """Whether its controller creates the pods that the partition holds at this revision, and goes on doing so.

    It does while the template shows that revision and no other is current, and as long as a pod of that revision
    lives: without one, the update may be complete at any moment.
    """
    if found.revision == revision and at_one_revision(found):
        return current_revision(context, found) == revision
    return any(pod.living and pod.revision == revision and _is_current(pod, found) for pod in context.pods.pods)


def remembers_another(context: SubsetContext, found: Workload) -> bool:
    """Whether its controller creates the pods that the partition holds at another revision than the target."""
    return any(pod.living and pod.revision != context.target and _is_current(pod, found) for pod in context.pods.pods)


def grows(context: SubsetContext, found: Workload) -> bool:
    """Whether its controller has pods to create for the replicas that are asked for."""
    if context.replicas > found.spec.replicas:
        return True
    settled = at_one_revision(found) or found.revision == context.stable
    return settled and found.observed and found.status.replicas < context.replicas


def _is_current(pod: Pod, found: Workload) -> bool:
    """Whether a pod is at the revision that its controller calls the current one; its label may be the hash alone."""
    label, name = pod.controller_revision, found.status.current_revision
    return bool(label) and (name == label or name.endswith(f"-{label}"))


def counts_of(context: SubsetContext, found: Workload | None) -> Counts:
    """The counts of a subset's workload."""
    if context.replaces or (found is not None and context.adopted(context.target)):
        return _counts_of_status(context, found)
    if found is None or not found.status.observed_generation:
        return _orphan_counts(context)
    ready = found.status.ready_replicas
    return Counts(
        observed=found.status.replicas,
        ready=ready,
        updated=context.pods.living.get(context.target, 0),
        updated_ready=min(context.pods.ready.get(context.target, 0), ready),
    )


def _counts_of_status(context: SubsetContext, found: Workload | None) -> Counts:
    """What its own status says of what we wrote, where labels do not tell its pods.

    Those of an adopted workload have none of ours, those of a workload that it replaces have the same ones. Which of
    the ready pods are the updated ones it does not say: as many as must be, were the others all ready.
    """
    if found is None:
        return Counts()
    status = found.status
    updated = 0
    if found.revision == context.target and found.observed:
        updated = status.updated_replicas
    elif found.revision == context.stable and found.observed and not at_one_revision(found):
        # The template shows the stable revision, so the pods that are not at it are those that were updated before.
        updated = status.replicas - status.updated_replicas
    return Counts(
        observed=status.replicas,
        ready=status.ready_replicas,
        updated=updated,
        updated_ready=max(0, updated + status.ready_replicas - status.replicas),
    )


def _orphan_counts(context: SubsetContext) -> Counts:
    """The pods themselves, while there is no workload that counts them: it may be on its way back to them."""
    pods = context.pods
    return Counts(
        observed=pods.total,
        ready=sum(pods.ready.values()),
        updated=pods.living.get(context.target, 0),
        updated_ready=pods.ready.get(context.target, 0),
    )


def progress(context: SubsetContext, found: Workload, counts: Counts, expected: int) -> str:
    """What is still to come in the cluster, or nothing. ``expected`` is how many pods are to be updated and ready."""
    if not found.observed:
        return "until its controller has seen the change"
    why = context.why_not_ready
    if counts.observed != context.replicas or counts.ready < context.replicas - context.covered:
        return f"{counts.ready} of {context.replicas} pods ready{why}"
    if counts.updated_ready < expected - context.covered:
        return f"{counts.updated_ready} of {expected} pods updated and ready{why}"
    return ""
