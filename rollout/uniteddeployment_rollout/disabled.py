"""A rollout that is switched off: it lets go of its target, but never completes a run on its own. Pure."""

from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_rollout import commands, report
from uniteddeployment_rollout.decision import Decision, TargetWrite
from uniteddeployment_rollout.status import Draft
from uniteddeployment_rollout.target import HOLD_ALL, Target

_REFUSAL = "spec.disabled is set"


def decide(draft: Draft, rollout: UnitedRollout, target: Target | None, *, rival: str) -> Decision:
    """Refuse all commands. Without a run, give the target its former default partition back, once."""
    commands.carry_out(draft, rollout.spec, refusal=_REFUSAL)
    write = None
    if draft.status.run_id:
        # Whoever changes partitions now does so instead of the rollout, so it is no drift.
        draft.set(partitions={}, previous_partitions={}, progress_time=None, ready_time=None)
    else:
        # Templates that are rolled out from now on are unknown to the rollout, and so is the stable one.
        draft.set(stable_revision="", update_revision="", restore="")
        write = None if rival else _release(draft, target)
    report.disabled(draft, rollout.metadata.generation, target)
    return Decision(draft.status, write, tuple(draft.events))


def _release(draft: Draft, target: Target | None) -> TargetWrite | None:
    former = draft.status.former_partition
    if former is None or target is None:
        return None
    if target.default_partition == HOLD_ALL != former:
        return TargetWrite({}, default=former)
    draft.set(former_partition=None)
    return None
