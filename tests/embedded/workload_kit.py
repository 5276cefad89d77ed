"""A minimal cluster for tests of workload controllers: store, access, controllers and a simple kubelet.

Time is a heap of calls that :meth:`World.run` executes one after the other, so waiting costs no time and every run has
the same history.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import resources
from uniteddeployment.embedded.controllers.deployment.controller import DeploymentController
from uniteddeployment.embedded.controllers.disruption import DisruptionController
from uniteddeployment.embedded.controllers.endpoints.controller import EndpointSliceController
from uniteddeployment.embedded.controllers.events.recorder import Recorder
from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.controllers.job.controller import JobController
from uniteddeployment.embedded.controllers.replicaset import ReplicaSetController
from uniteddeployment.embedded.controllers.statefulset.controller import StatefulSetController
from uniteddeployment.embedded.requests.local import LocalAccess
from uniteddeployment.embedded.storage.registry import Registry
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Store

NAMESPACE = "ns"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ALL: tuple[type[Controller], ...] = (
    StatefulSetController,
    DeploymentController,
    ReplicaSetController,
    JobController,
    DisruptionController,
    EndpointSliceController,
)


@dataclass(order=True)
class Call:
    """A scheduled call."""

    due: float
    number: int
    callback: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class HeapClock:
    """Time that advances only when it is run."""

    def __init__(self) -> None:
        self.time = 0.0
        self.calls: list[Call] = []
        self._numbers = count()

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.time)

    def monotonic(self) -> float:
        return self.time

    def call_soon(self, callback: Callable[[], None]) -> Call:
        return self.call_later(0, callback)

    def call_later(self, delay: float, callback: Callable[[], None]) -> Call:
        call = Call(self.time + delay, next(self._numbers), callback)
        heapq.heappush(self.calls, call)
        return call

    def run(self, until: float) -> None:
        while self.calls and self.calls[0].due <= until:
            call = heapq.heappop(self.calls)
            if not call.cancelled:
                self.time = max(self.time, call.due)
                call.callback()
        self.time = max(self.time, until)


class Kubelets:
    """All kubelets and the scheduler: pods run 0.1 s after their creation and are gone 0.2 s after their deletion.

    Images determine their behavior, as in the recordings: ``fail:*`` is never ready, ``complete:*`` and ``exit1:*``
    end.
    """

    def __init__(self, access: LocalAccess, clock: HeapClock) -> None:
        self.access, self.clock = access, clock
        self.hold = False
        self._addresses = count(1)
        access.subscribe("pods", self._note)

    def _note(self, change: Change) -> None:
        metadata = change.obj["metadata"]
        name, uid = metadata["name"], metadata["uid"]
        if change.type == "ADDED" and not self.hold:
            self.clock.call_later(0.1, lambda: self.run(name, uid))
        old = change.old["metadata"] if change.old else {}
        if change.type == "MODIFIED" and metadata.get("deletionTimestamp") and not old.get("deletionTimestamp"):
            self.clock.call_later(0.2, lambda: self._end(name, uid))

    def run(self, name: str, uid: str) -> None:
        pod = self.access.get("pods", NAMESPACE, name)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        number = next(self._addresses)
        placed = {**pod, "spec": {**pod["spec"], "nodeName": f"node-{number % 3}"}}
        pod = self.access.update("pods", placed, manager="kube-scheduler", subresource="binding")
        image = pod["spec"]["containers"][0]["image"].split(":")[0]
        phase = {"complete": "Succeeded", "exit1": "Failed"}.get(image, "Running")
        self.status(pod, phase, ready=image not in {"complete", "exit1", "fail"}, address=f"10.0.0.{number}")

    def status(self, pod: Obj, phase: str, *, ready: bool, address: str = "") -> None:
        now = timestamp(self.clock.now())
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now}
        old = pod.get("status") or {}
        ended = {"state": {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": now}}}
        status = {
            **old,
            "phase": phase,
            "conditions": [condition],
            "podIP": address or old.get("podIP", ""),
            "containerStatuses": [{"name": "c", "restartCount": 0} | (ended if phase != "Running" else {})],
        }
        self.access.update("pods", {**pod, "status": status}, manager="kubelet", subresource="status")

    def _end(self, name: str, uid: str) -> None:
        pod = self.access.get("pods", NAMESPACE, name)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self.access.delete("pods", NAMESPACE, name, grace_seconds=0)


class World:
    """One cluster with its controllers, and shortcuts."""

    def __init__(self, *kinds: type[Controller], seed: int = 1) -> None:
        self.clock = HeapClock()
        self.random = Random(seed)
        store = Store(monotonic=self.clock.monotonic)
        registry = Registry(store)
        registry.register(resources())
        self.core = Core(store, registry, self.clock, self.random)
        self.access = LocalAccess(self.core)
        self.history: list[tuple[str, str, Obj]] = []
        self.access.subscribe("*", lambda c: self.history.append((c.type, c.resource, c.obj)))
        self.kubelets = Kubelets(self.access, self.clock)
        self.access.create("namespaces", {"metadata": {"name": NAMESPACE}}, manager="test")
        recorder = Recorder(self.access, self.clock)
        self.controllers = [kind(self.access, self.clock, self.random, recorder) for kind in kinds or ALL]
        for controller in self.controllers:
            controller.start()

    def run(self, seconds: float = 30.0) -> None:
        self.clock.run(self.clock.time + seconds)

    def create(self, resource: str, obj: Obj) -> Obj:
        obj = {**obj, "metadata": {"namespace": NAMESPACE, **obj["metadata"]}}
        return self.access.create(resource, obj, manager="test")

    def get(self, resource: str, name: str) -> Obj:
        result = self.access.get(resource, NAMESPACE, name)
        assert result is not None, f"{resource} {name} is not there"
        return result

    def all(self, resource: str) -> list[Obj]:
        return list(self.access.list(resource, NAMESPACE))

    def set(self, resource: str, name: str, path: str, value: Any) -> Obj:
        """Set one field by a dotted path, with numbers for list items. None removes it."""
        obj = _with(self.get(resource, name), path.split("."), value)
        return self.access.update(resource, obj, manager="test")

    def delete(self, resource: str, name: str, **options: Any) -> None:
        self.access.delete(resource, NAMESPACE, name, **options)

    def images(self) -> dict[str, str]:
        """Pod -> image."""
        return {pod["metadata"]["name"]: image_of(pod) for pod in self.all("pods")}

    def messages(self, reason: str) -> list[str]:
        """Messages of events, in order."""
        events = sorted(self.all("events"), key=lambda event: int(event["metadata"]["name"].rpartition(".")[2], 16))
        return [event["message"] for event in events if event["reason"] == reason]

    def pod_history(self) -> list[tuple[str, str]]:
        """(ADDED or DELETED, pod) in the order of commits."""
        wanted = {"ADDED", "DELETED"}
        return [(t, obj["metadata"]["name"]) for t, r, obj in self.history if r == "pods" and t in wanted]


def image_of(pod: Obj) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def template(image: str = "app:1", **labels: str) -> Obj:
    """A pod template with the label ``app=web`` and one container."""
    return {
        "metadata": {"labels": {"app": "web", **labels}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": image}]},
    }


def stateful_set(**spec: Any) -> Obj:
    base = {"replicas": 3, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return {"metadata": {"name": "web"}, "spec": base | spec}


def deployment(**spec: Any) -> Obj:
    base = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return {"metadata": {"name": "web"}, "spec": base | spec}


def counts(obj: Obj, *names: str) -> list[int]:
    """Counts of a status, in order."""
    return [(obj.get("status") or {}).get(name, 0) for name in names]


def reasons(obj: Obj) -> dict[str, str]:
    """Condition -> ``status reason``."""
    conditions: Iterable[Obj] = (obj.get("status") or {}).get("conditions") or ()
    return {c["type"]: f"{c['status']} {c['reason']}" for c in conditions}


def _with(value: Any, path: list[str], new: Any) -> Any:
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_with(item, rest, new) if str(i) == step else item for i, item in enumerate(value)]
    changed = {**value, step: _with(value.get(step, {}), rest, new)}
    if new is None and not rest:
        del changed[step]
    return changed
