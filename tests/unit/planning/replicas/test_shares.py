"""Percentages in a division whose total grows (I5)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uniteddeployment.planning.replicas import FREE, AllocationRequest, Mode, SubsetRequest, allocate
from uniteddeployment.planning.replicas.shares import resolve_shares
from uniteddeployment_api.int_or_percent import scaled

percentages = st.integers(0, 100).map("{}%".format)
bounds = st.none() | st.integers(0, 12) | percentages


@st.composite
def requests(draw: st.DrawFn) -> AllocationRequest:
    total = draw(st.integers(0, 40))
    shared = draw(st.booleans())
    subsets = [
        SubsetRequest(name=f"s{index}", share=draw(st.none() | percentages))
        if shared
        else SubsetRequest(
            name=f"s{index}", weight=draw(st.none() | st.integers(0, 5)), minimum=draw(bounds), maximum=draw(bounds)
        )
        for index in range(draw(st.integers(1, 6)))
    ]
    return AllocationRequest(
        total=total, subsets=(*subsets, SubsetRequest(name="rest")), mode=draw(st.sampled_from(Mode)), disruption=FREE
    )


def three(**percent: Any) -> AllocationRequest:
    """The total at which two percentages grow together, taken from the subset that has none."""
    subsets = (SubsetRequest(name="a", **percent), SubsetRequest(name="b", **percent), SubsetRequest(name="rest"))
    return AllocationRequest(total=1, subsets=subsets, mode=Mode.SPREAD, disruption=FREE)


def risen(request: AllocationRequest, total: int) -> int:
    """How many percentages come to one pod more when the total grows by one."""
    values = [value for one in request.subsets for value in (one.share, one.minimum, one.maximum)]
    return sum(isinstance(value, str) and scaled(value, total) < scaled(value, total + 1) for value in values)


@settings(max_examples=3 * settings().max_examples, deadline=None)
@example(three(share="25%"))
@example(three(minimum="25%"))
@given(requests())
def test_raising_the_total_takes_a_pod_only_for_percentages_that_grow_together(request: AllocationRequest) -> None:
    """I5: by one pod, at most as many pods as percentages come to one more, less the new one."""
    assert request.total is not None
    before = allocate(request).replicas
    again = tuple(replace(one, current=before[one.name]) for one in request.subsets)
    after = allocate(replace(request, subsets=again, total=request.total + 1)).replicas
    taken = sum(max(0, before[name] - after[name]) for name in before)
    assert taken <= max(0, risen(request, request.total) - 1)


def test_two_percentages_that_grow_together_take_a_pod_from_the_rest() -> None:
    """It cannot be otherwise: of two pods, 25% are half a pod, which counts as one, twice."""
    assert allocate(three(share="25%")).replicas == {"a": 0, "b": 0, "rest": 1}
    assert allocate(replace(three(share="25%"), total=2)).replicas == {"a": 1, "b": 1, "rest": 0}


@pytest.mark.parametrize(
    ("total", "shares", "numbers", "problem"),
    [
        (4, [0, 3], [0, 3], "3 of 4 replicas: no subset takes the rest"),
        (3, [0, 3], [0, 3], ""),
        (2, [0, 3], [0, 2], "3 of 2 replicas: each is cut in proportion"),
        (4, [0, None], [0, None], ""),
        (4, [], [], ""),
    ],
)
def test_a_share_of_none_counts_as_nothing(
    total: int, shares: list[int | None], numbers: list[int | None], problem: str
) -> None:
    begin = "spec.topology.subsets: fixed shares add up to "
    assert resolve_shares(total, shares, [0] * len(shares)) == (numbers, f"{begin}{problem}" if problem else "")
