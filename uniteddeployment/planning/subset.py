"""One subset of a plan: what it is to be, what its kind makes of that, and the result that status shows of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes import adoption
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan
from uniteddeployment.planning.observed import MemberView, Observed, Reach, cluster_label
from uniteddeployment.planning.replicas import ordinals
from uniteddeployment.planning.replicas.divide import Division, partition
from uniteddeployment.planning.results import Counts, SubsetResult
from uniteddeployment.planning.revisions import Revisions
from uniteddeployment.planning.steps import MemberStep
from uniteddeployment_api import Subset, names
from uniteddeployment_api.strategic import PatchError

SERVED = "Served"
"""Of a subset, and there only while it is False: whether its cluster serves the kind of its workload."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What every subset is planned from."""

    subject: Subject
    app: Application
    observed: Observed
    revisions: Revisions
    divided: Division
    ranges: Mapping[str, ordinals.Range]


def plan_subset(inputs: PlanContext, subset: Subset) -> tuple[SubsetResult, tuple[MemberStep, ...]]:
    """The result and the steps of one subset. Raises TemplateMissing."""
    app, observed = inputs.app, inputs.observed
    cluster = app.cluster_of(subset)
    view = _view_of_kind(observed.members.get(cluster), cluster, app.kind)
    replicas, reason = _number(inputs, subset, view)
    context = SubsetContext(
        app=app,
        subset=subset,
        cluster=cluster,
        view=view,
        replicas=replicas,
        partition=partition(app, subset.name, replicas),
        target=app.revision_of(subset.name),
        stable=inputs.revisions.stable_of(subset.name),
        templates=inputs.revisions.templates(app, subset.name, observed.templates),
        generations=observed.generations,
        reason=reason,
        ignored=inputs.subject.ignored,
        ordinals_start=inputs.ranges[subset.name].start if subset.name in inputs.ranges else None,
        claim=adoption.claim(inputs.subject, app, subset),
        reserved=inputs.divided.reserved.get(subset.name, 0),
        covered=inputs.divided.covered.get(subset.name, 0),
        schedulable=inputs.divided.conditions.get(subset.name),
        now=observed.now,
        lost=inputs.revisions.lost,
    )
    if not view.known:
        return _unseen(inputs.subject, context), ()
    if view.reach is Reach.READY and app.kind in view.unserved:
        message = f"{cluster_label(cluster)} {view.unserved[app.kind]}"
        result = _result(context, SubsetPlan((), Counts(), "", settled=False, message=message), stalled=True)
        condition = _not_served(inputs.subject, subset.name, message, observed.now)
        return replace(result, conditions=(*result.conditions, condition)), ()
    try:
        planned = KINDS[app.workload_kind](context)
    except PatchError as error:
        problem = f"spec.topology.subsets[{list(app.subsets).index(subset.name)}].{error}"
        counts = _carried(inputs.subject, subset.name)
        return _result(context, SubsetPlan((), counts, "", settled=False, message=problem), stalled=True), ()
    if view.reach is not Reach.READY:
        return _result(context, planned, message=f"{cluster_label(cluster)} is {view.reach}: {view.detail}"), ()
    going = [found for found in context.mine if found.metadata.deletion_timestamp is not None]
    if going:
        message = f"waits for {going[0].kind} {going[0].metadata.name}, which is being deleted"
        return _result(context, planned, message=message), ()
    taken = adoption.taken(app, view, planned.steps)
    if taken:
        message = f"{taken} in {cluster_label(cluster)}"
        return _result(context, replace(planned, workload=""), message=message, stalled=True), ()
    blocked = observed.errors.get(subset.name)
    if cluster in observed.writing:
        # What comes of the write is not known, so nothing here is as asked for before it is answered (I8).
        message = blocked or f"waits for {cluster_label(cluster)} to answer"
        stalled = blocked is not None and subset.name in observed.stalled
        return _result(context, replace(planned, settled=False), message=message, stalled=stalled), ()
    steps = () if app.model.spec.paused else planned.steps
    if blocked and steps:
        return _result(context, planned, message=blocked, stalled=subset.name in observed.stalled), steps
    message = planned.message or planned.note or context.reason
    return _result(context, planned, message=message, stalled=planned.stalled), steps


