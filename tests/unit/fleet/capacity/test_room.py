"""The room in a cluster: exact beside pods of the same size, and never too much beside larger ones."""

from itertools import combinations_with_replacement

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.capacity import decoded_node, decoded_pod, sums_of
from uniteddeployment.fleet.capacity.demand import Amounts
from uniteddeployment.fleet.capacity.room import room
from uniteddeployment.fleet.capacity.sums import Sums

WANTED: Amounts = (("cpu", 1000), ("memory", 1000))


def cluster(free: list[tuple[int, int]]) -> Sums:
    """Nodes with so much free cpu (thousandths) and memory."""
    return sums_of([decoded_node(f"n{i}", {"cpu": f"{c}m", "memory": str(m)}) for i, (c, m) in enumerate(free)], [])


def worst_left(free: list[tuple[int, int]], other: tuple[int, int], pods: int) -> int | None:
    """How many pods fit after the others went where they do most harm; tries every way. None if there is none."""
    left = []
    for places in combinations_with_replacement(range(len(free)), pods):
        rest = [list(amounts) for amounts in free]
        for node in places:
            rest[node] = [have - take for have, take in zip(rest[node], other, strict=True)]
        if all(amount >= 0 for amounts in rest for amount in amounts):
            left.append(sum(min(c // 1000, m // 1000) for c, m in rest))
    return min(left, default=None)


frees = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000)), min_size=1, max_size=3)


@given(frees, st.integers(0, 3))
def test_pods_of_the_same_size_are_subtracted_exactly(free: list[tuple[int, int]], pods: int) -> None:
    fit = sum(min(cpu, memory) // 1000 for cpu, memory in free)
    assert room(cluster(free), WANTED, None, [(WANTED, pods)]) == max(0, fit - pods)


@given(frees, st.tuples(st.integers(1000, 3000), st.integers(1000, 3000)), st.integers(0, 3))
def test_room_beside_larger_pods_is_there_wherever_these_go(
    free: list[tuple[int, int]], other: tuple[int, int], pods: int
) -> None:
    found = room(cluster(free), WANTED, None, [((("cpu", other[0]), ("memory", other[1])), pods)])
    worst = worst_left(free, other, pods)
    assume(worst is not None)
    assert found is not None
    assert found <= (worst or 0)


@given(frees, st.integers(1, 20))
def test_smaller_pods_take_their_share_of_places(free: list[tuple[int, int]], pods: int) -> None:
    small = (("cpu", 300), ("memory", 100))
    fit = sum(min(cpu, memory) // 1000 for cpu, memory in free)
    assert room(cluster(free), WANTED, None, [(small, pods)]) == max(0, fit - -(-300 * pods // 1000))


def test_pods_that_wait_for_the_scheduler_take_room_and_unschedulable_pods_do_not() -> None:
    sums = cluster([(5000, 5000)])
    same = {"cpu": "1", "memory": "1000"}
    sums.pod_changed(None, decoded_pod("waits", same))
    assert room(sums, WANTED, None) == 4
    sums.pod_changed(None, decoded_pod("found none", same, waits=True))
    assert room(sums, WANTED, None) == 4


def test_room_is_counted_in_the_zones_of_the_subset() -> None:
    nodes = [decoded_node(f"n{zone}", {"cpu": "2", "memory": "1Gi"}, zone=zone) for zone in ("a", "b", "c")]
    assert [room(sums_of(nodes, []), WANTED, zones) for zones in (None, {"a"}, {"a", "b"}, {"x"}, set[str]())] == [
        6, 2, 4, 0, 0,
    ]  # fmt: skip


def test_a_node_has_room_for_a_number_of_pods() -> None:
    """Pods without requests take a place each."""
    sums = sums_of([decoded_node("n", {"cpu": "1", "pods": "3"})], [decoded_pod("p", {}, node="n")])
    assert room(sums, (), None) == 2
    assert room(sums, (), None, [((("cpu", 1),), 1)]) == 1


@pytest.mark.parametrize(("left_out", "expected"), [(False, 0), (True, None)])
def test_a_resource_that_no_node_has_leaves_no_room_unless_it_was_not_counted(
    left_out: bool, expected: int | None
) -> None:
    sums = cluster([(5000, 5000)])
    sums.places.left_out = left_out
    assert room(sums, (("example.com/gpu", 1),), None) == expected


def test_very_many_different_pods_are_subtracted_as_one_sum() -> None:
    """So the cost is bounded."""
    sums = sums_of([decoded_node("n", {"cpu": "1000", "memory": "1Gi", "pods": "9999"})], [])
    groups = [((("cpu", 1000 + i),), 1) for i in range(300)]
    assert room(sums, (("cpu", 1000),), None, groups) == 1000 - 2 * 300
