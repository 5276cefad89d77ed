"""Several subsets in one cluster, which share its room: together they get no more than fits.

A division knows the room for each subset alone. If subsets would get more than the room that they share, it is shared
out: in list order where the list is an order of preference, and else in proportion to what each would get. The result
are capacities, which are preferences: the division is made again, and what fits nowhere is placed all the same.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from uniteddeployment.planning.observed import SharedRoom
from uniteddeployment.planning.replicas import AllocationRequest, Mode, SubsetRequest
from uniteddeployment.planning.replicas.limits import Limits
from uniteddeployment.planning.replicas.request import NO_ROOM, capped, place


def fitted(request: AllocationRequest, limits: Limits) -> AllocationRequest:
    """The request with lower capacities for subsets that would get more than the room that they share."""
    rooms = list(limits.shared)
    while rooms:
        numbers = place(request, limits).replicas
        exceeded = [room for room in rooms if room.taken(_beyond(numbers, limits)) > room.places]
        if not exceeded:
            break
        # Each room is shared out once. If it is exceeded again, there is room nowhere.
        rooms = [room for room in rooms if room not in exceeded]
        for room in exceeded:
            request = _shared_out(request, numbers, limits, room)
    return request


def _beyond(numbers: Mapping[str, int], limits: Limits) -> dict[str, int]:
    """Subset -> its pods beyond those that have a node."""
    return {name: max(0, number - limits.of(name).placed) for name, number in numbers.items()}


def _shared_out(
    request: AllocationRequest, numbers: Mapping[str, int], limits: Limits, room: SharedRoom
) -> AllocationRequest:
    """Limit what the takers of a room get beyond what they have."""
    competing = {name for takers in room.takers for name in takers.subsets}
    subsets = {subset.name: subset for subset in request.subsets if subset.name in competing}
    have = {name: subset.current for name, subset in subsets.items()}
    wanted = {name: max(0, numbers[name] - number) for name, number in have.items()}
    sharing = _Sharing(room, _beyond(have, limits))
    if request.mode is Mode.SPREAD:
        all_of_it = room.taken(_beyond({name: have[name] + wanted[name] for name in have}, limits))
        part = sharing.left / max(all_of_it - sharing.taken, sharing.left, Fraction(1))
        for name in subsets:
            sharing.give(name, int(wanted[name] * part))
    for name in subsets:
        sharing.give(name, wanted[name] - sharing.given.get(name, 0))

    def limited(subset: SubsetRequest) -> SubsetRequest:
        if subset.name not in competing:
            return subset
        return capped(subset, subset.current + sharing.given[subset.name], subset.note or NO_ROOM)

    return replace(request, subsets=tuple(limited(subset) for subset in request.subsets))


class _Sharing:
    """A room that is given to its takers. ``have`` is what they take already: subset -> pods."""

    def __init__(self, room: SharedRoom, have: Mapping[str, int]) -> None:
        self.taken = room.taken(have)
        self.left = max(Fraction(0), room.places - self.taken)
        """Places."""
        self.given: dict[str, int] = {}
        """Subset -> its pods beyond those that it has."""
        self._free: dict[str, int] = {}
        """First subset of takers -> how many more of their pods fit beside the room."""
        self._takers = {name: takers for takers in room.takers for name in takers.subsets}
        for takers in room.takers:
            beside = takers.elsewhere - sum(have.get(name, 0) for name in takers.subsets)
            self._free[takers.subsets[0]] = max(0, beside)

    def give(self, name: str, pods: int) -> None:
        """Give a subset as many of these pods as there is room for."""
        takers = self._takers[name]
        free = min(pods, self._free[takers.subsets[0]])
        self._free[takers.subsets[0]] -= free
        paid = pods - free
        if takers.places:
            paid = min(paid, int(self.left / takers.places))
        self.left -= paid * takers.places
        self.given[name] = self.given.get(name, 0) + free + paid
