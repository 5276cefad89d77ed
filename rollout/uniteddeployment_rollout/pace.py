"""When a step is over, and when it has taken too long. Pure: clocks are times in the status."""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment_api.duration import seconds
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRolloutSpec
from uniteddeployment_rollout.status import Draft
from uniteddeployment_rollout.target import Target


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a step waits for, and for how many seconds; None if no time ends it."""

    message: str
    seconds: float | None = None
    reason: str = "StepPaused"
    degraded: bool = False
    """Whether somebody has to act."""


def reached(target: Target, goal: Mapping[str, int]) -> bool:
    """Whether all pods of the step are updated and ready, as far as clusters can be reached."""
    seen = [subset for subset in target.subsets if subset.reachable]
    return bool(target.replicas and seen) and all(
        subset.updated_ready >= goal[subset.name] and subset.updated_ready >= subset.updated for subset in seen
    )


def bake(draft: Draft, step: RolloutStep) -> Waiting | None:
    """Return the rest of the bake time of a step whose pods are ready; None if it is over."""
    status = draft.status
    if status.skipped or status.full or step.bake is None or status.ready_time is None:
        return None
    left = seconds(step.bake) - draft.since(status.ready_time)
    if left <= 0:
        return None
    draft.set(step_state="Baking")
    return Waiting(f"all updated pods have to be ready for {step.bake} without interruption", left, reason="Baking")


def pause(draft: Draft, step: RolloutStep) -> Waiting | None:
    """Return the pause of a step whose bake time is over and whose gates have passed; None if it is over."""
    status = draft.status
    if status.skipped or status.full or step.pause is None or status.approved:
        return None
    if status.pause_time is None:
        draft.set(pause_time=draft.time)
        draft.event("RolloutPaused", f"step {status.step} of {status.steps}: {_pause_message(step)}")
    draft.set(step_state="Paused")
    if step.pause.duration is None:
        return Waiting(_pause_message(step))
    left = seconds(step.pause.duration) - draft.since(draft.status.pause_time or draft.time)
    return Waiting(_pause_message(step), left) if left > 0 else None


def _pause_message(step: RolloutStep) -> str:
    if step.pause is None or step.pause.duration is None:
        return "waits for approval"
    return f"pauses for {step.pause.duration}"


def deadline(draft: Draft, spec: UnitedRolloutSpec, target: Target, *, held: bool, ready_before: int) -> float | None:
    """Seconds until the run has made no progress for too long; 0 if it has; None if it waits for something else.

    Only pods that may be updated and are not ready count, and only where they can be seen: a lost cluster or pods that
    fail elsewhere are not the fault of the new version.
    """
    outstanding = any(subset.reachable and subset.outstanding for subset in target.subsets)
    if held or not outstanding:
        draft.set(progress_time=None)
        return None
    if draft.status.progress_time is None or _ready(target) > ready_before:
        draft.set(progress_time=draft.time)
    left = seconds(spec.progress_deadline) - draft.since(draft.status.progress_time or draft.time)
    return max(0.0, left)


def _ready(target: Target) -> int:
    return sum(subset.updated_ready for subset in target.subsets)
