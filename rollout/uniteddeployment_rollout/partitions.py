"""One global number of updated pods, divided over subsets of different size.

Dividing each subset by itself and rounding up updates too many (four subsets of one pod: 25 % becomes 100 %), and the
method of the largest remainder can take an updated pod away when the number is raised, which a partition cannot do. A
divisor method does neither: every pod is a slot, the slots have an order that does not depend on the number, and the
first so many are updated (Sainte-Laguë for ``offset`` 0.5; see Balinski and Young, "Fair Representation").
"""

from collections.abc import Mapping
from fractions import Fraction
from heapq import heapify, heappop, heapreplace
from math import ceil

NEAREST = Fraction(1, 2)
"""As close to the same share in each subset as can be."""
FIRST_CANARY_EVERYWHERE = Fraction(1)
"""Each subset gets its first updated pod early."""
LARGEST_FIRST = Fraction(0)
"""Large subsets get updated pods before small ones."""


def partitions(sizes: Mapping[str, int], updated: int, offset: Fraction = NEAREST) -> dict[str, int]:
    """Subset -> partition, so that ``updated`` pods in all are updated. Subsets that tie are taken in their order.

    Raises ValueError when ``updated`` is negative or more than there are.
    """
    total = sum(sizes.values())
    if not 0 <= updated <= total:
        raise ValueError(f"{updated} of {total} pods cannot be updated")
    if not updated:
        return dict(sizes)
    taken = _surely_updated(sizes, updated, total, offset)
    index = {name: place for place, name in enumerate(sizes)}
    heap = [(_rank(taken[name], size, offset), index[name], name) for name, size in sizes.items() if taken[name] < size]
    heapify(heap)
    for _ in range(updated - sum(taken.values())):
        _, _, name = heap[0]
        taken[name] += 1
        if taken[name] < sizes[name]:
            heapreplace(heap, (_rank(taken[name], sizes[name], offset), index[name], name))
        else:
            heappop(heap)
    return {name: size - taken[name] for name, size in sizes.items()}


def _rank(taken: int, size: int, offset: Fraction) -> Fraction:
    """Where the next pod of a subset stands in the order of all pods; the smallest comes first."""
    return (taken + 1 - offset) / size


def _surely_updated(sizes: Mapping[str, int], updated: int, total: int, offset: Fraction) -> dict[str, int]:
    """For each subset, the pods that rank below a level under which there are at most ``updated`` pods.

    All but two pods per subset are found without a look at each, so a million pods cost as much as a hundred.
    """
    level = Fraction(max(0, updated - len(sizes)), total)
    return {name: max(0, min(size, ceil(level * size + offset) - 1)) for name, size in sizes.items()}
