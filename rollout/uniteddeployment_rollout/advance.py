"""The decision of a rollout: what its status is to be, and what is to be written to its target.

``advance`` is pure: the same arguments give the same decision, and a decision that is stored and made again is the same
decision. So a controller that stores the status first and writes to the target afterwards may stop anywhere.
"""

from collections.abc import Mapping
from datetime import datetime

from uniteddeployment_api.int_or_percent import held_back
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout, UnitedRolloutSpec
from uniteddeployment_api.validation.rollout import validate_united_rollout
from uniteddeployment_rollout import budget, commands, disabled, failures, pace, report, runs
from uniteddeployment_rollout.decision import Decision, TargetWrite
from uniteddeployment_rollout.gates import judge as gates
from uniteddeployment_rollout.gates import state as gate_state
from uniteddeployment_rollout.gates.probe import GateInputs
from uniteddeployment_rollout.holds import Hold, holds
from uniteddeployment_rollout.status import Draft
from uniteddeployment_rollout.steps import Goal, everything, goal, offset_of, steps_of
from uniteddeployment_rollout.target import Target

REFUSALS = ("TargetTaken", "InvalidSpec", "TargetNotFound")
"""Reasons of the condition ``Stalled`` for which a rollout does not follow its target."""
_NO_INPUTS = GateInputs()


def advance(
    rollout: UnitedRollout, target: Target | None, now: datetime, *, rival: str = "", inputs: GateInputs = _NO_INPUTS
) -> Decision:
    """Decide what comes next. ``rival`` is an older rollout of the same target, which has it alone."""
    draft = Draft(rollout.status, now, inputs)
    spec, generation = rollout.spec, rollout.metadata.generation
    if spec.disabled:
        return disabled.decide(draft, rollout, target, rival=rival)
    reason, message = _refusal(rollout, target, rival)
    if target is None or reason:
        commands.carry_out(draft, spec, refusal=message)
        report.refuse(draft, generation, reason, message)
        return Decision(draft.status, events=tuple(draft.events))
    if not target.observed:
        # What its status says is about an older spec. The next status comes soon, and with it the next decision.
        commands.carry_out(draft, spec)
        return Decision(draft.status, events=tuple(draft.events))
    if draft.status.former_partition is None:
        draft.set(former_partition=target.default_partition)
    runs.follow(draft, spec, target)
    commands.carry_out(draft, spec)
    write, requeue_after = _decide(draft, rollout, target)
    return Decision(draft.status, write, tuple(draft.events), tuple(draft.probes), tuple(draft.recorded), requeue_after)


def _refusal(rollout: UnitedRollout, target: Target | None, rival: str) -> tuple[str, str]:
    """Why the rollout cannot work, as a word and a sentence; empty if it can."""
    name = rollout.spec.target_ref.name
    if rival:
        return "TargetTaken", f"UnitedRollout {rival} has the target {name}"
    if errors := validate_united_rollout(rollout):
        return "InvalidSpec", "; ".join(str(error) for error in errors)
    if target is None:
        return "TargetNotFound", f"there is no UnitedDeployment {name} in the namespace"
    return "", ""


def _decide(draft: Draft, rollout: UnitedRollout, target: Target) -> tuple[TargetWrite | None, float | None]:
    if not draft.status.run_id:
        report.idle(draft, rollout.metadata.generation, target)
        return _parked(draft, target), None
    if draft.status.rollback is not None:
        return _roll_back(draft, rollout, target), None
    return _run(draft, rollout, target)


def _parked(draft: Draft, target: Target) -> TargetWrite | None:
    """Without a run: the default partition holds every new template, and no subset has a partition of its own."""
    restore = draft.status.restore
    if target.parked and not restore:
        return None
    return TargetWrite({}, restore=restore)


def _roll_back(draft: Draft, rollout: UnitedRollout, target: Target) -> TargetWrite | None:
    """All pods back to the stable revision, as fast as their clusters do it: the new version is what has to go."""
    back = target.updated_revision == draft.status.stable_revision == target.current_revision
    if back and all(subset.reachable and subset.updated_ready >= subset.replicas for subset in target.subsets):
        runs.rolled_back(draft, target)
        report.idle(draft, rollout.metadata.generation, target)
        return _parked(draft, target)
    write = TargetWrite(
        dict.fromkeys(target.sizes, 0),
        dict.fromkeys(target.sizes, "the run is rolled back"),
        revision=draft.status.stable_revision,
        restore=draft.status.restore,
    )
    draft.set(partitions=dict(write.partitions), previous_partitions={})
    report.rolling_back(draft, rollout.metadata.generation, target)
    return write if write.differs(target) or write.restore else None


