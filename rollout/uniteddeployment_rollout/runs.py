"""Runs: when one starts, is superseded, rolled back or complete, and the record of the last ones. Pure.

A run is the way from one stable revision to another. It starts with a change of the template and with nothing else:
changed steps, labels or replicas are no new revision.
"""

from typing import Any, Literal

from uniteddeployment_api.v1alpha1.rollout import MAX_HISTORY, RolloutRun, UnitedRolloutSpec
from uniteddeployment_rollout.status import Draft
from uniteddeployment_rollout.steps import steps_of
from uniteddeployment_rollout.target import Target

Outcome = Literal["Completed", "RolledBack", "Superseded"]

REVERTED = "Reverted"
"""The reason of a rollback that a user began by writing the stable template."""

ROLLED_BACK_BEFORE = "RolledBackBefore"
"""The reason why a run waits for the command retry before it updates anything."""

_NO_STEP: dict[str, Any] = {
    "step_state": None,
    "step_start_time": None,
    "ready_time": None,
    "pause_time": None,
    "approved": False,
    "skipped": False,
    "gates": (),
    "gate_attempt": 0,
}
_NO_RUN: dict[str, Any] = {
    **_NO_STEP,
    "run_id": "",
    "cause": "",
    "started_by": "",
    "step": 0,
    "steps": 0,
    "full": False,
    "start_time": None,
    "progress_time": None,
    "failure": None,
    "rollback": None,
    "restore": "",
    "partitions": {},
    "previous_partitions": {},
    "reverted": (),
    "drift_time": None,
    "subsets": (),
    "target_replicas": 0,
}


def follow(draft: Draft, spec: UnitedRolloutSpec, target: Target) -> None:
    """Bring the run in line with the revisions of an observed target."""
    status = draft.status
    if status.restore and status.restore == target.updated_revision:
        draft.set(restore="")
    if not status.stable_revision:
        _first(draft, spec, target)
    elif not status.run_id:
        if target.updated_revision != status.update_revision:
            _start(draft, spec, target)
    elif target.updated_revision == status.update_revision:
        if status.rollback is not None and not status.restore:
            # The stable template was back in the target, and somebody has replaced it again.
            _reject(draft)
            _finish(draft, target, "Superseded", target.updated_revision)
            _start(draft, spec, target)
    elif target.updated_revision == status.stable_revision:
        if status.rollback is None:
            reverted = "the stable template is back in the target"
            draft.set(rollback=draft.failure(REVERTED, reverted, target.template_by), failure=None)
            draft.event("RollbackStarted", f"{reverted}: {status.update_revision} is rolled back")
    else:
        _finish(draft, target, "Superseded", target.updated_revision)
        _start(draft, spec, target)


def complete(draft: Draft, target: Target) -> None:
    """End the run: its revision is the stable one from now on."""
    revision = draft.status.update_revision
    _finish(draft, target, "Completed", revision)
    draft.set(stable_revision=revision, update_revision=revision)
    draft.event("RolloutCompleted", f"all {target.replicas} pods run {revision}")


def rolled_back(draft: Draft, target: Target) -> None:
    """End a run that was rolled back."""
    status = draft.status
    _reject(draft)
    _finish(draft, target, "RolledBack", status.rollback.reason if status.rollback else "")
    draft.set(update_revision=status.stable_revision)
    draft.event("RolledBack", f"all {target.replicas} pods run {status.stable_revision} again", "Warning")


def next_step(draft: Draft) -> None:
    """Go on to the next step."""
    step = draft.status.step + 1
    draft.set(**_NO_STEP)
    draft.set(step=step, step_start_time=draft.time, step_state="Updating", progress_time=None)


def to_last_step(draft: Draft, spec: UnitedRolloutSpec) -> None:
    """Go on without steps."""
    number = len(steps_of(spec))
    draft.set(**_NO_STEP)
    draft.set(full=True, step=number, steps=number, step_start_time=draft.time, step_state="Updating")


def start_rollback(draft: Draft, reason: str, message: str, by: str = "") -> None:
    """Go back to the stable revision. Its template is written by the controller."""
    draft.set(
        rollback=draft.failure(reason, message, by),
        restore=draft.status.stable_revision,
        failure=None,
        reverted=(),
        paused_by="",
        step_state=None,
    )
    draft.event("RollbackStarted", f"{message}: back to {draft.status.stable_revision}", "Warning")


def _reject(draft: Draft) -> None:
    """Keep the revision from being rolled out again at once, unless it was a user who went back by the template."""
    rollback = draft.status.rollback
    if rollback is not None and rollback.reason != REVERTED:
        draft.set(rejected_revision=draft.status.update_revision)


def _first(draft: Draft, spec: UnitedRolloutSpec, target: Target) -> None:
    """A target that the rollout has not seen complete. Until it is, there is nothing to go back to."""
    draft.set(stable_revision=target.current_revision, update_revision=target.current_revision)
    if target.current_revision and target.updated_revision != target.current_revision:
        _start(draft, spec, target)


def _start(draft: Draft, spec: UnitedRolloutSpec, target: Target) -> None:
    count = draft.status.run_count + 1
    revision, drifted = target.updated_revision, target.drifted
    draft.set(
        run_id=f"{revision}.{count}",
        run_count=count,
        update_revision=revision,
        cause=target.cause,
        started_by=target.template_by,
        start_time=draft.time,
        steps=len(steps_of(spec)),
        drift_time=drifted.drift_time if drifted else None,
    )
    next_step(draft)
    number = len(steps_of(spec))
    draft.event("RolloutStarted", f"{draft.status.stable_revision} -> {revision} in {number} steps")
    if revision in _window(draft, spec):
        to_last_step(draft, spec)
        draft.event("StepsSkipped", f"{revision} was stable within the last {spec.rollback_window} runs")
    elif revision == draft.status.rejected_revision:
        message = f"{revision} was rolled back before; give the command retry to roll it out again"
        draft.set(failure=draft.failure(ROLLED_BACK_BEFORE, message))


def _window(draft: Draft, spec: UnitedRolloutSpec) -> list[str]:
    """The revisions that were stable before the present one, as far back as the window reaches."""
    completed = [run.stable_revision for run in draft.status.history if run.outcome == "Completed"]
    return completed[: spec.rollback_window]


def _finish(draft: Draft, target: Target, outcome: Outcome, why: str) -> None:
    """Record the present run, and forget everything about it that the next one must not inherit."""
    status = draft.status
    run = RolloutRun(
        run_id=status.run_id,
        stable_revision=status.stable_revision,
        update_revision=status.update_revision,
        outcome=outcome,
        reason=why if outcome != "Completed" else "",
        cause=status.cause,
        by=status.started_by,
        step=status.step,
        start_time=status.start_time or draft.time,
        finish_time=draft.time,
    )
    if outcome == "Superseded":
        draft.event("RolloutSuperseded", f"{status.update_revision} is replaced by {why}")
    draft.set(**_NO_RUN)
    draft.set(history=(run, *status.history)[:MAX_HISTORY], replicas=target.replicas)
