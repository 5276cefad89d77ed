"""The one division of replicas over subsets: :func:`allocate`."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.allocation.model import (
    Allocation,
    AllocationRequest,
    Mode,
    SubsetAllocation,
    SubsetDemand,
)
from uniteddeployment.planning.allocation.reasons import Limits, reason_of, unplaced_reason
from uniteddeployment.planning.allocation.shares import resolve_shares
from uniteddeployment.planning.allocation.slots import Cell, fill
from uniteddeployment_api.shares import scaled


def allocate(request: AllocationRequest) -> Allocation:
    """Divide the total over the subsets.

    The goals, the first first: place all; keep the minimums, in order; be close to the shares; move few pods. The
    same request gives the same answer, and an answer that is divided again stays as it is.
    """
    demands = request.subsets
    total = _total(request)
    fixed, problem = resolve_shares(total, [demand.share for demand in demands], [demand.current for demand in demands])
    limits = [_limits(demand, share, total) for demand, share in zip(demands, fixed, strict=True)]
    division = _Division(request, total, limits)
    numbers = division.result()
    wished = division.fill(kept=False)
    unplaced = max(0, total - sum(numbers))
    if unplaced and not problem:
        problem = unplaced_reason(unplaced, total, demands, limits)
    return Allocation(
        subsets=tuple(
            SubsetAllocation(
                demand.name,
                number,
                reason_of(demand, number, wish, limit, total, request.mode),
            )
            for demand, number, wish, limit in zip(demands, numbers, wished, limits, strict=True)
        ),
        unplaced=unplaced,
        problem=problem,
    )


def _total(request: AllocationRequest) -> int:
    if request.total is not None:
        return request.total
    return sum(demand.share for demand in request.subsets if isinstance(demand.share, int))


def _limits(demand: SubsetDemand, share: int | None, total: int) -> Limits:
    """The bounds of a subset in pods."""
    low = 0 if demand.minimum is None else scaled(demand.minimum, total)
    high = total if demand.maximum is None else scaled(demand.maximum, total)
    if share is not None:
        low = high = share
    low = min(low, high)
    hard = high if demand.limit is None else min(high, demand.limit)
    if not demand.may_grow:
        hard = min(hard, demand.current)
    pinned = 0 if demand.may_shrink else demand.current
    return Limits(share=share, low=low, high=high, hard=max(hard, pinned), pinned=pinned)


@dataclass(frozen=True, slots=True)
class _Division:
    """The slots of one request, filled with and without regard to what runs."""

    request: AllocationRequest
    total: int
    limits: Sequence[Limits]

    def result(self) -> list[int]:
        moves = self.request.disruption.moves
        ideal = self.fill(kept=False)
        if moves is None:
            return ideal
        calm = self.fill(kept=True)
        return calm if moves == 0 else self._towards(ideal, calm, moves)

    def fill(self, *, kept: bool) -> list[int]:
        """The division; with ``kept``, one that moves nothing that runs."""
        cells = [self._cell(demand, limit) for demand, limit in zip(self.request.subsets, self.limits, strict=True)]
        if kept:
            running = [min(cell.current, cell.high, cell.capacity) for cell in cells]
            growing = sum(running) <= self.total
            for cell, number in zip(cells, running, strict=True):
                if growing:
                    cell.kept = number
                else:
                    # The total fell below what runs: take away, and give to nobody.
                    cell.high = max(number, cell.pinned)
        return fill(self.total, cells, in_order=self.request.mode is Mode.FILL)

    def _cell(self, demand: SubsetDemand, limit: Limits) -> Cell:
        return Cell(
            weight=1 if demand.weight is None else demand.weight,
            low=limit.low,
            high=limit.hard,
            capacity=self.total if demand.capacity is None else demand.capacity,
            current=demand.current,
            pinned=limit.pinned,
        )

    def _towards(self, ideal: Sequence[int], calm: Sequence[int], moves: int) -> list[int]:
        """``calm`` with at most ``moves`` pods moved to where ``ideal`` wants them, the most needed first.

        The most needed are those that the ideal would place first if it had only that many to place: the surplus is
        cut down pod by pod, and so is the lack, by how far each is from its end.
        """
        numbers = list(calm)
        for _ in range(moves):
            gaps = [want - have for want, have in zip(ideal, numbers, strict=True)]
            taker = max(range(len(gaps)), key=lambda index: (gaps[index], -index), default=0)
            giver = min(range(len(gaps)), key=lambda index: (gaps[index], -index), default=0)
            if not gaps or gaps[taker] <= 0 or gaps[giver] >= 0:
                break
            numbers[taker] += 1
            numbers[giver] -= 1
        return numbers
