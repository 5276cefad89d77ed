"""The status of a UnitedDeployment. It is built whole each time, and written if it differs from what is stored.

Conditions follow kstatus: ``Ready`` says whether the application is as asked for, ``Reconciling`` whether it is on the
way there, ``Stalled`` whether a user has to act. Unknown is neither True nor False (I8).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.replicas.brake import RELEASED, Brake, Level
from uniteddeployment.planning.replicas.moving import Moving
from uniteddeployment.planning.results import State, SubsetResult, first
from uniteddeployment.planning.stored import (
    RevisionCount,
    StoredCondition,
    StoredLeftover,
    StoredStatus,
    StoredSubset,
)
from uniteddeployment.text import shortened
from uniteddeployment_api.selectors import selector_text
from uniteddeployment_api.v1alpha1.meta import INT32_MAX

LONGEST_CONDITION = 4096
"""Characters of the message of a condition."""
MOST_REVISIONS = 16
"""The most revisions of a subset that are listed: those with the most pods."""
READY, RECONCILING, STALLED, MOVING = "Ready", "Reconciling", "Stalled", "Moving"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of the application, without the time of its last transition."""

    type: str
    status: str
    reason: str
    message: str


def build(
    subject: Subject,
    app: Application,
    results: Sequence[SubsetResult],
    conditions: Sequence[Condition],
    *,
    unplaced: int,
    current: str,
    updated: str,
    now: str,
    leftovers: Sequence[StoredLeftover] = (),
    last_move: str | None = None,
) -> StoredStatus:
    """The whole status."""
    possibly = _total(
        [
            *(result.possibly_running for result in results),
            *(leftover.observed_replicas for leftover in leftovers if leftover.last_observed_time),
        ]
    )
    return StoredStatus(
        observed_generation=subject.generation,
        # An autoscaler divides the load by this number, so pods that only wait while others stand in do not count.
        replicas=_total(max(0, result.counted.observed - result.covered) for result in results),
        ready_replicas=_total(result.counted.ready for result in results),
        updated_replicas=_total(result.counted.updated for result in results),
        updated_ready_replicas=_total(result.counted.updated_ready for result in results),
        unplaced_replicas=unplaced,
        possibly_running_replicas=possibly if possibly or subject.status.possibly_running_replicas else None,
        last_move_time=last_move,
        current_revision=current,
        updated_revision=updated,
        label_selector=selector_text(app.model.spec.selector),
        conditions=dated(subject, conditions, now),
        subset_statuses=tuple(_subset(result) for result in results),
        # The status is merged into what is stored, so a list that is stored has to be written to become empty.
        leftovers=tuple(leftovers) if leftovers or subject.status.leftovers is not None else None,
    )


def with_conditions(subject: Subject, conditions: Sequence[Condition], now: str) -> StoredStatus:
    """The stored status with only its conditions, and the generation that they describe, changed."""
    return replace(subject.status, observed_generation=subject.generation, conditions=dated(subject, conditions, now))


def dated(subject: Subject, conditions: Sequence[Condition], now: str) -> tuple[StoredCondition, ...]:
    """Conditions with their transition times: the stored time as long as the status is the same, else ``now``."""
    return tuple(_dated(subject, condition, now) for condition in conditions)


def _dated(subject: Subject, condition: Condition, now: str) -> StoredCondition:
    before = subject.status.condition(condition.type)
    since = before.last_transition_time if before is not None and before.status == condition.status else None
    return StoredCondition(
        condition.type,
        condition.status,
        subject.generation,
        since or now,
        condition.reason,
        shortened(condition.message, LONGEST_CONDITION),
    )


def _total(counts: Iterable[int]) -> int:
    """A sum within the range of the schema: members may report anything, and one bad field loses the whole status."""
    return min(sum(counts), INT32_MAX)


