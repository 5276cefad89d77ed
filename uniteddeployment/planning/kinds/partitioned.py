"""Workloads that are held by a partition of their own: one object per subset, whatever revisions its pods have.

Their controllers give the update revision to pods beyond the partition, also to pods born by scaling, and leave those
running that are updated already. Three things follow that this module takes care of (I6):

* The partition that is written may have to be higher than the one that was asked for, when updated pods are below it;
  what is the lowest that may be written is the kind's to say.
* A workload that never saw the stable revision cannot hold pods at it: one that is created (or comes back from zero
  pods) in mid-canary gets the stable template first, and the new one once its controller has noted that.
* Going back to the stable revision has to reach canaries below the partition too, so it is done with partition 0.
"""

from collections.abc import Callable
from dataclasses import replace

from uniteddeployment.planning.kinds.base import Counts, Demand, SubsetPlan, applied_digest
from uniteddeployment.planning.kinds.stuck import stuck_pod
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.steps import MemberStep

Lowest = Callable[[Demand, Workload], int]
"""The lowest partition that keeps the number of updated pods within ``replicas - partition``."""


def plan_ordered(demand: Demand, lowest: Lowest) -> SubsetPlan:
    """Plan a subset whose controller may wait for ever for a broken pod."""
    planned = plan_held(demand, lowest)
    found = next((workload for workload in demand.mine if workload.metadata.name == planned.workload), None)
    if planned.settled or planned.steps or found is None:
        return planned
    step = stuck_pod(demand, found, found.partition)
    return replace(planned, steps=(step,), message=step.why) if step else planned


def plan_held(demand: Demand, lowest: Lowest) -> SubsetPlan:
    """Plan a subset whose workload is held by a partition of its own."""
    takeover = demand.takes_over()
    if takeover is not None:
        return takeover
    name = demand.adopted(demand.target) or demand.name(demand.target)
    found = next((workload for workload in demand.mine if workload.metadata.name == name), None)
    counts = _counts(demand, found)
    if found is None:
        return SubsetPlan((_create(demand),), counts, name, settled=False, message="being created")
    partition, step, waiting = _correct(demand, found, lowest)
    if step is not None:
        return SubsetPlan((step,), counts, name, settled=False, message=step.why)
    if not waiting:
        waiting = _progress(demand, found, counts, partition)
    note = _beyond(demand, counts)
    return SubsetPlan((), counts, name, settled=not waiting, message=waiting, note=note)


def _beyond(demand: Demand, counts: Counts) -> str:
    """What to say of pods that were updated before the partition was raised above them: they stay as they are."""
    allowed = demand.replicas - demand.partition
    if not demand.holds or counts.updated <= allowed:
        return ""
    return (
        f"{counts.updated} pods are updated where the partition allows {allowed}: "
        "raising a partition takes none back, going back to the earlier template does"
    )


def _create(demand: Demand) -> MemberStep:
    if demand.holds and demand.stable is not None:
        why = f"create with {demand.replicas} replicas at the stable revision {demand.stable}"
        # All held: were it recreated over pods that run, those that are updated already would stay so.
        rendered, held = demand.render(demand.stable), demand.replicas
        return demand.apply(rendered, None, why, replicas=demand.replicas, partition=held)
    why = f"create with {demand.replicas} replicas at revision {demand.target}"
    rendered = demand.render(demand.target)
    return demand.apply(rendered, None, why, replicas=demand.replicas, partition=demand.partition)


def _correct(demand: Demand, found: Workload, lowest: Lowest) -> tuple[int, MemberStep | None, str]:
    """The partition to have, the write that is needed, and what has to be waited for before the next one."""
    if demand.holds and demand.stable is not None:
        forgot = (
            found.revision == demand.target
            and demand.replicas > 0
            and found.status.replicas == 0
            and not demand.pods.total
            and found.status.current_revision == found.status.update_revision
        )
        if forgot:
            why = f"back from zero pods: show it the stable revision {demand.stable} first"
            return 0, demand.apply(demand.render(demand.stable), found, why, replicas=0, partition=0), ""
        if found.revision == demand.stable and not (found.observed and found.status.current_revision):
            return 0, None, f"until its controller has noted the stable revision {demand.stable}"
    partition = _partition(demand, found, lowest)
    return partition, _write(demand, found, partition), ""


