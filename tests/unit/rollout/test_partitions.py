"""A global number of updated pods, divided over subsets."""

import tracemalloc

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
def test_the_same_share_everywhere(updated, expected):
    assert tuple(partitions({"a": 4, "b": 2, "c": 2}, updated).values()) == expected


def test_a_quarter_of_four_single_pods_is_one_pod():
    assert sum(partitions(dict.fromkeys("abcd", 1), 1).values()) == 3


@given(SIZES, OFFSETS, st.data())
def test_raising_the_number_never_takes_an_updated_pod_away(sizes, offset, data):
    total = sum(sizes.values())
    fewer = data.draw(st.integers(0, total))
    more = data.draw(st.integers(fewer, total))
    before, after = partitions(sizes, fewer, offset), partitions(sizes, more, offset)
    assert all(after[name] <= before[name] for name in sizes)
    assert sum(sizes.values()) - sum(after.values()) == more


@given(SIZES, OFFSETS, st.data())
def test_the_pods_are_the_first_ones_of_one_list_of_all_pods(sizes, offset, data):
    """The answer is found without making that list; here it is made."""
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


def test_a_million_pods_cost_no_more_than_a_few():
    sizes = {f"subset-{number}": 1_000_000 for number in range(256)}
    tracemalloc.start()
    try:
        held = partitions(sizes, 100_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(held.values()) == 156_000_000
    assert peak < 1_000_000


def test_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="9 of 8"):
        partitions({"a": 8}, 9)
