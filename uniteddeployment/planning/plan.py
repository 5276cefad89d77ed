"""The plan: what is to be written where and why, and what status says, from what is wanted and what is seen.

``plan`` is pure: the same inputs give the same plan to the byte (I2). It reads as the recipe it is: revisions,
division, partitions, each subset by its kind, what is left over, status.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from uniteddeployment.planning import status
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes import adoption
from uniteddeployment.planning.changes.recreate import with_recreation
from uniteddeployment.planning.changes.retire import any_left, everything, leftovers
from uniteddeployment.planning.events import news
from uniteddeployment.planning.kinds.base import TemplateMissing
from uniteddeployment.planning.observed import NO_PODS, Observed, Reach, cluster_label
from uniteddeployment.planning.observed.pods import next_due
from uniteddeployment.planning.replicas.divide import divide
from uniteddeployment.planning.replicas.ordinals import ranges
from uniteddeployment.planning.results import Row
from uniteddeployment.planning.revisions import Revisions, forgotten, orphaned, plan_revisions
from uniteddeployment.planning.steps import (
    AddFinalizer,
    CheckOrphaning,
    Event,
    HostStep,
    MemberStep,
    NoteOrphaning,
    RemoveFinalizer,
)
from uniteddeployment.planning.subset import Look, plan_subset
from uniteddeployment.text import shortened

_MOST_PROBLEMS = 16
_MOST_LEFTOVERS = 1024


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
    early: bool = False
    """A cluster of it is being looked at for the first time: status and Events wait until it is known how it stands."""
    remember: bool = False
    """The status has to be stored, and planned from, before anything is done: it holds what will not be seen again."""

    @property
    def writes(self) -> bool:
        """Whether there is anything to write but status."""
        return bool(self.before or self.members or self.host or self.after)


def plan(subject: Subject, observed: Observed) -> Plan:
    """Decide everything for one UnitedDeployment."""
    early = any(view.undecided for view in observed.members.values())
    return replace(_plan(subject, observed), early=early)


def _plan(subject: Subject, observed: Observed) -> Plan:
    if subject.deleting:
        return _farewell(subject, observed)
    app = subject.app
    if app is None:
        verdicts = status.refused("InvalidSpec", _problems(subject))
        stored = status.with_conditions(subject, verdicts, observed.now)
        return Plan(before=_finalizer(subject, observed, writing=False), status=stored)
    revisions = plan_revisions(subject, app, observed)
    ordinals = ranges(subject, app, observed)
    look = Look(subject, app, observed, revisions, divide(subject, app, observed, ordinals), ordinals)
    try:
        planned = [plan_subset(look, subset) for subset in app.subsets.values()]
        planned = with_recreation(subject, observed, planned)
    except TemplateMissing:
        return Plan(missing=frozenset({revisions.current.name}) if revisions.current else frozenset())
    return _together(look, planned)


def _problems(subject: Subject) -> str:
    """What is wrong with a spec. A hundred thousand wrong fields are told by the first of them."""
    told = [shortened(str(error)) for error in subject.errors[:_MOST_PROBLEMS]]
    more = len(subject.errors) - len(told)
    return "; ".join([*told, f"and {more} more"] if more else told)


def _farewell(subject: Subject, observed: Observed) -> Plan:
    if not subject.guarded:
        return Plan()
    if subject.keeps_workloads or orphaned(observed):
        subject = replace(subject, orphan=True)
    cleanup = everything(subject, observed)
    members: dict[str, tuple[MemberStep, ...]] = {}
    for step in cleanup.steps:
        if step.cluster not in observed.writing:
            members[step.cluster] = (*members.get(step.cluster, ()), step)
    waiting = cleanup.waiting or _unanswered(observed)
    if not waiting:
        return Plan(host=forgotten(subject, observed), after=(RemoveFinalizer(),))
    before: tuple[HostStep, ...] = ()
    if subject.orphan:
        before = () if subject.noted_orphan else (NoteOrphaning(),)
    elif members and not observed.orphaning_checked:
        before, members = (CheckOrphaning(),), {}
    stored = status.with_conditions(subject, status.deleting(waiting), observed.now)
    return Plan(before=before, members=members, status=stored)


def _unanswered(observed: Observed) -> str:
    """Where a write has yet to be answered: it may still create something."""
    clusters = ", ".join(cluster_label(cluster) for cluster in sorted(observed.writing))
    return f"waits for {clusters} to answer" if clusters else ""


def _finalizer(subject: Subject, observed: Observed, *, writing: bool) -> tuple[HostStep, ...]:
    """Keep our finalizer on what has, or is about to get, workloads. Whoever removed it may delete the object next."""
    had = any(entry.get("workload") for entry in (*subject.subset_statuses().values(), *subject.leftover_statuses()))
    if subject.guarded or not (writing or had or any_left(subject, observed)):
        return ()
    return (AddFinalizer(),)


def _together(look: Look, planned: list[tuple[Row, tuple[MemberStep, ...]]]) -> Plan:
    subject, app, observed, revisions, divided = (
        look.subject,
        look.app,
        look.observed,
        look.revisions,
        look.divided,
    )
    rows = tuple(row for row, _ in planned)
    members = _reclaims(app, observed)
    for _, steps in planned:
        for step in steps:
            members[step.cluster] = (*members.get(step.cluster, ()), step)
    left = leftovers(subject, app, observed, rows)
    for removal in left.steps:
        if removal.cluster not in observed.writing:
            members[removal.cluster] = (*members.get(removal.cluster, ()), removal)
    writing = bool(members or observed.writing)
    current = _current(subject, revisions, rows)
    verdicts = status.verdicts(
        app,
        rows,
        unplaced=divided.unplaced,
        why_unplaced=divided.why_unplaced,
        leftovers=left.kept,
        lost=left.unseen,
        writing=writing,
    )
    return Plan(
        before=_finalizer(subject, observed, writing=writing),
        members=members,
        host=() if app.model.spec.paused else revisions.steps,
        status=status.build(
            subject,
            app,
            rows,
            verdicts,
            unplaced=divided.unplaced,
            current=current,
            updated=revisions.updated,
            now=observed.now,
            leftovers=[one.entry() for one in left.found[:_MOST_LEFTOVERS]],
        ),
        events=news(subject, rows, unplaced=divided.unplaced, why_unplaced=divided.why_unplaced, current=current),
        rows=rows,
        again_in=_again_in(look, rows),
        remember=divided.remember,
    )


def _reclaims(app: Application, observed: Observed) -> dict[str, tuple[MemberStep, ...]]:
    """Cluster -> the steps that take over the workloads of a UnitedDeployment that was lost with its host.

    They come before all others, so that no later step works on a workload that belongs to somebody else.
    """
    if app.model.spec.paused or not app.owner.former_uid:
        return {}
    steps = {
        name: adoption.reclaims(app, view)
        for name, view in observed.members.items()
        if view.reach is Reach.READY and name not in observed.writing
    }
    return {name: found for name, found in steps.items() if found}


def _again_in(look: Look, rows: tuple[Row, ...]) -> float | None:
    """Until a subset takes pods again, or until pods that are starting have been so for too long."""
    pods = [look.observed.members[row.cluster].pods.get(row.name, NO_PODS) for row in rows if _starting(row)]
    times = [look.divided.again_in, *(next_due(one.unready, look.observed.now) for one in pods)]
    return min((time for time in times if time is not None), default=None)


def _starting(row: Row) -> bool:
    return not row.settled and row.reach is Reach.READY


def _current(subject: Subject, revisions: Revisions, rows: tuple[Row, ...]) -> str:
    """The revision that was last rolled out completely: every pod of every subset, seen ready at it (I8).

    No pods prove nothing: what is scaled to zero in mid-canary remembers what it held.
    """
    complete = any(row.replicas for row in rows) and all(
        row.settled and row.reach is Reach.READY and row.counts.updated_ready >= row.replicas - row.covered
        for row in rows
    )
    stored: str = subject.status.get("currentRevision") or ""
    return revisions.updated if complete else stored
