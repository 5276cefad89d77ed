"""The division of replicas over subsets, for every mode: :func:`allocate`."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.replicas.model import (
    Allocation,
    AllocationRequest,
    Mode,
    SubsetAllocation,
    SubsetRequest,
)
from uniteddeployment.planning.replicas.reasons import Decision, Limits, reason_of, unplaced_reason
from uniteddeployment.planning.replicas.shares import resolve_shares
from uniteddeployment.planning.replicas.slots import Cell, fill, fill_reserving
from uniteddeployment_api.int_or_percent import scaled


def allocate(request: AllocationRequest) -> Allocation:
    """Divide the total over the subsets.

    The goals in order: place all pods; keep the minimums, in list order; be close to the shares; move few pods. The
    same request gives the same result, and dividing again from that result changes nothing.

    A fixed share, a percentage and the rest:

    >>> east, west, rest = SubsetRequest(name="east", share=2), SubsetRequest(name="west", share="25%"), "rest"
    >>> allocate(AllocationRequest(total=10, subsets=(east, west, SubsetRequest(name=rest)))).replicas
    {'east': 2, 'west': 3, 'rest': 5}

    In list order, each up to its maximum. The second subset can probably run only four pods, so the others get more:

    >>> cheap, small = SubsetRequest(name="cheap", maximum=5), SubsetRequest(name="small", capacity=4)
    >>> overflow = SubsetRequest(name="overflow")
    >>> filled = allocate(AllocationRequest(total=12, subsets=(cheap, small, overflow), mode=Mode.FILL))
    >>> filled.replicas
    {'cheap': 5, 'small': 4, 'overflow': 3}
    >>> [subset.reason for subset in filled.subsets]
    ['limited by maxReplicas 5', 'limited to 4 by what it can run', 'filled in the order of the list']

    What no subset can take is not placed:

    >>> full = allocate(AllocationRequest(total=12, subsets=(cheap,)))
    >>> full.replicas, full.unplaced, full.problem
    ({'cheap': 5}, 7, 'cheap may take no more')
    """
    subsets = request.subsets
    total = _total(request)
    fixed, problem = resolve_shares(total, [subset.share for subset in subsets], [subset.current for subset in subsets])
    limits = [_limits(subset, share, total) for subset, share in zip(subsets, fixed, strict=True)]
    filling = _Filling(request, total, limits)
    ideal = filling.ideal()
    placed = filling.allowed(ideal)
    reserved = filling.reserved() if request.reserve else [0] * len(subsets)
    unplaced = max(0, total - sum(placed) - sum(reserved))
    if unplaced and not problem:
        problem = unplaced_reason(total, subsets, limits)
    after_fixed = any(subset.share is not None for subset in subsets)
    entries = zip(subsets, placed, reserved, ideal, limits, strict=True)
    return Allocation(
        subsets=tuple(
            SubsetAllocation(
                subset.name,
                number + waiting,
                reason_of(Decision(subset, number, wish, waiting, limit, total, request.mode, after_fixed)),
                waiting,
            )
            for subset, number, waiting, wish, limit in entries
        ),
        unplaced=unplaced,
        problem=problem,
    )


def _total(request: AllocationRequest) -> int:
    if request.total is not None:
        return request.total
    return sum(subset.share for subset in request.subsets if isinstance(subset.share, int))


def _limits(subset: SubsetRequest, share: int | None, total: int) -> Limits:
    """The bounds of a subset in numbers of pods."""
    low = 0 if subset.minimum is None else scaled(subset.minimum, total)
    high = total if subset.maximum is None else scaled(subset.maximum, total)
    if share is not None:
        low = high = share
    low = min(low, high)
    hard = high if subset.limit is None else min(high, subset.limit)
    if not subset.may_grow:
        hard = min(hard, subset.current)
    pinned = 0 if subset.may_shrink else subset.current
    return Limits(low=low, high=high, hard=max(hard, pinned), pinned=pinned)


@dataclass(frozen=True, slots=True)
class _Filling:
    """The slots of one request, filled with and without regard to the pods that run."""

    request: AllocationRequest
    total: int
    limits: Sequence[Limits]

    def ideal(self) -> list[int]:
        """The division by bounds and capacities alone, as if pods could be moved freely."""
        return self._fill(self._cells())

    def allowed(self, ideal: list[int]) -> list[int]:
        """The division as close to the ideal as the disruption policy allows now."""
        moves = self.request.disruption.moves
        if moves is None:
            return ideal
        calm = self._calm()
        return calm if moves == 0 else self._towards(ideal, calm, moves)

    def reserved(self) -> list[int]:
        """The pods of each subset that wait there, beyond those that it can run."""
        if self.request.mode is Mode.FILL:
            cells = self._cells()
            wished = fill_reserving(self.total, cells)
        else:
            cells = self._cells()
            for cell in cells:
                cell.capacity = self.total
            wished = fill(self.total, cells, in_order=False)
        return [max(0, wish - cell.capacity) for wish, cell in zip(wished, self._cells(), strict=True)]

    def _calm(self) -> list[int]:
        """The division that moves no running pod: it only adds pods or, if the total fell, only removes some."""
        cells = self._cells()
        running = [min(cell.current, cell.high, cell.capacity) for cell in cells]
        growing = sum(running) <= self.total
        for cell, number in zip(cells, running, strict=True):
            if growing:
                cell.kept = number
            else:
                cell.high = max(number, cell.pinned)
        return self._fill(cells)

    def _towards(self, ideal: Sequence[int], calm: Sequence[int], moves: int) -> list[int]:
        """``calm`` with at most ``moves`` pods moved to where ``ideal`` has them.

        The first missing slots are filled, and the last superfluous ones are emptied, in two more walks along the same
        list.
        """
        moves = min(moves, sum(max(0, want - have) for want, have in zip(ideal, calm, strict=True)))
        taking, giving = self._cells(), self._cells()
        for taker, giver, want, have in zip(taking, giving, ideal, calm, strict=True):
            taker.pinned, taker.high = have, max(have, want)
            giver.pinned, giver.high = min(have, want), have
        grown = self._fill(taking, sum(calm) + moves)
        shrunk = self._fill(giving, sum(calm) - moves)
        return [more + less - have for more, less, have in zip(grown, shrunk, calm, strict=True)]

    def _fill(self, cells: Sequence[Cell], total: int | None = None) -> list[int]:
        in_order = self.request.mode is Mode.FILL
        return fill(self.total if total is None else total, cells, in_order=in_order, beyond=not self.request.reserve)

    def _cells(self) -> list[Cell]:
        return [
            Cell(
                weight=1 if subset.weight is None else subset.weight,
                low=limit.low,
                high=limit.hard,
                capacity=self.total if subset.capacity is None else subset.capacity,
                current=subset.current,
                pinned=limit.pinned,
            )
            for subset, limit in zip(self.request.subsets, self.limits, strict=True)
        ]
