"""How many more pods of an application fit into a cluster. Pure.

Pods are counted node by node, on schedulable nodes. The result is an estimate: it knows neither the affinities and
tolerations of the application nor the order in which the scheduler fills nodes. Pods that are about to get a node are
subtracted as follows: as many places as such a pod takes at most if it is larger than one of the application, and its
share of a place if it is smaller.
"""

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from math import ceil

from uniteddeployment.fleet.capacity.demand import Amounts
from uniteddeployment.fleet.capacity.sums import Sums

Group = tuple[Amounts, int]
"""A number of pods with the same requests."""
_MOST_GROUPS = 256
"""Of more different requests, only the sum is subtracted."""


def room(sums: Sums, wanted: Amounts, zones: Collection[str] | None, assumed: Iterable[Group] = ()) -> int | None:
    """Return how many pods with these requests fit into these zones (any if None); None if that is not known.

    ``assumed`` are pods that were assigned to the cluster and that it does not show yet.
    """
    if not sums.places.known(wanted):
        return None if sums.places.left_out else 0
    groups = _bounded([*sums.pending.items(), *assumed])
    fit = _count(sums.fits(sums.places.of(wanted)), zones) - _places_of(groups, wanted)
    free_pods = _count(sums.fits(()), zones) - sum(pods for _, pods in groups)
    return max(0, min(fit, free_pods))


def _count(by_zone: Mapping[str, int], zones: Collection[str] | None) -> int:
    return sum(count for zone, count in by_zone.items() if zones is None or zone in zones)


def _places_of(groups: Iterable[Group], wanted: Amounts) -> int:
    """How many pods with the wanted requests do not fit because of the pods of these groups."""
    return ceil(sum((pods * places_of_one(amounts, wanted) for amounts, pods in groups), Fraction(0)))


def places_of_one(amounts: Amounts, wanted: Amounts) -> Fraction:
    """How many pods with the wanted requests do not fit because of one pod with other requests.

    It takes as many places as it can take at most if it is larger, and its share of a place if it is smaller.
    """
    sizes = dict(wanted)
    share = max((Fraction(amount, sizes[name]) for name, amount in amounts if name in sizes), default=Fraction(0))
    return Fraction(ceil(share)) if share >= 1 else share


def _bounded(groups: list[Group]) -> list[Group]:
    if len(groups) <= _MOST_GROUPS:
        return groups
    total: dict[str, int] = {}
    for amounts, pods in groups:
        for name, amount in amounts:
            total[name] = total.get(name, 0) + amount * pods
    pods = sum(pods for _, pods in groups)
    return [(tuple(sorted((name, -(-amount // pods)) for name, amount in total.items())), pods)]
