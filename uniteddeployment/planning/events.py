"""What of a plan people would want to know: its Events."""

from collections.abc import Sequence

from uniteddeployment.planning import status
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import cluster_label
from uniteddeployment.planning.replicas import adaptive
from uniteddeployment.planning.results import Row, State
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


def news(
    subject: Subject, rows: tuple[Row, ...], *, unplaced: int, why_unplaced: str, current: str
) -> tuple[Event, ...]:
    """What is not in status yet: subsets that need somebody to act, replicas without a place, the end of a rollout."""
    events = [*_stalls(subject, rows), *_turns(subject, rows)]
    stored = {one["type"]: one["status"] for one in subject.status.get("conditions") or ()}
    told = stored.get(status.STALLED) == "True" and subject.status.get("unplacedReplicas") == unplaced
    if why_unplaced and not told:
        events.append(Event("Warning", "Blocked", status.misplaced(rows, unplaced, why_unplaced)))
    if current and current != subject.status.get("currentRevision"):
        events.append(Event("Normal", "RolloutCompleted", f"every pod is ready at {current}"))
    return tuple(events)


def _stalls(subject: Subject, rows: tuple[Row, ...]) -> list[Event]:
    """A warning for each subset that is Stalled, unless status says so already."""
    entries = subject.subset_statuses()
    told = {name: entry.get("reason") for name, entry in entries.items() if entry.get("state") == State.STALLED}
    return [
        Event("Warning", "SubsetStalled", f"{row.name}: {row.message}")
        for row in rows
        if row.stalled and told.get(row.name) != row.message
    ]


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
