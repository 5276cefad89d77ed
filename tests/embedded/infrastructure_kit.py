"""A cluster with nodes and all default controllers, for tests of infrastructure controllers."""

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.embedded.workload_kit import HeapClock
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.controllers.kubelet.nodes import node_object

NAMESPACE = "ns"
HEARTBEATS = [("MODIFIED", kind, f"n{i}") for i in (1, 2, 3) for kind in ("nodes", "leases.coordination.k8s.io")]
"""The resources that a settled cluster writes within five minutes."""
SELECTED = "1 node(s) didn't match Pod's node affinity/selector"


class Site:
    """A cluster with three zones of one node each, and shortcuts."""

    def __init__(self, *, nodes: int = 3, seed: int = 1, cpu: str = "8", ready_after: float = 0.0) -> None:
        self.clock = HeapClock()
        self.cluster = Cluster("n", clock=self.clock, random=Random(seed), nodes=0)
        self.access = self.cluster.access
        self.history: list[tuple[str, str, str]] = []
        self.access.subscribe("*", lambda c: self.history.append((c.type, c.resource, c.obj["metadata"]["name"])))
        self.access.create("namespaces", {"metadata": {"name": NAMESPACE}}, manager="test")
        for i in range(1, nodes + 1):
            node = node_object(f"n{i}", zone=f"z{i}", cpu=cpu, ready_after=ready_after)
            self.access.create("nodes", node, manager="test")
        self.cluster.start()
        self.run(1)

    def controller(self, name: str) -> Controller:
        """One of the cluster's controllers."""
        return next(item for item in self.cluster._controllers if item.name == name)

    def run(self, seconds: float = 1.0) -> None:
        self.clock.run(self.clock.time + seconds)

    def create(self, resource: str, obj: Obj, *, namespaced: bool = True) -> Obj:
        place = {"namespace": NAMESPACE} if namespaced else {}
        return self.access.create(resource, {**obj, "metadata": {**place, **obj["metadata"]}}, manager="test")

    def find(self, resource: str, name: str, namespace: str = NAMESPACE) -> Obj | None:
        return self.access.get(resource, namespace, name)

    def get(self, resource: str, name: str, namespace: str = NAMESPACE) -> Obj:
        results = self.find(resource, name, namespace)
        assert results is not None, f"{resource} {name} is not there"
        return results

    def node(self, name: str) -> Obj:
        return self.get("nodes", name, "")

    def pod(self, name: str) -> Obj:
        return self.get("pods", name)

    def delete(self, resource: str, name: str, namespace: str = NAMESPACE, **options: Any) -> None:
        self.access.delete(resource, namespace, name, **options)

    def patch(
        self, resource: str, name: str, *, namespace: str = NAMESPACE, subresource: str = "", **parts: Any
    ) -> Obj:
        """Replace top-level fields, merging one level deep."""
        obj = self.get(resource, name, namespace)
        new = {**obj, **{part: {**(obj.get(part) or {}), **value} for part, value in parts.items()}}
        return self.access.update(resource, new, manager="test", subresource=subresource)

    def place(self, name: str, **spec: Any) -> str:
        """Create a pod, let the cluster settle, and return its node (empty for none)."""
        self.create("pods", pod(name, **spec))
        self.run()
        return self.node_of(name)

    def node_of(self, name: str) -> str:
        return str(self.pod(name)["spec"].get("nodeName", ""))

    def refusal(self, name: str) -> str:
        """The reason why a pod has no node."""
        condition = condition_of(self.pod(name)["status"], "PodScheduled")
        assert (condition.get("status"), condition.get("reason")) == ("False", "Unschedulable"), condition
        return str(condition["message"])

    def reasons(self, about: str) -> Iterator[tuple[str, str]]:
        """(reason, message) of the events about an object."""
        for event in self.access.list("events"):
            if event["involvedObject"]["name"] == about:
                yield event["reason"], event["message"]

    def writes(self, seconds: float) -> list[tuple[str, str, str]]:
        """The writes within a period."""
        before = len(self.history)
        self.run(seconds)
        return self.history[before:]


def pod(name: str, *, labels: dict[str, str] | None = None, image: str = "app:1", **spec: Any) -> Obj:
    """A pod with one container; ``cpu`` and ``memory`` are its requests, other arguments go into its spec."""
    wanted = {key: spec.pop(key) for key in ("cpu", "memory") if key in spec}
    container: Obj = {"name": "c", "image": image}
    if wanted:
        container["resources"] = {"requests": wanted}
    return {"metadata": {"name": name, "labels": labels or {"app": "x"}}, "spec": {"containers": [container], **spec}}


def required_terms(*terms: Obj) -> Obj:
    """Required node affinity."""
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": affinity}}


def ready(obj: Obj) -> str:
    """The status of the Ready condition."""
    return str(condition_of(obj.get("status"), "Ready").get("status", ""))
