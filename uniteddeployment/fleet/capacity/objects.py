"""Nodes and pods as the capacity of a cluster needs them: decoded from watches, and reduced while they are decoded.

A cluster has tens of thousands of pods, so a pod keeps its place, its requests and little else. Pods with the same
requests share them, and texts that repeat are interned. An object with a quantity that cannot be read is kept as
unknown: it says why in ``problem``.
"""

import sys
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from uniteddeployment.fleet.capacity import demand
from uniteddeployment.fleet.capacity.demand import Amounts, Demand, Quantities
from uniteddeployment.fleet.capacity.quantity import QuantityError, parse
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment_api import names

Name = Annotated[str, Meta(max_length=253)]
Word = Annotated[str, Meta(max_length=128)]
ZONE = "topology.kubernetes.io/zone"
_LONGEST_ZONE = 63
_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_KUBERNETES = "kubernetes.io"
_ENDED = ("Succeeded", "Failed")


class _NodeLabels(Struct, gc=False):
    zone: str | None = field(default=None, name=ZONE)


class _PodLabels(Struct, gc=False):
    application: Word | None = field(default=None, name=names.LABEL_NAME)
    subset: Word | None = field(default=None, name=names.LABEL_SUBSET)


class NodeMetadata(Struct, frozen=True, gc=False, rename="camel"):
    """The identity of a node."""

    name: Name
    resource_version: Word = ""
    labels: _NodeLabels | None = None

    @property
    def namespace(self) -> str:
        """Nodes are in no namespace."""
        return ""

    @property
    def uid(self) -> str:
        """Not kept: an object with the name of a deleted one has another resource version."""
        return ""


class _Taint(Struct, gc=False):
    key: str = ""
    effect: str = ""


class _NodeSpec(Struct, gc=False):
    unschedulable: bool | None = False
    taints: tuple[_Taint, ...] | None = ()


class _Condition(Struct, gc=False):
    type: str = ""
    status: str = ""


class _NodeStatus(Struct, gc=False):
    allocatable: Quantities | None = None
    conditions: tuple[_Condition, ...] | None = ()


_NO_NODE_SPEC, _NO_NODE_STATUS = _NodeSpec(), _NodeStatus()


class Node(Struct, frozen=True, gc=False):
    """A node. ``spec`` and ``status`` are only set while it is decoded."""

    metadata: NodeMetadata
    spec: _NodeSpec | None = None
    status: _NodeStatus | None = None
    zone: str = ""
    ready: bool = False
    schedulable: bool = False
    """Whether it is ready, not cordoned, and without a taint that keeps pods away."""
    usable: bool = False
    """Whether it is schedulable for pods with the right tolerations. Kubernetes sets taints with its own keys on nodes
    that are in trouble or that belong to the control plane; other taints reserve nodes for pods that tolerate them."""
    allocatable: Amounts = ()
    """The resources that it has for pods."""
    problem: str = ""
    """Why its resources cannot be read; empty if they can."""

    def __post_init__(self) -> None:
        spec, status, labels = self.spec or _NO_NODE_SPEC, self.status or _NO_NODE_STATUS, self.metadata.labels
        zone = labels.zone if labels is not None else None
        ready = ("Ready", "True") in [(condition.type, condition.status) for condition in status.conditions or ()]
        taints = [taint.key for taint in spec.taints or () if taint.effect in _KEEPS_AWAY]
        usable = ready and not spec.unschedulable and not any(map(_of_kubernetes, taints))
        allocatable, problem = _allocatable(status.allocatable or {})
        force_setattr(self, "zone", sys.intern(zone) if zone and len(zone) <= _LONGEST_ZONE else "")
        force_setattr(self, "ready", ready)
        force_setattr(self, "usable", usable)
        force_setattr(self, "schedulable", usable and not taints and not problem)
        force_setattr(self, "allocatable", allocatable)
        force_setattr(self, "problem", problem)
        force_setattr(self, "spec", None)
        force_setattr(self, "status", None)
        force_setattr(self.metadata, "labels", None)


def _of_kubernetes(key: str) -> bool:
    """Whether a taint has a key of Kubernetes itself, such as ``node.kubernetes.io/unreachable``."""
    domain = key.partition("/")[0]
    return domain == _KUBERNETES or domain.endswith(f".{_KUBERNETES}")


def _allocatable(quantities: Quantities) -> tuple[Amounts, str]:
    try:
        read = demand.amounts(quantities)
        read[demand.PODS] = parse(demand.PODS, quantities.get(demand.PODS, "0"))
    except QuantityError as error:
        return (), str(error)
    return demand.interned(tuple(sorted((name, amount) for name, amount in read.items() if amount))), ""


class PodMetadata(Struct, frozen=True, gc=False, rename="camel"):
    """The identity of a pod. ``labels`` are only set while it is decoded."""

    name: Name
    namespace: Name = ""
    resource_version: Word = ""
    labels: _PodLabels | None = None

    @property
    def uid(self) -> str:
        """Not kept: an object with the name of a deleted one has another resource version."""
        return ""


class _PodSpec(Demand, frozen=True, gc=False, rename="camel"):
    node_name: Name | None = ""


class _PodStatus(Struct, frozen=True, gc=False):
    phase: Word | None = ""
    conditions: msgspec.Raw = msgspec.Raw()


_NO_SPEC = _PodSpec()


class Pod(Struct, frozen=True, gc=False):
    """A pod. ``spec`` and ``status`` are only set while it is decoded."""

    metadata: PodMetadata
    spec: _PodSpec | None = None
    status: _PodStatus | None = None
    node_name: str = ""
    """The node that it runs on; empty if it has none yet."""
    amounts: Amounts | None = ()
    """What it requests; None if that cannot be read."""
    problem: str = ""
    """Why its requests cannot be read; empty if they can."""
    subset: tuple[str, str, str] | None = None
    """Namespace, application and subset that it belongs to; None if it is not one of ours."""
    ended: bool = False
    """Whether it has ended, and takes no resources any more."""
    waits: bool = False
    """Whether the scheduler has found no node for it, or is kept from looking for one."""

    def __post_init__(self) -> None:
        # One method for all parts: it runs for each of tens of thousands of pods, and a call of its own for each part
        # would take as long as the rest.
        spec, status, metadata = self.spec or _NO_SPEC, self.status, self.metadata
        labels, namespace, node = metadata.labels, sys.intern(metadata.namespace), spec.node_name
        amounts, problem, subset = None, "", None
        try:
            amounts = demand.requested(spec)
        except QuantityError as error:
            problem = str(error)
        if labels is not None and labels.application is not None:
            subset = (namespace, sys.intern(labels.application), sys.intern(labels.subset or ""))
        force_setattr(metadata, "namespace", namespace)
        force_setattr(metadata, "labels", None)
        force_setattr(self, "spec", None)
        force_setattr(self, "status", None)
        force_setattr(self, "node_name", sys.intern(node) if node else "")
        force_setattr(self, "amounts", amounts)
        force_setattr(self, "problem", problem)
        force_setattr(self, "subset", subset)
        force_setattr(self, "ended", status is not None and status.phase in _ENDED)
        force_setattr(self, "waits", not node and status is not None and _waits(status.conditions))


def _waits(raw: msgspec.Raw) -> bool:
    """Whether the condition PodScheduled is False."""
    if not bytes(raw):
        return False
    try:
        conditions = decode(raw, tuple[_Condition, ...])
    except DecodingError:
        return False
    return any(condition.type == "PodScheduled" and condition.status == "False" for condition in conditions)
