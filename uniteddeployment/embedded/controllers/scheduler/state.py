"""The scheduler's model of the cluster: nodes, their pods and the resources in use.

It follows changes, so placing a pod examines each node once and no other pods (unless the pod's own rules involve
them).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.scheduler.model import Key, NodeInfo, PodInfo, pod_info
from uniteddeployment.embedded.controllers.workloads.pods import is_finished


class ClusterState:
    """Nodes and assigned pods. Nodes without a Node object are kept for their pods, but are no candidates."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._candidates: list[NodeInfo] | None = None
        self._pods: dict[Key, PodInfo] = {}
        self._by_namespace: dict[str, dict[Key, PodInfo]] = defaultdict(dict)
        self._excluding: dict[Key, PodInfo] = {}
        self._siblings: dict[str, Counter[str]] = {}
        self._nominated: dict[str, dict[Key, PodInfo]] = defaultdict(dict)

    # Reading

    @property
    def nodes(self) -> list[NodeInfo]:
        """Existing nodes, by name."""
        if self._candidates is None:
            self._candidates = sorted(
                (node for node in self._nodes.values() if node.exists), key=lambda node: node.name
            )
        return self._candidates

    def node(self, name: str) -> NodeInfo | None:
        node = self._nodes.get(name)
        return node if node is not None and node.exists else None

    def pod(self, key: Key) -> PodInfo | None:
        return self._pods.get(key)

    def pods_of(self, namespaces: Iterable[str] | None) -> Iterator[tuple[PodInfo, NodeInfo]]:
        """Assigned pods of some namespaces (None: of all) with their nodes, if those exist."""
        groups = (
            self._by_namespace.values() if namespaces is None else [self._by_namespace.get(n, {}) for n in namespaces]
        )
        for group in groups:
            for pod in group.values():
                node = self._nodes[pod.node]
                if node.exists:
                    yield pod, node

    def excluding(self) -> Iterator[tuple[PodInfo, NodeInfo]]:
        """Assigned pods with required anti-affinity, and their nodes."""
        for pod in self._excluding.values():
            node = self._nodes[pod.node]
            if node.exists:
                yield pod, node

    def siblings(self, owner: str) -> Counter[str]:
        """The number of pods of one controller per node."""
        return self._siblings.get(owner, _NONE) if owner else _NONE

    def nominated(self, node: str) -> Iterable[PodInfo]:
        """Pods that wait for a preemption on this node."""
        return self._nominated.get(node, {}).values()

    # Changes

    def set_node(self, node: Obj) -> bool:
        """Apply a write of a Node; return whether it changes what fits where."""
        self._candidates = None
        return self._node(node["metadata"]["name"]).describe(node)

    def drop_node(self, name: str) -> None:
        """Apply the deletion of a Node; its pods stay until they are deleted."""
        self._candidates = None
        node = self._nodes.get(name)
        if node is None:
            return
        node.exists = False
        if not node.pods:
            del self._nodes[name]

    def set_pod(self, pod: Obj) -> PodInfo | None:
        """Apply a write of a pod. Returns it if it uses resources of a node, otherwise None."""
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        self.drop_pod(key)
        if is_finished(pod) or not pod["spec"].get("nodeName"):
            return None
        info = pod_info(pod)
        self._node(info.node).put(info)
        self._pods[key] = info
        self._by_namespace[key[0]][key] = info
        if info.anti_affinity:
            self._excluding[key] = info
        if info.owner:
            self._siblings.setdefault(info.owner, Counter())[info.node] += 1
        return info

    def drop_pod(self, key: Key) -> None:
        """Apply the deletion or the end of a pod."""
        info = self._pods.pop(key, None)
        if info is None:
            return
        node = self._nodes[info.node]
        node.drop(info)
        if not node.exists and not node.pods:
            del self._nodes[info.node]
        group = self._by_namespace[key[0]]
        del group[key]
        if not group:
            del self._by_namespace[key[0]]
        self._excluding.pop(key, None)
        if info.owner:
            counts = self._siblings[info.owner]
            counts[info.node] -= 1
            if counts[info.node] <= 0:
                del counts[info.node]
            if not counts:
                del self._siblings[info.owner]

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Reserve a node for a pod that waits for a preemption."""
        self.forget_nomination(pod.key)
        self._nominated[node][pod.key] = pod

    def forget_nomination(self, key: Key) -> None:
        for node, pods in list(self._nominated.items()):
            pods.pop(key, None)
            if not pods:
                del self._nominated[node]

    def _node(self, name: str) -> NodeInfo:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = NodeInfo(name)
        return node


_NONE: Counter[str] = Counter()
