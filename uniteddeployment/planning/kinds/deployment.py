"""One Deployment per revision in a subset, so that the number of updated pods is the replicas of one object.

Exact by construction (I6): whatever happens to the controller or to the network, a Deployment does not grow by itself.
Replicas move within maxSurge and maxUnavailable of the template's strategy; going back is moving them back.
"""

from collections.abc import Mapping

from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds import moves
from uniteddeployment.planning.kinds.base import Demand, SubsetPlan, applied_digest, held_note, not_creatable
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.results import Counts
from uniteddeployment.planning.steps import Delete, MemberStep

KIND = Kind(
    name="Deployment",
    template="deploymentTemplate",
    group="apps",
    version="v1",
    plural="deployments",
    kind="Deployment",
    per_revision=True,
)


def plan_subset(demand: Demand) -> SubsetPlan:
    """Raises TemplateMissing when a Deployment of the stable revision has to be made and its template is not loaded."""
    takeover = demand.takes_over()
    if takeover is not None:
        return takeover
    found = {demand.revision_of(workload): workload for workload in demand.mine}
    sizes = {
        revision: moves.Size(workload.spec.replicas, workload.status.available_replicas)
        for revision, workload in found.items()
    }
    partition = demand.partition if demand.stable != demand.target else 0
    goal = moves.goals(demand.replicas, partition, demand.target, _rest(demand, sizes), sizes)
    missing = demand.replicas - sum(goal.values())
    strategy = demand.render(demand.target).body["spec"].get("strategy") or {}
    now = moves.step(demand.replicas, _pace(demand, strategy), sizes, goal, demand.target)
    steps = _writes(demand, found, now, partition)
    steps += _removals(demand, found, now, goal)
    counts = _counts(demand, found)
    waiting = _progress(demand, found, goal, counts) if not steps else ", ".join(step.why for step in steps)
    if missing:
        waiting = not_creatable(demand, missing)
    shown = next((found[one] for one in (demand.target, demand.stable) if one in found), None)
    name = shown.metadata.name if shown else demand.name(demand.target)
    note = held_note(demand, counts.updated)
    return SubsetPlan(
        tuple(steps), counts, name, settled=not waiting, message=waiting, note=note, stalled=bool(missing)
    )


def _rest(demand: Demand, sizes: Mapping[str, moves.Size]) -> str | None:
    """The revision at which pods are created that the partition holds.

    Before any version was complete it is the one that most old pods have, and only if there are none it is the target.
    A stable revision that is lost is not replaced by the target: its pods are not created.
    """
    if demand.stable is not None:
        return demand.stable
    old = [(-size.replicas, revision) for revision, size in sizes.items() if revision != demand.target]
    if old and min(old)[0]:
        return min(old)[1]
    return None if demand.lost and demand.partition else demand.target


def _pace(demand: Demand, strategy: Mapping[str, object]) -> moves.Pace:
    """Pods that have stand-ins may be missing on top of what the strategy allows of the others."""
    pace = moves.pace(strategy, demand.replicas - demand.covered)
    return moves.Pace(pace.surge, pace.unavailable + demand.covered)


def _writes(demand: Demand, found: dict[str, Workload], now: dict[str, int], partition: int) -> list[MemberStep]:
    """Those that shrink come first: were only some carried out, no bound would be broken."""
    steps: list[tuple[int, MemberStep]] = []
    for revision, replicas in sorted(now.items()):
        workload = found.get(revision)
        if workload is None:
            if replicas or (revision == demand.target and not partition):
                why = f"create with {replicas} replicas at revision {revision}"
                steps.append((replicas, demand.apply(demand.render(revision), None, why, replicas=replicas)))
            continue
        growth = replicas - workload.spec.replicas
        why = f"revision {revision}: replicas {workload.spec.replicas} to {replicas}"
        if revision == demand.target and applied_digest(workload) != demand.render(revision).digest:
            why = why if growth else f"revision {revision}: template or metadata"
            steps.append((growth, demand.apply(demand.render(revision), workload, why, replicas=replicas)))
        elif revision in (demand.target, demand.stable) and (demand.drifted(workload) or workload.revision != revision):
            why = f"revision {revision}: put back what somebody else changed"
            rendered = demand.render(revision)
            steps.append((growth, demand.apply(rendered, workload, why, replicas=replicas, drift=True)))
        elif growth:
            steps.append((growth, demand.scale(workload, replicas, why)))
    steps.sort(key=lambda step: step[0])
    return [step for _, step in steps]


def _removals(
    demand: Demand, found: dict[str, Workload], now: dict[str, int], goal: dict[str, int]
) -> list[MemberStep]:
    """Old Deployments that are empty and done."""
    return [
        Delete(
            demand.cluster,
            demand.subset.name,
            workload.kind,
            workload.metadata.name,
            workload.metadata.uid,
            f"revision {revision}: no pods left",
        )
        for revision, workload in sorted(found.items())
        if revision != demand.target
        and not goal[revision]
        and not now[revision]
        and not workload.spec.replicas
        and not workload.status.replicas
        and workload.observed
    ]


def _counts(demand: Demand, found: dict[str, Workload]) -> Counts:
    target = found.get(demand.target)
    return Counts(
        observed=sum(workload.status.replicas for workload in found.values()),
        ready=sum(workload.status.ready_replicas for workload in found.values()),
        updated=target.status.replicas if target else 0,
        updated_ready=target.status.ready_replicas if target else 0,
    )


def _progress(demand: Demand, found: dict[str, Workload], goal: dict[str, int], counts: Counts) -> str:
    if not all(workload.observed for workload in found.values()):
        return "until its controller has seen the change"
    why = demand.why_not_ready
    if counts.updated_ready < goal[demand.target] - demand.covered:
        return f"{counts.updated_ready} of {goal[demand.target]} pods updated and ready{why}"
    if counts.ready < demand.replicas - demand.covered or counts.observed != demand.replicas:
        return f"{counts.ready} of {demand.replicas} pods ready{why}"
    return ""
