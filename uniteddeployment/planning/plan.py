"""The plan: what is to be written where and why, and what status says, from what is wanted and what is seen.

``plan`` is pure: the same inputs give the same plan to the byte (I2). It reads as the recipe it is: revisions,
division, partitions, each subset by its kind, what is left over, status.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from uniteddeployment.planning import adaptive, adoption, division, history, ordinals, retire, status
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.division import Division
from uniteddeployment.planning.history import Revisions
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.kinds.base import Counts, Demand, SubsetPlan, TemplateMissing
from uniteddeployment.planning.observed import MemberView, Observed, Reach
from uniteddeployment.planning.recreate import with_recreation
from uniteddeployment.planning.status import Row
from uniteddeployment.planning.steps import AddFinalizer, Event, HostStep, MemberStep, NoteOrphaning, RemoveFinalizer
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import Subset, names
from uniteddeployment_api.strategic import PatchError


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for one UnitedDeployment now.

    ``before`` has to be written before anything in a member; the steps of one cluster are in order, clusters are
    independent of each other; ``host`` may be written at the same time; ``after`` when everything else has succeeded.
    ``missing`` names ControllerRevisions to load: with any, plan again before doing anything.
    """

    before: tuple[HostStep, ...] = ()
    members: Mapping[str, tuple[MemberStep, ...]] = field(default_factory=dict)
    host: tuple[HostStep, ...] = ()
    after: tuple[HostStep, ...] = ()
    status: Mapping[str, Any] | None = None
    """The whole status to have; None when the object is going away."""
    events: tuple[Event, ...] = ()
    rows: tuple[Row, ...] = ()
    missing: frozenset[str] = frozenset()
    again_in: float | None = None
    """Seconds after which to plan again, although nothing may have happened until then."""
    remember: bool = False
    """The status has to be stored, and planned from, before anything is done: it holds what will not be seen again."""

    @property
    def writes(self) -> bool:
        """Whether there is anything to write but status."""
        return bool(self.before or self.members or self.host or self.after)


@dataclass(frozen=True, slots=True)
class _Look:
    """What every subset is planned from."""

    subject: Subject
    app: Application
    observed: Observed
    revisions: Revisions
    divided: Division
    ranges: Mapping[str, ordinals.Range]


def plan(subject: Subject, observed: Observed) -> Plan:
    """Decide everything for one UnitedDeployment."""
    if subject.deleting:
        return _farewell(subject, observed)
    app = subject.app
    if app is None:
        problems = "; ".join(f"{error.path}: {error.message}" for error in subject.errors)
        verdicts = status.refused("InvalidSpec", problems)
        return Plan(status=status.with_conditions(subject, verdicts, observed.now))
    revisions = history.revisions(subject, app, observed)
    ranges = ordinals.ranges(subject, app, observed)
    look = _Look(subject, app, observed, revisions, division.divide(subject, app, observed, ranges), ranges)
    try:
        planned = [_plan_subset(look, subset) for subset in app.subsets.values()]
        planned = with_recreation(subject, observed, planned)
    except TemplateMissing:
        return Plan(missing=frozenset({revisions.current.name}) if revisions.current else frozenset())
    return _together(look, planned)


def _farewell(subject: Subject, observed: Observed) -> Plan:
    if not subject.guarded:
        return Plan()
    cleanup = retire.everything(subject, observed)
    members: dict[str, tuple[MemberStep, ...]] = {}
    for step in cleanup.steps:
        members[step.cluster] = (*members.get(step.cluster, ()), step)
    if not cleanup.waiting:
        return Plan(host=history.forgotten(subject, observed), after=(RemoveFinalizer(),))
    before: tuple[HostStep, ...] = (NoteOrphaning(),) if subject.orphan and not subject.noted_orphan else ()
    stored = status.with_conditions(subject, status.deleting(cleanup.waiting), observed.now)
    return Plan(before=before, members=members, status=stored)


