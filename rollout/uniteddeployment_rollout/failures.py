"""Reactions to failures of a run: hold it, take the failed clusters back, or roll everything back. Pure."""

from dataclasses import dataclass

from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutSpec
from uniteddeployment_rollout.runs import start_rollback
from uniteddeployment_rollout.status import Draft
from uniteddeployment_rollout.target import Target

PROGRESS_DEADLINE = "ProgressDeadlineExceeded"
"""The reason of a failure that ends when the pods become ready after all."""
DRIFT = "Drift"
"""The reason of a failure that lasts as long as somebody's partitions are in the target."""
MEMBER_DRIFT = "MemberDrift"
"""The reason of a failure because somebody changed a workload in a member. It lasts until the command retry."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that fails a run."""

    reason: str
    message: str
    clusters: frozenset[str] = frozenset()
    """The clusters that failed. If empty, no single one can be rolled back."""


def fail(draft: Draft, spec: UnitedRolloutSpec, target: Target, problem: Problem) -> None:
    """React to a problem as ``onFailure`` says."""
    reason, message = problem.reason, problem.message
    draft.event(reason, message, "Warning")
    if spec.on_failure == "Rollback":
        start_rollback(draft, reason, message)
        return
    names = [subset.name for subset in target.subsets if subset.cluster in problem.clusters]
    if spec.on_failure == "RollbackCluster" and names:
        listed = ", ".join(names)
        draft.set(reverted=tuple(sorted({*draft.status.reverted, *names})))
        draft.event("ClusterRollbackStarted", f"the subsets {listed} return to the stable revision", "Warning")
        message += f"; the subsets {listed} return to the stable revision until the command retry"
    draft.set(failure=draft.failure(reason, message))


def deadline_passed(draft: Draft, spec: UnitedRolloutSpec, target: Target) -> None:
    """React to updated pods that are not ready in time."""
    slow = [subset for subset in target.subsets if subset.reachable and subset.outstanding]
    details = "; ".join(f"{subset.name}: {subset.reason}" for subset in slow if subset.reason)
    number = sum(subset.outstanding for subset in slow)
    message = f"{number} updated pods were not ready within {spec.progress_deadline}"
    message += f" ({details})" if details else ""
    clusters = frozenset(subset.cluster for subset in slow)
    fail(draft, spec, target, Problem(PROGRESS_DEADLINE, message, clusters))


def note_drift(draft: Draft, target: Target) -> bool:
    """Stop the run if somebody else has changed partitions of the target, or a workload in a member.

    Return whether the partitions are those of somebody else, so that they must not be written.
    """
    failure = draft.status.failure
    message = _changed_partition(draft, target)
    if not message and failure is not None and failure.reason == DRIFT:
        draft.set(failure=None)
    if message and not _is_stopped(draft):
        draft.set(failure=draft.failure(DRIFT, message, target.partitions_by))
        draft.event(DRIFT, message, "Warning")
    newest = target.drifted
    if newest is not None and newest.drift_time > (draft.status.drift_time or "") and not _is_stopped(draft):
        change = f"the workload of subset {newest.name} was changed by others: {newest.drift}; give the command retry"
        draft.set(failure=draft.failure(MEMBER_DRIFT, change), drift_time=newest.drift_time)
        draft.event(MEMBER_DRIFT, change, "Warning")
    return bool(message)


def _is_stopped(draft: Draft) -> bool:
    """Whether the run has a failure that does not end by itself."""
    failure = draft.status.failure
    return failure is not None and (failure.reason != PROGRESS_DEADLINE or bool(draft.status.reverted))


def _changed_partition(draft: Draft, target: Target) -> str:
    """Which partition in the target is neither the one that is to be there nor the one before; empty if none is.

    An entry that somebody removed is not drift: the default partition holds the subset, and the entry is written again.
    """
    status = draft.status
    for subset in target.subsets:
        expected = status.partitions.get(subset.name)
        if expected is None or subset.partition is None:
            continue
        if subset.partition not in (expected, status.previous_partitions.get(subset.name)):
            by = f" by {target.partitions_by}" if target.partitions_by else ""
            return (
                f"the partition of subset {subset.name} was changed{by} from {expected} to {subset.partition}; "
                "give the command retry to let the rollout write it again"
            )
    return ""
