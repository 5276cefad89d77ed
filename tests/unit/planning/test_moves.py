"""Moving replicas between Deployments of two or three revisions: bounds at each step, and an end."""

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.planning import moves
from uniteddeployment.planning.moves import Pace, Size

REVISIONS = ("stable", "middle", "target")


@st.composite
def situations(draw):
    desired = draw(st.integers(0, 12))
    partition = draw(st.integers(0, desired))
    surge = draw(st.integers(0, 4))
    unavailable = draw(st.integers(0 if surge else 1, 4))
    sizes = {}
    for revision in draw(st.sets(st.sampled_from(REVISIONS))):
        replicas = draw(st.integers(0, 12))
        sizes[revision] = Size(replicas, draw(st.integers(0, replicas)))
    return desired, partition, Pace(surge, unavailable), sizes


def advance(situation):
    desired, partition, pace, sizes = situation
    goal = moves.goals(desired, partition, "target", "stable", sizes)
    return goal, moves.step(desired, pace, sizes, goal, "target")


@given(situations())
def test_the_target_never_grows_beyond_what_the_partition_leaves(situation):
    """I6"""
    desired, partition, _, sizes = situation
    _, now = advance(situation)
    before = sizes["target"].replicas if "target" in sizes else 0
    assert now["target"] <= max(before, desired - partition)


@given(situations())
def test_the_total_never_grows_beyond_the_surge(situation):
    desired, _, pace, sizes = situation
    _, now = advance(situation)
    before = sum(size.replicas for size in sizes.values())
    assert sum(now.values()) <= max(before, desired + pace.surge)


@given(situations())
def test_no_more_serving_pods_are_taken_away_than_may_be_unavailable(situation):
    """I7"""
    desired, _, pace, sizes = situation
    _, now = advance(situation)
    serving = sum(size.serving for size in sizes.values())
    left = sum(min(size.serving, now.get(revision, 0)) for revision, size in sizes.items())
    assert left >= min(serving, desired - pace.unavailable)


@given(situations())
def test_when_pods_become_available_the_goal_is_reached(situation):
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


def test_pods_of_an_abandoned_canary_go_before_stable_ones():
    sizes = {"stable": Size(6, 6), "middle": Size(2, 2), "target": Size(0, 0)}
    goal = moves.goals(8, 6, "target", "stable", sizes)
    assert goal == {"stable": 6, "middle": 0, "target": 2}


def test_pods_held_back_are_not_moved_to_another_old_revision_without_need():
    sizes = {"stable": Size(6, 6), "middle": Size(2, 2)}
    assert moves.goals(8, 8, "target", "stable", sizes) == {"stable": 6, "middle": 2, "target": 0}


def test_an_outage_does_not_take_away_pods_that_may_come_back():
    """As the Deployment controller bounds its clean-up."""
    sizes = {"stable": Size(4, 0), "target": Size(0, 0)}
    now = moves.step(4, Pace(0, 1), sizes, {"stable": 0, "target": 4}, "target")
    assert now == {"stable": 3, "target": 1}


def test_paces_are_rounded_as_kubernetes_rounds_them():
    assert moves.pace({}, 8) == Pace(2, 2)
    assert moves.pace({}, 1) == Pace(1, 0)
    assert moves.pace({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}, 4) == Pace(0, 1)
    assert moves.pace({"type": "Recreate"}, 4) == Pace(0, 4)
