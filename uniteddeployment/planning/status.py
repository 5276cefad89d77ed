"""The status of a UnitedDeployment: built whole each time, so that comparing it with what is stored decides the write.

Conditions follow kstatus: ``Ready`` says whether the application is as asked for, ``Reconciling`` whether it is on the
way, ``Stalled`` whether somebody has to do something. Unknown is neither True nor False (I8).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.results import Row, State, first
from uniteddeployment.text import shortened
from uniteddeployment_api.selectors import selector_text
from uniteddeployment_api.v1alpha1.meta import INT32_MAX

LONGEST_CONDITION = 4096
"""Characters of the message of a condition."""
MOST_REVISIONS = 16
"""How many revisions are shown of a subset, those with the most pods."""
READY, RECONCILING, STALLED = "Ready", "Reconciling", "Stalled"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition before it is dated."""

    type: str
    status: str
    reason: str
    message: str


def build(
    subject: Subject,
    app: Application,
    rows: Sequence[Row],
    verdicts: Sequence[Verdict],
    *,
    unplaced: int,
    current: str,
    updated: str,
    now: str,
    leftovers: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The whole status."""
    # The status is merged into what is stored, so a list that is there has to be written to become empty.
    optional = {"leftovers": list(leftovers)} if leftovers or "leftovers" in subject.status else {}
    return {
        "observedGeneration": subject.generation,
        # An autoscaler divides the load by these: pods that only wait, while others stand in for them, are not counted.
        "replicas": _total(max(0, row.counts.observed - row.covered) for row in rows),
        "readyReplicas": _total(row.counts.ready for row in rows),
        "updatedReplicas": _total(row.counts.updated for row in rows),
        "updatedReadyReplicas": _total(row.counts.updated_ready for row in rows),
        "unplacedReplicas": unplaced,
        "currentRevision": current,
        "updatedRevision": updated,
        "labelSelector": selector_text(app.model.spec.selector),
        "conditions": dated(subject, verdicts, now),
        "subsetStatuses": [_subset(row) for row in rows],
        **optional,
    }


def with_conditions(subject: Subject, verdicts: Sequence[Verdict], now: str) -> dict[str, Any]:
    """The stored status with only its conditions (and the generation they speak of) changed."""
    conditions = dated(subject, verdicts, now)
    return {**subject.status, "observedGeneration": subject.generation, "conditions": conditions}


def dated(subject: Subject, verdicts: Sequence[Verdict], now: str) -> list[dict[str, Any]]:
    """Conditions with the time of their last change: the stored one as long as the status is the same."""
    stored: dict[str, Mapping[str, Any]] = {one["type"]: one for one in subject.status.get("conditions") or ()}
    conditions = []
    for verdict in verdicts:
        before = stored.get(verdict.type) or {}
        same = before.get("status") == verdict.status
        conditions.append(
            {
                "type": verdict.type,
                "status": verdict.status,
                "observedGeneration": subject.generation,
                "lastTransitionTime": before.get("lastTransitionTime") if same else now,
                "reason": verdict.reason,
                "message": shortened(verdict.message, LONGEST_CONDITION),
            }
        )
    return conditions


def _total(counts: Iterable[int]) -> int:
    """A sum that the schema takes: members say what they like, and one field out of range loses the whole status."""
    return min(sum(counts), INT32_MAX)


def verdicts(
    app: Application,
    rows: Sequence[Row],
    *,
    unplaced: int,
    why_unplaced: str,
    leftovers: str,
    lost: Sequence[str],
    writing: bool,
) -> tuple[Verdict, ...]:
    """What the subsets amount to.

    ``leftovers`` are workloads that wait for their replacement, ``lost`` those that may run where nobody can look.
    """
    covered = sum(row.covered for row in rows)
    total = sum(row.replicas for row in rows) - covered
    ready_pods = sum(row.counts.ready for row in rows)
    # A subset may have more updated pods than a partition that was raised allows.
    held = sum(min(row.partition, row.replicas - row.counts.updated) for row in rows if row.held)
    stalled = [f"{row.name}: {row.message}" for row in rows if row.stalled]
    unseen = [f"{row.name}: {row.message}" for row in rows if row.reach is not Reach.READY and not row.stalled]
    unseen += lost
    waiting = [f"{row.name}: {row.message}" for row in rows if not row.settled and row.reach is Reach.READY]
    problem = misplaced(rows, unplaced, why_unplaced)
    if unplaced:
        stalled.insert(0, problem)
    # Somebody has to correct shares that do not fit, but the application is served as closely as it can be.
    misfit = [problem] if problem and not unplaced else []
    progress = f"{ready_pods} of {total + unplaced} pods ready"
    progress += f", {covered} more wait to be scheduled" if covered else ""
    busy = bool(waiting or leftovers or writing) and not app.model.spec.paused
    state = first(row.state for row in rows)
    if unplaced:
        state = first([state, State.STALLED])
    if lost:
        state = first([state, State.UNKNOWN])
    if leftovers and not app.model.spec.paused:
        state = first([state, State.PROGRESSING])
    on_the_way = [*waiting, *filter(None, [leftovers])]
    # What is Paused may be as asked for or not: the status says which.
    ready = "Unknown" if state is State.UNKNOWN else "True" if not stalled and not on_the_way else "False"
    details = stalled or unseen or on_the_way or ([f"{held} held by partitions"] if held else [])
    separator = ", " if ready == "True" else "; "
    blocked = [*misfit, *stalled]
    return (
        Verdict(READY, ready, state, separator.join([progress, *details])),
        Verdict(
            RECONCILING,
            "True" if busy else "False",
            State.PROGRESSING if busy else state,
            "spec.paused is set" if app.model.spec.paused else "; ".join(on_the_way),
        ),
        Verdict(STALLED, "True" if blocked else "False", "Blocked" if blocked else "AsExpected", "; ".join(blocked)),
    )


def misplaced(rows: Sequence[Row], unplaced: int, why: str) -> str:
    """What is wrong with the division of the replicas; nothing if all of them have their place."""
    if not unplaced:
        return why
    total = sum(row.replicas - row.covered for row in rows) + unplaced
    return f"{unplaced} of {total} replicas have no place: {why}"


def refused(reason: str, message: str) -> tuple[Verdict, ...]:
    """For a UnitedDeployment that cannot be worked on at all: what runs keeps running (I11)."""
    return (
        Verdict(READY, "False", State.STALLED, message),
        Verdict(RECONCILING, "False", State.STALLED, "nothing is changed until the spec is corrected"),
        Verdict(STALLED, "True", reason, message),
    )


def deleting(waiting: str) -> tuple[Verdict, ...]:
    """For one that is going away."""
    return (
        Verdict(READY, "False", State.DELETING, waiting),
        Verdict(RECONCILING, "True", State.DELETING, waiting),
        Verdict(STALLED, "False", "AsExpected", ""),
    )


def _subset(row: Row) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": row.name,
        "cluster": row.cluster,
        "state": row.state,
        "workload": row.workload,
        "replicas": row.replicas,
        "observedReplicas": row.counts.observed,
        "readyReplicas": row.counts.ready,
        "updatedReplicas": row.counts.updated,
        "updatedReadyReplicas": row.counts.updated_ready,
        "partition": row.partition,
        "revision": row.revision,
        "reason": row.message,
        "observedGeneration": row.generation,
    }
    if row.ordinals_start is not None:
        entry["ordinalsStart"] = row.ordinals_start
    if row.reserved:
        entry["reservedReplicas"] = row.reserved
    if row.conditions:
        entry["conditions"] = list(row.conditions)
    if row.revisions:
        shown = sorted(sorted(row.revisions, key=lambda one: -one[1])[:MOST_REVISIONS])
        entry["revisions"] = [
            {"revision": revision, "replicas": replicas, "readyReplicas": ready} for revision, replicas, ready in shown
        ]
    if row.last_observed:
        entry["lastObservedTime"] = row.last_observed
    return entry
