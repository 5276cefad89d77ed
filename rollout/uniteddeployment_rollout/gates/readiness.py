"""The measurement of readiness: restarts of updated pods, compared with stable pods of the same subset. Pure.

All that is needed is in the status of the UnitedDeployment, so nothing is requested.
"""

from fractions import Fraction

from uniteddeployment_api.v1alpha1.gates import ReadinessMeasurement, RolloutGateStatus
from uniteddeployment_rollout.gates.probe import Measured
from uniteddeployment_rollout.target import TargetSubset


def first_restarts(row: RolloutGateStatus, subset: TargetSubset) -> tuple[int, int]:
    """Return the restarts of updated and of stable pods when measuring started."""
    if len(row.first_restarts) == 2:
        return row.first_restarts[0], row.first_restarts[1]
    return subset.restarts, subset.stable_restarts


def measure(measurement: ReadinessMeasurement, row: RolloutGateStatus, subset: TargetSubset) -> Measured:
    """Compare the updated pods of a subset with its stable pods.

    Where stable pods have the same trouble, the cluster is to blame and not the new version.
    """
    value = f"{subset.updated_ready}/{subset.updated} ready"
    if subset.restarts:
        value += f", {subset.restarts} restarts"
    unready = subset.updated - subset.updated_ready
    if unready > 0:
        message = f"{unready} of {subset.updated} updated pods are not ready"
        stable_unready = subset.stable - subset.stable_ready
        alike = subset.stable > 0 and Fraction(stable_unready, subset.stable) >= Fraction(unready, subset.updated)
        return _bad(value, message, f"{stable_unready} of {subset.stable} stable pods", alike=alike)
    if subset.restarts > measurement.max_restarts:
        message = f"containers of updated pods restarted {subset.restarts} times"
        canary_before, stable_before = first_restarts(row, subset)
        rise = Fraction(max(0, subset.restarts - canary_before), max(1, subset.updated))
        stable_rise = max(0, subset.stable_restarts - stable_before)
        alike = subset.stable > 0 and stable_rise > 0 and Fraction(stable_rise, subset.stable) >= rise
        return _bad(value, message, f"those of stable pods {stable_rise} times since measuring began", alike=alike)
    return Measured("Success", value)


def _bad(value: str, message: str, stable: str, *, alike: bool) -> Measured:
    if alike:
        return Measured("Inconclusive", value, f"{message}, and {stable}: the new version is not to blame")
    return Measured("Failure", value, message)
