"""StatefulSets: a subset has one, held by its own partition. The pods of the lowest ordinals stay old."""

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
    """Plan a subset. Raises TemplateMissing if the stable template is needed and is not loaded."""
    return plan_ordered(context, _places)


def _places(context: SubsetContext, workload: Workload) -> Place:  # noqa: ARG001  # the signature of a PlaceRule
    start = workload.first_ordinal
    return lambda ordinal: ordinal - start
