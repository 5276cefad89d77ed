"""What of a plan people would want to know: its Events."""

from collections.abc import Sequence

from uniteddeployment.planning import status
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import cluster_label
from uniteddeployment.planning.replicas import adaptive
from uniteddeployment.planning.results import State, SubsetResult
from uniteddeployment.planning.steps import Event, MemberStep

_TOLD = 10
"""How many changes one Event lists."""


def changes(done: Sequence[MemberStep]) -> tuple[Event, ...]:
    """The Event that says what was changed in members; none if nothing was."""
    if not done:
        return ()
    said = "; ".join(f"{cluster_label(step.cluster)}: {step.kind} {step.name}: {step.why}" for step in done[:_TOLD])
    more = f"; and {len(done) - _TOLD} more" if len(done) > _TOLD else ""
    return (Event("Normal", "Reconciled", said + more),)


def build_events(
    subject: Subject, results: tuple[SubsetResult, ...], *, unplaced: int, why_unplaced: str, current: str
) -> tuple[Event, ...]:
    """What is not in status yet: subsets that need somebody to act, replicas without a place, the end of a rollout."""
    events = [*_stalls(subject, results), *_turns(subject, results)]
    stored = {one["type"]: one["status"] for one in subject.status.get("conditions") or ()}
    told = stored.get(status.STALLED) == "True" and subject.status.get("unplacedReplicas") == unplaced
    if why_unplaced and not told:
        events.append(Event("Warning", "Blocked", status.misplaced(results, unplaced, why_unplaced)))
    if current and current != subject.status.get("currentRevision"):
        events.append(Event("Normal", "RolloutCompleted", f"every pod is ready at {current}"))
    return tuple(events)


def _stalls(subject: Subject, results: tuple[SubsetResult, ...]) -> list[Event]:
    """A warning for each subset that is Stalled, unless status says so already."""
    entries = subject.subset_statuses()
    told = {name: entry.get("reason") for name, entry in entries.items() if entry.get("state") == State.STALLED}
    return [
        Event("Warning", "SubsetStalled", f"{result.name}: {result.message}")
        for result in results
        if result.stalled and told.get(result.name) != result.message
    ]


def _turns(subject: Subject, results: tuple[SubsetResult, ...]) -> list[Event]:
    """Subsets that have turned unschedulable, or schedulable again."""
    entries = subject.subset_statuses()
    turned = [
        (result.name, condition)
        for result in results
        for condition in result.conditions
        if condition["type"] == adaptive.SCHEDULABLE
        and condition["status"] != adaptive.schedulable_condition(entries.get(result.name, {})).get("status", "True")
    ]
    return [
        Event("Warning", condition["reason"], f"{name}: {condition['message']}")
        if condition["status"] == "False"
        else Event("Normal", condition["reason"], f"{name} takes pods again")
        for name, condition in turned
    ]
