"""One subset of a plan: its number of pods, the writes that follow from it, and the result to show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes import adoption
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.kinds.base import Shift, SubsetContext, SubsetPlan
from uniteddeployment.planning.observed import MemberView, Observed, Reach, cluster_label
from uniteddeployment.planning.replicas.divide import Division, partition, reverts
from uniteddeployment.planning.replicas.ordinals import Range
from uniteddeployment.planning.results import Counts, SubsetResult
from uniteddeployment.planning.revisions import Revisions
from uniteddeployment.planning.steps import MemberStep
from uniteddeployment.planning.stored import StoredCondition, StoredDrift
from uniteddeployment_api import Subset, names
from uniteddeployment_api.strategic import PatchError

SERVED = "Served"
"""The type of the condition that says whether the cluster serves the kind of the workload; only set while False."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The inputs that all subsets of a plan share."""

    subject: Subject
    app: Application
    observed: Observed
    revisions: Revisions
    divided: Division
    ranges: Mapping[str, Range]
    """Subset -> its ordinals, with Disjoint ones."""


def plan_subset(inputs: PlanContext, subset: Subset) -> tuple[SubsetResult, tuple[MemberStep, ...]]:
    """Plan one subset: its result and its steps. Raises TemplateMissing."""
    subject, app, observed = inputs.subject, inputs.app, inputs.observed
    context = _context(inputs, subset)
    view, place = context.view, cluster_label(context.cluster)
    if not view.known:
        return _unseen(subject, context), ()
    if view.reach is Reach.READY and app.kind in view.unserved:
        message = f"{place} {view.unserved[app.kind]}"
        result = _result(context, SubsetPlan((), Counts(), "", settled=False, message=message), stalled=True)
        return replace(result, conditions=(*result.conditions, _not_served(inputs, subset, message))), ()
    try:
        planned = _planned(context)
    except PatchError as error:
        problem = f"spec.topology.subsets[{list(app.subsets).index(subset.name)}].{error}"
        counts = _last_counts(subject, subset.name)
        return _result(context, SubsetPlan((), counts, "", settled=False, message=problem), stalled=True), ()
    if view.reach is not Reach.READY:
        return _result(context, planned, message=f"{place} is {view.reach}: {view.detail}"), ()
    deleted = next((workload for workload in context.mine if workload.metadata.deletion_timestamp is not None), None)
    if deleted is not None:
        message = f"waits for {deleted.kind} {deleted.metadata.name}, which is being deleted"
        return _result(context, planned, message=message), ()
    taken = adoption.taken(app, view, planned.steps)
    if taken:
        return _result(context, replace(planned, workload=""), message=f"{taken} in {place}", stalled=True), ()
    blocked = observed.errors.get(subset.name)
    if context.cluster in observed.writing:
        # The outcome of the write is unknown, so nothing here counts as settled before it is answered (I8).
        message = blocked or f"waits for {place} to answer"
        stalled = blocked is not None and subset.name in observed.stalled
        return _result(context, replace(planned, settled=False), message=message, stalled=stalled), ()
    steps = () if app.model.spec.paused else planned.steps
    if blocked and steps:
        return _result(context, planned, message=blocked, stalled=subset.name in observed.stalled), steps
    message = planned.message or planned.note or context.reason
    return _result(context, planned, message=message, stalled=planned.stalled), steps


def _planned(context: SubsetContext) -> SubsetPlan:
    """The plan by the kind of the workload. A subset that is to be reverted is planned with the stable template.

    Raises TemplateMissing and PatchError.
    """
    plan_kind, stable = KINDS[context.app.workload_kind], context.stable
    if stable in (None, context.target) or not reverts(context.app, context.subset.name):
        return plan_kind(context)
    planned = plan_kind(replace(context, target=stable))
    # The counts of updated pods refer to the target revision of the application.
    counts = plan_kind(context).counts
    return replace(planned, counts=counts, note="reverted to the stable revision, as spec.updateStrategy requests")


