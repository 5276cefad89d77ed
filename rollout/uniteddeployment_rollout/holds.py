"""Why no partition may be lowered now, although the step asks for it. Pure.

A rollout does nothing on what it does not know: a cluster that cannot be reached is neither ready nor failed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutSpec, UnitedRolloutStatus
from uniteddeployment_rollout.target import STALLED, Target


@dataclass(frozen=True, slots=True)
class Hold:
    """One reason. ``degraded``: somebody has to act; ``paused``: somebody wants it so."""

    reason: str
    message: str
    degraded: bool = False
    paused: bool = False


def holds(status: UnitedRolloutStatus, spec: UnitedRolloutSpec, target: Target) -> Iterator[Hold]:
    """Every reason, the one to report first."""
    if status.failure is not None:
        yield Hold(status.failure.reason, status.failure.message, degraded=True)
    if spec.paused:
        yield Hold("Paused", "spec.paused is set", paused=True)
    if status.paused_by:
        yield Hold("Paused", f"paused by {status.paused_by}; give the command resume to go on", paused=True)
    if target.paused:
        yield Hold("TargetPaused", f"UnitedDeployment {target.name} is paused", paused=True)
    for subset in target.subsets:
        if subset.state == STALLED:
            yield Hold("SubsetStalled", f"subset {subset.name} is stalled: {subset.reason}", degraded=True)
    if not target.replicas:
        yield Hold("ScaledToZero", f"UnitedDeployment {target.name} has no pods to update")
    if spec.on_unreachable == "Hold":
        for subset in target.subsets:
            if not subset.reachable:
                since = f", last seen at {subset.last_observed}" if subset.last_observed else ""
                yield Hold("Unreachable", f"the cluster of subset {subset.name} cannot be reached{since}")
