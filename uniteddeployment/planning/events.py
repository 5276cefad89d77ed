"""Events about a plan and about its writes, for ``kubectl describe``."""

from collections.abc import Iterator, Sequence

from uniteddeployment.planning import status
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import cluster_label
from uniteddeployment.planning.replicas.adaptive import SCHEDULABLE, stored_condition
from uniteddeployment.planning.replicas.brake import Level
from uniteddeployment.planning.replicas.divide import Division
from uniteddeployment.planning.results import State, SubsetResult
from uniteddeployment.planning.steps import Event, MemberStep

_MOST_CHANGES = 10
"""The most changes that one Event lists."""


def changes(done: Sequence[MemberStep]) -> tuple[Event, ...]:
    """The Event that lists the changes made in members; none if there were none."""
    if not done:
        return ()
    listed = [f"{cluster_label(step.cluster)}: {step.kind} {step.name}: {step.why}" for step in done[:_MOST_CHANGES]]
    more = f"; and {len(done) - _MOST_CHANGES} more" if len(done) > _MOST_CHANGES else ""
    return (Event("Normal", "Reconciled", "; ".join(listed) + more),)


def build_events(
    subject: Subject, results: Sequence[SubsetResult], divided: Division, current: str
) -> tuple[Event, ...]:
    """Events for what the stored status does not say yet.

    These are subsets that need a user to act, subsets that take no more pods or do again, replicas that move or do not
    because too many clusters are lost, replicas without a place, and the end of a rollout. A creation is no rollout.
    """
    events = [*_stalled(subject, results), *_schedulable(subject, results), *_moves(subject, divided)]
    stored = subject.status
    unplaced, why_unplaced = divided.unplaced, divided.why_unplaced
    stalled = stored.condition(status.STALLED)
    known = stalled is not None and stalled.status == "True" and stored.unplaced_replicas == unplaced
    if why_unplaced and not known:
        events.append(Event("Warning", "Blocked", status.misplaced(results, unplaced, why_unplaced)))
    if current and stored.current_revision not in (None, "", current):
        events.append(Event("Normal", "RolloutCompleted", f"every pod is ready at {current}"))
    return tuple(events)


def _moves(subject: Subject, divided: Division) -> Iterator[Event]:
    """An Event for the moves that begin, and a warning when they become slow or stop."""
    if divided.begun:
        more = f"; and {len(divided.begun) - _MOST_CHANGES} more" if len(divided.begun) > _MOST_CHANGES else ""
        yield Event("Normal", status.MOVING, "; ".join(map(str, divided.begun[:_MOST_CHANGES])) + more)
    before, level = subject.status.condition(status.MOVING), divided.brake.level
    if level is not Level.FREE and (before is None or before.reason != level.value):
        yield Event("Warning", f"Moves{level.value}", divided.brake.note)


def _stalled(subject: Subject, results: Sequence[SubsetResult]) -> Iterator[Event]:
    """A warning for each subset that is Stalled for a reason that the status does not show."""
    for result in results:
        stored = subject.status.subset(result.name)
        known = stored.state == State.STALLED and stored.reason == result.message
        if result.stalled and not known:
            yield Event("Warning", "SubsetStalled", f"{result.name}: {result.message}")


def _schedulable(subject: Subject, results: Sequence[SubsetResult]) -> Iterator[Event]:
    """An Event for each subset that has become unschedulable, or schedulable again."""
    for result in results:
        before = stored_condition(subject.status.subset(result.name)).status
        for condition in result.conditions:
            if condition.type != SCHEDULABLE or condition.status == before:
                continue
            if condition.status == "False":
                yield Event("Warning", condition.reason, f"{result.name}: {condition.message}")
            else:
                yield Event("Normal", condition.reason, f"{result.name} takes pods again")
