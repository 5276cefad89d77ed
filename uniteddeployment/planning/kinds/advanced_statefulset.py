"""An Advanced StatefulSet of OpenKruise per subset, held by its own partition.

Its partition is a number of pods that stay old: those of the lowest ordinals, counted past the ordinals that
``reserveOrdinals`` leaves out, or any with ``unorderedUpdate``. Its pods are named as a StatefulSet's are, so the
names of its objects end differently: while one kind replaces the other, the two must not want the same pods.
"""

from uniteddeployment.planning.kind import Kind
from uniteddeployment.planning.kinds.base import Demand, SubsetPlan
from uniteddeployment.planning.kinds.partitioned import plan_ordered
from uniteddeployment.planning.kinds.places import Place
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
    return plan_ordered(demand, _order)


def _order(demand: Demand, found: Workload) -> Place | None:
    rolling = (demand.app.workload_template["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling.get("unorderedUpdate") is not None:
        return None
    reserved, first = demand.app.reserved_ordinals, found.first_ordinal
    skipped = reserved.below(first)

    def place(ordinal: int) -> int | None:
        if ordinal < first or ordinal in reserved:
            return None
        return ordinal - first - reserved.below(ordinal) + skipped

    return place
