"""The plan for one UnitedDeployment: the writes to make, each with its reason, and the status to show.

``plan`` is pure: the same inputs give the same plan, byte for byte (I2). It follows a fixed recipe: revisions, division
of replicas, partitions, each subset by its kind, leftover workloads, status.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from uniteddeployment.planning import status
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes import adoption
from uniteddeployment.planning.changes.recreate import Planned, with_recreation
from uniteddeployment.planning.changes.retire import any_left, everything, leftovers
from uniteddeployment.planning.events import build_events
from uniteddeployment.planning.kinds.base import TemplateMissing
from uniteddeployment.planning.observed import NO_PODS, Observed, Reach, cluster_label
from uniteddeployment.planning.observed.pods import next_due
from uniteddeployment.planning.replicas.divide import Division, divide
from uniteddeployment.planning.replicas.ordinals import ranges
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.revisions import Revisions, delete_kept_revisions, orphaned, plan_revisions
from uniteddeployment.planning.steps import (
    AddFinalizer,
    CheckOrphaning,
    Event,
    HostStep,
    MemberStep,
    NoteOrphaning,
    RemoveFinalizer,
)
from uniteddeployment.planning.stored import StoredStatus
from uniteddeployment.planning.subset import PlanContext, plan_subset
from uniteddeployment.text import shortened

_MOST_PROBLEMS = 16
_MOST_LEFTOVERS = 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything to do now for one UnitedDeployment.

    ``before`` must be written before anything in a member. The steps of one cluster are in order; clusters are
    independent of each other. ``host`` may be written at the same time as the members, ``after`` only once everything
    else has succeeded. ``missing`` names ControllerRevisions to load: if there are any, load them and plan again before
    acting.
    """

    before: tuple[HostStep, ...] = ()
    members: Mapping[str, tuple[MemberStep, ...]] = field(default_factory=dict)
    host: tuple[HostStep, ...] = ()
    after: tuple[HostStep, ...] = ()
    status: StoredStatus | None = None
    """The whole new status; None when the object is about to be removed."""
    events: tuple[Event, ...] = ()
    moved: Mapping[str, int] = field(default_factory=dict)
    """Cluster -> replicas that begin to move away from it."""
    results: tuple[SubsetResult, ...] = ()
    missing: frozenset[str] = frozenset()
    requeue_after: float | None = None
    """Seconds after which to plan again even if nothing has changed until then."""
    early: bool = False
    """This process has yet to find out whether a cluster answers: do not write status or Events before it knows."""
    persist_first: bool = False
    """This decision cannot be re-derived after acting: store the status, and plan from it, before acting."""

    @property
    def writes(self) -> bool:
        """Whether there is anything to write besides the status."""
        return bool(self.before or self.members or self.host or self.after)


def plan(subject: Subject, observed: Observed) -> Plan:
    """Decide everything for one UnitedDeployment."""
    early = any(view.undecided for view in observed.members.values())
    return replace(_plan(subject, observed), early=early)


def _plan(subject: Subject, observed: Observed) -> Plan:
    if subject.deleting:
        return plan_deletion(subject, observed)
    app = subject.app
    if app is None:
        conditions = status.refused_conditions("InvalidSpec", _problems(subject))
        stored = status.with_conditions(subject, conditions, observed.now)
        return Plan(before=_finalizer(subject, observed, writing=False), status=stored)
    revisions = plan_revisions(subject, app, observed)
    ordinals = ranges(subject, app, observed)
    inputs = PlanContext(subject, app, observed, revisions, divide(subject, app, observed, ordinals), ordinals)
    try:
        planned = [plan_subset(inputs, subset) for subset in app.subsets.values()]
        planned = with_recreation(subject, observed, planned)
    except TemplateMissing:
        return Plan(missing=frozenset({revisions.current.name}) if revisions.current else frozenset())
    return assemble(inputs, planned)


def _problems(subject: Subject) -> str:
    """The errors of a spec, in bounded text: the first ones, and how many more there are."""
    shown = [shortened(str(error)) for error in subject.errors[:_MOST_PROBLEMS]]
    more = len(subject.errors) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def plan_deletion(subject: Subject, observed: Observed) -> Plan:
    """Plan for a UnitedDeployment that is being deleted: remove or release its workloads, then the finalizer."""
    if not subject.guarded:
        return Plan()
    if subject.keeps_workloads or orphaned(observed):
        subject = replace(subject, orphan=True)
    cleanup = everything(subject, observed)
    members = _by_cluster(cleanup.steps, observed)
    waiting = cleanup.waiting or _unanswered(observed)
    if not waiting:
        return Plan(host=delete_kept_revisions(subject, observed), after=(RemoveFinalizer(),))
    before: tuple[HostStep, ...] = ()
    if subject.orphan:
        before = () if subject.noted_orphan else (NoteOrphaning(),)
    elif members and not observed.orphaning_checked:
        before, members = (CheckOrphaning(),), {}
    stored = status.with_conditions(subject, status.deletion_conditions(waiting), observed.now)
    return Plan(before=before, members=members, status=stored)


