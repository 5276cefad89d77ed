"""A small simulation of OpenKruise: its CloneSets and Advanced StatefulSets, as far as partitions and scaling go.

A cluster runs it only if it is asked to: ``Cluster(controllers=(*default_controllers(), *kruise_controllers()))``. The
definitions of the two kinds are the installer's to bring, as with the real one; the controllers wait for them. Pods are
always recreated (updates in place, surge and life cycle hooks are left out).
"""

from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.openkruise.advanced_statefulset import AdvancedStatefulSetController
from uniteddeployment.embedded.openkruise.cloneset.controller import CloneSetController


def kruise_controllers() -> tuple[type[Controller], ...]:
    """All of them, in the order in which they are started."""
    return (CloneSetController, AdvancedStatefulSetController)
