"""The division by example: each field of the request, and the reasons in the result."""

from typing import Any

import pytest

from uniteddeployment.planning.replicas import (
    FREE,
    NEVER,
    Allocation,
    AllocationRequest,
    Mode,
    SubsetRequest,
    allocate,
    bounded,
)


def divide(total: int | None, *subsets: dict[str, Any], **request: Any) -> Allocation:
    demands = (SubsetRequest(**{"name": chr(ord("a") + index), **subset}) for index, subset in enumerate(subsets))
    return allocate(AllocationRequest(total=total, subsets=tuple(demands), **request))


def numbers(allocation: Allocation) -> list[int]:
    return list(allocation.replicas.values())


def reasons(allocation: Allocation) -> list[str]:
    return [subset.reason for subset in allocation.subsets]


def test_half_a_quarter_and_the_rest() -> None:
    """I4: the shares of the sample add up."""
    allocation = divide(8, {"share": "50%"}, {"share": "25%"}, {})
    assert numbers(allocation) == [4, 2, 2]
    assert reasons(allocation) == ["50% of 8", "25% of 8", "even share of what the fixed shares leave"]
    assert (allocation.unplaced, allocation.problem) == (0, "")


def test_without_a_total_every_subset_says_its_number() -> None:
    assert numbers(divide(None, {"share": 3}, {"share": 2})) == [3, 2]


def test_the_pod_over_goes_to_what_runs_more_and_then_to_what_stands_first() -> None:
    assert numbers(divide(5, {}, {})) == [3, 2]
    assert numbers(divide(5, {"current": 2}, {"current": 3})) == [2, 3]


@pytest.mark.parametrize(
    ("total", "shares", "expected"),
    [
        (3, ["50%", "50%"], [2, 1]),
        (10, ["33%", "33%", "34%"], [3, 3, 4]),
        (3, [2, 2], [2, 1]),
        (10, ["71%", "90%"], [4, 6]),
        (0, ["50%", "50%"], [0, 0]),
    ],
)
def test_shares_that_do_not_fit_are_placed_as_close_as_can_be(
    total: int, shares: list[int | str], expected: list[int]
) -> None:
    """I4: as after somebody scaled the total."""
    allocation = divide(total, *({"share": share} for share in shares))
    assert numbers(allocation) == expected
    assert allocation.unplaced == 0


def test_shares_that_exceed_the_total_are_a_problem_that_is_told() -> None:
    """I11"""
    assert divide(3, {"share": 2}, {"share": 2}).problem == (
        "spec.topology.subsets: fixed shares add up to 4 of 3 replicas: each is cut in proportion"
    )


def test_shares_that_do_not_reach_the_total_leave_pods_unplaced_with_the_reason() -> None:
    """I4"""
    allocation = divide(10, {"share": 1}, {"share": "71%"})
    assert numbers(allocation) == [1, 7]
    assert allocation.unplaced == 2
    sums = "spec.topology.subsets: fixed shares add up to 8 of 10 replicas"
    assert allocation.problem == f"{sums}: no subset takes the rest"


def test_no_subsets_leave_everything_unplaced() -> None:
    """I4"""
    allocation = divide(10)
    assert allocation.unplaced == 10
    assert allocation.problem == "there are no subsets"


def test_weights_divide_in_proportion() -> None:
    allocation = divide(10, {"weight": 3}, {"weight": 2}, {"weight": 0})
    assert numbers(allocation) == [6, 4, 0]
    assert reasons(allocation)[0] == "share of weight 3"


def test_bounds_are_kept_and_named() -> None:
    allocation = divide(10, {"weight": 8, "maximum": 2}, {"weight": 1, "minimum": 5}, {"weight": 1, "maximum": "20%"})
    assert numbers(allocation) == [2, 6, 2]
    assert reasons(allocation) == ["limited by maxReplicas 2", "share of weight 1", "limited by maxReplicas 20%"]


def test_what_no_bound_admits_is_unplaced_and_says_who_is_full() -> None:
    """I4"""
    allocation = divide(9, {"maximum": 2}, {"maximum": 3})
    assert (numbers(allocation), allocation.unplaced) == ([2, 3], 4)
    assert allocation.problem == "a, b may take no more"


