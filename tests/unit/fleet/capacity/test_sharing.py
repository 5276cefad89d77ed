"""The rooms that subsets in one cluster share: by zones, and by the size of their pods."""

from fractions import Fraction

from tests.support.capacity import decoded_node, sums_of
from uniteddeployment.fleet.capacity.assumed import Demanded
from uniteddeployment.fleet.capacity.sharing import shared_rooms
from uniteddeployment.planning.observed import SharedRoom, Takers

SMALL, LARGE = (("cpu", 1000),), (("cpu", 3000),)
NODES = [decoded_node(f"n{zone}", {"cpu": "6", "memory": "8Gi", "pods": "8"}, zone=zone) for zone in "abc"]


def demand(amounts: tuple[tuple[str, int], ...], zones: str = "") -> Demanded:
    return Demanded(amounts, frozenset(zones) if zones else None)


def shared(demands: dict[Demanded, tuple[str, ...]]) -> list[SharedRoom]:
    return list(shared_rooms(sums_of(NODES, []), demands, {one: [] for one in demands}))


def test_equal_subsets_share_one_room() -> None:
    assert shared({demand(SMALL): ("x", "y")}) == [SharedRoom(18, (Takers(("x", "y")),))]
    assert shared({demand(SMALL): ("x",)}) == []


def test_subsets_in_different_zones_share_nothing() -> None:
    assert shared({demand(SMALL, "a"): ("x",), demand(SMALL, "b"): ("y",)}) == []


def test_subsets_in_overlapping_zones_share_what_they_have_in_common() -> None:
    """Pods of y fit into zone b, too, and those of x only into a."""
    first, second = demand(SMALL, "a"), demand(SMALL, "ab")
    assert shared({first: ("x",), second: ("y",)}) == [
        SharedRoom(6, (Takers(("x",)), Takers(("y",), elsewhere=6))),
        SharedRoom(12, (Takers(("x",)), Takers(("y",)))),
    ]
    everywhere = demand(SMALL)
    assert shared({first: ("x",), everywhere: ("y",)})[0] == SharedRoom(
        6, (Takers(("x",)), Takers(("y",), elsewhere=12))
    )


def test_pods_of_different_sizes_take_places_of_each_other() -> None:
    """And each takes the place of a pod on its node, whatever its size."""
    small, large = demand(SMALL), demand(LARGE)
    assert shared({small: ("x",), large: ("y",)}) == [
        SharedRoom(18, (Takers(("x",)), Takers(("y",), places=Fraction(3)))),
        SharedRoom(6, (Takers(("x",), places=Fraction(1, 3)), Takers(("y",)))),
        SharedRoom(24, (Takers(("x",)), Takers(("y",)))),
    ]
