"""What people and programs read of a rollout: phase, message, counts, rows, conditions. Pure.

Conditions follow kstatus: ``Ready`` is True without a run, ``Reconciling`` while time or pods will change something by
themselves, ``Stalled`` when somebody has to act. A rollout that waits for an approval is none of them.
"""

from collections.abc import Sequence
from typing import Literal

from uniteddeployment_api.v1alpha1.meta import Condition
from uniteddeployment_api.v1alpha1.rollout import Phase, RolloutSubsetStatus
from uniteddeployment_rollout.holds import Hold
from uniteddeployment_rollout.pace import Waiting
from uniteddeployment_rollout.status import Draft, shortened
from uniteddeployment_rollout.steps import Goal
from uniteddeployment_rollout.target import Target

_SHOWN_SUBSETS = 3


def refuse(draft: Draft, generation: int, reason: str, message: str) -> None:
    """A rollout that cannot work. What it has written stays as it is."""
    _conclude(draft, generation, "Degraded", reason, message, stalled=True)


def idle(draft: Draft, generation: int, target: Target) -> None:
    """No run."""
    _count(draft, target)
    draft.set(target_replicas=target.replicas)
    status = draft.status
    if status.restore:
        message = f"the template of {status.restore} is being written to the target"
        _conclude(draft, generation, "Progressing", "Undo", message, busy=True)
    elif not status.stable_revision:
        message = f"waits until all pods of UnitedDeployment {target.name} are ready for the first time"
        _conclude(draft, generation, "Pending", "Pending", message, busy=True)
    else:
        _conclude(draft, generation, "Healthy", "Healthy", f"all pods run {status.stable_revision}", ready=True)


def disabled(draft: Draft, generation: int, target: Target | None) -> None:
    """A rollout that is switched off. In mid-run, nothing is complete and nobody works on it."""
    if target is not None:
        _count(draft, target)
    status = draft.status
    if not status.run_id:
        _conclude(draft, generation, "Disabled", "Disabled", "spec.disabled is set", ready=True)
        return
    message = (
        f"spec.disabled is set during run {status.run_id}: the partitions of the target stay as they are, and "
        f"{status.updated_replicas} of {status.replicas} pods are updated"
    )
    _conclude(draft, generation, "Disabled", "Disabled", message)


def rolling_back(draft: Draft, generation: int, target: Target) -> None:
    """A run that is being rolled back."""
    _count(draft, target)
    draft.set(target_replicas=0)
    _rows(draft, target, None)
    status = draft.status
    why = status.rollback.message if status.rollback else ""
    if status.restore:
        message = f"the template of {status.stable_revision} is being written to the target: {why}"
    else:
        back = sum(subset.updated_ready for subset in target.subsets)
        message = f"{back} of {target.replicas} pods run {status.stable_revision} again: {why}"
    _conclude(draft, generation, "RollingBack", "RollingBack", message, busy=True)


def running(
    draft: Draft,
    generation: int,
    target: Target,
    wanted: Goal,
    *,
    holds: Sequence[Hold],
    waiting: Waiting | None,
) -> None:
    """A run at a step."""
    _count(draft, target)
    draft.set(target_replicas=wanted.total)
    _rows(draft, target, wanted)
    place = f"step {draft.status.step} of {draft.status.steps}"
    if holds:
        first = holds[0]
        message = f"{place}: {first.message}"
        if first.degraded:
            _conclude(draft, generation, "Degraded", first.reason, message, stalled=True)
        elif first.paused:
            _conclude(draft, generation, "Paused", first.reason, message)
        else:
            _conclude(draft, generation, "Progressing", first.reason, message, busy=True)
    elif waiting is not None and waiting.degraded:
        _conclude(draft, generation, "Degraded", waiting.reason, f"{place}: {waiting.message}", stalled=True)
    elif waiting is not None and draft.status.step_state == "Paused":
        by_itself = waiting.seconds is not None
        _conclude(draft, generation, "Paused", waiting.reason, f"{place}: {waiting.message}", busy=by_itself)
    else:
        message = waiting.message if waiting is not None else _progress(target, wanted)
        _conclude(draft, generation, "Progressing", "Progressing", f"{place}: {message}", busy=True)


def _progress(target: Target, wanted: Goal) -> str:
    done = sum(min(subset.updated_ready, wanted.updated[subset.name]) for subset in target.subsets)
    behind = [subset for subset in target.subsets if subset.updated_ready < wanted.updated[subset.name]]
    message = f"{done} of {wanted.total} pods updated and ready"
    details = [f"{subset.name}: {subset.reason}" for subset in behind if subset.reason][:_SHOWN_SUBSETS]
    if not behind:
        message += f"; UnitedDeployment {target.name} has yet to report the revision as complete"
    return f"{message} ({'; '.join(details)})" if details else message


def _count(draft: Draft, target: Target) -> None:
    draft.set(
        replicas=target.replicas,
        updated_replicas=sum(subset.updated for subset in target.subsets),
        updated_ready_replicas=sum(subset.updated_ready for subset in target.subsets),
    )


def _rows(draft: Draft, target: Target, wanted: Goal | None) -> None:
    # When the target reports the new revision as the stable one, the row still has the one of the run.
    stable = {row.name: row.stable_revision for row in draft.status.subsets}
    rows = tuple(
        RolloutSubsetStatus(
            name=subset.name,
            cluster=subset.cluster,
            replicas=subset.replicas,
            updated_replicas=subset.updated,
            updated_ready_replicas=subset.updated_ready,
            target_replicas=wanted.updated[subset.name] if wanted else 0,
            revision=subset.revision,
            stable_revision=subset.stable_revision or stable.get(subset.name, ""),
            partition=draft.status.partitions.get(subset.name, subset.replicas),
            state=subset.state,
            reason=shortened(subset.reason),
        )
        for subset in target.subsets
    )
    draft.set(subsets=rows)


def _conclude(
    draft: Draft,
    generation: int,
    phase: Phase,
    reason: str,
    message: str,
    *,
    ready: bool = False,
    busy: bool = False,
    stalled: bool = False,
) -> None:
    message = shortened(message)
    if phase == "Degraded" != draft.status.phase and not any(event.type == "Warning" for event in draft.events):
        # The cause has no Event of its own.
        draft.event(reason, message, "Warning")
    conditions = (
        _condition(draft, generation, "Ready", reason, message, holds=ready),
        _condition(draft, generation, "Reconciling", reason, message if busy else "", holds=busy),
        _condition(
            draft, generation, "Stalled", reason if stalled else "AsExpected", message if stalled else "", holds=stalled
        ),
    )
    draft.set(observed_generation=generation, phase=phase, message=message, conditions=conditions)


def _condition(draft: Draft, generation: int, type_: str, reason: str, message: str, *, holds: bool) -> Condition:
    """A condition with the time of its last change."""
    status: Literal["True", "False"] = "True" if holds else "False"
    before = next((known for known in draft.status.conditions if known.type == type_), None)
    changed = before.last_transition_time if before is not None and before.status == status else draft.time
    return Condition(
        type=type_,
        status=status,
        observed_generation=generation,
        last_transition_time=changed,
        reason=reason,
        message=message,
    )
