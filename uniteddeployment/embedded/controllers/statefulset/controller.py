"""The StatefulSet controller: executes the steps that :mod:`.steps` computes, and maintains claims and history.

Each sync examines one set, its pods and its revisions, does everything that is possible now, and writes the status. It
never waits: the change of a pod (ready, deleted) queues the set again.
"""

from typing import ClassVar, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key
from uniteddeployment.embedded.controllers.framework.label_index import labels_of
from uniteddeployment.embedded.controllers.statefulset.pods import (
    claim_names,
    claim_owners,
    identity_labels,
    new_claims,
    new_pod,
    ordinal_of,
    revision_of,
    start_of,
)
from uniteddeployment.embedded.controllers.statefulset.status import status_of
from uniteddeployment.embedded.controllers.statefulset.steps import Step, View, next_steps
from uniteddeployment.embedded.controllers.workloads import revisions as history
from uniteddeployment.embedded.controllers.workloads.ownership import (
    MANAGER,
    OwningController,
    controlled,
    is_deleting,
    with_metadata,
)
from uniteddeployment.embedded.controllers.workloads.pods import next_availability, phase_of
from uniteddeployment.embedded.controllers.workloads.rounding import scaled
from uniteddeployment.embedded.errors import StatusError

CLAIMS: Final = "persistentvolumeclaims"
CLAIM_WAIT: Final = 1.0
"""Seconds until a pod is retried whose old claim is still being deleted."""


