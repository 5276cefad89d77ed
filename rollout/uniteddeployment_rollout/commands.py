"""Commands in the status of a rollout: each is carried out once or refused, and answered. Pure."""

from collections.abc import Callable, Mapping

from uniteddeployment_api.v1alpha1.rollout import MAX_ANSWERS, RolloutAnswer, RolloutCommand, UnitedRolloutSpec
from uniteddeployment_rollout.failures import DRIFT
from uniteddeployment_rollout.gates import state as gates
from uniteddeployment_rollout.runs import ROLLED_BACK_BEFORE, start_rollback, to_last_step
from uniteddeployment_rollout.status import Draft, shortened

_OF_A_RUN = frozenset({"approve", "skip", "promote", "abort", "retry"})
_OF_A_STEP = frozenset({"approve", "skip"})
GATE_FAILED = "GateFailed"
"""The reason of a failure that a gate of the step reports."""
_PAST = {
    "approve": "approved",
    "pause": "paused",
    "resume": "resumed",
    "abort": "aborted",
    "retry": "retried",
    "undo": "undone",
    "skip": "skipped",
    "promote": "promoted",
}


class Refused(Exception):  # noqa: N818  # the outcome that the answer reports
    """A command that does not fit the present state; the text says why."""


def carry_out(draft: Draft, spec: UnitedRolloutSpec, *, refusal: str = "") -> None:
    """Carry out all commands in the order of their ids, and remove them. A known id is not carried out again.

    With a ``refusal``, which says why the rollout cannot work, all of them are refused.
    """
    commands = draft.status.commands
    answered = {answer.id for answer in draft.status.answers}
    for id_ in sorted(commands):
        if id_ not in answered:
            _answer(draft, spec, id_, commands[id_], refusal)
    if commands:
        draft.set(commands={})


def _answer(draft: Draft, spec: UnitedRolloutSpec, id_: str, command: RolloutCommand, refusal: str) -> None:
    step = draft.status.step
    try:
        _fits(draft, command, refusal)
        _VERBS[command.verb](draft, spec, command)
    except Refused as error:
        message = shortened(str(error))
        draft.event("CommandRefused", f"{command.verb}{_by(command)}: {message}", "Warning")
    else:
        message = ""
        where = f" at step {step}" if step else ""
        draft.event("Command", f"the rollout was {_PAST[command.verb]}{_by(command)}{where}")
    answer = RolloutAnswer(
        id=id_,
        verb=command.verb,
        by=command.by,
        result="Refused" if message else "Done",
        message=message,
        time=draft.time,
    )
    draft.set(answers=(answer, *draft.status.answers)[:MAX_ANSWERS])


def _by(command: RolloutCommand) -> str:
    return f" by {command.by}" if command.by else ""


def _fits(draft: Draft, command: RolloutCommand, refusal: str) -> None:
    """Raises Refused for a command that cannot be carried out, or is about another run or step than the present one."""
    status = draft.status
    if refusal:
        raise Refused(refusal)
    if command.verb in _OF_A_RUN:
        if not status.run_id:
            raise Refused("there is no run")
        if command.run_id != status.run_id:
            raise Refused(f"it is for run {command.run_id or '(none)'}, and the present run is {status.run_id}")
        if status.rollback is not None:
            raise Refused("the run is being rolled back")
    if command.verb in _OF_A_STEP and command.step != status.step:
        raise Refused(f"it is for step {command.step}, and the present step is {status.step}")


def _approve(draft: Draft, _: UnitedRolloutSpec, __: RolloutCommand) -> None:
    if gates.approve(draft):
        return
    status = draft.status
    if status.approved:
        raise Refused(f"step {status.step} is approved already")
    if status.failure is not None or status.phase == "Degraded":
        raise Refused(f"the run is degraded: {status.message}")
    if status.step_state != "Paused":
        raise Refused(f"step {status.step} does not wait for an approval now")
    draft.set(approved=True)


def _pause(draft: Draft, _: UnitedRolloutSpec, command: RolloutCommand) -> None:
    if draft.status.paused_by:
        raise Refused(f"the rollout is paused already, by {draft.status.paused_by}")
    draft.set(paused_by=command.by or "a command")


def _resume(draft: Draft, _: UnitedRolloutSpec, __: RolloutCommand) -> None:
    if not draft.status.paused_by:
        raise Refused("no command has paused the rollout")
    draft.set(paused_by="")


def _abort(draft: Draft, _: UnitedRolloutSpec, command: RolloutCommand) -> None:
    start_rollback(draft, "Aborted", "the run was aborted", command.by)


def _retry(draft: Draft, _: UnitedRolloutSpec, __: RolloutCommand) -> None:
    """Clear the failure. If it is that somebody else has written partitions, they are replaced from here on."""
    if draft.status.failure is None:
        if gates.retry(draft):
            return
        raise Refused("nothing has failed")
    gates.restart(draft)
    reason = draft.status.failure.reason
    draft.set(failure=None, progress_time=None, reverted=())
    if reason == DRIFT:
        draft.set(partitions={}, previous_partitions={})
    if reason == ROLLED_BACK_BEFORE:
        draft.set(rejected_revision="")


def _undo(draft: Draft, _: UnitedRolloutSpec, command: RolloutCommand) -> None:
    """Go back: from a run to its stable revision, without one to the revision that was stable before."""
    status = draft.status
    if status.run_id:
        if status.rollback is not None:
            raise Refused("the run is being rolled back")
        start_rollback(draft, "Aborted", "the run was undone", command.by)
        return
    earlier = [run.stable_revision for run in status.history if run.outcome == "Completed"]
    if not earlier:
        raise Refused("there is no earlier stable revision in the history")
    draft.set(restore=earlier[0])


def _skip(draft: Draft, _: UnitedRolloutSpec, __: RolloutCommand) -> None:
    if draft.status.skipped:
        raise Refused(f"step {draft.status.step} is skipped already")
    _overrule_gates(draft)
    draft.set(skipped=True)


def _promote(draft: Draft, spec: UnitedRolloutSpec, __: RolloutCommand) -> None:
    if draft.status.full:
        raise Refused("the run goes on without steps already")
    _overrule_gates(draft)
    to_last_step(draft, spec)


def _overrule_gates(draft: Draft) -> None:
    """Continue although a gate has failed."""
    if draft.status.failure is not None and draft.status.failure.reason == GATE_FAILED:
        draft.set(failure=None, reverted=())


_VERBS: Mapping[str, Callable[[Draft, UnitedRolloutSpec, RolloutCommand], None]] = {
    "approve": _approve,
    "pause": _pause,
    "resume": _resume,
    "abort": _abort,
    "retry": _retry,
    "undo": _undo,
    "skip": _skip,
    "promote": _promote,
}