def _shift(inputs: PlanContext, name: str, replicas: int) -> Shift:
    """What moves to or from a subset."""
    divided, stored = inputs.divided, inputs.subject.status.subset(name)
    return Shift(
        desired=replicas if "spec.replicas" in inputs.subject.ignored else divided.desired[name],
        assigned=divided.unwritten.get(name, replicas),
        kept=divided.kept.get(name),
        moved=divided.moved.get(name, 0),
        note=divided.reasons[name] if name in divided.notes else "",
        possibly_running=stored.possibly_running,
    )


def _possibly_running(context: SubsetContext, observed: int) -> int:
    """The most pods that a cluster which cannot be seen may run, by what was last seen there and by the status."""
    return max(observed, context.asked, context.shift.possibly_running) if context.view.unseen else 0


def _context(inputs: PlanContext, subset: Subset) -> SubsetContext:
    subject, app, observed = inputs.subject, inputs.app, inputs.observed
    revisions, divided = inputs.revisions, inputs.divided
    cluster = app.cluster_of(subset)
    view = _view_of_kind(observed.members.get(cluster), cluster, app.kind)
    replicas, reason = _replicas(inputs, subset, view)
    return SubsetContext(
        app=app,
        subset=subset,
        cluster=cluster,
        view=view,
        replicas=replicas,
        partition=_partition(inputs, subset, replicas),
        target=app.revision_of(subset.name),
        stable=revisions.stable_of(subset.name),
        templates=revisions.templates(app, subset.name, observed.templates),
        generations=observed.generations,
        reason=reason,
        ignored=subject.ignored,
        ordinals_start=inputs.ranges[subset.name].start if subset.name in inputs.ranges else None,
        claim=adoption.claim(subject, app, subset),
        reserved=divided.reserved.get(subset.name, 0),
        covered=divided.covered.get(subset.name, 0),
        schedulable=divided.conditions.get(subset.name),
        clock=view.clock(observed.now),
        last_drift=_last_drift(inputs, subset.name),
        lost=revisions.lost,
        shift=_shift(inputs, subset.name, replicas),
    )


def _last_drift(inputs: PlanContext, subset: str) -> StoredDrift | None:
    """The last changes of others to the workload of a subset: those that this process reverted, or else the stored."""
    drift = inputs.observed.drifts.get(subset)
    return StoredDrift(drift.time, drift.message) if drift else inputs.subject.status.subset(subset).last_drift


def _partition(inputs: PlanContext, subset: Subset, replicas: int) -> int:
    """The partition of a subset. During an update, pods that are about to leave it are not updated before."""
    leaving = 0
    updating = inputs.revisions.stable_of(subset.name) not in (None, inputs.app.revision_of(subset.name))
    if updating and "spec.replicas" not in inputs.subject.ignored:
        leaving = max(0, replicas - inputs.divided.desired[subset.name])
    return partition(inputs.app, subset.name, replicas - leaving) + leaving


def _view_of_kind(view: MemberView | None, cluster: str, kind: str) -> MemberView:
    """The view of a cluster for one kind: pending as long as the objects of that kind could not be read."""
    if view is None:
        return MemberView(cluster, Reach.UNKNOWN, "no such cluster")
    if view.reach is Reach.READY and kind in view.unread:
        return replace(view, reach=Reach.PENDING, detail=view.unread[kind])
    return view