def _run(draft: Draft, rollout: UnitedRollout, target: Target) -> tuple[TargetWrite | None, float | None]:
    spec, generation = rollout.spec, rollout.metadata.generation
    ready_before = draft.status.updated_ready_replicas
    if errors := validate_united_rollout(rollout, target.labels):
        report.refuse(draft, generation, "InvalidSpec", "; ".join(str(error) for error in errors))
        return None, None
    foreign = failures.note_drift(draft, target)
    wanted, waiting = _through_steps(draft, spec, target)
    if not draft.status.run_id:
        report.idle(draft, generation, target)
        return _parked(draft, target), None
    if draft.status.rollback is not None:
        return _decide(draft, rollout, target)
    found = tuple(holds(draft.status, spec, target))
    left = pace.deadline(draft, spec, target, held=bool(found) or waiting is not None, ready_before=ready_before)
    if left == 0:
        failures.deadline_passed(draft, spec, target)
        return _decide(draft, rollout, target)
    allowed = _allowed(draft, spec, target, wanted, found)
    write = None if foreign else _write(draft, target, allowed, wanted)
    report.running(draft, generation, target, wanted, holds=found, waiting=waiting)
    times = [time for time in (left, waiting.seconds if waiting else None) if time is not None]
    return write, min(times, default=None)


def _through_steps(draft: Draft, spec: UnitedRolloutSpec, target: Target) -> tuple[Goal, pace.Waiting | None]:
    """Go on through all steps that are over; the goal of the step that is not, and what it waits for."""
    steps = steps_of(spec)
    if draft.status.step > len(steps) or draft.status.steps != len(steps):
        # Steps were edited: the number of the present one stays as far as there is such a step.
        draft.set(steps=len(steps), step=min(draft.status.step, len(steps)))
    while True:
        number = draft.status.step
        wanted = _goal(draft, spec, target)
        if not pace.reached(target, wanted.updated):
            draft.set(step_state="Updating", ready_time=None)
            gate_state.restart(draft)
            return wanted, None
        if draft.status.ready_time is None:
            draft.set(ready_time=draft.time)
        failure = draft.status.failure
        if failure is not None and failure.reason == failures.PROGRESS_DEADLINE and not draft.status.reverted:
            draft.set(failure=None)
        if any(True for _ in holds(draft.status, spec, target)):
            return wanted, None
        step = steps[number - 1]
        waiting = pace.bake(draft, step) or gates.wait(draft, spec, step, target) or pace.pause(draft, step)
        if waiting is not None:
            return wanted, waiting
        if number == len(steps):
            if target.current_revision == draft.status.update_revision:
                runs.complete(draft, target)
            return wanted, None
        draft.event("StepCompleted", f"step {number} of {len(steps)}: {wanted.total} of {target.replicas} pods updated")
        runs.next_step(draft)


def _goal(draft: Draft, spec: UnitedRolloutSpec, target: Target) -> Goal:
    if draft.status.full:
        return everything(target.sizes, "without steps")
    failure = draft.status.failure
    rejected = failure is not None and failure.reason == runs.ROLLED_BACK_BEFORE
    there = {subset.name: subset.staying for subset in target.subsets}
    return goal(spec, 0 if rejected else draft.status.step, target.sizes, there, target.labels)


def _allowed(
    draft: Draft, spec: UnitedRolloutSpec, target: Target, wanted: Goal, found: tuple[Hold, ...]
) -> dict[str, int]:
    """How many pods of each subset may be updated now."""
    # The goal includes what is updated, so partitions are raised only over pods that are not.
    now = {
        subset.name: min(subset.allowed, wanted.updated[subset.name]) if subset.reachable else subset.allowed
        for subset in target.subsets
    }
    if found:
        return now
    for subset in target.subsets:
        # A partition for pods that are updated already restarts none, so it costs no budget.
        if subset.reachable:
            now[subset.name] = max(now[subset.name], min(subset.staying, wanted.updated[subset.name]))
    step = steps_of(spec)[draft.status.step - 1]
    return budget.grant(
        target,
        now,
        wanted.updated,
        budget.limit(spec.max_unavailable, target.replicas) - budget.used(target),
        most_clusters=None if draft.status.full else step.max_concurrent_clusters,
        offset=offset_of(spec),
    )


def _write(draft: Draft, target: Target, allowed: Mapping[str, int], wanted: Goal) -> TargetWrite | None:
    """The partitions to write, which the status has to hold first; None if the target has them."""
    partitions, before, most = {}, {}, {}
    for subset in target.subsets:
        name, present, limit = subset.name, subset.partition, allowed[subset.name]
        held = subset.replicas - limit
        kept = isinstance(present, int) and held_back(present, subset.replicas) == held
        partitions[name] = present if kept and isinstance(present, int) else held
        if present is not None and not kept:
            before[name] = present
        if name not in wanted.whole:
            # A subset that has shrunk keeps its limit, so that one that shrinks and grows all the time costs less.
            most[name] = max(limit, subset.max_updated or 0) if kept else limit
    draft.set(partitions=partitions, previous_partitions=before)
    write = TargetWrite(
        partitions,
        wanted.reasons,
        revision=draft.status.update_revision,
        max_updated=most,
        revert=tuple(name for name in draft.status.reverted if name in partitions),
    )
    return write if write.differs(target) else None