def _by_cluster(steps: Iterable[MemberStep], observed: Observed) -> dict[str, tuple[MemberStep, ...]]:
    """Cluster -> its steps in order, without the clusters that have writes in flight."""
    members: dict[str, tuple[MemberStep, ...]] = {}
    for step in steps:
        if step.cluster not in observed.writing:
            members[step.cluster] = (*members.get(step.cluster, ()), step)
    return members


def _unanswered(observed: Observed) -> str:
    """Which clusters have yet to answer a write, which may still create something; empty if none."""
    clusters = ", ".join(cluster_label(cluster) for cluster in sorted(observed.writing))
    return f"waits for {clusters} to answer" if clusters else ""


def _finalizer(subject: Subject, observed: Observed, *, writing: bool) -> tuple[HostStep, ...]:
    """Keep our finalizer on an object that has, or is about to get, workloads; a user who removes it may delete it."""
    had = any(stored.workload for stored in subject.status.workloads)
    if subject.guarded or not (writing or had or any_left(subject, observed)):
        return ()
    return (AddFinalizer(),)


def assemble(inputs: PlanContext, planned: list[Planned]) -> Plan:
    """Put the plans of the subsets together, with what concerns the application as a whole."""
    subject, app, observed = inputs.subject, inputs.app, inputs.observed
    revisions, divided = inputs.revisions, inputs.divided
    results = tuple(result for result, _ in planned)
    left = leftovers(subject, app, observed, results, unplaced=divided.unplaced)
    steps = [step for _, subset_steps in planned for step in subset_steps]
    members = _by_cluster([*_reclaims(app, observed), *steps, *left.steps], observed)
    writing = bool(members or observed.writing)
    current = _current(subject, revisions, results)
    conditions = status.summarize(
        app,
        results,
        unplaced=divided.unplaced,
        why_unplaced=divided.why_unplaced,
        leftovers=left.kept,
        lost=left.unseen,
        writing=writing,
        moving=divided.moving,
        brake=divided.brake,
    )
    return Plan(
        before=_finalizer(subject, observed, writing=writing),
        members=members,
        host=() if app.model.spec.paused else revisions.steps,
        status=status.build(
            subject,
            app,
            results,
            conditions,
            unplaced=divided.unplaced,
            current=current,
            updated=revisions.updated,
            now=observed.now,
            leftovers=[leftover.stored() for leftover in left.workloads[:_MOST_LEFTOVERS]],
            last_move=divided.last_move,
        ),
        events=build_events(subject, results, divided, current),
        moved=_moved(app, divided),
        results=results,
        requeue_after=_requeue_after(inputs, results, current),
        persist_first=divided.persist_first,
    )


def _moved(app: Application, divided: Division) -> dict[str, int]:
    """Count the replicas that begin to move, by the cluster that they leave."""
    counts: Counter[str] = Counter()
    for move in divided.begun:
        counts[app.cluster_of(app.subsets[move.source])] += move.replicas
    return dict(counts)


def _reclaims(app: Application, observed: Observed) -> list[MemberStep]:
    """The steps that take over the workloads of a UnitedDeployment that was lost with its host.

    They come before all others, so that no later step works on a workload that belongs to somebody else.
    """
    if app.model.spec.paused or not app.owner.former_uid:
        return []
    reachable = [view for view in observed.members.values() if view.reach is Reach.READY]
    return [step for view in reachable for step in adoption.reclaims(app, view)]


def _requeue_after(inputs: PlanContext, results: tuple[SubsetResult, ...], current: str) -> float | None:
    """Seconds until a subset may take pods again, or until starting pods have taken too long.

    A finished rollout is planned once more at once: its former stable revision may be deleted when status names the new
    one, and no watch event follows that write.
    """
    if inputs.subject.status.current_revision not in (None, "", current):
        return 0.0
    members, now = inputs.observed.members, inputs.observed.now
    starting = [result for result in results if not result.settled and result.reach is Reach.READY]
    views = [(members[result.cluster], result.name) for result in starting]
    slow = [next_due(view.pods.get(name, NO_PODS).unready, view.clock(now)) for view, name in views]
    times = [inputs.divided.requeue_after, *slow]
    return min((time for time in times if time is not None), default=None)


def _current(subject: Subject, revisions: Revisions, results: tuple[SubsetResult, ...]) -> str:
    """The revision that was last rolled out completely: every pod of every subset was seen ready at it (I8).

    Zero pods prove nothing: an application that is scaled to zero in mid-canary keeps its stable revision.
    """
    complete = any(result.replicas for result in results) and all(
        result.settled
        and result.reach is Reach.READY
        and result.counts.updated_ready >= result.replicas - result.covered
        for result in results
    )
    return revisions.updated if complete else subject.status.current_revision or ""
