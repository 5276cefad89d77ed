"""Simulated nodes: their objects, and the annotations that control their agents.

Annotations of the Node control its agent, so ``kubectl annotate`` can add one, slow it down, stop and restart it: with
``embedded/agent: running`` it runs pods and reports health, with ``embedded/agent: stopped`` it does neither (the node
is lost), and without the annotation the node has no simulated agent.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import merged
from uniteddeployment.embedded.controllers.framework.times import micro_timestamp
from uniteddeployment.embedded.controllers.scheduler.model import REGION, ZONE

AGENT: Final = "embedded/agent"
READY_AFTER: Final = "embedded/ready-after"
"""Seconds from the start of a container until it is ready."""

STOP_AFTER: Final = "embedded/stop-after"
"""Seconds that a container takes to stop when its pod is deleted; at most the pod's grace period."""

RUNNING: Final = "running"
STOPPED: Final = "stopped"

DEFAULT_READY_AFTER: Final = 0.0
DEFAULT_STOP_AFTER: Final = 0.05

HEARTBEAT: Final = 300.0
"""Seconds between reports of a node whose state does not change."""

LEASES: Final = "leases.coordination.k8s.io"
LEASE_NAMESPACE: Final = "kube-node-lease"

VERSION: Final = "v1.36.0"

_HEALTH: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


@dataclass(frozen=True, slots=True)
class Agent:
    """The settings of one node's agent."""

    running: bool
    ready_after: float = DEFAULT_READY_AFTER
    stop_after: float = DEFAULT_STOP_AFTER


def agent_of(node: Obj) -> Agent | None:
    """The agent that a Node's annotations request, if any."""
    annotations = node["metadata"].get("annotations") or {}
    if AGENT not in annotations:
        return None
    return Agent(
        annotations[AGENT] == RUNNING,
        _seconds(annotations.get(READY_AFTER), DEFAULT_READY_AFTER),
        _seconds(annotations.get(STOP_AFTER), DEFAULT_STOP_AFTER),
    )


def _seconds(text: str | None, default: float) -> float:
    try:
        return max(0.0, float(text)) if text is not None else default
    except ValueError:
        # An invalid annotation means the default.
        return default


def node_object(
    name: str,
    *,
    zone: str = "",
    region: str = "region-1",
    cpu: str = "8",
    memory: str = "32Gi",
    pods: str = "110",
    ready_after: float = DEFAULT_READY_AFTER,
    labels: dict[str, str] | None = None,
) -> Obj:
    """A Node with an agent, to be created; the agent reports the rest of its status."""
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if zone:
        own |= {ZONE: zone, REGION: region}
    annotations = {AGENT: RUNNING}
    if ready_after:
        annotations[READY_AFTER] = f"{ready_after:g}"
    room = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}, "annotations": annotations},
        "spec": {},
        "status": {"capacity": dict(room), "allocatable": dict(room)},
    }


def set_agent(access: Access, name: str, *, running: bool) -> None:
    """Stop or start the agent of a node, to lose the node or recover it."""
    node = access.get("nodes", "", name)
    if node is None:
        return
    metadata = node["metadata"]
    annotations = {**(metadata.get("annotations") or {}), AGENT: RUNNING if running else STOPPED}
    access.update("nodes", {**node, "metadata": {**metadata, "annotations": annotations}}, manager="kubelet")


def internal_ip(node: Obj | None) -> str:
    """The address of a node's agent; empty if it has none."""
    for address in ((node or {}).get("status") or {}).get("addresses") or ():
        if address["type"] == "InternalIP":
            return str(address["address"])
    return ""


def healthy_status(node: Obj, address: str, now: datetime) -> Obj:
    """The status that an agent reports."""
    status = node.get("status") or {}
    moment = timestamp(now)
    conditions = [
        {
            "type": type_,
            "status": value,
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
            "reason": reason,
            "message": message,
        }
        for type_, value, reason, message in _HEALTH
    ]
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    capacity = status.get("capacity") or status.get("allocatable") or room
    name = node["metadata"]["name"]
    uid = node["metadata"]["uid"]
    return {
        **status,
        "capacity": capacity,
        "allocatable": status.get("allocatable") or capacity,
        "conditions": merged(status.get("conditions") or (), conditions),
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": uid,
            "containerRuntimeVersion": "embedded://1.0.0",
            "kernelVersion": "6.12.0",
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": uid.replace("-", ""),
            "operatingSystem": "linux",
            "osImage": "Embedded",
            "systemUUID": uid,
        },
    }


def renewed_lease(node: Obj, lease: Obj | None, now: datetime) -> Obj:
    """The Lease by which an agent proves that it is alive, valid until after the next report."""
    metadata = node["metadata"]
    name, moment = metadata["name"], micro_timestamp(now)
    if lease is not None:
        return {**lease, "spec": {**(lease.get("spec") or {}), "holderIdentity": name, "renewTime": moment}}
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": metadata["uid"]}
    return {
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": int(2 * HEARTBEAT), "renewTime": moment},
    }


def is_healthy(node: Obj) -> bool:
    """Whether a Node's status equals what its agent would report."""
    reported = {c["type"]: c.get("status") for c in (node.get("status") or {}).get("conditions") or ()}
    return all(reported.get(type_) == value for type_, value, _, _ in _HEALTH) and bool(internal_ip(node))
