"""A simulation of OpenKruise's CloneSet and Advanced StatefulSet: partitions and scaling.

A cluster runs it on request: ``Cluster(controllers=(*default_controllers(), *kruise_controllers()))``. As with the real
OpenKruise, the two definitions must be installed separately; the controllers wait for them. Pods are always recreated
(in-place updates, surge and lifecycle hooks are not simulated).
"""

from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.openkruise.advanced_statefulset import AdvancedStatefulSetController
from uniteddeployment.embedded.openkruise.cloneset.controller import CloneSetController


def kruise_controllers() -> tuple[type[Controller], ...]:
    """The controllers, in the order in which they start."""
    return (CloneSetController, AdvancedStatefulSetController)
