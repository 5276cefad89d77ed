"""The ordinals that an Advanced StatefulSet leaves out (``reserveOrdinals``), kept as ranges.

An entry such as ``"0-2147483647"`` is a few bytes long, so nothing here may take time or memory per ordinal.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

_DIGITS = 10
"""The digits of the largest ordinal, 2147483647."""


@dataclass(frozen=True, slots=True)
class ReservedOrdinals:
    """Ranges that are sorted and do not overlap."""

    starts: Sequence[int]
    ends: Sequence[int]
    """The ordinal after the last of each range."""
    totals: Sequence[int]
    """How many ordinals the range and all before it have."""

    def __contains__(self, ordinal: int) -> bool:
        at = bisect_right(self.starts, ordinal) - 1
        return at >= 0 and ordinal < self.ends[at]

    def below(self, ordinal: int) -> int:
        """How many reserved ordinals are smaller than this one."""
        at = bisect_right(self.starts, ordinal) - 1
        return self.totals[at] - max(0, self.ends[at] - ordinal) if at >= 0 else 0


def reserved_ordinals(entries: Iterable[object]) -> ReservedOrdinals:
    """Numbers, and ranges that are written ``"3-5"``. Anything else is left for the API server to refuse."""
    merged: list[list[int]] = []
    for start, end in sorted(_spans(entries)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return ReservedOrdinals(
        starts=tuple(start for start, _ in merged),
        ends=tuple(end for _, end in merged),
        totals=tuple(accumulate(end - start for start, end in merged)),
    )


def _spans(entries: Iterable[object]) -> Iterable[tuple[int, int]]:
    for entry in entries:
        first, _, last = str(entry).partition("-")
        last = last or first
        if all(text.isascii() and text.isdecimal() and len(text) <= _DIGITS for text in (first, last)):
            start, end = int(first), int(last) + 1
            if start < end:
                yield start, end
