"""The CloneSet controller: executes the steps that :mod:`.steps` computes, and maintains history and status."""

from typing import ClassVar, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key
from uniteddeployment.embedded.controllers.statefulset.pods import REVISION_LABEL, revision_of
from uniteddeployment.embedded.controllers.workloads import revisions as history
from uniteddeployment.embedded.controllers.workloads.ownership import MANAGER, controlled, is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import (
    is_active,
    is_available,
    is_ready,
    next_availability,
    pod_from_template,
)
from uniteddeployment.embedded.controllers.workloads.rounding import scaled
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.openkruise.cloneset.steps import View, next_steps
from uniteddeployment.embedded.openkruise.kinds import LateOwningController, selector_text

MAX_UNAVAILABLE: Final = "20%"


class CloneSetController(LateOwningController):
    """Maintains interchangeable pods of up to two revisions, in the proportion that the partition sets."""

    name: ClassVar[str] = "cloneset-controller"
    resource: ClassVar[str] = "clonesets.apps.kruise.io"
    kind: ClassVar[str] = "CloneSet"

    def setup(self) -> None:
        self.watch_owners()
        self.watch_dependents("pods")
        self.watch_dependents(history.RESOURCE)

    def sync(self, key: Key) -> None:
        clone_set = self.access.get(self.resource, *key)
        if clone_set is None or is_deleting(clone_set):
            return
        pods = [pod for pod in self.claim("pods", clone_set) if is_active(pod)]
        revisions = history.resolve(self.access, clone_set, history.ordered(self.claim(history.RESOURCE, clone_set)))
        failure: StatusError | None = None
        try:
            self._act(clone_set, self._view(clone_set, pods, revisions), revisions)
        except StatusError as error:
            failure = error
        pods = [pod for pod in controlled(self.access, "pods", clone_set) if is_active(pod)]
        self._report(clone_set, pods, revisions)
        history.truncate(self.access, clone_set, revisions, {revision_of(pod) for pod in pods})
        wait = next_availability(pods, clone_set["spec"].get("minReadySeconds", 0), self.clock.now())
        if wait is not None:
            self.enqueue(key, after=wait)
        if failure is not None:
            raise failure

    def _view(self, clone_set: Obj, pods: list[Obj], revisions: history.Revisions) -> View:
        spec = clone_set["spec"]
        strategy = spec.get("updateStrategy") or {}
        replicas = spec["replicas"]
        return View(
            pods=pods,
            replicas=replicas,
            partition=partition_of(clone_set),
            max_unavailable=scaled(strategy.get("maxUnavailable", MAX_UNAVAILABLE), replicas, up=True),
            current_revision=revisions.current["metadata"]["name"],
            update_revision=revisions.update["metadata"]["name"],
            min_ready_seconds=spec.get("minReadySeconds", 0),
            priorities=(strategy.get("priorityStrategy") or {}).get("weightPriority") or (),
            room=self.grant(clone_set, max(0, replicas - len(pods))),
            held=bool(strategy.get("paused")) or strategy.get("type") == "OnDelete",
            now=self.clock.now(),
        )

    def _act(self, clone_set: Obj, view: View, revisions: history.Revisions) -> None:
        steps = next_steps(view)
        for _ in range(steps.create_current):
            self._create(clone_set, revisions.current)
        for _ in range(steps.create_updated):
            self._create(clone_set, revisions.update)
        for pod in steps.delete:
            metadata = pod["metadata"]
            self.access.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"])
            self._record_event(clone_set, "SuccessfulDelete", f"succeed to delete pod {metadata['name']}")

    def _create(self, clone_set: Obj, revision: Obj) -> None:
        prefix = f"{clone_set['metadata']['name']}-"
        pod = pod_from_template(history.template_of(revision), clone_set, prefix=prefix)
        pod["metadata"].setdefault("labels", {})[REVISION_LABEL] = revision["metadata"]["name"]
        created = self.access.create("pods", pod, manager=MANAGER)
        self._record_event(clone_set, "SuccessfulCreate", f"succeed to create pod {created['metadata']['name']}")

    def _report(self, clone_set: Obj, pods: list[Obj], revisions: history.Revisions) -> None:
        spec = clone_set["spec"]
        update, current = revisions.update["metadata"]["name"], revisions.current["metadata"]["name"]
        updated = [pod for pod in pods if revision_of(pod) == update]
        seconds, now = spec.get("minReadySeconds", 0), self.clock.now()
        if len(updated) == len(pods) == spec["replicas"]:
            current = update  # ready or not: at this point the real controller forgets the old revision too
        status: Obj = {
            "observedGeneration": clone_set["metadata"]["generation"],
            "replicas": len(pods),
            "readyReplicas": sum(map(is_ready, pods)),
            "availableReplicas": sum(is_available(pod, seconds, now) for pod in pods),
            "updatedReplicas": len(updated),
            "updatedReadyReplicas": sum(map(is_ready, updated)),
            "updatedAvailableReplicas": sum(is_available(pod, seconds, now) for pod in updated),
            "expectedUpdatedReplicas": spec["replicas"] - partition_of(clone_set),
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": revisions.collisions,
            "labelSelector": selector_text(spec["selector"]),
        }
        if clone_set.get("status") != status:
            changed = {**clone_set, "status": status}
            self.access.update(self.resource, changed, manager=MANAGER, subresource="status")

    def _record_event(self, clone_set: Obj, reason: str, message: str) -> None:
        self.events.event(clone_set, "Normal", reason, message, component=self.name)


def partition_of(clone_set: Obj) -> int:
    """The number of pods that stay at the old revision. Percentages round up, but below 100% at least one pod is
    updated.
    """
    spec = clone_set["spec"]
    replicas: int = spec["replicas"]
    partition = (spec.get("updateStrategy") or {}).get("partition", 0)
    held = min(scaled(partition, replicas, up=True), replicas)
    if isinstance(partition, str) and partition != "100%" and held == replicas:
        return max(replicas - 1, 0)
    return held