def _view_of_kind(view: MemberView | None, cluster: str, kind: str) -> MemberView:
    """What a cluster shows to a subset of a kind: one whose objects could not be read yet has yet to be looked at."""
    if view is None:
        return MemberView(cluster, Reach.UNKNOWN, "no such cluster")
    if view.reach is Reach.READY and kind in view.unread:
        return replace(view, reach=Reach.PENDING, detail=view.unread[kind])
    return view


def _number(inputs: PlanContext, subset: Subset, view: MemberView) -> tuple[int, str]:
    """How many pods a subset is to have, and why: the division's number, or what others made of it where they may."""
    if "spec.replicas" in inputs.subject.ignored:
        found = [one for one in view.workloads if one.subset == subset.name and one.kind == inputs.app.kind]
        sizes = [one.spec.replicas for one in found if one.spec.replicas]
        # While replicas move between revisions their sum is no wish of anybody's: the last number counts.
        last = inputs.subject.subset_statuses().get(subset.name, {}).get("replicas", 0)
        if found:
            number = sum(sizes) if len(sizes) < 2 else last
            return number, f"left to others by {names.ANNOTATION_IGNORE_DIFFERENCES}"
    return inputs.divided.replicas[subset.name], inputs.divided.reasons.get(subset.name, "")


def _unseen(subject: Subject, context: SubsetContext) -> SubsetResult:
    """A subset in a cluster that shows nothing: its last counts, and why there is nothing newer."""
    view = context.view
    entry = subject.subset_statuses().get(context.subset.name, {})
    missing = view.reach is Reach.UNKNOWN
    message = (
        f"{cluster_label(context.cluster)}: {view.detail}" if view.detail else f"{context.cluster} is {view.reach}"
    )
    counts = _carried(subject, context.subset.name)
    planned = SubsetPlan((), counts, entry.get("workload", "").partition("/")[2], settled=False, message=message)
    result = _result(
        context, planned, stalled=missing, last_observed=view.last_contact or entry.get("lastObservedTime")
    )
    return replace(result, generation=entry.get("observedGeneration", 0))


def _result(
    context: SubsetContext,
    planned: SubsetPlan,
    *,
    message: str | None = None,
    stalled: bool = False,
    last_observed: str | None = None,
) -> SubsetResult:
    noted = [context.generations.get(context.view.ref(one).key, 0) for one in context.mine]
    reachable = context.view.reach is Reach.READY
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
        message=planned.message if message is None else message,
        reason=context.reason,
        stalled=stalled,
        generation=sum(noted),
        revisions=context.by_revision(planned.counts),
        last_observed=last_observed or (None if reachable else context.view.last_contact),
        ordinals_start=context.ordinals_start,
        reserved=context.reserved,
        covered=context.covered,
        conditions=(context.schedulable,) if context.schedulable else (),
        paused=context.app.model.spec.paused,
    )


def _not_served(subject: Subject, subset: str, message: str, now: str) -> Mapping[str, Any]:
    """The condition of a subset whose cluster does not serve what it is to run."""
    stored = subject.subset_statuses().get(subset, {}).get("conditions") or ()
    before: Mapping[str, Any] = next((one for one in stored if one["type"] == SERVED), {})
    return {
        "type": SERVED,
        "status": "False",
        "lastTransitionTime": before.get("lastTransitionTime") or now,
        "reason": "KindNotServed",
        "message": message,
    }


def _carried(subject: Subject, name: str) -> Counts:
    """The counts that status last had for a subset: the last word of a cluster that has not been seen since (I8)."""
    entry = subject.subset_statuses().get(name, {})
    return Counts(
        observed=entry.get("observedReplicas", 0),
        ready=entry.get("readyReplicas", 0),
        updated=entry.get("updatedReplicas", 0),
        updated_ready=entry.get("updatedReadyReplicas", 0),
    )
