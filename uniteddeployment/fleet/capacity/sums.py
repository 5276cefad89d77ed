"""The sums over the nodes and pods of one cluster, kept up to date by each change. Pure.

Each change of a pod or a node costs a few additions, whatever the size of the cluster: it changes the sums of a node,
and those of zones are added up when somebody asks. Only schedulable nodes count: those that are ready, not cordoned,
and without a taint that keeps pods away. The pods on other nodes do not reduce what schedulable nodes have. Pods that
have ended take nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from uniteddeployment.fleet.capacity.demand import Amounts
from uniteddeployment.fleet.capacity.fits import Fits
from uniteddeployment.fleet.capacity.nodes import NodeSums, ZoneSums
from uniteddeployment.fleet.capacity.objects import Node, Pod
from uniteddeployment.fleet.capacity.vectors import PODS_PLACE, Places, Sparse

SubsetKey = tuple[str, str, str]
"""Namespace, application and subset."""
MOST_ZONES = 63
"""Zones besides that of nodes without a zone, which also has the nodes of more zones than these."""


class Sums:
    """Follows the nodes and pods of one cluster: ``node_changed`` and ``pod_changed`` are called for each change.

    ``on_change`` is called when a sum may have changed, and ``on_shown(subset, pods)`` when the number of pods of a
    subset of ours has changed.
    """

    def __init__(
        self,
        on_change: Callable[[], None] = lambda: None,
        on_shown: Callable[[SubsetKey, int], None] = lambda _subset, _pods: None,
    ) -> None:
        self._on_change = on_change
        self._on_shown = on_shown
        self.places = Places()
        self.nodes: dict[str, NodeSums] = {}
        """Name -> node, also for nodes that only pods name."""
        self._zones: dict[str, ZoneSums] | None = None
        """The sums by zone; None while they are not up to date."""
        self._nodes_in: Counter[str] = Counter()
        """Zone -> how many nodes exist there."""
        self.pending: dict[Amounts, int] = {}
        """Requests -> how many pods with these requests the scheduler has yet to place."""
        self.pending_pods = 0
        self.unschedulable_pods = 0
        """Pods for which the scheduler found no node, or which wait for something else before it may look for one."""
        self.unknown_pods = 0
        """Pods whose requests cannot be read. Each takes the place of one pod, and nothing else."""
        self.unknown_nodes = 0
        """Nodes whose resources cannot be read. They do not count as schedulable."""
        self.existing_nodes = 0
        self.usable_nodes = 0
        self.shown: dict[SubsetKey, int] = {}
        """Subset of ours -> how many of its pods have not ended."""
        self._fits = Fits(self.nodes)

    def fits(self, wanted: Sparse) -> Mapping[str, int]:
        """Return zone -> how many pods with these requests fit on its schedulable nodes."""
        return self._fits.by_zone(wanted)

    @property
    def zones(self) -> Mapping[str, ZoneSums]:
        """Zone -> the sums over its nodes. Do not ask for each change: after one, all nodes are added up."""
        if self._zones is None:
            self._zones = {}
            for node in self.nodes.values():
                if node.known:
                    if node.zone not in self._zones:
                        self._zones[node.zone] = ZoneSums()
                    self._zones[node.zone].count(node)
        return self._zones

    @property
    def zone_names(self) -> Collection[str]:
        """The zones that have nodes."""
        return self._nodes_in.keys()

    def total(self) -> ZoneSums:
        """Return the sums over all zones."""
        total = ZoneSums()
        for zone in self.zones.values():
            total.add(zone)
        return total

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        """A node was added (``old`` is None), changed or removed (``new`` is None)."""
        present = new or old
        if present is None or (old is not None and new is not None and _alike(old, new)):
            return
        self.unknown_nodes += _unreadable(new) - _unreadable(old)
        name = present.metadata.name
        node = self.nodes.get(name) or self._add_node(name)
        if node.known:
            self.existing_nodes -= 1
            self.usable_nodes -= node.usable
            self._leave_zone(node)
        zone = "" if new is None else self._zone(new)
        if node.known and (new is None or node.zone != zone):
            node = self._successor(node)
        if new is not None:
            node.describe(zone, new, self.places.of(new.allocatable))
            self._nodes_in[zone] += 1
            self.existing_nodes += 1
            self.usable_nodes += node.usable
        self._drop_if_empty(node)
        self._zones = None
        self._fits.note(node)
        self._on_change()

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """A pod was added (``old`` is None), changed or removed (``new`` is None)."""
        before = None if old is None or old.ended else old
        after = None if new is None or new.ended else new
        if before is not None and after is not None and _takes_the_same(before, after):
            return
        if before is not None:
            self._take(before, -1)
        if after is not None:
            self._take(after, 1)
        self._count_shown(before, after)
        if before is not None or after is not None:
            self._on_change()

    def _take(self, pod: Pod, sign: int) -> None:
        amounts = pod.amounts
        if amounts is None:
            self.unknown_pods += sign
            amounts = ()
        if pod.node_name:
            node = self.nodes.get(pod.node_name) or self._add_node(pod.node_name)
            node.request(self.places.of(amounts), sign)
            if node.schedulable:
                self._zones = None
                self._fits.note(node)
            elif sign < 0:
                self._drop_if_empty(node)
        elif pod.waits:
            self.unschedulable_pods += sign
        else:
            self.pending_pods += sign
            left = self.pending.get(amounts, 0) + sign
            if left:
                self.pending[amounts] = left
            else:
                del self.pending[amounts]

    def _count_shown(self, before: Pod | None, after: Pod | None) -> None:
        was, is_now = before and before.subset, after and after.subset
        if was == is_now:
            return
        for subset, sign in ((was, -1), (is_now, 1)):
            if subset:
                count = self.shown.get(subset, 0) + sign
                if count:
                    self.shown[subset] = count
                else:
                    del self.shown[subset]
                self._on_shown(subset, count)

    def _add_node(self, name: str) -> NodeSums:
        node = self.nodes[name] = NodeSums(name, self._fits.new_slot())
        return node

    def _successor(self, node: NodeSums) -> NodeSums:
        """The node when it was removed, or moved to another zone: for those who count by zone, it is another node."""
        node.removed()
        self._fits.note(node)
        successor = self.nodes[node.name] = NodeSums(node.name, node.slot)
        successor.requested = node.requested
        return successor

    def _zone(self, node: Node) -> str:
        return node.zone if node.zone in self._nodes_in or len(self._nodes_in) < MOST_ZONES else ""

    def _leave_zone(self, node: NodeSums) -> None:
        self._nodes_in[node.zone] -= 1
        if not self._nodes_in[node.zone]:
            del self._nodes_in[node.zone]

    def _drop_if_empty(self, node: NodeSums) -> None:
        """Forget a node that neither exists nor has pods."""
        if not node.known and not node.requested[PODS_PLACE]:
            del self.nodes[node.name]
            self._fits.free_slot(node)


def _alike(old: Node, new: Node) -> bool:
    """Whether a node changed only in what does not count, such as the time of its last heartbeat."""
    return (old.zone, old.ready, old.schedulable, old.usable, old.allocatable, old.problem) == (
        new.zone,
        new.ready,
        new.schedulable,
        new.usable,
        new.allocatable,
        new.problem,
    )


def _unreadable(node: Node | None) -> bool:
    return node is not None and bool(node.problem)


def _takes_the_same(old: Pod, new: Pod) -> bool:
    """Whether a pod takes the same place, resources and share of its subset as before."""
    return (
        old.node_name == new.node_name
        and old.amounts == new.amounts
        and old.waits == new.waits
        and old.subset == new.subset
    )
