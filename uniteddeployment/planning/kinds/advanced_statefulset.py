"""An Advanced StatefulSet of OpenKruise per subset, held by its own partition.

Its partition is a number of pods that stay old: those of the lowest ordinals, counted past the ordinals that
``reserveOrdinals`` leaves out, or any with ``unorderedUpdate``. Its pods are named as a StatefulSet's are, so the
names of its objects end differently: while one kind replaces the other, the two must not want the same pods.
"""

from collections.abc import Iterable
from itertools import count, islice
from typing import Any

from uniteddeployment.planning.kind import Kind
from uniteddeployment.planning.kinds.base import Demand, SubsetPlan
from uniteddeployment.planning.kinds.cloneset import lowest_by_number
from uniteddeployment.planning.kinds.statefulset import lowest_by_position, plan_ordered
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
    spec = demand.app.workload_template["spec"]
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling.get("unorderedUpdate") is not None:
        return lowest_by_number(demand, found)
    reserved = _reserved(spec.get("reserveOrdinals") or ())
    size = max(demand.replicas, found.spec.replicas)
    ordinals = islice((one for one in count(found.first_ordinal) if one not in reserved), size)
    updated = demand.pods.ordinals(demand.target)
    return lowest_by_position(demand, found, {place for place, ordinal in enumerate(ordinals) if ordinal in updated})


def _reserved(entries: Iterable[Any]) -> set[int]:
    """Numbers, and ranges that are written ``"3-5"``."""
    reserved: set[int] = set()
    for entry in entries:
        first, _, last = str(entry).partition("-")
        reserved.update(range(int(first), int(last or first) + 1))
    return reserved
