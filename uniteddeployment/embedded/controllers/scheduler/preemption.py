"""Preemption: selects pods to evict for a pod of higher priority, as few and as unimportant as possible."""

from typing import NamedTuple

from uniteddeployment.embedded.controllers.scheduler.model import NodeInfo, PodInfo
from uniteddeployment.embedded.controllers.scheduler.placement import Placement, Placer
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState


class Victims(NamedTuple):
    """A node and the pods to evict from it."""

    node: str
    pods: tuple[PodInfo, ...]


def choose_victims(pod: PodInfo, placement: Placement, placer: Placer, state: ClusterState) -> Victims | None:
    """The cheapest preemption or None: by the highest priority of a victim, the sum of priorities, and the number."""
    if not pod.preempts:
        return None
    options = []
    for name in placement.resolvable:
        node = state.node(name)
        pods = _victims(pod, placement, placer, node) if node is not None else ()
        if pods:
            options.append(Victims(name, pods))
    if not options:
        return None
    return min(options, key=_cost)


def _cost(victims: Victims) -> tuple[int, int, int, str]:
    priorities = [pod.priority for pod in victims.pods]
    return max(priorities), sum(priorities), len(priorities), victims.node


def _victims(pod: PodInfo, placement: Placement, placer: Placer, node: NodeInfo) -> tuple[PodInfo, ...]:
    """Remove all pods of lower priority, then put back those that fit, the most important first."""
    lower = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lower or not placer.fits_without(pod, placement.claims, node, lower):
        return ()
    leaving = set(lower)
    for other in sorted(lower, key=lambda other: (-other.priority, other.key)):
        if placer.fits_without(pod, placement.claims, node, leaving - {other}):
            leaving.discard(other)
    return tuple(sorted(leaving, key=lambda other: other.key))
