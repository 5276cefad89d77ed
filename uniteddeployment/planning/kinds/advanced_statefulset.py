"""An Advanced StatefulSet of OpenKruise per subset, held by its own partition.

Its partition is a number of pods that stay old: those of the lowest ordinals, counted past the ordinals that
``reserveOrdinals`` leaves out, or any with ``unorderedUpdate``. Its pods are named as a StatefulSet's are, so the
names of its objects end differently: while one kind replaces the other, the two must not want the same pods.
"""

from uniteddeployment.planning.kind import Kind
from uniteddeployment.planning.kinds.base import Demand, SubsetPlan
from uniteddeployment.planning.kinds.partitioned import lowest_by_number, lowest_by_position, plan_ordered
from uniteddeployment.planning.observed import Workload

KIND = Kind(
    name="AdvancedStatefulSet",
    template="advancedStatefulSetTemplate",
    group="apps.kruise.io",
    version="v1beta1",
    plural="statefulsets",
    kind="StatefulSet",
    partition=("rollingUpdate", "partition"),
    update_type="RollingUpdate",
    suffix="asts",
    provider="OpenKruise",
)


def plan_subset(demand: Demand) -> SubsetPlan:
    """Raises TemplateMissing when the stable template has to be loaded first."""
    return plan_ordered(demand, _lowest)


def _lowest(demand: Demand, found: Workload) -> int:
    rolling = (demand.app.workload_template["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling.get("unorderedUpdate") is not None:
        return lowest_by_number(demand, found)
    return lowest_by_position(demand, found, _positions(demand, found.first_ordinal))


def _positions(demand: Demand, first: int) -> set[int]:
    """The places of the updated pods among all pods, which are counted past the reserved ordinals."""
    reserved = demand.app.reserved_ordinals
    skipped = reserved.below(first)
    return {
        ordinal - first - reserved.below(ordinal) + skipped
        for ordinal in demand.pods.ordinals(demand.target)
        if ordinal >= first and ordinal not in reserved
    }
