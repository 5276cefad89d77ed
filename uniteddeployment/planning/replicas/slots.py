"""The order in which pods are placed.

Every division walks along one list of slots. The slot ``(i, k)`` is the k-th pod of subset i. As many slots are filled
as there are pods, from the start of the list. Because the list does not depend on the total, raising the total never
takes a pod from a subset. The list has these classes, in this order:

1. pods that may not be removed (``pinned``), and pods to keep;
2. minimums, in the order of the subsets;
3. pods within the capacities: by weight, the slot with the smallest ``(k - 1/2) / weight`` first (Sainte-Laguë), or in
   the order of the subsets;
4. pods beyond the capacities, in the same way.

In the last two classes, subsets of weight 0 come after the others, and share evenly what nobody else could take.

Among slots of equal rank, those that are occupied now come first, then those of the subset that runs more pods, then
those of the subset that is listed first. So dividing again by the result moves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

_SCALE = 1 << 40


@dataclass(slots=True, kw_only=True)
class Cell:
    """One subset while it is filled. All bounds are numbers of pods."""

    weight: int
    low: int
    high: int
    """An upper bound that is never exceeded, except by pinned pods."""
    capacity: int
    current: int
    pinned: int = 0
    kept: int = 0
    filled: int = 0


def fill(total: int, cells: Sequence[Cell], *, in_order: bool, beyond: bool = True) -> list[int]:
    """Return how many pods each cell gets. The sum is ``total`` unless bounds forbid it.

    Without ``beyond``, capacities are bounds too.

    Ten pods by weights 2 and 1, of which the first subset can run four. With the second at its upper bound of five, the
    tenth pod goes beyond the capacity of the first:

    >>> first = Cell(weight=2, low=0, high=10, capacity=4, current=0)
    >>> second = Cell(weight=1, low=0, high=5, capacity=10, current=0)
    >>> fill(10, [first, second], in_order=False)
    [5, 5]
    >>> fill(10, [first, second], in_order=False, beyond=False)
    [4, 5]

    Seven pods over three equal subsets: the spare one goes where most pods run already:

    >>> fill(7, [Cell(weight=1, low=0, high=7, capacity=7, current=n) for n in (2, 2, 3)], in_order=False)
    [2, 2, 3]
    """
    for cell in cells:
        # Pods that may not be removed exist whatever the total is.
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
    """Fill in list order, with a stand-in further down the list for each pod beyond a capacity.

    Four pods, of which the first subset can run three. All four stay there, and one stand-in runs in the second:

    >>> first = Cell(weight=1, low=0, high=4, capacity=3, current=4)
    >>> fill_reserving(4, [first, Cell(weight=1, low=0, high=4, capacity=4, current=0)])
    [4, 1]
    """
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
    """Raise each cell to its target in list order while pods are left; return how many are left."""
    for cell in cells:
        if left <= 0:
            break
        step = min(left, target(cell) - cell.filled)
        if step > 0:
            cell.filled += step
            left -= step
    return left


def _spread(cells: Sequence[Cell], left: int, ceiling: Callable[[Cell], int]) -> int:
    """Fill the next ``left`` slots by weight, each cell up to its ceiling; return how many pods are left."""
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
    """The rank of the next slot of a cell; the smallest is filled first. Equal quotients give equal floats."""
    return ((2 * cell.filled + 1) / _weight(cell), cell.filled >= cell.current, -cell.current, index)


def _weight(cell: Cell) -> int:
    """The weight of a cell among those that are filled together: cells of weight 0 are equal to each other."""
    return cell.weight or 1


def _at(level: int, weight: int, floor: int, top: int) -> int:
    """The number of slots of a cell below a level: those with ``(k - 1/2) / weight < level / _SCALE``."""
    # Exact integers: a rounding error at a tie would break the tie by chance.
    return max(floor, min(top, (2 * level * weight + _SCALE - 1) // (2 * _SCALE)))


def _level(rows: Sequence[tuple[Cell, int, int, int]], wanted: int) -> int:
    """A level below which at most ``wanted`` slots lie, and not many fewer: the heap finds the rest."""

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