def _plan_subset(look: _Look, subset: Subset) -> tuple[Row, tuple[MemberStep, ...]]:
    """The row and the steps of one subset. Raises TemplateMissing."""
    app, observed = look.app, look.observed
    cluster = app.cluster_of(subset)
    view = _view_of_kind(observed.members.get(cluster), cluster, app.kind)
    replicas, reason = _number(look, subset, view)
    demand = Demand(
        app=app,
        subset=subset,
        cluster=cluster,
        view=view,
        replicas=replicas,
        partition=division.partition(app, subset.name, replicas),
        target=app.revision_of(subset.name),
        stable=look.revisions.stable_of(subset.name),
        templates=look.revisions.templates(app, subset.name, observed.templates),
        generations=observed.generations,
        reason=reason,
        ignored=look.subject.ignored,
        ordinals_start=look.ranges[subset.name].start if subset.name in look.ranges else None,
        claim=adoption.claim(look.subject, app, subset),
        reserved=look.divided.reserved.get(subset.name, 0),
        schedulable=look.divided.conditions.get(subset.name),
    )
    if not view.known:
        return _unseen(look.subject, demand), ()
    if view.reach is Reach.READY and app.kind in view.unserved:
        message = f"{status.where(cluster)} {view.unserved[app.kind]}"
        row = _row(demand, SubsetPlan((), Counts(), "", settled=False, message=message), stalled=True)
        condition = status.not_served(look.subject, subset.name, message, observed.now)
        return replace(row, conditions=(*row.conditions, condition)), ()
    try:
        result = KINDS[app.workload_kind](demand)
    except PatchError as error:
        problem = f"spec.topology.subsets[{list(app.subsets).index(subset.name)}].{error}"
        counts = status.carried(look.subject, subset.name)
        return _row(demand, SubsetPlan((), counts, "", settled=False, message=problem), stalled=True), ()
    if view.reach is not Reach.READY:
        return _row(demand, result, message=f"{status.where(cluster)} is {view.reach}: {view.detail}"), ()
    going = [found for found in demand.mine() if found.metadata.deletion_timestamp is not None]
    if going:
        message = f"waits for {going[0].kind} {going[0].metadata.name}, which is being deleted"
        return _row(demand, result, message=message), ()
    taken = adoption.taken(app, view, result.steps)
    if taken:
        message = f"{taken} in {status.where(cluster)}"
        return _row(demand, replace(result, workload=""), message=message, stalled=True), ()
    steps = () if app.model.spec.paused else result.steps
    blocked = observed.errors.get(subset.name)
    if blocked and steps:
        return _row(demand, result, message=blocked, stalled=subset.name in observed.stalled), steps
    return _row(demand, result, message=result.message or demand.reason), steps


def _view_of_kind(view: MemberView | None, cluster: str, kind: str) -> MemberView:
    """What a cluster shows to a subset of a kind: one whose objects could not be read yet has yet to be looked at."""
    if view is None:
        return MemberView(cluster, Reach.UNKNOWN, "no such cluster")
    if view.reach is Reach.READY and kind in view.unread:
        return replace(view, reach=Reach.PENDING, detail=view.unread[kind])
    return view


def _number(look: _Look, subset: Subset, view: MemberView) -> tuple[int, str]:
    """How many pods a subset is to have, and why: the division's number, or what others made of it where they may."""
    if "spec.replicas" in look.subject.ignored:
        found = [one for one in view.workloads if one.subset == subset.name and one.kind == look.app.kind]
        sizes = [one.spec.replicas for one in found if one.spec.replicas]
        # While replicas move between revisions their sum is no wish of anybody's: the last number counts.
        last = look.subject.subset_statuses().get(subset.name, {}).get("replicas", 0)
        if found:
            number = sum(sizes) if len(sizes) < 2 else last
            return number, f"left to others by {names.ANNOTATION_IGNORE_DIFFERENCES}"
    return look.divided.replicas[subset.name], look.divided.reasons.get(subset.name, "")


def _unseen(subject: Subject, demand: Demand) -> Row:
    """A subset in a cluster that shows nothing: its last counts, and why there is nothing newer."""
    view = demand.view
    entry = subject.subset_statuses().get(demand.subset.name, {})
    missing = view.reach is Reach.UNKNOWN
    message = f"{status.where(demand.cluster)}: {view.detail}" if view.detail else f"{demand.cluster} is {view.reach}"
    counts = status.carried(subject, demand.subset.name)
    planned = SubsetPlan((), counts, entry.get("workload", "").partition("/")[2], settled=False, message=message)
    return _row(demand, planned, stalled=missing, last_observed=view.last_contact or entry.get("lastObservedTime"))


def _row(
    demand: Demand,
    planned: SubsetPlan,
    *,
    message: str | None = None,
    stalled: bool = False,
    last_observed: str | None = None,
) -> Row:
    noted = [demand.generations.get((demand.cluster, one.kind, one.metadata.name), 0) for one in demand.mine()]
    reachable = demand.view.reach is Reach.READY
    return Row(
        name=demand.subset.name,
        cluster=demand.cluster,
        reach=demand.view.reach,
        workload=f"{demand.app.kind}/{planned.workload}" if planned.workload else "",
        replicas=demand.replicas,
        partition=demand.partition,
        revision=demand.target,
        counts=planned.counts,
        settled=planned.settled and reachable and not stalled,
        message=planned.message if message is None else message,
        reason=demand.reason,
        stalled=stalled,
        generation=sum(noted),
        revisions=demand.by_revision(planned.counts),
        last_observed=last_observed or (None if reachable else demand.view.last_contact),
        ordinals_start=demand.ordinals_start,
        reserved=demand.reserved,
        conditions=(demand.schedulable,) if demand.schedulable else (),
    )