def _replicas(inputs: PlanContext, subset: Subset, view: MemberView) -> tuple[int, str]:
    """The number of pods of a subset, and why: its part of the division, or the number that others have set."""
    if "spec.replicas" in inputs.subject.ignored:
        same = (inputs.app.kind, subset.name)
        owns = inputs.app.owner.owns
        ours = [workload for workload in view.workloads if owns(workload.metadata.annotations)]
        mine = [workload for workload in ours if (workload.kind, workload.subset) == same]
        sizes = [workload.spec.replicas for workload in mine if workload.spec.replicas]
        if mine:
            # While replicas move between revisions nobody has set their sum, so the last number counts.
            number = sum(sizes) if len(sizes) < 2 else inputs.subject.status.subset(subset.name).replicas
            return number, f"left to others by {names.ANNOTATION_IGNORE_DIFFERENCES}"
    return inputs.divided.replicas[subset.name], inputs.divided.reasons.get(subset.name, "")


def _unseen(subject: Subject, context: SubsetContext) -> SubsetResult:
    """The result for a cluster that shows nothing: the last counts, and why there is nothing newer."""
    view, stored = context.view, subject.status.subset(context.subset.name)
    message = f"{context.cluster} is {view.reach}"
    if view.detail:
        message = f"{cluster_label(context.cluster)}: {view.detail}"
    counts = _last_counts(subject, context.subset.name)
    planned = SubsetPlan((), counts, stored.workload_name, settled=False, message=message)
    result = _result(context, planned, stalled=view.reach is Reach.UNKNOWN)
    last_observed = view.last_contact or stored.last_observed_time or result.last_observed
    return replace(result, generation=stored.observed_generation, last_observed=last_observed)


def _result(
    context: SubsetContext, planned: SubsetPlan, *, message: str | None = None, stalled: bool = False
) -> SubsetResult:
    reachable = context.view.reach is Reach.READY
    shift = context.shift
    message = planned.message if message is None else message
    if context.view.unseen and shift.note:
        message = f"{message}; {shift.note}"
    return SubsetResult(
        name=context.subset.name,
        cluster=context.cluster,
        reach=context.view.reach,
        workload=f"{context.app.kind}/{planned.workload}" if planned.workload else "",
        replicas=context.replicas,
        partition=context.partition,
        revision=context.target,
        counts=planned.counts,
        settled=planned.settled and reachable and not stalled,
        message=message,
        reason=context.reason,
        stalled=stalled,
        generation=sum(context.generations.get(context.view.ref(workload).key, 0) for workload in context.mine),
        revisions=context.by_revision(planned.counts),
        last_observed=context.view.last_contact,
        ordinals_start=context.ordinals_start,
        reserved=context.reserved,
        covered=context.covered,
        assigned=shift.assigned,
        desired=shift.desired,
        kept=_kept(context, planned.counts) if shift.kept is None else shift.kept,
        moved=shift.moved,
        possibly_running=_possibly_running(context, planned.counts.observed),
        stable_revision=context.stable if context.stable not in (None, context.target) else "",
        conditions=(context.schedulable,) if context.schedulable else (),
        paused=context.app.model.spec.paused,
        last_drift=context.last_drift,
    )


def _kept(context: SubsetContext, counts: Counts) -> int:
    """The number of ready pods of a subset that does not shrink.

    The status of a workload counts pods that are being deleted until its controller has noticed that.
    """
    adopted = any(map(context.was_adopted, context.mine))
    ready = counts.ready if adopted else min(counts.ready, sum(context.pods.ready.values()))
    return min(ready, context.replicas)


def _not_served(inputs: PlanContext, subset: Subset, message: str) -> StoredCondition:
    """The condition of a subset whose cluster does not serve the kind of its workload."""
    before = inputs.subject.status.subset(subset.name).condition(SERVED)
    since = before.last_transition_time if before is not None else None
    return StoredCondition(SERVED, "False", None, since or inputs.observed.now, "KindNotServed", message)


def _last_counts(subject: Subject, name: str) -> Counts:
    """The counts that the status has for a subset: the last ones, if its cluster has not been seen since (I8)."""
    stored = subject.status.subset(name)
    return Counts(
        observed=stored.observed_replicas,
        ready=stored.ready_replicas,
        updated=stored.updated_replicas,
        updated_ready=stored.updated_ready_replicas,
    )
