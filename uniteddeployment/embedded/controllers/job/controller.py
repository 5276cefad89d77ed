"""The Job controller: runs pods to completion, counts each exactly once, and deletes Jobs after their time to live.

A finalizer keeps each pod until it is counted, even if the pod is deleted early.
"""

from typing import ClassVar, Final

from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.framework.controller import Key
from uniteddeployment.embedded.controllers.framework.times import seconds_since
from uniteddeployment.embedded.controllers.job import state
from uniteddeployment.embedded.controllers.job.state import Tally
from uniteddeployment.embedded.controllers.workloads.ownership import (
    MANAGER,
    OwningController,
    controlled,
    controller_of,
    is_deleting,
    with_metadata,
)
from uniteddeployment.embedded.controllers.workloads.pods import deletion_order, pod_from_template
from uniteddeployment.embedded.errors import StatusError

NAME_LABEL: Final = "batch.kubernetes.io/job-name"
INDEX_VARIABLE: Final = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{state.INDEX}']"}},
}


class JobController(OwningController):
    """Runs Jobs, and deletes finished ones after ``ttlSecondsAfterFinished``."""

    name: ClassVar[str] = "job-controller"
    resource: ClassVar[str] = "jobs.batch"
    kind: ClassVar[str] = "Job"

    def setup(self) -> None:
        self.watch_owners()
        self.watch_dependents("pods")

    def sync(self, key: Key) -> None:
        job = self.access.get(self.resource, *key)
        self._untrack_leftovers(key, job)
        if job is None:
            return
        if is_deleting(job) or state.finish_of(job) is not None:
            for pod in controlled(self.access, "pods", job):
                self._untrack(pod)
            self._expire(job)
            return
        pods = self.claim("pods", job)
        counts = state.tally(job, pods)
        status = self._started(job)
        job = {**job, "status": status}
        failure: StatusError | None = None
        outcome = state.outcome(job, counts, self.clock.now())
        if outcome is None:
            try:
                self._manage(job, pods, counts)
            except StatusError as error:
                failure = error
            self._wait_for_deadline(job)
        else:
            for pod in counts.active:
                self._delete(job, pod)
        pods = list(controlled(self.access, "pods", job))
        self._report(job, counts, state.tally(job, pods), outcome)
        for pod in counts.ended:
            self._untrack(pod)
        if failure is not None:
            raise failure

    def _started(self, job: Obj) -> Obj:
        """The status with its start time and the condition Suspended."""
        status = dict(job.get("status") or {})
        suspended = bool(job["spec"].get("suspend"))
        present = condition_of(status, "Suspended")
        if suspended:
            status.pop("startTime", None)
        if suspended != (present.get("status") == "True"):
            verb = "suspended" if suspended else "resumed"
            now = timestamp(self.clock.now())
            condition = {
                "type": "Suspended",
                "status": "True" if suspended else "False",
                "lastProbeTime": now,
                "lastTransitionTime": now,
                "reason": f"Job{verb.capitalize()}",
                "message": f"Job {verb}",
            }
            others = [c for c in status.get("conditions") or () if c["type"] != "Suspended"]
            status["conditions"] = [*others, condition]
            self._record_event(job, "Normal", verb.capitalize(), f"Job {verb}")
        if not suspended and not status.get("startTime"):
            status["startTime"] = timestamp(self.clock.now())
        return status

    def _manage(self, job: Obj, pods: list[Obj], counts: Tally) -> None:
        """Create missing pods or delete surplus ones."""
        now = self.clock.now()
        wanted, active = state.wanted_pods(job, counts), len(counts.active)
        if active > wanted:
            for pod in deletion_order(counts.active, counts.active, now)[: active - wanted]:
                # Not counted as failed, because the Job itself deletes it.
                self._untrack(pod)
                self._delete(job, pod)
            return
        occupied = active
        if job["spec"].get("podReplacementPolicy") == "Failed":
            occupied += len(counts.terminating)
        missing = wanted - occupied
        if missing <= 0:
            return
        left = state.backoff_left(pods, now)
        if left > 0:
            self.enqueue((job["metadata"]["namespace"], job["metadata"]["name"]), after=left)
            return
        missing = self.grant(job, missing)
        indexes: list[int | None] = [None] * missing
        if state.is_indexed(job):
            indexes = list(state.free_indexes(job, counts, missing))
        for index in indexes:
            self._create(job, index)

    def _create(self, job: Obj, index: int | None) -> None:
        name = job["metadata"]["name"]
        pod = pod_from_template(
            job["spec"]["template"], job, prefix=f"{name}-" if index is None else f"{name}-{index}-"
        )
        metadata = pod["metadata"]
        metadata["finalizers"] = [*metadata.get("finalizers", ()), state.TRACKING]
        if index is not None:
            for field in ("labels", "annotations"):
                metadata[field] = {**metadata.get(field, {}), state.INDEX: str(index)}
            pod["spec"].setdefault("hostname", f"{name}-{index}")
            for field in ("containers", "initContainers"):
                if field in pod["spec"]:
                    pod["spec"][field] = [_indexed(container) for container in pod["spec"][field]]
        try:
            created = self.access.create("pods", pod, manager=MANAGER)
        except StatusError as error:
            self._record_event(job, "Warning", "FailedCreate", f"Error creating: {error.message}")
            raise
        self._record_event(job, "Normal", "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")

    def _delete(self, job: Obj, pod: Obj) -> None:
        metadata = pod["metadata"]
        self.access.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"])
        self._record_event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {metadata['name']}")

    def _untrack(self, pod: Obj) -> None:
        """Remove the tracking finalizer of a pod that is counted or that no Job counts."""
        metadata = pod["metadata"]
        live = self.access.get("pods", metadata["namespace"], metadata["name"])
        if live is None or live["metadata"]["uid"] != metadata["uid"] or not state.is_tracked(live):
            return
        finalizers = [f for f in live["metadata"]["finalizers"] if f != state.TRACKING]
        self.access.update("pods", with_metadata(live, finalizers=finalizers), manager=MANAGER)

    def _untrack_leftovers(self, key: Key, job: Obj | None) -> None:
        """Remove the finalizer of pods whose Job was deleted or replaced by another one of the same name."""
        if job is not None and not is_deleting(job):
            return
        namespace, name = key
        for pod in self.access.list("pods", namespace, labels={NAME_LABEL: name}):
            reference = controller_of(pod)
            if job is None or reference is None or reference["uid"] != job["metadata"]["uid"]:
                self._untrack(pod)

    def _report(self, job: Obj, counted: Tally, present: Tally, outcome: tuple[str, str, str] | None) -> None:
        """Write the counts including ``counted``, the number of pods and, once no pod is left, the final condition."""
        status = {key: value for key, value in job["status"].items() if key not in {"active", "succeeded", "failed"}}
        status |= {
            "ready": present.ready,
            "terminating": len(present.terminating),
            "uncountedTerminatedPods": {},
        }
        numbers = (("active", len(present.active)), ("succeeded", counted.succeeded), ("failed", counted.failed))
        status |= {name: number for name, number in numbers if number}
        if counted.indexes:
            status["completedIndexes"] = str(counted.indexes)
        if outcome is not None:
            self._set_conditions(job, status, outcome, over=not present.active and not present.terminating)
        stored = self.access.get(self.resource, job["metadata"]["namespace"], job["metadata"]["name"])
        if stored is not None and stored.get("status") != status:
            self.access.update(self.resource, {**job, "status": status}, manager=MANAGER, subresource="status")

    def _set_conditions(self, job: Obj, status: Obj, outcome: tuple[str, str, str], *, over: bool) -> None:
        """Set the interim condition, and the final one once the last pod is gone."""
        type_, reason, message = outcome
        now = timestamp(self.clock.now())
        announced = "SuccessCriteriaMet" if type_ == "Complete" else "FailureTarget"
        conditions = list(status.get("conditions") or ())
        for wanted in (announced, type_) if over else (announced,):
            if not any(condition["type"] == wanted for condition in conditions):
                conditions.append(
                    {
                        "type": wanted,
                        "status": "True",
                        "lastProbeTime": now,
                        "lastTransitionTime": now,
                        "reason": reason,
                        "message": message,
                    }
                )
        status["conditions"] = conditions
        if not over:
            return
        if type_ == "Complete":
            status["completionTime"] = now
            self._record_event(job, "Normal", "Completed", "Job completed")
        else:
            self._record_event(job, "Warning", reason, message)

    def _wait_for_deadline(self, job: Obj) -> None:
        left = state.seconds_to_deadline(job, self.clock.now())
        if left is not None:
            self.enqueue((job["metadata"]["namespace"], job["metadata"]["name"]), after=max(left, 0.0) + 0.001)

    def _expire(self, job: Obj) -> None:
        """Delete a finished Job at the end of its time to live."""
        finish, ttl = state.finish_of(job), job["spec"].get("ttlSecondsAfterFinished")
        if finish is None or ttl is None or is_deleting(job):
            return
        metadata = job["metadata"]
        left = ttl - seconds_since(finish["lastTransitionTime"], self.clock.now())
        if left > 0:
            self.enqueue((metadata["namespace"], metadata["name"]), after=left)
            return
        self.access.delete(
            self.resource, metadata["namespace"], metadata["name"], uid=metadata["uid"], propagation="Foreground"
        )

    def _record_event(self, job: Obj, type_: str, reason: str, message: str) -> None:
        self.events.event(job, type_, reason, message, component=self.name)


def _indexed(container: Obj) -> Obj:
    """A container with its completion index in the environment."""
    variables = container.get("env") or []
    if any(variable["name"] == INDEX_VARIABLE["name"] for variable in variables):
        return container
    return {**container, "env": [*variables, INDEX_VARIABLE]}
