"""Amounts of resources as short lists of integers: one place for each resource that a cluster has.

Lists grow when a resource appears. A place beyond the end of a list is zero.
"""

from typing import Final, TypeAlias

from uniteddeployment.fleet.capacity.demand import MEMORY, PODS, Amounts
from uniteddeployment.fleet.capacity.quantity import CPU

Vector: TypeAlias = list[int]
Sparse: TypeAlias = tuple[tuple[int, int], ...]
"""Place and amount."""

CPU_PLACE, MEMORY_PLACE, PODS_PLACE = range(3)
MOST_OTHER: Final = 32
"""How many resources besides cpu, memory and pods are counted in a cluster."""
_MOST_KNOWN = 8192


class Places:
    """The places of the resources of one cluster. The number of resources is bounded; more are not counted."""

    def __init__(self) -> None:
        self.names = [CPU, MEMORY, PODS]
        """Place -> resource."""
        self.left_out = False
        """Whether a resource is not counted because there are too many."""
        self._places = {name: place for place, name in enumerate(self.names)}
        self._known: dict[Amounts, Sparse] = {}

    def of(self, amounts: Amounts) -> Sparse:
        """Return amounts by place, without the resources that are not counted."""
        known = self._known.get(amounts)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            placed = ((self._place(name), amount) for name, amount in amounts)
            known = self._known[amounts] = tuple((place, amount) for place, amount in placed if place is not None)
        return known

    def known(self, amounts: Amounts) -> bool:
        """Return whether all these resources have places."""
        return all(name in self._places for name, _ in amounts)

    def _place(self, name: str) -> int | None:
        place = self._places.get(name)
        if place is None:
            if len(self.names) >= 3 + MOST_OTHER:
                self.left_out = True
                return None
            place = self._places[name] = len(self.names)
            self.names.append(name)
        return place


def add(vector: Vector, sparse: Sparse, times: int = 1) -> None:
    """Add amounts to a vector."""
    for place, amount in sparse:
        try:
            vector[place] += amount * times
        except IndexError:
            lengthen(vector, place)
            vector[place] += amount * times


def add_all(vector: Vector, other: Vector) -> None:
    """Add a vector to a vector."""
    if len(vector) < len(other):
        lengthen(vector, len(other) - 1)
    for place, amount in enumerate(other):
        vector[place] += amount


def lengthen(vector: Vector, place: int) -> None:
    """Make a vector long enough for a place."""
    vector.extend([0] * (place + 1 - len(vector)))
