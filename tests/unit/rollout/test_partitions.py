"""``partitions`` divides a total number of updated pods among subsets."""

import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment_rollout.partitions import FIRST_CANARY_EVERYWHERE, LARGEST_FIRST, NEAREST, partitions

SIZES = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(0, 9), max_size=6)
OFFSETS = st.sampled_from([NEAREST, FIRST_CANARY_EVERYWHERE, LARGEST_FIRST])


@pytest.mark.parametrize(
    ("updated", "expected"),
    [(1, (3, 2, 2)), (2, (3, 1, 2)), (3, (3, 1, 1)), (4, (2, 1, 1)), (6, (1, 0, 1)), (8, (0, 0, 0))],
)
def test_each_subset_gets_a_similar_share_of_updated_pods(updated: int, expected: tuple[int, int, int]) -> None:
    assert tuple(partitions({"a": 4, "b": 2, "c": 2}, updated).values()) == expected


def test_updating_one_of_four_single_pods_holds_three() -> None:
    assert sum(partitions(dict.fromkeys("abcd", 1), 1).values()) == 3


@given(SIZES, OFFSETS, st.data())
def test_a_larger_total_never_takes_an_updated_pod_away_from_a_subset(
    sizes: dict[str, int], offset: Fraction, data: st.DataObject
) -> None:
    total = sum(sizes.values())
    fewer = data.draw(st.integers(0, total))
    more = data.draw(st.integers(fewer, total))
    before, after = partitions(sizes, fewer, offset), partitions(sizes, more, offset)
    assert all(after[name] <= before[name] for name in sizes)
    assert sum(sizes.values()) - sum(after.values()) == more


@given(SIZES, OFFSETS, st.data())
def test_the_updated_pods_are_the_first_in_the_order_of_all_pods(
    sizes: dict[str, int], offset: Fraction, data: st.DataObject
) -> None:
    """The implementation does not build the whole order; this test does."""
    updated = data.draw(st.integers(0, sum(sizes.values())))
    order = sorted(
        ((pod - offset) / size, place, name)
        for place, (name, size) in enumerate(sizes.items())
        for pod in range(1, size + 1)
    )
    expected = dict(sizes)
    for _, _, name in order[:updated]:
        expected[name] -= 1
    assert partitions(sizes, updated, offset) == expected


def test_memory_does_not_depend_on_the_number_of_pods() -> None:
    sizes = {f"subset-{number}": 1_000_000 for number in range(256)}
    tracemalloc.start()
    try:
        held = partitions(sizes, 100_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(held.values()) == 156_000_000
    assert peak < 1_000_000


def test_a_total_above_the_number_of_pods_is_rejected() -> None:
    with pytest.raises(ValueError, match="9 of 8"):
        partitions({"a": 8}, 9)
