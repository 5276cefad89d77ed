"""One node and one zone: what they have for pods, and what the pods there request."""

from uniteddeployment.fleet.capacity.objects import Node
from uniteddeployment.fleet.capacity.vectors import PODS_PLACE, Sparse, Vector, add, add_all


class ZoneSums:
    """The sums over the nodes of one zone."""

    __slots__ = ("allocatable", "available", "nodes", "ready", "requested", "schedulable")

    def __init__(self) -> None:
        self.nodes = 0
        self.ready = 0
        self.schedulable = 0
        self.allocatable: Vector = [0, 0, 0]
        self.requested: Vector = [0, 0, 0]
        self.available: Vector = [0, 0, 0]
        """What is free on the nodes: a node on which pods request more than it has does not reduce it."""

    def count(self, node: "NodeSums") -> None:
        """Add a node."""
        self.nodes += 1
        self.ready += node.ready
        if node.schedulable:
            self.schedulable += 1
            add_all(self.allocatable, node.allocatable)
            add_all(self.requested, node.requested)
            add_all(self.available, node.free())

    def add(self, other: "ZoneSums") -> None:
        """Add the sums of another zone."""
        self.nodes += other.nodes
        self.ready += other.ready
        self.schedulable += other.schedulable
        add_all(self.allocatable, other.allocatable)
        add_all(self.requested, other.requested)
        add_all(self.available, other.available)


class NodeSums:
    """The sums of one node. ``known`` is False for a node that only pods name: it does not exist, or not yet."""

    __slots__ = ("allocatable", "known", "name", "ready", "requested", "schedulable", "slot", "usable", "zone")

    def __init__(self, name: str, slot: int) -> None:
        self.name = name
        self.slot = slot
        """Its place in the lists that count the pods that fit on nodes."""
        self.known = False
        self.zone = ""
        self.ready = False
        self.schedulable = False
        self.usable = False
        self.allocatable: Vector = []
        self.requested: Vector = [0, 0, 0]

    def describe(self, zone: str, node: Node, allocatable: Sparse) -> None:
        """Take the present state of the node."""
        self.known, self.zone = True, zone
        self.ready, self.schedulable, self.usable = node.ready, node.schedulable, node.usable
        self.allocatable = [0, 0, 0]
        add(self.allocatable, allocatable)

    def removed(self) -> None:
        """The node does not exist any more."""
        self.known = self.ready = self.schedulable = self.usable = False
        self.allocatable = []

    def request(self, amounts: Sparse, sign: int) -> None:
        """Add a pod to what pods request, or subtract it. This is a hot path."""
        add(self.requested, amounts, sign)
        self.requested[PODS_PLACE] += sign

    def free_at(self, place: int) -> int:
        """What is free of one resource; 0 if pods request more than there is."""
        has = self.allocatable[place] if place < len(self.allocatable) else 0
        taken = self.requested[place] if place < len(self.requested) else 0
        return has - taken if has > taken else 0

    def free(self) -> Vector:
        """What is free of each resource."""
        return [self.free_at(place) for place in range(len(self.allocatable))]

    def fit(self, wanted: Sparse) -> int:
        """Return how many pods with these requests fit on the node, besides those it has."""
        if not self.schedulable:
            return 0
        allocatable, requested = self.allocatable, self.requested
        fit = allocatable[PODS_PLACE] - requested[PODS_PLACE]
        for place, amount in wanted:
            if place >= len(allocatable):
                return 0
            free = allocatable[place] - (requested[place] if place < len(requested) else 0)
            if free < fit * amount:
                fit = free // amount
        return max(0, fit)
