"""Pods that were assigned to a cluster and that it does not show yet, so that nobody else gets their room. Pure.

Times are seconds of any clock that never goes back. A reservation ends when the cluster shows the pods, when they are
not assigned any more, or when the cluster has shown no further pod for some time, for example because a quota forbids
them.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from uniteddeployment.fleet.capacity.demand import Amounts
from uniteddeployment.fleet.capacity.sums import SubsetKey

ASSUMED_SECONDS = 60.0
"""How long room is kept for pods that do not appear. Each pod that appears extends it."""

Zones = frozenset[str] | None
"""The zones that pods may run in; None if any."""


@dataclass(frozen=True, slots=True)
class Demanded:
    """What each pod of a subset needs."""

    amounts: Amounts
    zones: Zones = None


@dataclass(slots=True)
class _Reservation:
    pods: int
    """How many pods are assigned."""
    demanded: Demanded
    shown: int
    """How many the cluster shows."""
    since: float
    """Since when no further pod has appeared."""

    @property
    def missing(self) -> int:
        return max(0, self.pods - self.shown)


class Assumed:
    """The reservations in one cluster."""

    def __init__(self) -> None:
        self._reservations: OrderedDict[SubsetKey, _Reservation] = OrderedDict()
        """Those that count; the one that has waited longest is first."""
        self._expired: dict[SubsetKey, _Reservation] = {}
        """Those that have ended because no pod appeared. They begin again only with another assignment."""
        self._missing: Counter[Demanded] = Counter()

    def __len__(self) -> int:
        return len(self._reservations) + len(self._expired)

    def assign(self, subset: SubsetKey, pods: int, demanded: Demanded, *, shown: int, now: float) -> None:
        """A subset is to have so many pods in the cluster, which shows some of them."""
        if pods <= shown:
            self.drop(subset)
            return
        known = self._reservations.get(subset) or self._expired.get(subset)
        if known is not None and known.pods == pods and known.demanded == demanded:
            self.show(subset, shown, now)
            return
        self.drop(subset)
        self._reservations[subset] = _Reservation(pods, demanded, shown, now)
        self._missing[demanded] += pods - shown

    def show(self, subset: SubsetKey, shown: int, now: float) -> None:
        """The cluster shows so many pods of a subset."""
        expired = self._expired.get(subset)
        known = self._reservations.get(subset) or expired
        if known is None:
            return
        progress = shown > known.shown
        if expired is None:
            self._missing[known.demanded] -= known.missing
        known.shown = shown
        if not known.missing:
            self._reservations.pop(subset, None)
            self._expired.pop(subset, None)
            return
        if progress:
            known.since = now
            self._expired.pop(subset, None)
            self._reservations[subset] = known
            self._reservations.move_to_end(subset)
        if progress or expired is None:
            self._missing[known.demanded] += known.missing

    def drop(self, subset: SubsetKey) -> None:
        """A subset is not assigned to the cluster any more."""
        self._expired.pop(subset, None)
        known = self._reservations.pop(subset, None)
        if known is not None:
            self._missing[known.demanded] -= known.missing

    def missing(self, apart_from: Collection[SubsetKey], zones: Zones, now: float) -> Iterator[tuple[Amounts, int]]:
        """Yield the requests and the number of missing pods that may run in these zones, without those of some subsets.

        The subsets are those of the application that asks: its own pods are no reason to place them elsewhere.
        """
        self._expire(now)
        own: Counter[Demanded] = Counter()
        for subset in apart_from:
            if (known := self._reservations.get(subset)) is not None:
                own[known.demanded] += known.missing
        for demanded, pods in self._missing.items():
            others = pods - own[demanded]
            if others > 0 and (zones is None or demanded.zones is None or zones & demanded.zones):
                yield demanded.amounts, others

    def _expire(self, now: float) -> None:
        while self._reservations:
            subset, first = next(iter(self._reservations.items()))
            if now - first.since < ASSUMED_SECONDS:
                break
            self.drop(subset)
            self._expired[subset] = first
        self._missing = +self._missing
