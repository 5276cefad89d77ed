"""What has happened between two statuses of a rollout, as triggers of notifications. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from uniteddeployment_api.v1alpha1.notifications import Trigger
from uniteddeployment_api.v1alpha1.rollout import RolloutRun, UnitedRolloutStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something to notify of."""

    event: Trigger
    message: str
    run_id: str = ""
    step: int = 0
    steps: int = 0
    revision: str = ""
    stable_revision: str = ""
    by: str = ""
    cause: str = ""


def happenings(before: UnitedRolloutStatus, after: UnitedRolloutStatus) -> Iterator[Happening]:
    """Yield what has happened, in its order."""
    known = {run.run_id for run in before.history}
    for run in reversed(after.history):
        if run.run_id not in known:
            yield _end(run, before, after)
    if after.run_id and after.run_id != before.run_id:
        way = f"{after.stable_revision} to {after.update_revision}"
        yield _at(after, "Started", f"{way} in {after.steps} steps")
    if after.run_id and after.run_id == before.run_id and after.step > before.step:
        done = f"step {after.step - 1} of {after.steps} is complete"
        pods = f"{after.updated_replicas} of {after.replicas} pods are updated"
        yield _at(after, "StepCompleted", f"{done}: {pods}")
    if after.rollback is not None and before.rollback is None:
        yield _at(after, "RollingBack", after.rollback.message)
    if after.phase == "Paused" and _place(after) != _place(before):
        yield _at(after, "Paused", after.message)
    if after.phase == "Degraded" and (before.phase, before.run_id) != ("Degraded", after.run_id):
        yield _at(after, "Degraded", after.message)


def _place(status: UnitedRolloutStatus) -> tuple[str | None, str, int]:
    return status.phase, status.run_id, status.step


def _at(status: UnitedRolloutStatus, event: Trigger, message: str) -> Happening:
    return Happening(
        event=event,
        message=message,
        run_id=status.run_id,
        step=status.step,
        steps=status.steps,
        revision=status.update_revision,
        stable_revision=status.stable_revision,
        by=status.started_by,
        cause=status.cause,
    )


def _end(run: RolloutRun, before: UnitedRolloutStatus, after: UnitedRolloutStatus) -> Happening:
    messages = {
        "Completed": f"all {after.replicas} pods run {run.update_revision}",
        "RolledBack": f"all {after.replicas} pods run {run.stable_revision} again: {run.reason}",
        "Superseded": f"{run.update_revision} is replaced by another template",
    }
    return Happening(
        event=run.outcome,
        message=messages[run.outcome],
        run_id=run.run_id,
        step=run.step,
        steps=before.steps,
        revision=run.update_revision,
        stable_revision=run.stable_revision,
        by=run.by,
        cause=run.cause,
    )
