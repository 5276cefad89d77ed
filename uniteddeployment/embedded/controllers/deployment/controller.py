"""The Deployment controller: one ReplicaSet per template, and rollouts from old ReplicaSets to the newest one.

A sync makes one change (the newest ReplicaSet grows, or old ones shrink) and writes the status. Progress shows in the
statuses of the ReplicaSets, whose changes queue the Deployment again.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.deployment import numbers
from uniteddeployment.embedded.controllers.deployment import replicasets as sets
from uniteddeployment.embedded.controllers.deployment import status as state
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.framework.controller import Key
from uniteddeployment.embedded.controllers.workloads.hashing import template_hash
from uniteddeployment.embedded.controllers.workloads.ownership import MANAGER, OwningController, controlled, is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_finished
from uniteddeployment.embedded.errors import StatusError

REPLICA_SETS: Final = "replicasets.apps"


@dataclass(slots=True)
class Rollout:
    """A Deployment with its ReplicaSets, updated while a sync writes them."""

    deployment: Obj
    old: list[Obj]
    new: Obj | None
    collisions: int

    def every(self) -> list[Obj]:
        """All ReplicaSets, the newest last."""
        return [*self.old, *([self.new] if self.new is not None else [])]

    def replace(self, replica_set: Obj) -> None:
        """Replace a ReplicaSet by the state that was just written."""
        name = replica_set["metadata"]["name"]
        if self.new is not None and self.new["metadata"]["name"] == name:
            self.new = replica_set
        self.old = [replica_set if rs["metadata"]["name"] == name else rs for rs in self.old]


class DeploymentController(OwningController):
    """Rolls out Deployments: surge and unavailable, Recreate, pause, proportional scaling, history."""

    name: ClassVar[str] = "deployment-controller"
    resource: ClassVar[str] = "deployments.apps"
    kind: ClassVar[str] = "Deployment"

    def setup(self) -> None:
        self.watch_owners()
        self.watch_dependents(REPLICA_SETS)

    def sync(self, key: Key) -> None:
        deployment = self.access.get(self.resource, *key)
        if deployment is None:
            return
        replica_sets = self.claim(REPLICA_SETS, deployment)
        if not is_deleting(deployment):
            deployment = self._report_pause(deployment)
        new = sets.find_new(deployment, replica_sets)
        old = [replica_set for replica_set in replica_sets if replica_set is not new]
        collisions = (deployment.get("status") or {}).get("collisionCount") or 0
        rollout = Rollout(deployment, old, new, collisions)
        if is_deleting(deployment):
            self._report(rollout, rolling=False)
        elif deployment["spec"].get("paused") or numbers.is_scaling(deployment, replica_sets):
            self._resize(rollout)
        elif numbers.is_rolling(deployment):
            self._roll(rollout)
        else:
            self._recreate(rollout)

    # Strategies

    def _resize(self, rollout: Rollout) -> None:
        """Follow ``spec.replicas`` without moving pods between templates."""
        self._refresh_new(rollout)
        deployment, wanted = rollout.deployment, numbers.replicas_of(rollout.deployment)
        sole = numbers.sole_or_latest(rollout.new, rollout.old)
        if sole is not None:
            if numbers.replicas_of(sole) != wanted:
                self._scale(rollout, sole, wanted)
        elif numbers.is_saturated(deployment, rollout.new):
            for replica_set in numbers.active(rollout.old):
                self._scale(rollout, replica_set, 0)
        elif numbers.is_rolling(deployment):
            for replica_set, size in numbers.proportional_sizes(deployment, rollout.every()):
                self._scale(rollout, replica_set, size)
        if deployment["spec"].get("paused"):
            self._clean_up(rollout)
        self._report(rollout, rolling=False)

    def _roll(self, rollout: Rollout) -> None:
        """Make one change of a rolling update."""
        new = self._ensure_new(rollout)
        wanted = numbers.replicas_of(rollout.deployment)
        have = numbers.replicas_of(new)
        size = wanted if have > wanted else numbers.new_size(rollout.deployment, new, rollout.old)
        if size != have:
            self._scale(rollout, new, size)
            self._report(rollout)
            return
        shrunk = numbers.rolling_scale_down(rollout.deployment, new, rollout.old)
        for replica_set, smaller in shrunk:
            self._scale(rollout, replica_set, smaller)
        if not shrunk:
            self._clean_up_when_complete(rollout)
        self._report(rollout)

    def _recreate(self, rollout: Rollout) -> None:
        """Delete all old pods before the first new one is created."""
        self._refresh_new(rollout)
        shrinking = numbers.active(rollout.old)
        for replica_set in shrinking:
            self._scale(rollout, replica_set, 0)
        if not shrinking and not self._old_pods_run(rollout):
            new = self._ensure_new(rollout)
            if numbers.replicas_of(new) != numbers.replicas_of(rollout.deployment):
                self._scale(rollout, new, numbers.replicas_of(rollout.deployment))
            self._clean_up_when_complete(rollout)
        self._report(rollout)

    def _old_pods_run(self, rollout: Rollout) -> bool:
        pods = (pod for rs in rollout.old for pod in controlled(self.access, "pods", rs))
        return numbers.total_status(rollout.old, "replicas") > 0 or any(not is_finished(pod) for pod in pods)

    # The newest ReplicaSet

    def _refresh_new(self, rollout: Rollout) -> None:
        """Update revision and annotations of the newest ReplicaSet, if it exists, and the Deployment's revision."""
        if rollout.new is None:
            return
        revision = sets.next_revision(rollout.old)
        wanted = sets.renumbered(rollout.deployment, rollout.new, revision)
        if wanted != rollout.new:
            rollout.new = self.access.update(REPLICA_SETS, wanted, manager=MANAGER)
        message = f'Found new replica set "{rollout.new["metadata"]["name"]}"'
        number = rollout.new["metadata"]["annotations"][numbers.REVISION]
        self._record_new_replica_set(rollout, number, "FoundNewReplicaSet", message, replace=False)

    def _ensure_new(self, rollout: Rollout) -> Obj:
        self._refresh_new(rollout)
        return rollout.new if rollout.new is not None else self._create_new(rollout)

    def _create_new(self, rollout: Rollout) -> Obj:
        deployment = rollout.deployment
        size = numbers.new_size(deployment, None, rollout.old)
        revision = sets.next_revision(rollout.old)
        wanted = self._free_name(rollout, size, revision)
        name = wanted["metadata"]["name"]
        try:
            new = self.access.create(REPLICA_SETS, wanted, manager=MANAGER)
        except StatusError as error:
            if state.deadline_of(deployment) is not None:
                message = f'Failed to create new replica set "{name}": {error.message}'
                failed = state.condition("Progressing", "False", "ReplicaSetCreateError", message, self.clock.now())
                conditions = (deployment.get("status") or {}).get("conditions") or ()
                self._write(rollout, {**(deployment.get("status") or {}), "conditions": state.put(conditions, failed)})
            raise
        rollout.new = new
        if size > 0:
            self._record_event(deployment, f"Scaled up replica set {name} from 0 to {size}")
        self._record_new_replica_set(
            rollout, str(revision), "NewReplicaSetCreated", f'Created new replica set "{name}"'
        )
        return new

    def _free_name(self, rollout: Rollout, size: int, revision: int) -> Obj:
        """Create the new ReplicaSet under the first hash that no other object of the namespace uses."""
        deployment = rollout.deployment
        while True:
            digest = template_hash(deployment["spec"]["template"], rollout.collisions)
            wanted = sets.new_replica_set(deployment, digest, size, revision)
            metadata = wanted["metadata"]
            if self.access.get(REPLICA_SETS, metadata["namespace"], metadata["name"]) is None:
                return wanted
            rollout.collisions += 1

    def _record_new_replica_set(
        self, rollout: Rollout, revision: str, reason: str, message: str, *, replace: bool = True
    ) -> None:
        """Write the revision, and that a newest ReplicaSet exists, on the Deployment."""
        deployment = rollout.deployment
        status = deployment.get("status") or {}
        conditions = status.get("conditions") or []
        if state.deadline_of(deployment) is not None and (replace or not condition_of(status, "Progressing")):
            progressing = state.condition("Progressing", "True", reason, message, self.clock.now())
            conditions = state.put(conditions, progressing)
        annotations = deployment["metadata"].get("annotations") or {}
        if annotations.get(numbers.REVISION) != revision:
            metadata = {**deployment["metadata"], "annotations": {**annotations, numbers.REVISION: revision}}
            rollout.deployment = {**deployment, "metadata": metadata}
        elif conditions == (status.get("conditions") or []):
            return
        self._write(rollout, {**status, **({"conditions": conditions} if conditions else {})})

    # Writes

    def _scale(self, rollout: Rollout, replica_set: Obj, size: int) -> None:
        """Set the size of a ReplicaSet, and record the Deployment's size on it."""
        before = numbers.replicas_of(replica_set)
        metadata = replica_set["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **sets.size_annotations(rollout.deployment)}
        changed = {
            **replica_set,
            "metadata": {**metadata, "annotations": annotations},
            "spec": {**replica_set["spec"], "replicas": size},
        }
        rollout.replace(self.access.update(REPLICA_SETS, changed, manager=MANAGER))
        if size != before:
            way = "up" if size > before else "down"
            self._record_event(
                rollout.deployment, f"Scaled {way} replica set {metadata['name']} from {before} to {size}"
            )

    def _clean_up_when_complete(self, rollout: Rollout) -> None:
        counts = state.counted(rollout.deployment, rollout.new, rollout.old, rollout.collisions, self.clock.now())
        if state.is_complete(rollout.deployment, counts):
            self._clean_up(rollout)

    def _clean_up(self, rollout: Rollout) -> None:
        for replica_set in numbers.surplus_history(rollout.deployment, rollout.old):
            metadata = replica_set["metadata"]
            self.access.delete(REPLICA_SETS, metadata["namespace"], metadata["name"], uid=metadata["uid"])

    def _report_pause(self, deployment: Obj) -> Obj:
        """Report in the Progressing condition that a rollout is paused or resumed: paused time does not count for the
        deadline.
        """
        status = deployment.get("status") or {}
        reason = condition_of(status, "Progressing").get("reason")
        if state.deadline_of(deployment) is None or reason == "ProgressDeadlineExceeded":
            return deployment
        paused = bool(deployment["spec"].get("paused"))
        if paused == (reason == "DeploymentPaused"):
            return deployment
        verb = "paused" if paused else "resumed"
        condition = state.condition(
            "Progressing", "Unknown", f"Deployment{verb.capitalize()}", f"Deployment is {verb}", self.clock.now()
        )
        changed = {
            **deployment,
            "status": {**status, "conditions": state.put(status.get("conditions") or (), condition)},
        }
        return self.access.update(self.resource, changed, manager=MANAGER, subresource="status")

    def _report(self, rollout: Rollout, *, rolling: bool = True) -> None:
        now = self.clock.now()
        status = state.counted(rollout.deployment, rollout.new, rollout.old, rollout.collisions, now)
        if rolling:
            status = state.with_progress(rollout.deployment, status, rollout.new, rollout.every(), now)
        if status != rollout.deployment.get("status"):
            self._write(rollout, status)
        if rolling:
            left = state.seconds_to_deadline(rollout.deployment, now)
            if left is not None and not state.is_complete(rollout.deployment, status):
                metadata = rollout.deployment["metadata"]
                self.enqueue((metadata["namespace"], metadata["name"]), after=max(0.0, left) + 1.0)

    def _write(self, rollout: Rollout, status: Obj) -> None:
        deployment = {**rollout.deployment, "status": status}
        rollout.deployment = self.access.update(self.resource, deployment, manager=MANAGER, subresource="status")

    def _record_event(self, deployment: Obj, message: str) -> None:
        self.events.event(deployment, "Normal", "ScalingReplicaSet", message, component=self.name)
