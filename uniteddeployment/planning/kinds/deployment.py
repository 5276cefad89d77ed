"""One Deployment per revision in a subset, so that the number of updated pods is the replicas of one object.

Exact by construction (I6): whatever happens to the controller or to the network, a Deployment does not grow by itself.
Replicas move within maxSurge and maxUnavailable of the template's strategy; going back is moving them back.
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
    """Raises TemplateMissing when a Deployment of the stable revision has to be made and its template is not loaded."""
    takeover = context.takes_over()
    if takeover is not None:
        return takeover
    found = {context.revision_of(workload): workload for workload in context.mine}
    sizes = {
        revision: moves.Size(workload.spec.replicas, workload.status.available_replicas)
        for revision, workload in found.items()
    }
    partition = context.partition if context.stable != context.target else 0
    goal = moves.goals(context.replicas, partition, context.target, _rest(context, sizes), sizes)
    missing = context.replicas - sum(goal.values())
    strategy = context.render(context.target).body["spec"].get("strategy") or {}
    now = moves.step(context.replicas, _pace(context, strategy), sizes, goal, context.target)
    steps = _writes(context, found, now, partition)
    steps += _removals(context, found, now, goal)
    counts = _counts(context, found)
    waiting = _progress(context, found, goal, counts) if not steps else ", ".join(step.why for step in steps)
    if missing:
        waiting = not_creatable(context, missing)
    shown = next((found[one] for one in (context.target, context.stable) if one in found), None)
    name = shown.metadata.name if shown else context.name(context.target)
    note = held_note(context, counts.updated)
    return SubsetPlan(
        tuple(steps), counts, name, settled=not waiting, message=waiting, note=note, stalled=bool(missing)
    )


def _rest(context: SubsetContext, sizes: Mapping[str, moves.Size]) -> str | None:
    """The revision at which pods are created that the partition holds.

    Before any version was complete it is the one that most old pods have, and only if there are none it is the target.
    A stable revision that is lost is not replaced by the target: its pods are not created.
    """
    if context.stable is not None:
        return context.stable
    old = [(-size.replicas, revision) for revision, size in sizes.items() if revision != context.target]
    if old and min(old)[0]:
        return min(old)[1]
    return None if context.lost and context.partition else context.target


def _pace(context: SubsetContext, strategy: Mapping[str, object]) -> moves.Pace:
    """Pods that have stand-ins may be missing on top of what the strategy allows of the others."""
    pace = moves.pace(strategy, context.replicas - context.covered)
    return moves.Pace(pace.surge, pace.unavailable + context.covered)


def _writes(
    context: SubsetContext, found: dict[str, Workload], now: dict[str, int], partition: int
) -> list[MemberStep]:
    """Those that shrink come first: were only some carried out, no bound would be broken."""
    steps: list[tuple[int, MemberStep]] = []
    for revision, replicas in sorted(now.items()):
        workload = found.get(revision)
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
    context: SubsetContext, found: dict[str, Workload], now: dict[str, int], goal: dict[str, int]
) -> list[MemberStep]:
    """Old Deployments that are empty and done."""
    return [
        Delete(context.view.ref(workload), workload.metadata.uid, f"revision {revision}: no pods left")
        for revision, workload in sorted(found.items())
        if revision != context.target
        and not goal[revision]
        and not now[revision]
        and not workload.spec.replicas
        and not workload.status.replicas
        and workload.observed
    ]


def _counts(context: SubsetContext, found: dict[str, Workload]) -> Counts:
    target = found.get(context.target)
    return Counts(
        observed=sum(workload.status.replicas for workload in found.values()),
        ready=sum(workload.status.ready_replicas for workload in found.values()),
        updated=target.status.replicas if target else 0,
        updated_ready=target.status.ready_replicas if target else 0,
    )


def _progress(context: SubsetContext, found: dict[str, Workload], goal: dict[str, int], counts: Counts) -> str:
    if not all(workload.observed for workload in found.values()):
        return "until its controller has seen the change"
    why = context.why_not_ready
    if counts.updated_ready < goal[context.target] - context.covered:
        return f"{counts.updated_ready} of {goal[context.target]} pods updated and ready{why}"
    if counts.ready < context.replicas - context.covered or counts.observed != context.replicas:
        return f"{counts.ready} of {context.replicas} pods ready{why}"
    return ""
