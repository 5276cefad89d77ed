"""Filters: the reasons why a node cannot take a pod, in the order and words of the real scheduler.

A check examines one node and returns a :class:`Rejection` or None. The first rejection of a node counts.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from uniteddeployment.embedded.controllers.scheduler.amounts import Amounts, add, subtract
from uniteddeployment.embedded.controllers.scheduler.model import NodeInfo, PodInfo
from uniteddeployment.embedded.controllers.scheduler.selectors import matches_terms, tolerates, untolerated
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState

UNSCHEDULABLE_TAINT: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class Rejection(NamedTuple):
    """The reason why a node is rejected. ``unresolvable``: the node would not fit even without any other pod."""

    reasons: tuple[str, ...]
    unresolvable: bool


Check = Callable[[NodeInfo], Rejection | None]

UNSCHEDULABLE: Final = Rejection(("node(s) were unschedulable",), unresolvable=True)
TAINTED: Final = Rejection(("node(s) had untolerated taint(s)",), unresolvable=True)
NOT_SELECTED: Final = Rejection(("node(s) didn't match Pod's node affinity/selector",), unresolvable=True)
PORTS_TAKEN: Final = Rejection(("node(s) didn't have free ports for the requested pod ports",), unresolvable=False)


def node_checks(pod: PodInfo, state: ClusterState, without: Collection[PodInfo] = ()) -> Iterator[Check]:
    """The checks that involve only the node and its pods, without those in ``without``."""
    yield lambda node: _schedulable(pod, node)
    yield lambda node: TAINTED if untolerated(pod.tolerations, node.taints, ("NoSchedule", "NoExecute")) else None
    if pod.node_selector or pod.node_terms is not None:
        yield lambda node: None if selected(pod, node) else NOT_SELECTED
    if pod.ports:
        yield lambda node: _ports(pod, node, without)
    yield lambda node: _room(pod, node, state, without)


def _schedulable(pod: PodInfo, node: NodeInfo) -> Rejection | None:
    if node.unschedulable and tolerates(pod.tolerations, UNSCHEDULABLE_TAINT) is None:
        return UNSCHEDULABLE
    return None


def selected(pod: PodInfo, node: NodeInfo) -> bool:
    """Whether a pod's node selector and required node affinity match a node."""
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    return pod.node_terms is None or matches_terms(pod.node_terms, node.name, node.labels)


def _ports(pod: PodInfo, node: NodeInfo, without: Collection[PodInfo]) -> Rejection | None:
    taken = {port for other in node.pods.values() if other.ports and other not in without for port in other.ports}
    for protocol, number, address in pod.ports:
        for other_protocol, other_number, other_address in taken:
            same = protocol == other_protocol and number == other_number
            if same and (address == other_address or "0.0.0.0" in (address, other_address)):  # noqa: S104 - no socket
                return PORTS_TAKEN
    return None


def _room(pod: PodInfo, node: NodeInfo, state: ClusterState, without: Collection[PodInfo]) -> Rejection | None:
    used, count = _taken(pod, node, state, without)
    reasons, unresolvable = [], False
    if count + 1 > node.allocatable.get("pods", 0):
        reasons.append("Too many pods")
        unresolvable = node.allocatable.get("pods", 0) < 1
    for name in sorted(pod.requests, key=_resource_order):
        needed, allocatable = pod.requests[name], node.allocatable.get(name, 0)
        if needed > allocatable - used.get(name, 0):
            reasons.append(f"Insufficient {name}")
            unresolvable = unresolvable or needed > allocatable
    return Rejection(tuple(reasons), unresolvable) if reasons else None


def _taken(pod: PodInfo, node: NodeInfo, state: ClusterState, without: Collection[PodInfo]) -> tuple[Amounts, int]:
    """The resources in use on a node, including those reserved for pods that were nominated before this one."""
    promised = [
        other for other in state.nominated(node.name) if other.key != pod.key and other.priority >= pod.priority
    ]
    leaving = [other for other in without if other.node == node.name]
    if not promised and not leaving:
        return node.used, len(node.pods)
    used = dict(node.used)
    for other in promised:
        add(used, other.requests)
    for other in leaving:
        subtract(used, other.requests)
    return used, len(node.pods) + len(promised) - len(leaving)


def _resource_order(name: str) -> tuple[int, str]:
    known = ("cpu", "memory", "ephemeral-storage")
    return (known.index(name), "") if name in known else (len(known), name)
