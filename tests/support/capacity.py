"""Nodes and pods for tests of capacity, decoded from JSON as a watch decodes them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from uniteddeployment.fleet.capacity.objects import ZONE, Node, Pod
from uniteddeployment.fleet.capacity.sums import Sums
from uniteddeployment_api import names


def node_object(
    name: str,
    allocatable: Mapping[str, str],
    *,
    zone: str = "",
    ready: bool = True,
    cordoned: bool = False,
    taint: str = "",
    taint_key: str = "dedicated",
    version: int = 1,
) -> dict[str, Any]:
    """A node in JSON. It has room for 110 pods if ``allocatable`` does not say otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "resourceVersion": str(version), "labels": {ZONE: zone} if zone else {}},
        "spec": {"unschedulable": cordoned, "taints": [{"key": taint_key, "effect": taint}] if taint else []},
        "status": {
            "allocatable": {"pods": "110", **allocatable},
            "conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": str(ready)}],
        },
    }


def pod_object(
    name: str,
    requests: Mapping[str, str],
    *,
    node: str = "",
    phase: str = "",
    waits: bool = False,
    application: str = "",
    subset: str = "",
    version: int = 1,
) -> dict[str, Any]:
    """A pod with one container in JSON. It is pending without a node, unless ``phase`` says otherwise."""
    labels = {names.LABEL_NAME: application, names.LABEL_SUBSET: subset} if application else {"app": "other"}
    status: dict[str, Any] = {"phase": phase or ("Running" if node else "Pending")}
    if waits:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "resourceVersion": str(version), "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": dict(requests)}}]},
        "status": status,
    }


def decoded_node(name: str, allocatable: Mapping[str, str], **more: Any) -> Node:
    """A node as it is kept."""
    return msgspec.json.decode(msgspec.json.encode(node_object(name, allocatable, **more)), type=Node)


def decoded_pod(name: str, requests: Mapping[str, str], **more: Any) -> Pod:
    """A pod as it is kept."""
    return msgspec.json.decode(msgspec.json.encode(pod_object(name, requests, **more)), type=Pod)


def sums_of(nodes: list[Node], pods: list[Pod]) -> Sums:
    """The sums over some nodes and pods."""
    sums = Sums()
    for node in nodes:
        sums.node_changed(None, node)
    for pod in pods:
        sums.pod_changed(None, pod)
    return sums
