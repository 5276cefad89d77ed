"""The rooms of one cluster for which several subsets of an application compete. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from uniteddeployment.fleet.capacity.assumed import Demanded
from uniteddeployment.fleet.capacity.room import Group, places_of_one, room
from uniteddeployment.fleet.capacity.sums import Sums
from uniteddeployment.planning.observed import SharedRoom, Takers

_MOST_DEMANDS = 32
"""For so many different demands in a cluster, rooms are compared. The pods of more are only counted by themselves."""

Subsets = tuple[str, ...]


def shared_rooms(
    sums: Sums, demands: Mapping[Demanded, Subsets], others: Mapping[Demanded, Sequence[Group]]
) -> Iterator[SharedRoom]:
    """Yield the rooms that more than one subset can take.

    ``others`` are the pods of no competing subset that take room from each demand, as for :func:`room`.
    """
    compared = list(demands)[:_MOST_DEMANDS]
    for demanded in compared:
        takers = list(_takers(sums, demanded, {one: demands[one] for one in compared}))
        places = room(sums, demanded.amounts, demanded.zones, others[demanded])
        if places is None or sum(len(one.subsets) for one in takers) < 2:
            continue
        yield SharedRoom(places, tuple(takers))
        if any(one.places < 1 for one in takers):
            # Each pod takes the place of a pod on its node, however small it is.
            pods = room(sums, (), demanded.zones, others[demanded]) or 0
            yield SharedRoom(pods, tuple(Takers(one.subsets, Fraction(1), one.elsewhere) for one in takers))


def _takers(sums: Sums, demanded: Demanded, demands: Mapping[Demanded, Subsets]) -> Iterator[Takers]:
    for other, subsets in demands.items():
        if other == demanded:
            yield Takers(subsets)
        elif _overlap(demanded.zones, other.zones):
            beside = _without(other.zones, demanded.zones, sums.zone_names)
            elsewhere = room(sums, other.amounts, beside) if beside else 0
            yield Takers(subsets, places_of_one(other.amounts, demanded.amounts), elsewhere or 0)


def _overlap(first: frozenset[str] | None, second: frozenset[str] | None) -> bool:
    return first is None or second is None or bool(first & second)


def _without(zones: frozenset[str] | None, removed: frozenset[str] | None, known: Iterable[str]) -> Collection[str]:
    """The zones that are in one set and not in another; None stands for all."""
    if removed is None:
        return ()
    return (frozenset(known) if zones is None else zones) - removed
