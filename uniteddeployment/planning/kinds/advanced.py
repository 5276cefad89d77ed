"""OpenKruise's Advanced StatefulSets: a subset has one, held by its own partition.

The partition is a number of pods that stay old: those of the lowest ordinals, without the ordinals that
``reserveOrdinals`` leaves out, or any with ``unorderedUpdate``. Pods are named as those of a StatefulSet are, so the
names of the workloads have a suffix: while one kind replaces the other, the two must not create the same pods.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from uniteddeployment.planning.application import Application, Kind
from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan
from uniteddeployment.planning.kinds.partitioned import plan_ordered
from uniteddeployment.planning.kinds.places import Place
from uniteddeployment.planning.observed import Workload

KIND = Kind(
    name="AdvancedStatefulSet",
    template="advancedStatefulSetTemplate",
    group="apps.kruise.io",
    version="v1beta1",
    plural="statefulsets",
    kind="StatefulSet",
    partition=("rollingUpdate", "partition"),
    update_type="RollingUpdate",
    suffix="asts",
    provider="OpenKruise",
)
_DIGITS = 10
"""The digits of the largest ordinal, 2147483647."""


def plan_subset(context: SubsetContext) -> SubsetPlan:
    """Plan a subset. Raises TemplateMissing if the stable template is needed and is not loaded."""
    return plan_ordered(context, _places)


def _places(context: SubsetContext, workload: Workload) -> Place | None:
    rolling = (context.app.workload_template["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    if rolling.get("unorderedUpdate") is not None:
        return None
    reserved, first = _reserved(context.app), workload.first_ordinal
    skipped = reserved.below(first)

    def place(ordinal: int) -> int | None:
        if ordinal < first or ordinal in reserved:
            return None
        return ordinal - first - reserved.below(ordinal) + skipped

    return place


@dataclass(frozen=True, slots=True)
class ReservedOrdinals:
    """Ranges of ordinals, sorted and without overlaps.

    An entry such as ``"0-2147483647"`` is a few bytes long, so nothing here takes time or memory per ordinal.
    """

    starts: Sequence[int]
    ends: Sequence[int]
    """The ordinal after the last of each range."""
    totals: Sequence[int]
    """The number of ordinals in each range and all before it."""

    def __contains__(self, ordinal: int) -> bool:
        at = bisect_right(self.starts, ordinal) - 1
        return at >= 0 and ordinal < self.ends[at]

    def below(self, ordinal: int) -> int:
        """The number of reserved ordinals that are smaller than this one."""
        at = bisect_right(self.starts, ordinal) - 1
        return self.totals[at] - max(0, self.ends[at] - ordinal) if at >= 0 else 0


def reserved_ordinals(entries: Iterable[object]) -> ReservedOrdinals:
    """Numbers, and ranges such as ``"3-5"``. Anything else is ignored: the API server refuses it.

    >>> reserved = reserved_ordinals([1, "3-5", "4-6"])
    >>> reserved.below(4), 2 in reserved, reserved.below(10)
    (2, False, 5)
    """
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


def _reserved(app: Application) -> ReservedOrdinals:
    """The ordinals that the pods of an application skip. Memoised in ``app``."""
    memo = ("reserveOrdinals",)
    if memo not in app.rendered:
        entries = app.workload_template["spec"].get("reserveOrdinals")
        app.rendered[memo] = reserved_ordinals(entries if isinstance(entries, list) else ())
    known: ReservedOrdinals = app.rendered[memo]
    return known
