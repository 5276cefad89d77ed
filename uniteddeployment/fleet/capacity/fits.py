"""Counts how many pods with given requests fit on the schedulable nodes, node by node. Pure.

Nothing is counted before somebody asks. A count that is asked for again is brought up to date from the list of nodes
that have changed since, so its cost depends on the changes and not on the number of nodes.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

from cachetools import LRUCache

from uniteddeployment.fleet.capacity.nodes import NodeSums
from uniteddeployment.fleet.capacity.vectors import Sparse

_MOST_COUNTS = 128
"""For how many different requests the counts are kept. Each takes 8 bytes for each node."""
_LONGEST_JOURNAL = 1024
"""The number of changes that are noted, besides one for each node. If there are more, all nodes are counted."""


class Fits:
    """The counts of one cluster. ``nodes`` are its nodes by name, shared with the sums."""

    def __init__(self, nodes: Mapping[str, NodeSums]) -> None:
        self._nodes = nodes
        self._counts: LRUCache[Sparse, _Count] = LRUCache(_MOST_COUNTS)
        self._journal: list[NodeSums] = []
        """The nodes that have changed, in order."""
        self._asked = False
        """Whether there are counts."""
        self._slots = 0
        self._free_slots: list[int] = []

    def by_zone(self, wanted: Sparse) -> Mapping[str, int]:
        """Return zone -> how many pods with these requests fit on its schedulable nodes."""
        count = self._counts.get(wanted)
        if count is None:
            count = self._counts[wanted] = _Count()
            self._asked = True
            count.update(wanted, self._nodes.values(), self._slots)
        else:
            count.update(wanted, self._journal[count.position :], self._slots)
        count.position = len(self._journal)
        return count.zones

    def note(self, node: NodeSums) -> None:
        """A node has changed."""
        if not self._asked:
            return
        if len(self._journal) > len(self._nodes) + _LONGEST_JOURNAL:
            self._counts.clear()
            self._journal.clear()
            self._asked = False
            return
        self._journal.append(node)

    def new_slot(self) -> int:
        """Return the slot for a new node."""
        if self._free_slots:
            return self._free_slots.pop()
        self._slots += 1
        return self._slots - 1

    def free_slot(self, node: NodeSums) -> None:
        """A node is gone. Its slot is for another one, whose changes are noted after those of this one."""
        self._free_slots.append(node.slot)


class _Count:
    """How many pods with certain requests fit on each node, and in each zone."""

    __slots__ = ("fit", "position", "zones")

    def __init__(self) -> None:
        self.fit = array("q")
        """Slot of the node -> the pods that fit."""
        self.zones: Counter[str] = Counter()
        self.position = 0
        """Up to where in the journal it is up to date."""

    def update(self, wanted: Sparse, changed: Iterable[NodeSums], slots: int) -> None:
        """Count the nodes that have changed."""
        fit, zones = self.fit, self.zones
        fit.extend([0] * (slots - len(fit)))
        for node in changed:
            now = node.fit(wanted)
            if now != fit[node.slot]:
                zones[node.zone] += now - fit[node.slot]
                fit[node.slot] = now
