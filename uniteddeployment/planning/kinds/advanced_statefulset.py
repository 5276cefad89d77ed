"""An Advanced StatefulSet of OpenKruise per subset, held by its own partition.

Its partition is a number of pods that stay old: those of the lowest ordinals, counted past the ordinals that
``reserveOrdinals`` leaves out, or any with ``unorderedUpdate``. Its pods are named as a StatefulSet's are, so the
names of its objects end differently: while one kind replaces the other, the two must not want the same pods.
"""

from collections.abc import Iterable, Iterator, Sequence

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
    spec = demand.app.workload_template["spec"]
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling.get("unorderedUpdate") is not None:
        return lowest_by_number(demand, found)
    size = max(demand.replicas, found.spec.replicas)
    ordinals = _ordinals(found.first_ordinal, size, _reserved(spec.get("reserveOrdinals") or ()))
    updated = demand.pods.ordinals(demand.target)
    return lowest_by_position(demand, found, {place for place, ordinal in enumerate(ordinals) if ordinal in updated})


def _ordinals(first: int, size: int, reserved: Sequence[range]) -> Iterator[int]:
    """The ordinals of so many pods, past those that are reserved."""
    ordinal = first
    for _ in range(size):
        while (taken := next((one for one in reserved if ordinal in one), None)) is not None:
            ordinal = taken.stop
        yield ordinal
        ordinal += 1


def _reserved(entries: Iterable[object]) -> list[range]:
    """Numbers, and ranges that are written ``"3-5"``. Anything else is for the API server to refuse."""
    ranges = []
    for entry in entries:
        first, _, last = str(entry).partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            ranges.append(range(int(first), int(last or first) + 1))
    return ranges
