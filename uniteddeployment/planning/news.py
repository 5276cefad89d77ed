"""What of a plan people would want to know: its Events."""

from collections.abc import Mapping

from uniteddeployment.planning import adaptive, status
from uniteddeployment.planning.status import Row
from uniteddeployment.planning.steps import Event, MemberStep
from uniteddeployment.planning.subject import Subject


def news(
    subject: Subject,
    members: Mapping[str, tuple[MemberStep, ...]],
    rows: tuple[Row, ...],
    verdicts: tuple[status.Verdict, ...],
    *,
    current: str,
) -> tuple[Event, ...]:
    """What was done, what turned, and what came to its end."""
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
