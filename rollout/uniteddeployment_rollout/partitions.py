"""Division of a total number of updated pods among subsets of different sizes.

Rounding up in each subset updates too many pods: with four subsets of one pod, 25 % becomes 100 %. The method of the
largest remainder can take an updated pod away from a subset when the total rises, but a partition cannot revert pods. A
divisor method has neither problem: it orders all pods independently of the total, and the first pods in that order are
updated. With ``offset`` 0.5 it is the method of Sainte-Laguë; see Balinski and Young, "Fair Representation".
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from math import ceil

NEAREST = Fraction(1, 2)
"""Update a share of each subset that is as equal as possible."""
FIRST_CANARY_EVERYWHERE = Fraction(1)
"""Update the first pod of each subset before the second of any."""
LARGEST_FIRST = Fraction(0)
"""Update pods of large subsets before those of small ones."""


def partitions(sizes: Mapping[str, int], updated: int, offset: Fraction = NEAREST) -> dict[str, int]:
    """Return a partition for each subset so that ``updated`` pods are updated in total.

    ``sizes`` are the pods of each subset. Ties go to the subset that comes first in ``sizes``. Raises ValueError if
    ``updated`` is negative or larger than the number of pods.

    >>> sizes = {"member-1": 4, "member-2": 2, "member-3": 2}
    >>> partitions(sizes, 1)
    {'member-1': 3, 'member-2': 2, 'member-3': 2}
    >>> partitions(sizes, 4)
    {'member-1': 2, 'member-2': 1, 'member-3': 1}
    """
    total = sum(sizes.values())
    if not 0 <= updated <= total:
        raise ValueError(f"{updated} of {total} pods cannot be updated")
    return dict(_partitions(tuple(sizes.items()), updated, offset))


@lru_cache(maxsize=256)
def _partitions(items: tuple[tuple[str, int], ...], updated: int, offset: Fraction) -> dict[str, int]:
    """Cached, because a rollout asks for the same division in every pass. The result must not be changed."""
    sizes = dict(items)
    if not updated:
        return sizes
    total = sum(sizes.values())
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


def shares(
    sizes: Mapping[str, int], updated: int, offset: Fraction = NEAREST, at_least: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Subset -> pods to update, ``updated`` in all. No subset gets fewer than ``at_least`` says, nor more than it has.

    What is at least due comes first: where it is more than ``updated``, it is the answer.
    Raises ValueError when ``updated`` is negative or more than there are.
    """
    least = {name: min((at_least or {}).get(name, 0), size) for name, size in sizes.items()}

    def raised(number: int) -> dict[str, int]:
        held = partitions(sizes, number, offset)
        return {name: max(least[name], size - held[name]) for name, size in sizes.items()}

    if sum(least.values()) >= updated:
        return least
    # Each further pod belongs to one subset, so the sum rises by one or not at all, and meets ``updated`` exactly.
    low, high = 0, updated
    best = raised(updated)
    if sum(best.values()) == updated:
        return best
    while low < high:
        middle = (low + high) // 2
        if sum(raised(middle).values()) >= updated:
            high = middle
        else:
            low = middle + 1
    return raised(low)


def _rank(taken: int, size: int, offset: Fraction) -> Fraction:
    """Return the rank of the next pod of a subset in the order of all pods. Lower ranks come first."""
    return (taken + 1 - offset) / size


def _surely_updated(sizes: Mapping[str, int], updated: int, total: int, offset: Fraction) -> dict[str, int]:
    """Return, for each subset, the pods whose rank is below a level that at most ``updated`` pods are below.

    Only up to two pods per subset are left to the heap, so the cost does not depend on the number of pods.
    """
    level = Fraction(max(0, updated - len(sizes)), total)
    return {name: max(0, min(size, ceil(level * size + offset) - 1)) for name, size in sizes.items()}
