"""Sets of completed indexes, stored as ranges: memory is proportional to the text, not to the number of indexes."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Indexes:
    """Numbers as sorted, disjoint ranges (first, last)."""

    runs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, text: str) -> "Indexes":
        """Parse ``0-2,5``."""
        pairs = (part.partition("-") for part in text.split(",")) if text else ()
        return cls(_joined((int(first), int(last or first)) for first, _, last in pairs))

    def union(self, numbers: Iterable[int]) -> "Indexes":
        """The union with further numbers."""
        return Indexes(_joined((*self.runs, *((number, number) for number in numbers))))

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.runs, (number, number))
        if at < len(self.runs) and self.runs[at][0] == number:
            return True
        return at > 0 and self.runs[at - 1][1] >= number

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    def __str__(self) -> str:
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.runs)

    def others(self, end: int) -> Iterator[int]:
        """The numbers below ``end`` that are not in the set, ascending."""
        at = 0
        for first, last in self.runs:
            yield from range(at, min(first, end))
            at = last + 1
        yield from range(at, end)


def _joined(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    runs: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if runs and first <= runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], max(runs[-1][1], last))
        else:
            runs.append((first, last))
    return tuple(runs)
