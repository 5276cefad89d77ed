"""Failback by example: who gets replicas back, how many at once, and what is no longer missing."""

import pytest

from uniteddeployment.planning.replicas import Allocation, AllocationRequest, SubsetAllocation, SubsetRequest
from uniteddeployment.planning.replicas.failback import Return, give_back


def given_back(present: dict[str, int], moved: dict[str, int], *, size: int | None, total: int | None = None) -> Return:
    subsets = tuple(SubsetRequest(name=name) for name in present)
    divided = Allocation(tuple(SubsetAllocation(name, number, "") for name, number in present.items()))
    request = AllocationRequest(total=sum(present.values()) if total is None else total, subsets=subsets)
    return give_back(request, divided, moved, size=size)


def test_only_the_subsets_that_replicas_left_get_some() -> None:
    """Another subset that has less than its share is not filled on the way."""
    back = given_back({"a": 1, "b": 5, "c": 0}, {"c": 2}, size=None)
    assert back.divided.replicas == {"a": 1, "b": 3, "c": 2}
    assert back.moved == {}


@pytest.mark.parametrize(("size", "now", "left"), [(1, 1, {"c": 1}), (2, 2, {}), (9, 2, {}), (None, 2, {})])
def test_a_round_returns_a_bounded_number(size: int | None, now: int, left: dict[str, int]) -> None:
    back = given_back({"a": 3, "b": 3, "c": 0}, {"c": 2}, size=size)
    assert back.divided.replicas["c"] == now
    assert sum(back.divided.replicas.values()) == 6
    assert back.moved == left


def test_a_round_of_none_changes_nothing_and_forgets_nothing() -> None:
    back = given_back({"a": 3, "b": 3, "c": 0}, {"c": 2}, size=0)
    assert back.divided.replicas == {"a": 3, "b": 3, "c": 0}
    assert back.moved == {"c": 2}


def test_replicas_that_a_new_division_would_not_place_there_are_not_missing() -> None:
    back = given_back({"a": 1, "b": 1, "c": 0}, {"c": 1}, size=None)
    assert back.divided.replicas == {"a": 1, "b": 1, "c": 0}
    assert back.moved == {}


@pytest.mark.parametrize("size", [None, 0, 1])
def test_replicas_without_room_in_their_cluster_return_later(size: int | None) -> None:
    """A cluster that comes back with few nodes, or that is not preferred for a while, is not forgotten."""
    subsets = (SubsetRequest(name="a"), SubsetRequest(name="b"), SubsetRequest(name="c", capacity=0))
    divided = Allocation(tuple(SubsetAllocation(*given, "") for given in (("a", 3), ("b", 3), ("c", 0))))
    back = give_back(AllocationRequest(total=6, subsets=subsets), divided, {"c": 2}, size=size)
    assert back == Return(divided, {"c": 2})
