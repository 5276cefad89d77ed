"""How many pods of a workload that has revisions of its own are there, ready and updated, and what is still to come."""

from uniteddeployment.planning.kinds.base import Counts, Demand
from uniteddeployment.planning.kinds.memory import at_one_revision
from uniteddeployment.planning.observed import Workload


def counts_of(demand: Demand, found: Workload | None) -> Counts:
    """The counts of a subset's workload."""
    if demand.replaces or (found is not None and demand.adopted(demand.target)):
        return _counts_of_status(demand, found)
    if found is None or not found.status.observed_generation:
        return _orphan_counts(demand)
    ready = found.status.ready_replicas
    return Counts(
        observed=found.status.replicas,
        ready=ready,
        updated=demand.pods.living.get(demand.target, 0),
        updated_ready=min(demand.pods.ready.get(demand.target, 0), ready),
    )


def _counts_of_status(demand: Demand, found: Workload | None) -> Counts:
    """What its own status says of what we wrote, where labels do not tell its pods.

    Those of an adopted workload have none of ours, those of a workload that it replaces have the same ones. Which of
    the ready pods are the updated ones it does not say: as many as must be, were the others all ready.
    """
    if found is None:
        return Counts()
    status = found.status
    updated = 0
    if found.revision == demand.target and found.observed:
        updated = status.updated_replicas
    elif found.revision == demand.stable and found.observed and not at_one_revision(found):
        # The template shows the stable revision, so the pods that are not at it are those that were updated before.
        updated = status.replicas - status.updated_replicas
    return Counts(
        observed=status.replicas,
        ready=status.ready_replicas,
        updated=updated,
        updated_ready=max(0, updated + status.ready_replicas - status.replicas),
    )


def _orphan_counts(demand: Demand) -> Counts:
    """The pods themselves, while there is no workload that counts them: it may be on its way back to them."""
    pods = demand.pods
    return Counts(
        observed=pods.total,
        ready=sum(pods.ready.values()),
        updated=pods.living.get(demand.target, 0),
        updated_ready=pods.ready.get(demand.target, 0),
    )


def progress(demand: Demand, found: Workload, counts: Counts, expected: int) -> str:
    """What is still to come in the cluster, or nothing. ``expected`` is how many pods are to be updated and ready."""
    if not found.observed:
        return "until its controller has seen the change"
    why = demand.why_not_ready
    if counts.observed != demand.replicas or counts.ready < demand.replicas - demand.covered:
        return f"{counts.ready} of {demand.replicas} pods ready{why}"
    if counts.updated_ready < expected - demand.covered:
        return f"{counts.updated_ready} of {expected} pods updated and ready{why}"
    return ""