def _together(look: _Look, planned: list[tuple[Row, tuple[MemberStep, ...]]]) -> Plan:
    subject, app, observed, revisions, divided = (
        look.subject,
        look.app,
        look.observed,
        look.revisions,
        look.divided,
    )
    rows = tuple(row for row, _ in planned)
    members: dict[str, tuple[MemberStep, ...]] = {}
    for _, steps in planned:
        for step in steps:
            members[step.cluster] = (*members.get(step.cluster, ()), step)
    placed = {row.name: row.cluster for row in rows}
    ready = sum(min(row.counts.ready, row.replicas) for row in rows if row.reach is Reach.READY)
    desired = sum(row.replicas - row.reserved for row in rows)
    stalled = frozenset(row.name for row in rows if row.stalled)
    gone, leftovers = retire.leftovers(app, observed, placed, ready=ready, desired=desired, stalled=stalled)
    paused = app.model.spec.paused
    for removal in () if paused else gone:
        members[removal.cluster] = (*members.get(removal.cluster, ()), removal)
    current = _current(subject, revisions, rows)
    verdicts = status.verdicts(
        app,
        rows,
        unplaced=divided.unplaced,
        why_unplaced=divided.why_unplaced,
        leftovers=leftovers,
        writing=bool(members),
    )
    before: tuple[HostStep, ...] = () if subject.guarded or paused or not members else (AddFinalizer(),)
    return Plan(
        before=before,
        members=members,
        host=() if paused else revisions.steps,
        status=status.build(
            subject,
            app,
            rows,
            verdicts,
            unplaced=divided.unplaced,
            current=current,
            updated=revisions.updated,
            now=observed.now,
        ),
        events=_events(subject, members, rows, verdicts, current),
        rows=rows,
        again_in=divided.again_in,
        remember=divided.remember,
    )


def _current(subject: Subject, revisions: Revisions, rows: tuple[Row, ...]) -> str:
    """The revision that was last rolled out completely: every pod of every subset, seen ready at it (I8).

    No pods prove nothing: what is scaled to zero in mid-canary remembers what it held.
    """
    complete = any(row.replicas for row in rows) and all(
        row.settled and row.reach is Reach.READY and row.counts.updated_ready >= row.replicas - row.reserved
        for row in rows
    )
    stored: str = subject.status.get("currentRevision") or ""
    return revisions.updated if complete else stored


def _events(
    subject: Subject,
    members: Mapping[str, tuple[MemberStep, ...]],
    rows: tuple[Row, ...],
    verdicts: tuple[status.Verdict, ...],
    current: str,
) -> tuple[Event, ...]:
    events = []
    steps = [step for steps in members.values() for step in steps]
    if steps:
        changes = "; ".join(f"{status.where(step.cluster)}: {step.kind} {step.name}: {step.why}" for step in steps[:10])
        more = f"; and {len(steps) - 10} more" if len(steps) > 10 else ""
        events.append(Event("Normal", "Reconciled", changes + more))
    stored = {one["type"]: one for one in subject.status.get("conditions") or ()}
    for verdict in verdicts:
        before = stored.get(verdict.type) or {}
        if verdict.type == status.STALLED and verdict.status == "True" and before.get("message") != verdict.message:
            events.append(Event("Warning", verdict.reason, verdict.message))
    events += _turns(subject, rows)
    if current and current != subject.status.get("currentRevision"):
        events.append(Event("Normal", "RolloutCompleted", f"every pod is ready at {current}"))
    return tuple(events)


def _turns(subject: Subject, rows: tuple[Row, ...]) -> list[Event]:
    """Subsets that have turned unschedulable, or schedulable again."""
    entries = subject.subset_statuses()
    turned = [
        (row.name, condition)
        for row in rows
        for condition in row.conditions
        if condition["type"] == adaptive.SCHEDULABLE
        and condition["status"] != adaptive.schedulable_condition(entries.get(row.name, {})).get("status", "True")
    ]
    return [
        Event("Warning", condition["reason"], f"{name}: {condition['message']}")
        if condition["status"] == "False"
        else Event("Normal", condition["reason"], f"{name} takes pods again")
        for name, condition in turned
    ]
