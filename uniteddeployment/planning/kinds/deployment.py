"""Deployments: a subset has one for each revision, so the number of updated pods is the replicas of one object.

This holds the partition exactly (I6): whatever happens to the controller or to the network, a Deployment does not grow
by itself. Replicas move within maxSurge and maxUnavailable of the template's strategy; going back moves them back.
"""

from collections.abc import Mapping

from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds import moves
from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan, applied_digest, held_note, not_creatable
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


def plan_subset(context: SubsetContext) -> SubsetPlan:
    """Plan a subset. Raises TemplateMissing if the stable template is needed and is not loaded."""
    takeover = context.takes_over()
    if takeover is not None:
        return takeover
    workloads = {context.revision_of(workload): workload for workload in context.mine}
    sizes = {
        revision: moves.Size(workload.spec.replicas, workload.status.available_replicas)
        for revision, workload in workloads.items()
    }
    partition = context.partition if context.stable != context.target else 0
    goal = moves.goals(context.replicas, partition, context.target, _rest(context, sizes), sizes)
    missing = context.replicas - sum(goal.values())
    strategy = context.render(context.target).body["spec"].get("strategy") or {}
    now = moves.step(context.replicas, _pace(context, strategy), sizes, goal, context.target)
    steps = [*_writes(context, workloads, now, partition), *_removals(context, workloads, now, goal)]
    counts = _counts(context, workloads)
    waiting = ", ".join(step.why for step in steps) if steps else _progress(context, workloads, goal, counts)
    if missing:
        waiting = not_creatable(context, missing)
    shown = next((workloads[revision] for revision in (context.target, context.stable) if revision in workloads), None)
    return SubsetPlan(
        tuple(steps),
        counts,
        shown.metadata.name if shown else context.name(context.target),
        settled=not waiting,
        message=waiting,
        note=held_note(context, counts.updated),
        stalled=bool(missing),
    )


def _rest(context: SubsetContext, sizes: Mapping[str, moves.Size]) -> str | None:
    """The revision at which pods that the partition holds are created; None if they cannot be.

    Before any version was complete it is the revision of most old pods or, if there are none, the target. If the stable
    revision was lost, the target does not replace it.
    """
    if context.stable is not None:
        return context.stable
    old = [(-size.replicas, revision) for revision, size in sizes.items() if revision != context.target]
    if old and min(old)[0]:
        return min(old)[1]
    return None if context.lost and context.partition else context.target


def _pace(context: SubsetContext, strategy: Mapping[str, object]) -> moves.Pace:
    """The pace of the strategy. Pods that have stand-ins may be missing on top of what it allows."""
    pace = moves.pace(strategy, context.replicas - context.covered)
    return moves.Pace(pace.surge, pace.unavailable + context.covered)


def _writes(
    context: SubsetContext, workloads: dict[str, Workload], now: dict[str, int], partition: int
) -> list[MemberStep]:
    """Writes that shrink a Deployment come first: if only some are carried out, no bound is broken."""
    steps: list[tuple[int, MemberStep]] = []
    for revision, replicas in sorted(now.items()):
        workload = workloads.get(revision)
        if workload is None:
            if replicas or (revision == context.target and not partition):
                why = f"create with {replicas} replicas at revision {revision}"
                steps.append((replicas, context.apply(context.render(revision), None, why, replicas=replicas)))
            continue
        growth = replicas - workload.spec.replicas
        why = f"revision {revision}: replicas {workload.spec.replicas} to {replicas}"
        if revision == context.target and applied_digest(workload) != context.render(revision).digest:
            why = why if growth else f"revision {revision}: template or metadata"
            steps.append((growth, context.apply(context.render(revision), workload, why, replicas=replicas)))
        elif revision in (context.target, context.stable) and (
            context.drifted(workload) or workload.revision != revision
        ):
            why = f"revision {revision}: put back what somebody else changed"
            rendered = context.render(revision)
            steps.append((growth, context.apply(rendered, workload, why, replicas=replicas, drift=True)))
        elif growth:
            steps.append((growth, context.scale(workload, replicas, why)))
    steps.sort(key=lambda step: step[0])
    return [step for _, step in steps]


def _removals(
    context: SubsetContext, workloads: dict[str, Workload], now: dict[str, int], goal: dict[str, int]
) -> list[MemberStep]:
    """Deletions of old Deployments that are empty."""
    return [
        Delete(context.view.ref(workload), workload.metadata.uid, f"revision {revision}: no pods left")
        for revision, workload in sorted(workloads.items())
        if revision != context.target
        and not goal[revision]
        and not now[revision]
        and not workload.spec.replicas
        and not workload.status.replicas
        and workload.observed
    ]


def _counts(context: SubsetContext, workloads: dict[str, Workload]) -> Counts:
    target = workloads.get(context.target)
    return Counts(
        observed=sum(workload.status.replicas for workload in workloads.values()),
        ready=sum(workload.status.ready_replicas for workload in workloads.values()),
        updated=target.status.replicas if target else 0,
        updated_ready=target.status.ready_replicas if target else 0,
    )


def _progress(context: SubsetContext, workloads: dict[str, Workload], goal: dict[str, int], counts: Counts) -> str:
    if not all(workload.observed for workload in workloads.values()):
        return "until its controller has seen the change"
    why = context.why_not_ready
    if counts.updated_ready < goal[context.target] - context.covered:
        return f"{counts.updated_ready} of {goal[context.target]} pods updated and ready{why}"
    if counts.ready < context.replicas - context.covered or counts.observed != context.replicas:
        return f"{counts.ready} of {context.replicas} pods ready{why}"
    return ""