def _partition(demand: Demand, found: Workload, lowest: Lowest) -> int:
    if demand.target == demand.stable:
        return demand.partition if _uniform(demand, found) else 0
    return lowest(demand, found)


def lowest_by_position(demand: Demand, found: Workload, updated: set[int]) -> int:
    """For a controller that updates from the last pod on: canaries before the partition count, too.

    ``updated`` are the positions of updated pods among all, which need not be their ordinals. The work grows with the
    pods that exist, and not with the numbers that somebody wrote.
    """
    spans = [(position, position + 1) for position in updated if position >= 0]
    if found.revision == demand.target and found.partition < found.spec.replicas:
        # Whatever the cache shows of them, these were allowed to update already.
        spans.append((max(found.partition, 0), found.spec.replicas))
    # So many positions below the partition have to be held as were asked for: it moves up by each updated one.
    partition = demand.partition
    reached = 0
    for start, end in sorted(spans):
        first = max(start, reached)
        if first >= partition:
            break
        if end > first:
            partition += end - first
            reached = end
    return min(partition, demand.replicas)


def lowest_by_number(demand: Demand, found: Workload) -> int:  # noqa: ARG001  # it needs not know what runs
    """For a controller that keeps a number of pods old."""
    return demand.partition


def _write(demand: Demand, found: Workload, partition: int) -> MemberStep | None:
    rendered = demand.render(demand.target)
    replicas = demand.replicas
    changes = []
    if found.revision != demand.target:
        changes.append(f"revision {found.revision or 'unknown'} to {demand.target}")
    if found.spec.replicas != replicas:
        changes.append(f"replicas {found.spec.replicas} to {replicas}")
    by_partition = (found.spec.update_strategy.type if found.spec.update_strategy else "") != "OnDelete"
    if by_partition and found.partition != partition:
        changes.append(f"partition {found.partition} to {partition}")
    only_scale = len(changes) == 1 and found.spec.replicas != replicas
    if applied_digest(found) != rendered.digest:
        changes = changes or ["template or metadata"]
    elif demand.drifted(found):
        why = ", ".join(changes) or "put back what somebody else changed"
        return demand.apply(rendered, found, why, replicas=replicas, partition=partition, drift=True)
    elif only_scale:
        return demand.scale(found, replicas, changes[0])
    if not changes:
        return None
    return demand.apply(rendered, found, ", ".join(changes), replicas=replicas, partition=partition)


def _uniform(demand: Demand, found: Workload) -> bool:
    """Whether every pod is at the target revision."""
    if not demand.adopted(demand.target):
        return demand.pods.only(demand.target)
    updated = found.status.updated_replicas if found.revision == demand.target and found.observed else 0
    return updated >= found.status.replicas


def _counts(demand: Demand, found: Workload | None) -> Counts:
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
    updated = status.updated_replicas if found.revision == demand.target and found.observed else 0
    return Counts(
        observed=status.replicas,
        ready=status.ready_replicas,
        updated=updated,
        updated_ready=max(0, updated + status.ready_replicas - status.replicas),
    )


def _orphan_counts(demand: Demand) -> Counts:
    """The pods themselves, while there is no StatefulSet that counts them: it may be on its way back to them."""
    pods = demand.pods
    return Counts(
        observed=pods.total,
        ready=sum(pods.ready.values()),
        updated=pods.living.get(demand.target, 0),
        updated_ready=pods.ready.get(demand.target, 0),
    )


def _progress(demand: Demand, found: Workload, counts: Counts, partition: int) -> str:
    """What is still to come in the cluster, or nothing."""
    if not found.observed:
        return "until its controller has seen the change"
    why = demand.why_not_ready
    if counts.observed != demand.replicas or counts.ready < demand.replicas - demand.covered:
        return f"{counts.ready} of {demand.replicas} pods ready{why}"
    wanted = demand.replicas - demand.partition
    if demand.stable in (None, demand.target):
        wanted = demand.replicas
    elif partition > demand.partition:
        wanted = 0  # pods above the asked-for partition are held back by canaries below it
    if counts.updated_ready < wanted - demand.covered:
        return f"{counts.updated_ready} of {wanted} pods updated and ready{why}"
    return ""