def test_filling_goes_in_the_order_of_the_list_after_the_minimums() -> None:
    elastic = ({"minimum": 1, "maximum": 2}, {"minimum": 1, "maximum": 2}, {"minimum": 1})
    assert numbers(divide(7, *elastic, mode=Mode.FILL)) == [2, 2, 3]
    assert numbers(divide(1, *elastic, mode=Mode.FILL)) == [1, 0, 0]
    assert reasons(divide(1, *elastic, mode=Mode.FILL))[1] == "below minReplicas 1: the total 1 is used up"


def test_scaling_down_without_disruption_gives_nobody_more() -> None:
    """I5"""
    assert numbers(divide(9, {"current": 15}, {"current": 15}, {}, disruption=NEVER)) == [5, 4, 0]


def test_scaling_up_without_disruption_grows_what_is_below_its_share() -> None:
    """I5"""
    allocation = divide(10, {"current": 6}, {}, disruption=NEVER)
    assert numbers(allocation) == [6, 4]
    assert reasons(allocation) == [
        "kept: pods do not move without need",
        "5 would be its share, but pods do not move without need",
    ]


def test_what_cannot_be_scheduled_goes_elsewhere_and_that_is_no_disruption() -> None:
    note = "2 of 2 could not be scheduled in member-3 since 12:03"
    pending = {"current": 2, "capacity": 0, "note": note}
    allocation = divide(6, {"current": 2}, {"current": 2}, pending, disruption=NEVER)
    assert numbers(allocation) == [3, 3, 0]
    assert reasons(allocation)[2] == f"limited to 0 by what it can run: {note}"


def test_what_nobody_can_run_still_waits_somewhere() -> None:
    """I4: an estimate is no bound."""
    allocation = divide(10, {"capacity": 2}, {"capacity": 4})
    assert (sum(numbers(allocation)), allocation.unplaced) == (10, 0)
    assert "more than it can run: no other subset has room" in reasons(allocation)[0]


def test_a_limit_is_a_bound_and_its_note_the_reason() -> None:
    allocation = divide(6, {"limit": 1, "note": "member-1 is drained"}, {})
    assert numbers(allocation) == [1, 5]
    assert reasons(allocation)[0] == "limited to 1: member-1 is drained"


def test_what_may_not_be_touched_keeps_its_number() -> None:
    """I7: the number of a subset that cannot be reached is not changed on paper."""
    cut_off = {"current": 4, "may_grow": False, "may_shrink": False, "note": "member-1 does not answer"}
    assert numbers(divide(12, cut_off, {})) == [4, 8]
    allocation = divide(2, cut_off, {"current": 4})
    assert numbers(allocation) == [4, 0]
    assert reasons(allocation)[0] == "kept: it cannot be scaled down now: member-1 does not answer"


def test_a_bounded_policy_moves_so_many_a_round_until_the_shares_are_reached() -> None:
    current, rounds = [9, 0, 0], 0
    while current != [3, 3, 3]:
        allocation = divide(9, *({"current": number} for number in current), disruption=bounded(2))
        after = numbers(allocation)
        assert 0 < sum(max(0, was - now) for was, now in zip(current, after, strict=True)) <= 2
        current, rounds = after, rounds + 1
    assert rounds == 3


def test_a_subset_of_weight_zero_keeps_what_runs_when_nothing_may_move() -> None:
    """I7"""
    subsets = ({"weight": 0, "current": 10}, {"weight": 1, "current": 1}, {"weight": 1, "current": 7})
    assert numbers(divide(12, *subsets, disruption=NEVER)) == [4, 1, 7]
    assert numbers(divide(12, *subsets, disruption=FREE)) == [0, 6, 6]


def test_a_subset_of_weight_zero_stands_by_for_what_nobody_else_can_take() -> None:
    """I4"""
    allocation = divide(9, {"weight": 0}, {"weight": 2, "maximum": 4}, {"weight": 1, "maximum": 2})
    assert numbers(allocation) == [3, 4, 2]
    assert reasons(allocation)[0] == "weight 0: only what no other subset can take"


def test_reserving_keeps_what_waits_and_runs_stand_ins() -> None:
    waiting = {"current": 2, "capacity": 0, "may_grow": False}
    allocation = divide(2, waiting, {}, {}, mode=Mode.FILL, reserve=True)
    assert numbers(allocation) == [2, 2, 0]
    assert [subset.reserved for subset in allocation.subsets] == [2, 0, 0]
    assert reasons(allocation)[0] == "2 could not be scheduled and wait, stand-ins run elsewhere"
    assert numbers(divide(10, {"current": 5, "capacity": 2}, {"current": 5}, reserve=True)) == [5, 8]
