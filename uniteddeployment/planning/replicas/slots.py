"""The order in which pods are placed.

Every division is a walk along one list of slots. The slot ``(i, k)`` is the k-th pod of subset i; the first slots of
the list are filled, as many as there are pods. Because the list does not depend on the total, raising the total never
takes a pod from a subset. The list is, class by class:

1. what may not be taken away (``pinned``), and what is to be kept;
2. minimums, in the order of the subsets;
3. what fits the capacities: by weight, the slot with the smallest ``(k - 1/2) / weight`` first (Sainte-Laguë), or in
   the order of the subsets;
4. what does not fit the capacities, in the same way.

In the last two classes subsets of weight 0 come after the others, and share evenly what nobody else could take.

Among slots of equal rank those come first that are occupied now, then those of the subset that runs more, then those
of the subset that stands first: so a division of its own result moves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

_SCALE = 1 << 40


@dataclass(slots=True, kw_only=True)
class Cell:
    """One subset while it is being filled. All bounds are whole numbers by now."""

    weight: int
    low: int
    high: int
    """An upper bound that is never exceeded, pinned pods excepted."""
    capacity: int
    current: int
    pinned: int = 0
    kept: int = 0
    filled: int = 0


def fill(total: int, cells: Sequence[Cell], *, in_order: bool, beyond: bool = True) -> list[int]:
    """How many pods each cell gets. The sum is ``total`` unless bounds forbid it.

    Without ``beyond`` capacities are bounds too.
    """
    for cell in cells:
        # What cannot be taken away is there whatever the total is.
        cell.filled = cell.pinned
    left = total - sum(cell.filled for cell in cells)
    last = _high if beyond else _within_capacity
    left = _raise_to(cells, left, lambda cell: cell.kept)
    left = _raise_to(cells, left, lambda cell: min(cell.low, last(cell)))
    for ceiling in dict.fromkeys((_within_capacity, last)):
        if in_order:
            left = _raise_to(cells, left, ceiling)
            continue
        left = _spread([cell for cell in cells if cell.weight], left, ceiling)
        left = _spread([cell for cell in cells if not cell.weight], left, ceiling)
    return [cell.filled for cell in cells]


def fill_reserving(total: int, cells: Sequence[Cell]) -> list[int]:
    """Fill in order, with a stand-in further down the list for each pod that is placed beyond a capacity."""
    for cell in cells:
        cell.filled = cell.pinned
    left = total - sum(min(cell.filled, cell.capacity) for cell in cells)
    for target in (_low, _high):
        for cell in cells:
            before = min(cell.filled, cell.capacity)
            cell.filled += max(0, min(left, target(cell) - cell.filled))
            left -= min(cell.filled, cell.capacity) - before
    return [cell.filled for cell in cells]


def _low(cell: Cell) -> int:
    return min(cell.low, cell.high)


def _high(cell: Cell) -> int:
    return cell.high


def _within_capacity(cell: Cell) -> int:
    return min(cell.high, cell.capacity)


def _raise_to(cells: Sequence[Cell], left: int, target: Callable[[Cell], int]) -> int:
    """Raise each cell to its target in list order while pods are left; returns what is left."""
    for cell in cells:
        if left <= 0:
            break
        step = min(left, target(cell) - cell.filled)
        if step > 0:
            cell.filled += step
            left -= step
    return left


def _spread(cells: Sequence[Cell], left: int, ceiling: Callable[[Cell], int]) -> int:
    """Fill the next ``left`` slots by weight, each cell up to its ceiling; returns what is left."""
    rows = [
        (cell, index, cell.filled, min(ceiling(cell), cell.filled + left))
        for index, cell in enumerate(cells)
        if ceiling(cell) > cell.filled
    ]
    wanted = min(left, sum(top - floor for _, _, floor, top in rows))
    if wanted <= 0:
        return left
    level = _level(rows, wanted)
    given = 0
    for cell, _, floor, top in rows:
        cell.filled = _at(level, _weight(cell), floor, top)
        given += cell.filled - floor
    tops = {index: top for _, index, _, top in rows}
    heap = [(*_rank(cell, index), cell) for cell, index, _, top in rows if cell.filled < top]
    heapify(heap)
    for _ in range(wanted - given):
        index, cell = heap[0][3], heap[0][4]
        cell.filled += 1
        if cell.filled < tops[index]:
            heapreplace(heap, (*_rank(cell, index), cell))
        else:
            heappop(heap)
    return left - wanted


def _rank(cell: Cell, index: int) -> tuple[float, bool, int, int]:
    """The rank of the next slot of a cell; the smallest comes first. Equal quotients give equal floats."""
    return ((2 * cell.filled + 1) / _weight(cell), cell.filled >= cell.current, -cell.current, index)


def _weight(cell: Cell) -> int:
    """Its weight among its like: those of weight 0 are equal among themselves."""
    return cell.weight or 1


def _at(level: int, weight: int, floor: int, top: int) -> int:
    """How many slots of a cell lie below a level: those with ``(k - 1/2) / weight < level / _SCALE``."""
    # Exact integers: a rounding error at a tie would break the tie by chance.
    return max(floor, min(top, (2 * level * weight + _SCALE - 1) // (2 * _SCALE)))


def _level(rows: Sequence[tuple[Cell, int, int, int]], wanted: int) -> int:
    """A level below which not more than ``wanted`` slots lie, and not many fewer: the rest is left to the heap."""

    def below(level: int) -> int:
        return sum(_at(level, _weight(cell), floor, top) - floor for cell, _, floor, top in rows)

    near = 2 * len(rows)
    if wanted <= near:
        return 0
    low, high = 0, _SCALE * max(top // _weight(cell) + 1 for cell, _, _, top in rows)
    while high - low > 1:
        middle = (low + high) // 2
        count = below(middle)
        if count > wanted:
            high = middle
            continue
        low = middle
        if wanted - count <= near:
            break
    return low
