"""Node health: silent nodes become Unknown, conditions become taints, and pods on unhealthy nodes become unready.

A node with a running simulated agent counts as alive without any write. Other nodes must report through their Ready
condition or a Lease, as in a real cluster.
"""

from collections.abc import Iterable
from random import Random
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.conditions import condition_of, with_condition
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.kubelet.nodes import agent_of
from uniteddeployment.embedded.controllers.node.pods import PodsByNode

MANAGER: Final = "kube-controller-manager"
COMPONENT: Final = "node-controller"

GRACE: Final = 50.0
"""Seconds of silence after which a node counts as lost."""

STARTUP_GRACE: Final = 60.0
"""The same for a node that never reported."""

LEASES: Final = "kube-node-lease"

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

_NO_SCHEDULE: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_OURS: Final = frozenset(_NO_SCHEDULE.values()) | {UNSCHEDULABLE}
_NO_EXECUTE: Final = {"False": NOT_READY, "Unknown": UNREACHABLE}


def wanted_taints(node: Obj, moment: str) -> list[Obj]:
    """The taints that a node's conditions require; taints set by others stay."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    wanted: dict[tuple[str, str], None] = {}
    for condition in status.get("conditions") or ():
        key = _NO_SCHEDULE.get((condition["type"], condition["status"]))
        if key is not None:
            wanted[key, "NoSchedule"] = None
        if condition["type"] == "Ready" and condition["status"] in _NO_EXECUTE:
            wanted[_NO_EXECUTE[condition["status"]], "NoExecute"] = None
    if spec.get("unschedulable"):
        wanted[UNSCHEDULABLE, "NoSchedule"] = None
    taints = []
    for taint in spec.get("taints") or ():
        slot = (taint["key"], taint["effect"])
        # A PreferNoSchedule taint with one of these keys was set by a user.
        if slot in wanted or taint["key"] not in _OURS or taint["effect"] == "PreferNoSchedule":
            taints.append(taint)
            wanted.pop(slot, None)
    return taints + [{"key": key, "effect": effect, "timeAdded": moment} for key, effect in wanted]


def lost_conditions(node: Obj, moment: str) -> list[Obj]:
    """The conditions of a lost node."""
    conditions = []
    for type_ in _REPORTED:
        before = condition_of(node.get("status"), type_)
        reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
        if not before:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
        conditions.append(
            {
                "type": type_,
                "status": "Unknown",
                "lastHeartbeatTime": before.get("lastHeartbeatTime", node["metadata"]["creationTimestamp"]),
                "lastTransitionTime": moment,
                "reason": reason,
                "message": message,
            }
        )
    return conditions


class NodeLifecycle(Controller):
    """Keys are nodes."""

    name: ClassVar[str] = "nodelifecycle"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._pods = PodsByNode()
        self._heartbeats: dict[str, float] = {}
        self._writing = False

    def setup(self) -> None:
        self._unsubscribe.append(self._pods.follow(self.access))
        self._unsubscribe.append(self.access.subscribe("nodes", self._on_node))
        self._unsubscribe.append(self.access.subscribe("leases.coordination.k8s.io", self._on_lease))
        for node in self.access.list("nodes"):
            self._record_heartbeat(node["metadata"]["name"])

    def _record_heartbeat(self, name: str) -> None:
        self._heartbeats[name] = self.clock.monotonic()
        self.enqueue(("", name))

    def _on_node(self, change: Change) -> None:
        node, old = change.obj, change.old
        name = node["metadata"]["name"]
        if change.type == "DELETED":
            self._heartbeats.pop(name, None)
        elif old is None or (not self._writing and _sign_of_life(node, old)):
            self._record_heartbeat(name)
        else:
            self.enqueue(("", name))

    def _on_lease(self, change: Change) -> None:
        metadata = change.obj["metadata"]
        if metadata["namespace"] == LEASES and change.type != "DELETED" and metadata["name"] in self._heartbeats:
            self._record_heartbeat(metadata["name"])

    def sync(self, key: Key) -> None:
        node = self.access.get("nodes", *key)
        if node is None:
            return
        node = self._check_heartbeat(node)
        node = self._taint(node)
        ready = condition_of(node.get("status"), "Ready")
        if ready and ready.get("status") != "True":
            self._mark_pods(node)

    def _check_heartbeat(self, node: Obj) -> Obj:
        """Mark a node as lost if it was silent for too long."""
        agent = agent_of(node)
        ready = condition_of(node.get("status"), "Ready")
        if (agent is not None and agent.running) or ready.get("status") == "Unknown":
            return node
        name = node["metadata"]["name"]
        left = self._heartbeats[name] + (GRACE if ready else STARTUP_GRACE) - self.clock.monotonic()
        if left > 1e-6:
            self.enqueue(("", name), after=left)
            return node
        moment = timestamp(self.clock.now())
        status = with_condition(node.get("status") or {}, *lost_conditions(node, moment))
        if ready:
            text = f"Node {name} status is now: NodeNotReady"
            self.events.event(node, "Normal", "NodeNotReady", text, component=COMPONENT)
        return self._write({**node, "status": status}, subresource="status")

    def _taint(self, node: Obj) -> Obj:
        """Write the taints that the conditions require, if they differ."""
        spec = node.get("spec") or {}
        taints = wanted_taints(node, timestamp(self.clock.now()))
        if taints == (spec.get("taints") or []):
            return node
        tainted = {key: value for key, value in spec.items() if key != "taints"}
        if taints:
            tainted["taints"] = taints
        return self._write({**node, "spec": tainted})

    def _write(self, node: Obj, *, subresource: str = "") -> Obj:
        self._writing = True
        try:
            return self.access.update("nodes", node, manager=MANAGER, subresource=subresource)
        finally:
            self._writing = False

    def _mark_pods(self, node: Obj) -> None:
        """Mark the pods of an unhealthy node as not ready."""
        name = node["metadata"]["name"]
        for pod in self._ready_pods(name):
            before = condition_of(pod["status"], "Ready")
            condition = {**before, "status": "False", "lastTransitionTime": timestamp(self.clock.now())}
            status = with_condition(pod["status"], condition)
            self.access.update("pods", {**pod, "status": status}, manager=MANAGER, subresource="status")
            self.events.event(pod, "Warning", "NodeNotReady", "Node is not ready", component=COMPONENT)

    def _ready_pods(self, node: str) -> Iterable[Obj]:
        for key in self._pods.of(node):
            pod = self.access.get("pods", *key)
            if pod is not None and condition_of(pod.get("status"), "Ready").get("status") == "True":
                yield pod


def _sign_of_life(node: Obj, old: Obj) -> bool:
    """Whether a write shows that the node is alive: its Ready condition changed, or its agent runs."""
    ready, before = condition_of(node.get("status"), "Ready"), condition_of(old.get("status"), "Ready")
    agent, agent_before = agent_of(node), agent_of(old)
    return ready != before or (agent != agent_before and agent_before is not None and agent_before.running)
