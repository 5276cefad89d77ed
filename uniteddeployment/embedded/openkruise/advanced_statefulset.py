"""The Advanced StatefulSet controller: a StatefulSet controller with another update strategy.

``maxUnavailable`` applies only with parallel pod management. The partition is the number of old pods, which have the
lowest ordinals (``unorderedUpdate`` and ``reserveOrdinals`` are not simulated).
"""

from dataclasses import replace
from typing import ClassVar

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.statefulset.controller import StatefulSetController
from uniteddeployment.embedded.controllers.statefulset.pods import revision_of
from uniteddeployment.embedded.controllers.statefulset.steps import View
from uniteddeployment.embedded.controllers.workloads import revisions as history
from uniteddeployment.embedded.controllers.workloads.ownership import controlled, is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_ready
from uniteddeployment.embedded.openkruise.kinds import LateOwningController, selector_text


class AdvancedStatefulSetController(LateOwningController, StatefulSetController):
    """Maintains pods with stable names and updates as many at once as the set allows."""

    name: ClassVar[str] = "kruise-statefulset-controller"
    resource: ClassVar[str] = "statefulsets.apps.kruise.io"

    def _view(self, stateful_set: Obj, pods: list[Obj], revisions: history.Revisions) -> View:
        view = super()._view(stateful_set, pods, revisions)
        return replace(view, max_unavailable=None) if view.ordered else view

    def _write_status(self, stateful_set: Obj, status: Obj) -> None:
        pods = controlled(self.access, "pods", stateful_set)
        updated = [pod for pod in pods if not is_deleting(pod) and revision_of(pod) == status["updateRevision"]]
        zeros = {"readyReplicas": 0, "currentReplicas": 0, "updatedReplicas": 0}
        more = {
            "updatedReadyReplicas": sum(is_ready(pod) for pod in updated),
            "labelSelector": selector_text(stateful_set["spec"]["selector"]),
        }
        super()._write_status(stateful_set, zeros | status | more)