def summarize(
    app: Application,
    results: Sequence[SubsetResult],
    *,
    unplaced: int,
    why_unplaced: str,
    leftovers: str,
    lost: Sequence[str],
    writing: bool,
    moving: Sequence[Moving] = (),
    brake: Brake = RELEASED,
) -> tuple[Condition, ...]:
    """The conditions of the application, from the results of its subsets.

    ``leftovers`` names workloads that wait for their replacement, ``lost`` those that may run in clusters that cannot
    be seen. ``writing`` says whether writes are due or in flight, ``moving`` which replicas move, and ``brake`` whether
    some do not move because too many clusters are lost.
    """
    covered = sum(result.covered for result in results)
    total = sum(result.desired for result in results) - covered
    ready_pods = sum(result.counted.ready for result in results)
    # If a partition was raised, a subset may have more updated pods than it allows.
    held = sum(min(result.partition, result.replicas - result.counts.updated) for result in results if result.held)
    stalled = _messages(result for result in results if result.stalled)
    unseen = _messages(result for result in results if result.reach is not Reach.READY and not result.stalled)
    unseen += lost
    waiting = _messages(result for result in results if not result.settled and result.reach is Reach.READY)
    problem = misplaced(results, unplaced, why_unplaced)
    if unplaced:
        stalled.insert(0, problem)
    # A user has to correct shares that do not fit, but the application is served as closely as possible.
    misfit = [problem] if problem and not unplaced else []
    moves = "; ".join(str(move) for move in moving if move.seen)
    progress = f"{min(ready_pods, total) if moves else ready_pods} of {total + unplaced} pods ready"
    progress += f", {covered} more wait to be scheduled" if covered else ""
    busy = bool(waiting or leftovers or moves or writing) and not app.model.spec.paused
    more = {
        State.STALLED: unplaced,
        State.UNKNOWN: lost,
        State.PROGRESSING: (leftovers or moves) and not app.model.spec.paused,
    }
    state = first([first(result.state for result in results), *(one for one, holds in more.items() if holds)])
    on_the_way = [*waiting, *filter(None, [moves, leftovers])]
    # A paused application may be as asked for or not: the status of Ready says which.
    ready = "Unknown" if state is State.UNKNOWN else "True" if not stalled and not on_the_way else "False"
    details = stalled or unseen or on_the_way or ([f"{held} held by partitions"] if held else [])
    separator = ", " if ready == "True" else "; "
    blocked = [*misfit, *stalled]
    return (
        Condition(READY, ready, state, separator.join([progress, *details])),
        Condition(
            RECONCILING,
            "True" if busy else "False",
            State.PROGRESSING if busy else state,
            "spec.paused is set" if app.model.spec.paused else "; ".join(on_the_way),
        ),
        Condition(STALLED, "True" if blocked else "False", "Blocked" if blocked else "AsExpected", "; ".join(blocked)),
        *_moving(moving, brake),
    )


def _messages(results: Iterable[SubsetResult]) -> list[str]:
    return [f"{result.name}: {result.message}" for result in results]


def _moving(moving: Sequence[Moving], brake: Brake) -> Iterator[Condition]:
    """The condition that lists the moves under way; none if nothing moves and nothing keeps replicas from moving."""
    moves = "; ".join(str(move) for move in moving if move.seen or not move.done)
    if brake.level is Level.STOPPED:
        yield Condition(MOVING, "False", brake.level.value, f"{brake.note}: no replicas leave lost or tainted clusters")
    elif brake.level is Level.SLOWED:
        slow = f"{brake.note}: one replica leaves lost or tainted clusters every {brake.step_seconds} seconds"
        yield Condition(MOVING, "True", brake.level.value, "; ".join(filter(None, [slow, moves])))
    elif moves:
        yield Condition(MOVING, "True", MOVING, moves)


def misplaced(results: Sequence[SubsetResult], unplaced: int, why: str) -> str:
    """Why the replicas cannot be divided as asked for; empty if they can."""
    if not unplaced:
        return why
    total = sum(result.desired - result.covered for result in results) + unplaced
    return f"{unplaced} of {total} replicas have no place: {why}"


def refused_conditions(reason: str, message: str) -> tuple[Condition, ...]:
    """The conditions of a UnitedDeployment that cannot be served at all. Its pods keep running (I11)."""
    return (
        Condition(READY, "False", State.STALLED, message),
        Condition(RECONCILING, "False", State.STALLED, "nothing is changed until the spec is corrected"),
        Condition(STALLED, "True", reason, message),
    )


def deletion_conditions(waiting: str) -> tuple[Condition, ...]:
    """The conditions of a UnitedDeployment that is being deleted."""
    return (
        Condition(READY, "False", State.DELETING, waiting),
        Condition(RECONCILING, "True", State.DELETING, waiting),
        Condition(STALLED, "False", "AsExpected", ""),
    )


def _subset(result: SubsetResult) -> StoredSubset:
    shown = sorted(sorted(result.revisions, key=lambda count: -count.replicas)[:MOST_REVISIONS], key=_by_revision)
    return StoredSubset(
        name=result.name,
        cluster=result.cluster,
        state=result.state,
        workload=result.workload,
        replicas=result.assigned,
        desired_replicas=result.desired if result.desired != result.assigned else None,
        moved_replicas=result.moved,
        possibly_running=result.possibly_running,
        observed_replicas=result.counts.observed,
        ready_replicas=result.counts.ready,
        updated_replicas=result.counts.updated,
        updated_ready_replicas=result.counts.updated_ready,
        partition=result.partition,
        revision=result.revision,
        stable_revision=result.stable_revision,
        reason=result.message,
        observed_generation=result.generation,
        ordinals_start=result.ordinals_start,
        reserved_replicas=result.reserved,
        conditions=result.conditions,
        revisions=tuple(shown),
        last_observed_time=result.last_observed or None,
        last_drift=result.last_drift,
    )


def _by_revision(count: RevisionCount) -> str:
    return count.revision
