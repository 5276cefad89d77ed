"""A CloneSet of OpenKruise per subset, held by its own partition: a number of pods that stay old, whichever they are.

Its controller brings the old pods to that number also when it scales, up or down, so the partition that is asked for
is the one that is written. Otherwise it is a StatefulSet's case (see :mod:`.partitioned`): pods are made at the old
revision only as long as it remembers that revision, and a pod that is updated stays so when the partition is raised.
"""

from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan
from uniteddeployment.planning.kinds.partitioned import plan_held
from uniteddeployment.planning.kinds.places import unordered

KIND = Kind(
    name="CloneSet",
    template="cloneSetTemplate",
    group="apps.kruise.io",
    version="v1alpha1",
    plural="clonesets",
    kind="CloneSet",
    partition=("partition",),
    update_type="ReCreate",
    prioritised=True,
    provider="OpenKruise",
)


def plan_subset(context: SubsetContext) -> SubsetPlan:
    """Raises TemplateMissing when the stable template has to be loaded first."""
    return plan_held(context, unordered)
