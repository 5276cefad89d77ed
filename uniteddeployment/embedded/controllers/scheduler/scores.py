"""Scores: the best of the nodes that fit, by a sum of points between 0 and 100 with the real scheduler's weights.

Deterministic: the number of pods and then the name break ties.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from uniteddeployment.embedded.controllers.scheduler.model import NodeInfo, PodInfo
from uniteddeployment.embedded.controllers.scheduler.selectors import matches_term, untolerated
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState
from uniteddeployment.embedded.controllers.scheduler.topology import NamespaceLabels, Spread, preference, spreads

Points = Callable[[NodeInfo], float]


def best_node(pod: PodInfo, nodes: Sequence[NodeInfo], state: ClusterState, namespaces: NamespaceLabels) -> NodeInfo:
    """The best of some nodes. At least one node is required."""
    if len(nodes) == 1:
        return nodes[0]
    scores = dict.fromkeys((node.name for node in nodes), 0.0)
    for weight, points, invert in _parts(pod, nodes, state, namespaces):
        for name, value in _normalised(nodes, points, invert=invert).items():
            scores[name] += weight * value
    for node in nodes:
        scores[node.name] += _room(pod, node)
    return min(nodes, key=lambda node: (-round(scores[node.name], 6), len(node.pods), node.name))


def _parts(
    pod: PodInfo, nodes: Sequence[NodeInfo], state: ClusterState, namespaces: NamespaceLabels
) -> list[tuple[float, Points, bool]]:
    """(weight, raw value of a node, whether less is better)"""
    parts: list[tuple[float, Points, bool]] = []
    if any(node.taints for node in nodes):
        parts.append((3, lambda node: len(untolerated(pod.tolerations, node.taints, ("PreferNoSchedule",))), True))
    if pod.node_preferences:
        parts.append((2, lambda node: _node_preference(pod, node), False))
    if pod.affinity_preferences or pod.anti_affinity_preferences:
        parts.append((2, preference(pod, state, namespaces), False))
    soft = [rule for rule in pod.spread if rule.get("whenUnsatisfiable") == "ScheduleAnyway"]
    parts += [(2, _crowd(spread), True) for spread in spreads(pod, soft, state)]
    if not pod.spread and pod.owner:
        parts += _siblings(pod, state)
    return parts


def _crowd(spread: Spread) -> Points:
    return lambda node: spread.counts.get(node.labels.get(spread.key, ""), 0)


def _siblings(pod: PodInfo, state: ClusterState) -> list[tuple[float, Points, bool]]:
    """Spread the pods of one controller over zones first, then over nodes."""
    counts = state.siblings(pod.owner)
    zones: Counter[str] = Counter()
    for name, count in counts.items():
        node = state.node(name)
        if node is not None:
            zones[node.zone] += count
    return [(3, lambda node: zones.get(node.zone, 0), True), (2, lambda node: counts.get(node.name, 0), True)]


def _node_preference(pod: PodInfo, node: NodeInfo) -> int:
    return sum(
        rule["weight"] for rule in pod.node_preferences if matches_term(rule["preference"], node.name, node.labels)
    )


def _normalised(nodes: Sequence[NodeInfo], points: Points, *, invert: bool) -> dict[str, float]:
    raw = {node.name: points(node) for node in nodes}
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return {}
    scale = 100 / (high - low)
    return {name: (high - value if invert else value - low) * scale for name, value in raw.items()}


def _room(pod: PodInfo, node: NodeInfo) -> float:
    """Prefer nodes with free resources and balanced use of CPU and memory."""
    shares = []
    for name in ("cpu", "memory"):
        allocatable = node.allocatable.get(name, 0)
        if allocatable:
            shares.append(min(1.0, (node.weight.get(name, 0) + pod.weight[name]) / allocatable))
    if not shares:
        return 0.0
    free = 100 * (1 - sum(shares) / len(shares))
    balance = 100 * (1 - (max(shares) - min(shares)) / 2)
    return free + balance
