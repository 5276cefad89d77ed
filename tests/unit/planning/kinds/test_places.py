"""The partition that is written to a workload whose controller updates the last pods first (I6)."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.held import NEW, OLD, OTHER, case, made
from tests.support.held import context as of_subset
from uniteddeployment.planning.kinds.places import keeping_partition, lowest_partition
from uniteddeployment.planning.observed import tally


def searched(replicas: int, partition: int, updated: set[int]) -> int:
    """The lowest partition, by going through all."""
    for one in range(partition, replicas):
        if replicas - one + sum(1 for place in updated if place < one) <= replicas - partition:
            return one
    return replicas


sizes = st.integers(0, 10)


@given(sizes, st.data())
def test_it_is_the_lowest_that_leaves_no_more_updated_pods_than_allowed(replicas: int, data: st.DataObject) -> None:
    partition = data.draw(st.integers(0, replicas))
    revisions = data.draw(st.lists(st.sampled_from([NEW, OLD, OTHER, None]), min_size=replicas, max_size=replicas))
    context, found = case(replicas, partition, revisions)
    updated = {place for place, one in enumerate(revisions) if one == NEW}
    assert lowest_partition(context, found, int) == searched(replicas, partition, updated)


@given(sizes, st.data())
def test_growing_counts_every_pod_that_may_have_been_updated_meanwhile(replicas: int, data: st.DataObject) -> None:
    """Whatever of what the old partition allowed was updated when the write arrives, no more than allowed is."""
    revisions = data.draw(st.lists(st.sampled_from([NEW, OLD]), max_size=replicas))
    assume(len(revisions) < replicas)
    partition = data.draw(st.integers(0, replicas))
    written = data.draw(st.integers(0, replicas))
    context, found = case(replicas, partition, revisions, written=written)
    result = lowest_partition(context, found, int)
    meanwhile = set(range(written, len(revisions))) | {at for at, one in enumerate(revisions) if one == NEW}
    below = sum(1 for place in meanwhile if place < result)
    assert replicas - result + below <= max(replicas - partition, len(meanwhile))
    assert result == searched(replicas, partition, meanwhile)


@given(sizes, st.data())
def test_updated_pods_that_only_the_status_counts_are_taken_to_be_where_they_harm_most(
    replicas: int, data: st.DataObject
) -> None:
    """An adopted workload's pods are not seen, and a watch of pods may be late."""
    revisions = data.draw(st.lists(st.sampled_from([NEW, OLD]), min_size=replicas, max_size=replicas))
    updated = {at for at, one in enumerate(revisions) if one == NEW}
    hidden = data.draw(st.sets(st.sampled_from(sorted(updated)))) if updated else set()
    partition = data.draw(st.integers(0, replicas))
    written = data.draw(st.integers(0, min(updated, default=replicas)))
    assume(all(place >= written for place in hidden))
    seen = [None if at in hidden else one for at, one in enumerate(revisions)]
    context, found = case(replicas, partition, seen, written=written, extra=len(hidden))
    result = lowest_partition(context, found, int)
    not_updated = sum(1 for place in range(result) if place not in updated)
    assert not_updated >= min(partition, replicas - len(updated))


def test_unseen_updated_pods_are_at_the_top_as_long_as_the_partition_has_room_for_them() -> None:
    context, found = case(4, 1, [OLD, OLD, None, None], written=2, extra=2, updated=2)
    assert lowest_partition(context, found, int) == 1
    context, found = case(4, 1, [OLD, OLD, None, None], written=3, extra=2, updated=2)
    assert lowest_partition(context, found, int) == 2, "one of them is below it"


def test_unseen_updated_pods_fill_the_places_that_are_free() -> None:
    context, found = case(8, 1, [NEW, *[None] * 7], written=8, extra=7, updated=2)
    assert lowest_partition(context, found, int) == 3
    context, found = case(8, 4, [None, NEW, *[None] * 6], written=8, extra=7, updated=3)
    assert lowest_partition(context, found, int) == 7


def test_it_is_not_lowered_before_the_controller_has_seen_the_last_write() -> None:
    context, found = case(8, 6, [OLD] * 3 + [NEW] + [OLD] * 4, written=8, observed=False)
    assert lowest_partition(context, found, int) == 8
    context, found = case(8, 6, [OLD] * 3 + [NEW] + [OLD] * 4, written=8)
    assert lowest_partition(context, found, int) == 7
    context, found = case(4, 3, [OLD] * 4, written=9, observed=False)
    assert lowest_partition(context, found, int) == 4, "no higher than the pods that there are to be"
    context, found = case(4, 3, [OLD] * 4, written=4, observed=False, revision=OTHER)
    assert lowest_partition(context, found, int) == 3, "of another template it says nothing"


def test_raising_it_in_the_middle_of_an_update_counts_only_what_was_updated() -> None:
    """I3: one write, since whatever was updated meanwhile was updated before."""
    context, found = case(4, 2, [OLD, OLD, OLD, NEW], written=1)
    assert lowest_partition(context, found, int) == 2


def test_raising_it_does_not_count_by_a_status_that_is_older_than_the_last_write() -> None:
    context, found = case(4, 2, [OLD] * 4, written=1, observed=False, updated=3)
    assert lowest_partition(context, found, int) == 2


def test_growing_with_another_template_counts_none_of_what_the_old_one_allowed() -> None:
    context, found = case(8, 6, [OLD] * 4, written=2, revision=OTHER)
    assert lowest_partition(context, found, int) == 6


