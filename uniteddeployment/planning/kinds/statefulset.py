"""A StatefulSet per subset, held by its own partition: the pods of the lowest ordinals stay old."""

from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan
from uniteddeployment.planning.kinds.partitioned import plan_ordered
from uniteddeployment.planning.kinds.places import Place
from uniteddeployment.planning.observed import Workload

KIND = Kind(
    name="StatefulSet",
    template="statefulSetTemplate",
    group="apps",
    version="v1",
    plural="statefulsets",
    kind="StatefulSet",
    partition=("rollingUpdate", "partition"),
    update_type="RollingUpdate",
)


def plan_subset(context: SubsetContext) -> SubsetPlan:
    """Raises TemplateMissing when the stable template has to be loaded first."""
    return plan_ordered(context, _order)


def _order(context: SubsetContext, found: Workload) -> Place:  # noqa: ARG001  # every kind is asked the same
    start = found.first_ordinal
    return lambda ordinal: ordinal - start
