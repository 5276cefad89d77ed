"""Pods and nodes as the scheduler sees them, computed once for each version of an object."""

import json
from dataclasses import dataclass, field
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.scheduler.amounts import Amounts, add, amounts, most, subtract, total
from uniteddeployment.embedded.controllers.scheduler.selectors import Rule

Key = tuple[str, str]
"""(namespace, name)"""

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"

LEAST_CPU = 100
LEAST_MEMORY = 200 << 20
"""Memory assumed for a container without a request when nodes are compared, so that such pods spread too."""


def requests(spec: Obj) -> Amounts:
    """The resources that a pod needs: its containers together or its largest init step, plus the overhead."""
    needed = total(_requested(container) for container in spec["containers"])
    sidecars: Amounts = {}
    steps: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _requested(container)
        if container.get("restartPolicy") == "Always":
            add(needed, own)
            add(sidecars, own)
            steps = most(steps, sidecars)
        else:
            step = dict(own)
            add(step, sidecars)
            steps = most(steps, step)
    needed = most(needed, steps)
    needed.update(amounts((spec.get("resources") or {}).get("requests")))
    add(needed, amounts(spec.get("overhead")))
    return {name: value for name, value in needed.items() if value}


def _requested(container: Obj) -> Amounts:
    return amounts((container.get("resources") or {}).get("requests"))


def _weight(spec: Obj, needed: Amounts) -> Amounts:
    """Requests for comparing nodes, with an assumed minimum for containers that request nothing."""
    idle_cpu = sum("cpu" not in _requested(container) for container in spec["containers"])
    idle_memory = sum("memory" not in _requested(container) for container in spec["containers"])
    return {
        "cpu": needed.get("cpu", 0) + idle_cpu * LEAST_CPU,
        "memory": needed.get("memory", 0) + idle_memory * LEAST_MEMORY,
    }


def _ports(spec: Obj) -> frozenset[tuple[str, int, str]]:
    """Host ports: (protocol, port, address)."""
    return frozenset(
        (port.get("protocol", "TCP"), port["hostPort"], port.get("hostIP") or "0.0.0.0")  # noqa: S104 - no socket
        for container in [*spec["containers"], *(spec.get("initContainers") or ())]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def _owner(metadata: Obj) -> str:
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference["uid"])
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    """One pod. Compared by identity: a changed pod is another PodInfo."""

    key: Key
    uid: str
    labels: dict[str, str]
    owner: str
    node: str
    priority: int
    preempts: bool
    terminating: bool
    nominated: str
    requests: Amounts
    weight: Amounts
    ports: frozenset[tuple[str, int, str]]
    node_selector: dict[str, str]
    node_terms: list[Rule] | None
    node_preferences: list[Rule]
    tolerations: list[Rule]
    spread: list[Rule]
    affinity: list[Rule]
    anti_affinity: list[Rule]
    affinity_preferences: list[Rule]
    anti_affinity_preferences: list[Rule]
    claims: tuple[str, ...]

    @property
    def relational(self) -> bool:
        """Whether other pods affect where this one may run, beyond the resources they use."""
        return bool(self.spread or self.affinity or self.anti_affinity)


def pod_info(pod: Obj) -> PodInfo:
    """Extract the parts of a pod that matter for placement."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    pod_affinity, pod_anti_affinity = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    labels = metadata.get("labels") or {}
    needed = requests(spec)
    return PodInfo(
        key=(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        labels=labels,
        owner=_owner(metadata),
        node=spec.get("nodeName", ""),
        priority=spec.get("priority") or 0,
        preempts=spec.get("preemptionPolicy") != "Never",
        terminating=bool(metadata.get("deletionTimestamp")),
        nominated=status.get("nominatedNodeName", ""),
        requests=needed,
        weight=_weight(spec, needed),
        ports=_ports(spec),
        node_selector=spec.get("nodeSelector") or {},
        node_terms=(node_affinity[required].get("nodeSelectorTerms") or []) if node_affinity.get(required) else None,
        node_preferences=node_affinity.get(preferred) or [],
        tolerations=spec.get("tolerations") or [],
        spread=spec.get("topologySpreadConstraints") or [],
        affinity=pod_affinity.get(required) or [],
        anti_affinity=pod_anti_affinity.get(required) or [],
        affinity_preferences=pod_affinity.get(preferred) or [],
        anti_affinity_preferences=pod_anti_affinity.get(preferred) or [],
        claims=claim_names(pod),
    )


def signature(pod: PodInfo) -> str:
    """Equal for pods that fit the same nodes: if one of them fits nowhere, neither do the others."""
    parts: list[Any] = [pod.key[0], pod.labels, pod.node_selector, pod.node_terms, pod.tolerations, pod.spread]
    parts += [pod.affinity, pod.anti_affinity, pod.priority, pod.preempts, pod.requests, pod.claims, sorted(pod.ports)]
    return json.dumps(parts, sort_keys=True)


def claim_names(pod: Obj) -> tuple[str, ...]:
    """The PersistentVolumeClaims that a pod uses, including those of generic ephemeral volumes."""
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif volume.get("ephemeral"):
            names.append(f"{pod['metadata']['name']}-{volume['name']}")
    return tuple(names)


@dataclass(slots=True, eq=False)
class NodeInfo:
    """One node and its pods, updated pod by pod."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Rule] = field(default_factory=list)
    unschedulable: bool = False
    allocatable: Amounts = field(default_factory=dict)
    exists: bool = False
    used: Amounts = field(default_factory=dict)
    weight: Amounts = field(default_factory=dict)
    pods: dict[Key, PodInfo] = field(default_factory=dict)

    @property
    def zone(self) -> str:
        return self.labels.get(ZONE, "")

    def describe(self, node: Obj) -> bool:
        """Take over the Node object; return whether anything relevant changed."""
        spec, status = node.get("spec") or {}, node.get("status") or {}
        described = (
            node["metadata"].get("labels") or {},
            spec.get("taints") or [],
            bool(spec.get("unschedulable")),
            amounts(status.get("allocatable")),
            True,
        )
        before = (self.labels, self.taints, self.unschedulable, self.allocatable, self.exists)
        self.labels, self.taints, self.unschedulable, self.allocatable, self.exists = described
        return described != before

    def put(self, pod: PodInfo) -> None:
        self.pods[pod.key] = pod
        add(self.used, pod.requests)
        add(self.weight, pod.weight)

    def drop(self, pod: PodInfo) -> None:
        del self.pods[pod.key]
        subtract(self.used, pod.requests)
        subtract(self.weight, pod.weight)