def test_pods_that_are_seen_are_what_they_are_when_the_template_is_the_stable_one() -> None:
    context, found = case(6, 3, [NEW, OLD, OLD, OLD, OLD, OLD], written=2, revision=OLD)
    assert lowest_partition(context, found, int) == 4


def test_pods_that_nobody_sees_are_not_updated_ones_when_the_template_is_a_third_one() -> None:
    context, found = case(6, 3, [None] * 6, written=2, revision=OTHER, extra=6)
    assert lowest_partition(context, found, int) == 3


def test_a_kind_without_places_gets_the_partition_that_was_asked_for() -> None:
    context, found = case(4, 2, [NEW] * 4, written=0)
    assert lowest_partition(context, found, None) == 2


@pytest.mark.parametrize(
    ("replicas", "revisions", "options", "expected"),
    [
        (6, [NEW, NEW], {"written": 0}, 2),
        (6, [NEW, OTHER, OLD], {"written": 0}, 2),
        (6, [OLD, OLD, NEW], {"written": 2}, 3),
        (6, [OLD, OLD], {"written": 2}, 0),
        (6, [NEW, None], {"written": 0, "extra": 1}, 2),
        (6, [NEW, None, None], {"written": 0}, 1),
        (6, [NEW, NEW, OLD], {"written": 0, "observed": False}, 3),
        (1, [NEW, NEW], {"written": 0}, 1),
        (6, [NEW, NEW, OLD, OLD], {"written": 4, "revision": OLD}, 2),
        (6, [NEW, None, OLD, OLD], {"written": 2, "revision": OLD, "size": 4}, 2),
        (6, [NEW, NEW, OLD], {"written": 2, "revision": OLD, "size": 4}, 2),
        (6, [NEW, NEW, OLD], {"written": 2, "revision": OLD, "observed": False}, 2),
        (6, [NEW, OLD, OLD], {"written": 2, "revision": OLD, "observed": False}, 2),
        (1, [NEW, NEW, OLD], {"written": 2, "revision": OLD}, 1),
        (6, [NEW, NEW, OLD], {"written": 0, "revision": OLD, "current": OLD}, 2),
    ],
)
def test_a_workload_that_shows_the_stable_revision_keeps_the_pods_before_the_partition(
    replicas: int, revisions: list[str | None], options: dict[str, Any], expected: int
) -> None:
    """Nothing that runs is restarted, and nothing is kept for pods that are not there any more."""
    context, found = case(replicas, replicas, revisions, **options)
    assert keeping_partition(context, found, int) == expected


@pytest.mark.parametrize(
    ("replicas", "revisions", "options", "expected"),
    [
        (6, [NEW, NEW], {"written": 0}, 2),
        (6, [OLD, NEW, OTHER], {"written": 0}, 2),
        (2, [NEW, NEW], {"written": 0}, 2),
        (4, [OLD, OLD, OLD, NEW, NEW], {"written": 2, "revision": OLD}, 1),
        (2, [OLD, OLD, OLD, NEW, NEW], {"written": 2, "revision": OLD}, 0),
        (6, [OLD, OLD, OLD, NEW, NEW], {"written": 2, "revision": OLD}, 2),
    ],
)
def test_a_kind_without_places_keeps_as_many_pods_and_removes_updated_ones_first(
    replicas: int, revisions: list[str], options: dict[str, Any], expected: int
) -> None:
    context, found = case(replicas, replicas, revisions, **options)
    assert keeping_partition(context, found, None) == expected


@pytest.mark.parametrize(
    ("revisions", "dying", "options", "ordered", "unordered"),
    [
        ([OLD], {0}, {"written": 0}, 1, 1),
        ([NEW, OLD, NEW], {1}, {"written": 0}, 3, 3),
        ([OLD, OLD, NEW], {0, 1, 2}, {"written": 0}, 3, 3),
        ([NEW, OLD], {1}, {"written": 0, "size": 1}, 1, 1),
        ([NEW, OLD, OLD, OLD], {2}, {"written": 2, "revision": OLD}, 1, 1),
    ],
    ids=["the only one", "between others", "all", "beyond what is asked for", "back at the stable one"],
)
def test_a_stable_pod_that_is_being_replaced_may_be_back_at_the_target_when_the_write_arrives(
    revisions: list[str], dying: set[int], options: dict[str, Any], ordered: int, unordered: int
) -> None:
    """I6: it would be taken back at once, while a subset grows after its partition was raised."""
    context, found = case(6, 6, revisions, **options)
    dead = {"deletion_timestamp": "2026-01-01T00:00:00Z"}
    pods = tally(made(at, one, **(dead if at in dying else {})) for at, one in enumerate(revisions))
    known = of_subset(**{**vars(context), "pods": pods})
    assert keeping_partition(known, found, int) == ordered
    assert keeping_partition(known, found, None) == unordered


def test_pods_that_nobody_sees_are_updated_ones_when_the_template_is_the_stable_one() -> None:
    """An adopted workload that goes on from there."""
    context, found = case(6, 3, [None] * 6, written=2, revision=OLD, extra=6, updated=4)
    assert lowest_partition(context, found, int) == 5
    context, found = case(6, 3, [None] * 6, written=2, revision=OLD, extra=6, updated=6, current=OLD)
    assert lowest_partition(context, found, int) == 3, "all of them are at the stable revision"
