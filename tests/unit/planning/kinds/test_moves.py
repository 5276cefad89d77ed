"""Replicas move between the Deployments of two or three revisions within their bounds, and arrive."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.planning.kinds import moves
from uniteddeployment.planning.kinds.moves import Pace, Size

REVISIONS = ("stable", "middle", "target")


@st.composite
def situations(draw: Callable[..., Any]) -> tuple[int, int, Pace, dict[str, Size]]:
    desired = draw(st.integers(0, 12))
    partition = draw(st.integers(0, desired))
    surge = draw(st.integers(0, 4))
    unavailable = draw(st.integers(0 if surge else 1, 4))
    sizes = {}
    for revision in draw(st.sets(st.sampled_from(REVISIONS))):
        replicas = draw(st.integers(0, 12))
        sizes[revision] = Size(replicas, draw(st.integers(0, replicas)))
    return desired, partition, Pace(surge, unavailable), sizes


def advance(situation: tuple[int, int, Pace, dict[str, Size]]) -> tuple[dict[str, int], dict[str, int]]:
    desired, partition, pace, sizes = situation
    goal = moves.goals(desired, partition, "target", "stable", sizes)
    return goal, moves.step(desired, pace, sizes, goal, "target")


@given(situations())
def test_the_target_never_grows_beyond_what_the_partition_leaves(
    situation: tuple[int, int, Pace, dict[str, Size]],
) -> None:
    """I6"""
    desired, partition, _, sizes = situation
    _, now = advance(situation)
    before = sizes["target"].replicas if "target" in sizes else 0
    assert now["target"] <= max(before, desired - partition)


@given(situations())
def test_the_total_never_grows_beyond_the_surge(situation: tuple[int, int, Pace, dict[str, Size]]) -> None:
    desired, _, pace, sizes = situation
    _, now = advance(situation)
    before = sum(size.replicas for size in sizes.values())
    assert sum(now.values()) <= max(before, desired + pace.surge)


@given(situations())
def test_no_more_serving_pods_are_taken_away_than_may_be_unavailable(
    situation: tuple[int, int, Pace, dict[str, Size]],
) -> None:
    """I7"""
    desired, _, pace, sizes = situation
    _, now = advance(situation)
    serving = sum(size.serving for size in sizes.values())
    left = sum(min(size.serving, now.get(revision, 0)) for revision, size in sizes.items())
    assert left >= min(serving, desired - pace.unavailable)


@given(situations())
def test_when_pods_become_available_the_goal_is_reached(situation: tuple[int, int, Pace, dict[str, Size]]) -> None:
    """No situation is a dead end, and the goal is a fixed point."""
    desired, partition, pace, sizes = situation
    before = sizes["target"].replicas if "target" in sizes else 0
    for _ in range(60):
        goal, now = advance((desired, partition, pace, sizes))
        if now == goal and all(size.available == size.replicas for size in sizes.values()):
            break
        sizes = {revision: Size(replicas, replicas) for revision, replicas in now.items()}
    assert now == goal
    assert sum(now.values()) == desired
    assert now["target"] >= desired - partition
    if now["target"] > desired - partition:
        assert now["target"] <= before, "what is above the cap was updated before the partition was raised"
    assert advance((desired, partition, pace, sizes))[1] == now


def test_pods_of_an_abandoned_canary_go_before_stable_ones() -> None:
    sizes = {"stable": Size(6, 6), "middle": Size(2, 2), "target": Size(0, 0)}
    goal = moves.goals(8, 6, "target", "stable", sizes)
    assert goal == {"stable": 6, "middle": 0, "target": 2}


def test_pods_held_back_are_not_moved_to_another_old_revision_without_need() -> None:
    sizes = {"stable": Size(6, 6), "middle": Size(2, 2)}
    assert moves.goals(8, 8, "target", "stable", sizes) == {"stable": 6, "middle": 2, "target": 0}


def test_an_outage_does_not_take_away_pods_that_may_come_back() -> None:
    """As the Deployment controller bounds its clean-up."""
    sizes = {"stable": Size(4, 0), "target": Size(0, 0)}
    now = moves.step(4, Pace(0, 1), sizes, {"stable": 0, "target": 4}, "target")
    assert now == {"stable": 3, "target": 1}


def test_paces_are_rounded_as_kubernetes_rounds_them() -> None:
    assert moves.pace({}, 8) == Pace(2, 2)
    assert moves.pace({}, 1) == Pace(1, 0)
    assert moves.pace({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}, 4) == Pace(0, 1)
    assert moves.pace({"type": "Recreate"}, 4) == Pace(0, 4)


@given(situations(), st.data())
def test_raising_the_partition_takes_no_updated_pod_for_a_stable_one(
    situation: tuple[int, int, Pace, dict[str, Size]], data: st.DataObject
) -> None:
    """The rule for every kind: what is updated stays, unless there are too many pods without it."""
    desired, partition, pace, sizes = situation
    raised = data.draw(st.integers(partition, desired))
    goal = moves.goals(desired, raised, "target", "stable", sizes)
    now = moves.step(desired, pace, sizes, goal, "target")
    updated = sizes["target"].replicas if "target" in sizes else 0
    old = sum(size.replicas for revision, size in sizes.items() if revision != "target")
    assert min(goal["target"], now["target"]) >= min(updated, desired - min(old, raised))
    assert now["target"] <= max(updated, desired - raised)


@given(situations(), st.integers(1, 12))
def test_growing_above_the_cap_adds_stable_pods_alone(
    situation: tuple[int, int, Pace, dict[str, Size]], more: int
) -> None:
    """I6"""
    desired, partition, pace, sizes = situation
    updated = sizes["target"].replicas if "target" in sizes else 0
    goal = moves.goals(desired + more, partition + more, "target", "stable", sizes)
    now = moves.step(desired + more, pace, sizes, goal, "target")
    if updated >= desired - partition:
        assert now["target"] <= updated
        assert goal["target"] <= updated


def test_the_held_revision_grows_before_the_target() -> None:
    """Were we cut off then, more of the known good version would be running."""
    now = moves.step(4, Pace(1, 0), {}, {"stable": 2, "target": 2}, "target")
    assert now == {"stable": 2, "target": 2}
    sizes = {"stable": Size(1, 1), "target": Size(1, 1), "middle": Size(2, 2)}
    now = moves.step(4, Pace(1, 0), sizes, {"middle": 0, "stable": 2, "target": 2}, "target")
    assert now == {"middle": 2, "stable": 2, "target": 1}
    now = moves.step(4, Pace(1, 0), {**sizes, "target": Size(0, 0)}, {"middle": 0, "stable": 2, "target": 2}, "target")
    assert now == {"middle": 2, "stable": 2, "target": 1}


def test_pods_that_serve_nobody_go_before_those_that_do() -> None:
    sizes = {"a": Size(3, 3), "b": Size(3, 0), "target": Size(0, 0)}
    now = moves.step(4, Pace(0, 1), sizes, {"a": 0, "b": 0, "target": 4}, "target")
    assert now == {"a": 3, "b": 0, "target": 1}


def test_as_many_go_as_the_others_can_spare() -> None:
    sizes = {"a": Size(3, 3), "target": Size(2, 2)}
    now = moves.step(4, Pace(1, 1), sizes, {"a": 0, "target": 4}, "target")
    assert now == {"a": 1, "target": 4}


def test_what_is_missing_is_added_to_no_revision_if_there_is_none_for_it() -> None:
    assert moves.goals(4, 3, "target", None, {}) == {"target": 1}
    assert moves.goals(4, 3, "target", None, {"old": Size(2, 2)}) == {"old": 2, "target": 1}
    assert moves.goals(4, 3, "target", "target", {}) == {"target": 4}
    assert moves.goals(4, 9, "target", "old", {}) == {"target": 0, "old": 4}
    assert moves.goals(4, 2, "target", "old", {"middle": Size(2, 2)}) == {"middle": 2, "target": 2}


def test_values_that_are_no_numbers_count_as_nothing() -> None:
    assert [moves.resolve(one, 10, round_up=True) for one in (3, -3, "15%", "x%", "35", None)] == [3, 0, 2, 0, 0, 0]
    assert moves.resolve("15%", 10, round_up=False) == 1
    assert moves.pace({"rollingUpdate": {"maxSurge": "1%", "maxUnavailable": 0}}, 4) == Pace(1, 0)
    assert moves.pace({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "1%"}}, 4) == Pace(0, 1)
    assert moves.pace({"type": "Recreate"}, 0) == Pace(0, 1)
    assert moves.pace({"rollingUpdate": "x"}, 4) == Pace(1, 1)