class StatefulSetController(OwningController):
    """Maintains pods with stable names, in order."""

    name: ClassVar[str] = "statefulset-controller"
    resource: ClassVar[str] = "statefulsets.apps"
    kind: ClassVar[str] = "StatefulSet"

    def setup(self) -> None:
        self.watch_owners()
        self.watch_dependents("pods")
        self.watch_dependents(history.RESOURCE)

    def sync(self, key: Key) -> None:
        stateful_set = self.access.get(self.resource, *key)
        if stateful_set is None:
            return
        pods = self.claim("pods", stateful_set, fits=lambda pod: ordinal_of(stateful_set, pod) is not None)
        past = history.ordered(self.claim(history.RESOURCE, stateful_set))
        if is_deleting(stateful_set):
            self._report_terminating(stateful_set, pods)
            return
        revisions = history.resolve(self.access, stateful_set, past)
        failure: StatusError | None = None
        try:
            self._maintain(stateful_set, pods)
            for step in next_steps(self._view(stateful_set, pods, revisions)):
                self._do(stateful_set, step, revisions)
        except StatusError as error:
            failure = error
        pods = list(controlled(self.access, "pods", stateful_set))
        self._report(stateful_set, pods, revisions)
        history.truncate(self.access, stateful_set, revisions, {revision_of(pod) for pod in pods})
        wait = next_availability(pods, stateful_set["spec"].get("minReadySeconds", 0), self.clock.now())
        if wait is not None:
            self.enqueue(key, after=wait)
        if failure is not None:
            raise failure

    def _view(self, stateful_set: Obj, pods: list[Obj], revisions: history.Revisions) -> View:
        spec = stateful_set["spec"]
        start, count = start_of(stateful_set), spec["replicas"]
        members: dict[int, Obj] = {}
        condemned = []
        for pod in pods:
            ordinal = ordinal_of(stateful_set, pod)
            if ordinal is None:
                continue
            if start <= ordinal < start + count:
                members[ordinal] = pod
            else:
                condemned.append((ordinal, pod))
        rolling = spec["updateStrategy"].get("rollingUpdate")
        limit = (rolling or {}).get("maxUnavailable")
        return View(
            start=start,
            count=count,
            pods=members,
            room=self.grant(stateful_set, count - len(members)),
            condemned=sorted(condemned, key=lambda item: item[0], reverse=True),
            current_revision=revisions.current["metadata"]["name"],
            update_revision=revisions.update["metadata"]["name"],
            ordered=spec["podManagementPolicy"] != "Parallel",
            min_ready_seconds=spec.get("minReadySeconds", 0),
            partition=(rolling or {}).get("partition", 0),
            current_replicas=None if rolling else (stateful_set.get("status") or {}).get("currentReplicas", 0),
            max_unavailable=None if limit is None else max(1, scaled(limit, count, up=False)),
            on_delete=spec["updateStrategy"]["type"] == "OnDelete",
            now=self.clock.now(),
        )

    def _do(self, stateful_set: Obj, step: Step, revisions: history.Revisions) -> None:
        if step.pod is None:
            self._create(stateful_set, step.ordinal, revisions.update if step.newest else revisions.current)
            return
        if step.act == "recreate":
            self._record_recreation(stateful_set, step.pod)
        self._delete(stateful_set, step.pod)

    def _create(self, stateful_set: Obj, ordinal: int, revision: Obj) -> None:
        metadata = stateful_set["metadata"]
        pod = new_pod(stateful_set, revision, ordinal)
        if self._old_claim_is_leaving(stateful_set, ordinal, pod):
            self.enqueue((metadata["namespace"], metadata["name"]), after=CLAIM_WAIT)
            return
        self._create_claims(stateful_set, ordinal)
        what = f"Create Pod {pod['metadata']['name']} in StatefulSet {metadata['name']}"
        try:
            self.access.create("pods", pod, manager=MANAGER)
        except StatusError as error:
            self._record_event(stateful_set, "Warning", "FailedCreate", f"{what} failed error: {error.message}")
            raise
        self._record_event(stateful_set, "Normal", "SuccessfulCreate", f"{what} successful")

    def _delete(self, stateful_set: Obj, pod: Obj) -> None:
        metadata = pod["metadata"]
        what = f"Delete Pod {metadata['name']} in StatefulSet {stateful_set['metadata']['name']}"
        try:
            self.access.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"])
        except StatusError as error:
            self._record_event(stateful_set, "Warning", "FailedDelete", f"{what} failed error: {error.message}")
            raise
        self._record_event(stateful_set, "Normal", "SuccessfulDelete", f"{what} successful")

    def _old_claim_is_leaving(self, stateful_set: Obj, ordinal: int, pod: Obj) -> bool:
        """Whether a claim of a pod that was scaled down still exists: the new pod must not get it."""
        name = pod["metadata"]["name"]
        for claim_name in claim_names(stateful_set, ordinal).values():
            claim = self.access.get(CLAIMS, stateful_set["metadata"]["namespace"], claim_name)
            if claim is None:
                continue
            owners = claim["metadata"].get("ownerReferences") or ()
            if is_deleting(claim) or any(o["kind"] == "Pod" and o["name"] == name for o in owners):
                return True
        return False

    def _create_claims(self, stateful_set: Obj, ordinal: int) -> None:
        for claim in new_claims(stateful_set, ordinal):
            namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
            if self.access.get(CLAIMS, namespace, name) is not None:
                continue
            set_name = stateful_set["metadata"]["name"]
            where = f"Pod {set_name}-{ordinal} in StatefulSet {set_name}"
            try:
                self.access.create(CLAIMS, claim, manager=MANAGER)
            except StatusError as error:
                message = f"Create Claim {name} for {where} failed error: {error.message}"
                self._record_event(stateful_set, "Warning", "FailedCreate", message)
                raise
            self._record_event(stateful_set, "Normal", "SuccessfulCreate", f"Create Claim {name} {where} success")

    def _maintain(self, stateful_set: Obj, pods: list[Obj]) -> None:
        """Maintain the identity labels of pods, their claims, and the claims' owners."""
        start, count = start_of(stateful_set), stateful_set["spec"]["replicas"]
        templates = stateful_set["spec"].get("volumeClaimTemplates")
        for pod in pods:
            ordinal = ordinal_of(stateful_set, pod)
            if ordinal is None:
                continue
            wanted = identity_labels(stateful_set, ordinal)
            if not is_deleting(pod) and wanted.items() - labels_of(pod).items():
                self.access.update("pods", with_metadata(pod, labels={**labels_of(pod), **wanted}), manager=MANAGER)
            if not templates:
                continue
            condemned = not start <= ordinal < start + count
            if not condemned and not is_deleting(pod) and phase_of(pod) == "Pending":
                self._create_claims(stateful_set, ordinal)
            for claim_name in claim_names(stateful_set, ordinal).values():
                claim = self.access.get(CLAIMS, stateful_set["metadata"]["namespace"], claim_name)
                owners = claim and claim_owners(stateful_set, claim, pod, condemned=condemned)
                if claim is not None and owners is not None:
                    self.access.update(CLAIMS, with_metadata(claim, ownerReferences=owners), manager=MANAGER)

    def _report(self, stateful_set: Obj, pods: list[Obj], revisions: history.Revisions) -> None:
        status = status_of(
            stateful_set,
            pods,
            current=revisions.current["metadata"]["name"],
            update=revisions.update["metadata"]["name"],
            collisions=revisions.collisions,
            now=self.clock.now(),
        )
        self._write_status(stateful_set, status)

    def _report_terminating(self, stateful_set: Obj, pods: list[Obj]) -> None:
        """Report the status of a terminating set, without writing revisions; the garbage collector deletes its pods."""
        old = stateful_set.get("status") or {}
        status = status_of(
            stateful_set,
            pods,
            current=old.get("currentRevision", ""),
            update=old.get("updateRevision", ""),
            collisions=old.get("collisionCount") or 0,
            now=self.clock.now(),
        )
        self._write_status(stateful_set, status)

    def _write_status(self, stateful_set: Obj, status: Obj) -> None:
        if stateful_set.get("status") != status:
            changed = {**stateful_set, "status": status}
            self.access.update(self.resource, changed, manager=MANAGER, subresource="status")

    def _record_recreation(self, stateful_set: Obj, pod: Obj) -> None:
        metadata = stateful_set["metadata"]
        failed = phase_of(pod) == "Failed"
        self._record_event(
            stateful_set,
            "Warning" if failed else "Normal",
            "RecreatingFailedPod" if failed else "RecreatingTerminatedPod",
            f"StatefulSet {metadata['namespace']}/{metadata['name']} is recreating "
            f"{'failed' if failed else 'terminated'} Pod {pod['metadata']['name']}",
        )

    def _record_event(self, stateful_set: Obj, type_: str, reason: str, message: str) -> None:
        self.events.event(stateful_set, type_, reason, message, component=self.name)
