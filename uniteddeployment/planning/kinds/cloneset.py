"""OpenKruise's CloneSets: a subset has one, held by its own partition, which is a number of pods that stay old.

Its controller chooses these pods, and keeps to that number also while it scales, so the user's partition is written as
it is. Like that of a StatefulSet (:mod:`.partitioned`), it creates pods at the old revision only as long as it knows
that revision, and raising the partition takes no updated pod back.
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
    """Plan a subset. Raises TemplateMissing if the stable template is needed and is not loaded."""
    return plan_held(context, unordered)
