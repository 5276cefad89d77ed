"""The ReplicaSet controller: maintains ``spec.replicas`` interchangeable pods."""

from datetime import datetime
from typing import ClassVar, Final

from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key
from uniteddeployment.embedded.controllers.framework.label_index import labels_of
from uniteddeployment.embedded.controllers.workloads.ownership import (
    MANAGER,
    OwningController,
    controlled,
    controller_of,
    is_deleting,
)
from uniteddeployment.embedded.controllers.workloads.pods import (
    deletion_order,
    is_active,
    is_available,
    is_finished,
    is_ready,
    next_availability,
    pod_from_template,
)
from uniteddeployment.embedded.errors import StatusError

BURST: Final = 500
"""Maximum number of pods that one sync deletes."""


class ReplicaSetController(OwningController):
    """Creates and deletes pods of ReplicaSets, adopts and releases them."""

    name: ClassVar[str] = "replicaset-controller"
    resource: ClassVar[str] = "replicasets.apps"
    kind: ClassVar[str] = "ReplicaSet"

    def setup(self) -> None:
        self.watch_owners()
        self.watch_dependents("pods")

    def sync(self, key: Key) -> None:
        replica_set = self.access.get(self.resource, *key)
        if replica_set is None:
            return
        pods = self.claim("pods", replica_set)
        failure: tuple[str, StatusError] | None = None
        if not is_deleting(replica_set):
            failure = self._scale(replica_set, [pod for pod in pods if is_active(pod)])
        pods = list(controlled(self.access, "pods", replica_set))
        self._report(replica_set, pods, failure)
        wait = next_availability(pods, replica_set["spec"].get("minReadySeconds", 0), self.clock.now())
        if wait is not None:
            self.enqueue(key, after=wait)
        if failure is not None:
            raise failure[1]

    def _scale(self, replica_set: Obj, active: list[Obj]) -> tuple[str, StatusError] | None:
        """Create missing or delete surplus pods; return the reason of the condition and the error, if a write
        failed.
        """
        surplus = len(active) - replica_set["spec"]["replicas"]
        if surplus < 0:
            for _ in range(self.grant(replica_set, -surplus)):
                try:
                    self._create(replica_set)
                except StatusError as error:
                    return "FailedCreate", error
        elif surplus > 0:
            order = deletion_order(active, self._related(replica_set), self.clock.now())
            for pod in order[: min(surplus, BURST)]:
                try:
                    self._delete(replica_set, pod)
                except StatusError as error:
                    return "FailedDelete", error
        return None

    def _create(self, replica_set: Obj) -> None:
        prefix = f"{replica_set['metadata']['name']}-"
        pod = pod_from_template(replica_set["spec"].get("template") or {}, replica_set, prefix=prefix)
        try:
            created = self.access.create("pods", pod, manager=MANAGER)
        except StatusError as error:
            self._record_event(replica_set, "Warning", "FailedCreate", f"Error creating: {error.message}")
            raise
        self._record_event(replica_set, "Normal", "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")

    def _delete(self, replica_set: Obj, pod: Obj) -> None:
        metadata = pod["metadata"]
        try:
            self.access.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"])
        except StatusError as error:
            if error.code == 404:
                return
            self._record_event(replica_set, "Warning", "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._record_event(replica_set, "Normal", "SuccessfulDelete", f"Deleted pod: {metadata['name']}")

    def _related(self, replica_set: Obj) -> list[Obj]:
        """The active pods of all ReplicaSets of the same Deployment, for comparing nodes."""
        owner = controller_of(replica_set)
        family = [replica_set]
        if owner is not None:
            family = list(self.access.owned(self.resource, replica_set["metadata"]["namespace"], owner["uid"]))
        return [pod for member in family for pod in controlled(self.access, "pods", member) if is_active(pod)]

    def _report(self, replica_set: Obj, pods: list[Obj], failure: tuple[str, StatusError] | None) -> None:
        status = status_of(replica_set, pods, now=self.clock.now())
        conditions = self._conditions(replica_set, failure)
        if conditions:
            status["conditions"] = conditions
        if replica_set.get("status") != status:
            changed = {**replica_set, "status": status}
            self.access.update(self.resource, changed, manager=MANAGER, subresource="status")

    def _conditions(self, replica_set: Obj, failure: tuple[str, StatusError] | None) -> list[Obj]:
        present = (replica_set.get("status") or {}).get("conditions") or []
        others = [condition for condition in present if condition["type"] != "ReplicaFailure"]
        if failure is None:
            return others
        known = next((condition for condition in present if condition["type"] == "ReplicaFailure"), None)
        if known is not None:
            return [*others, known]
        reason, error = failure
        condition = {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": timestamp(self.clock.now()),
            "reason": reason,
            "message": error.message,
        }
        return [*others, condition]

    def _record_event(self, replica_set: Obj, type_: str, reason: str, message: str) -> None:
        self.events.event(replica_set, type_, reason, message, component=self.name)


def status_of(replica_set: Obj, pods: list[Obj], *, now: datetime) -> Obj:
    """The counts of a ReplicaSet's pods; zero counts are left out where the real controller leaves them out."""
    spec = replica_set["spec"]
    active = [pod for pod in pods if is_active(pod)]
    template_labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    min_ready_seconds = spec.get("minReadySeconds", 0)
    status: Obj = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(template_labels.items() <= labels_of(pod).items() for pod in active),
        "readyReplicas": sum(is_ready(pod) for pod in active),
        "availableReplicas": sum(is_available(pod, min_ready_seconds, now) for pod in active),
        "terminatingReplicas": sum(is_deleting(pod) and not is_finished(pod) for pod in pods),
        "observedGeneration": replica_set["metadata"]["generation"],
    }
    for count in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"):
        if not status[count]:
            del status[count]
    return status
