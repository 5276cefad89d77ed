"""Subsets in one cluster together get no more than fits there, as long as there is room elsewhere."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.planning.observed import SharedRoom, Takers
from uniteddeployment.planning.replicas import NEVER, AllocationRequest, Mode, SubsetRequest
from uniteddeployment.planning.replicas.limits import Limit, Limits
from uniteddeployment.planning.replicas.request import place
from uniteddeployment.planning.replicas.sharing import fitted


def divided(total: int, subsets: dict[str, dict[str, Any]], *shared: SharedRoom, mode: Mode = Mode.FILL) -> list[int]:
    """The numbers of subsets, which have so many replicas (``current``), placed pods (``placed``) and room."""
    requests, found = [], {}
    for name, one in subsets.items():
        current, placed, room = one.get("current", 0), one.get("placed", one.get("current", 0)), one.get("room", 99)
        requests.append(SubsetRequest(name=name, current=current, capacity=max(current, placed + room)))
        found[name] = Limit(room=placed + room, placed=placed)
    limits = Limits(found, shared=shared)
    request = AllocationRequest(total=total, subsets=tuple(requests), mode=mode, disruption=NEVER)
    return list(place(fitted(request, limits), limits).replicas.values())


def both(places: int, **more: Any) -> SharedRoom:
    """A room for which the subsets a and b compete with equal pods."""
    return SharedRoom(places, (Takers(("a", "b"), **more),))


def test_room_that_one_subset_takes_is_not_promised_to_another_in_its_cluster() -> None:
    assert divided(6, {"a": {"room": 3}, "b": {"room": 3}, "c": {}}) == [3, 3, 0]
    assert divided(6, {"a": {"room": 3}, "b": {"room": 3}, "c": {}}, both(3)) == [3, 0, 3]
    assert divided(6, {"a": {"room": 2}, "b": {"room": 3}, "c": {}}, both(3)) == [2, 1, 3]


def test_subsets_that_spread_share_a_room_in_proportion() -> None:
    rooms = {"a": {"room": 4}, "b": {"room": 4}, "c": {}}
    assert divided(12, rooms, both(4), mode=Mode.SPREAD) == [2, 2, 8]
    assert divided(12, rooms, both(3), mode=Mode.SPREAD) == [2, 1, 9]


def test_assigned_pods_that_have_no_node_yet_take_the_room_that_they_were_assigned_for() -> None:
    """The cluster still shows the whole room; pods that have a node have left it."""
    assert divided(6, {"a": {"current": 3, "placed": 0, "room": 3}, "b": {"room": 3}, "c": {}}, both(3)) == [3, 0, 3]
    assert divided(6, {"a": {"current": 3, "placed": 3, "room": 3}, "b": {"room": 3}, "c": {}}, both(3)) == [6, 0, 0]


def test_what_has_room_nowhere_is_placed_all_the_same_and_nothing_shrinks() -> None:
    assert sum(divided(9, {"a": {"room": 2}, "b": {"room": 2}}, both(2))) == 9
    rooms = {"a": {"current": 5, "placed": 1, "room": 2}, "b": {"current": 4, "placed": 1, "room": 2}, "c": {}}
    assert divided(12, rooms, both(2)) == [5, 4, 3]


def test_larger_pods_take_more_places_and_smaller_ones_a_share() -> None:
    large = SharedRoom(8, (Takers(("a",)), Takers(("b",), places=Fraction(4))))
    assert divided(9, {"a": {"room": 5}, "b": {"room": 2}, "c": {}}, large) == [5, 0, 4]
    small = SharedRoom(2, (Takers(("a",), places=Fraction(1, 4)), Takers(("b",))))
    assert divided(9, {"a": {"room": 4}, "b": {"room": 2}, "c": {}}, small) == [4, 1, 4]


def test_pods_that_fit_into_other_zones_take_no_place() -> None:
    """Subset b may also use a zone that a may not, with room for two."""
    zone = SharedRoom(3, (Takers(("a",)), Takers(("b",), elsewhere=2)))
    assert divided(9, {"a": {"room": 3}, "b": {"room": 5}, "c": {}}, zone) == [3, 2, 4]


def test_pods_that_find_no_room_in_one_cluster_do_not_exceed_the_shared_room_of_the_next() -> None:
    second = SharedRoom(3, (Takers(("c", "d")),))
    rooms = {"a": {"room": 3}, "b": {"room": 3}, "c": {"room": 3}, "d": {"room": 3}, "e": {}}
    assert divided(9, rooms, both(3), second) == [3, 0, 3, 0, 3]


takers = st.builds(
    lambda places, elsewhere: (places, elsewhere),
    st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2)]),
    st.integers(0, 3),
)
subset = st.fixed_dictionaries({"room": st.integers(0, 6), "current": st.integers(0, 4), "placed": st.integers(0, 4)})


@given(
    total=st.integers(0, 30),
    first=subset,
    second=subset,
    places=st.integers(0, 8),
    takes=st.tuples(takers, takers),
    mode=st.sampled_from(Mode),
)
def test_a_shared_room_is_never_exceeded_while_there_is_room_elsewhere(
    *,
    total: int,
    first: dict[str, int],
    second: dict[str, int],
    places: int,
    takes: tuple[tuple[Fraction, int], tuple[Fraction, int]],
    mode: Mode,
) -> None:
    """Apart from what subsets already had; all pods are placed, and no number shrinks while the total grows."""
    room = SharedRoom(places, tuple(Takers((name,), *take) for name, take in zip("ab", takes, strict=True)))
    subsets = {"a": first, "b": second, "c": {"room": 10_000}}
    numbers = divided(total, subsets, room, mode=mode)
    assert sum(numbers) == total

    def beyond(of: list[int]) -> dict[str, int]:
        return {name: max(0, of[i] - one["placed"]) for i, (name, one) in enumerate([("a", first), ("b", second)])}

    had = [first["current"], second["current"]]
    assert room.taken(beyond(numbers)) <= max(Fraction(places), room.taken(beyond(had)))
    if total >= sum(had):
        assert numbers[0] >= had[0]
        assert numbers[1] >= had[1]
