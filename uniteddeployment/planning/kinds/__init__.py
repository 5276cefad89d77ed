"""What the planner knows of each kind of workload: one module per kind.

Adding a kind is adding a module with a ``plan_subset`` and naming it in :data:`KINDS`.
"""

from collections.abc import Callable, Mapping

from uniteddeployment.planning.application import DEPLOYMENT, STATEFUL_SET
from uniteddeployment.planning.kinds import deployment, statefulset
from uniteddeployment.planning.kinds.base import Demand, SubsetPlan

KINDS: Mapping[str, Callable[[Demand], SubsetPlan]] = {
    STATEFUL_SET: statefulset.plan_subset,
    DEPLOYMENT: deployment.plan_subset,
}
