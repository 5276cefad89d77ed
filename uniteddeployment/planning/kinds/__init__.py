"""The kinds of workloads, one module each.

To add a kind, add a module that declares it and plans its subsets, and list it in :data:`KINDS`.
"""

from collections.abc import Callable, Mapping

from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds import advanced, cloneset, deployment, statefulset
from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan
from uniteddeployment_api import UnitedDeployment

KINDS: Mapping[Kind, Callable[[SubsetContext], SubsetPlan]] = {
    statefulset.KIND: statefulset.plan_subset,
    deployment.KIND: deployment.plan_subset,
    cloneset.KIND: cloneset.plan_subset,
    advanced.KIND: advanced.plan_subset,
}
"""Kind -> the function that plans a subset of it."""

_BY_TEMPLATE = {kind.template: kind for kind in KINDS}


def kind_of(model: UnitedDeployment) -> Kind:
    """The kind that a UnitedDeployment asks for. Raises ValueError if it does not ask for exactly one."""
    given = model.spec.template.given
    if len(given) != 1:
        raise ValueError("spec.template: exactly one template is required")
    return _BY_TEMPLATE[next(iter(given))]
