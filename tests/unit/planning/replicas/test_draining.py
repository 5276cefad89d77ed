"""Replicas leave clusters with a NoExecute taint for every strategy, within the one availability budget."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.planning.replicas.fleet_model import Fleet, Member, fleet
from uniteddeployment.planning.observed import ClusterFacts

KINDS = ("statefulSetTemplate", "deploymentTemplate")
THREE: dict[str, Any] = {"a": None, "b": None, "c": None}


@pytest.mark.parametrize("kind", KINDS)
def test_a_drain_moves_replicas_within_the_budget_and_they_return_when_the_taint_goes(kind: str) -> None:
    """No pod below the budget; the reason and the condition say what is left; the end is that of a fresh plan."""
    world = fleet(THREE, 12, kind=kind, adaptive=False, maxUnavailable=1)
    world.taint("c")
    world.one_pass()
    world.one_pass()
    assert world.asked() == [6, 6, 3]
    assert world.entry("c").reason.startswith("3 more move to a, b when their replacements are ready: ")
    assert world.condition("Moving") == ("True", "Moving")
    assert "maintenance:NoExecute" in world.entry("c").reason
    world.start_pods(1)
    world.one_pass()
    assert world.asked() == [6, 6, 1]
    world.go_on()
    assert world.asked() == [6, 6, 0]
    assert world.entry("c").reason == "default/c has the taint maintenance:NoExecute"
    assert (world.condition("Moving"), world.condition("Ready")) == (None, ("True", "Ready"))
    del world.facts["c"]
    world.go_on()
    assert world.asked() == [4, 4, 4]
    assert world.lowest >= 0


def test_what_nobody_else_can_take_stays_and_says_so() -> None:
    """Fixed shares leave no other place; a subset without a share takes what it can."""
    world = fleet({"a": 4, "b": 4}, 8, adaptive=False)
    world.taint("b")
    world.go_on()
    assert world.asked() == [4, 4]
    assert world.entry("b").reason == "4 can run nowhere else now: default/b has the taint maintenance:NoExecute"
    world = fleet({"a": 4, "b": None}, 8, adaptive=False)
    world.taint("a")
    world.go_on()
    assert world.asked() == [0, 8]


def test_replacements_that_never_become_ready_keep_the_old_pods() -> None:
    """I7: the drain waits, and says what for."""
    world = fleet(THREE, 6, adaptive=False, maxUnavailable=0)
    world.members["a"].broken = world.members["b"].broken = True
    world.taint("c")
    world.go_on(600, step=60)
    assert world.asked() == [3, 3, 2]
    assert world.ready == 6


def test_replicas_stay_as_long_as_the_taint_is_tolerated() -> None:
    """The seconds count from the time of the taint; the subset's own tolerations come first."""
    forever = {"key": "maintenance", "operator": "Exists"}
    brief = {**forever, "effect": "NoExecute", "tolerationSeconds": 90}
    world = fleet(
        {"a": None, "b": None, "c": {"clusterTolerations": [brief]}}, 6, adaptive=False, tolerations=[forever]
    )
    world.taint("b")
    world.taint("c")
    world.go_on(80)
    assert world.asked() == [2, 2, 2]
    world.go_on(60)
    assert world.asked() == [3, 3, 0]


def test_volumes_stay_where_they_are_and_the_reason_names_the_way_out() -> None:
    """A drain of pods with volumes is blocked until the user moves the data or allows new volumes."""
    world = fleet(THREE, 6, adaptive=False)
    spec = world.document["spec"]["template"]["statefulSetTemplate"]["spec"]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    spec["template"]["spec"]["volumes"] = [volume]
    world.taint("c")
    world.go_on(60)
    assert world.asked() == [2, 2, 2]
    assert "its volumes are there; move its data and then change the shares, or" in world.entry("c").reason
    world.edit(failover={"statefulSets": "Allowed"})
    world.go_on(60)
    assert world.asked() == [3, 3, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_drain_of_a_member_that_is_then_lost_ends_when_it_returns(kind: str) -> None:
    """What the lost member still had is replaced elsewhere, and leaves it when somebody can see it again."""
    world = fleet({"a": {"weight": 1}, "b": {"weight": 1}, "c": {"weight": 1}}, 12, kind=kind, maxUnavailable=1)
    world.taint("c")
    world.one_pass()
    world.one_pass()
    taints = world.facts["c"].taints
    world.lose("c")
    world.facts["c"] = replace(world.facts["c"], taints=(*taints, *world.facts["c"].taints))
    world.go_on(600, step=30)
    assert [world.entry(name).desired for name in "abc"] == [6, 6, 0]
    assert world.status.ready_replicas == 12
    world.answers("c")
    world.go_on(60)
    assert world.asked() == [6, 6, 0]
    assert world.lowest >= 0


def test_a_controller_that_dies_at_any_write_of_a_drain_changes_nothing_about_its_end() -> None:
    """I9: each other pass writes once and dies before it stores its status."""
    world = fleet(THREE, 12, adaptive=False, maxUnavailable=1)
    world.taint("c")
    for turn in range(60):
        world.one_pass(writes=1 if turn % 2 else None)
        world.start_pods(1)
        world.one_pass(writes=turn % 3)
        assert sum(number or 0 for number in world.asked()) <= 16
    assert world.asked() == [6, 6, 0]
    assert world.lowest >= 0


# --- Changed shares and topologies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_changed_shares_move_within_the_budget(kind: str) -> None:
    """Today's edit of weights moved everything at once."""
    world = fleet({"a": {"weight": 3}, "b": {"weight": 1}}, 8, kind=kind, adaptive=False, maxUnavailable=1)
    assert world.asked() == [6, 2]
    world.document["spec"]["topology"]["subsets"][0]["weight"] = 1
    world.edit()
    world.one_pass()
    assert world.asked() == [5, 4]
    world.one_pass()
    assert world.asked() == [5, 4], "again without a ready pod, it changes nothing"
    world.go_on()
    assert world.asked() == [4, 4]
    assert world.lowest >= 0
    assert world.events[0] == "Moving: 2 replicas move from a to b: share of weight 1"


def test_a_removed_subset_and_a_move_share_one_budget() -> None:
    """The workload of the removed subset and the replicas that move are counted once."""
    world = fleet(THREE, 9, adaptive=False, maxUnavailable=1)
    world.members["d"] = Member()
    subsets = world.document["spec"]["topology"]["subsets"]
    world.document["spec"]["topology"]["subsets"] = [
        {**subsets[0], "replicas": 1},
        subsets[1],
        {"name": "d", "targetCluster": {"name": "d"}},
    ]
    world.edit()
    for _ in range(3):
        world.one_pass()
    assert world.asked() == [2, 4, 3, 4]
    assert world.lowest >= 0
    world.go_on()
    assert world.asked() == [1, 4, None, 4]
    assert world.lowest >= 0


# --- Preferences ------------------------------------------------------------------------------------------------------


def test_a_preference_against_a_cluster_makes_it_the_last_choice() -> None:
    """PreferNoSchedule: it keeps what it has, and gets more only if nobody else can take it."""
    world = fleet(THREE, 6, adaptive=False)
    world.taint("c", "PreferNoSchedule")
    world.edit(replicas=10)
    world.go_on()
    assert world.asked() == [4, 4, 2]
    world = fleet({"a": {"maxReplicas": 3}, "b": {"weight": 1}}, 4, adaptive=False)
    world.taint("b", "PreferNoSchedule")
    world.edit(replicas=10)
    world.go_on()
    assert world.asked() == [3, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_whose_new_place_takes_none_stay_within_the_budget(kind: str) -> None:
    """I7: only a smaller total needs no replacements. They go when the place takes replicas again, or at once then."""
    world = fleet({"a": 4, "b": None}, 6, kind=kind, adaptive=False, maxUnavailable=1)
    world.taint("b", "NoSchedule")
    world.edit(topology={**world.document["spec"]["topology"], "subsets": changed(world, replicas=1)})
    world.go_on()
    assert world.asked() == [3, 2]
    assert world.condition("Stalled") == ("True", "Blocked")
    world.edit(replicas=3)
    world.go_on()
    assert world.asked() == [1, 2]
    world.edit(replicas=6)
    del world.facts["b"]
    world.go_on()
    assert world.asked() == [1, 5]


def changed(world: Fleet, **fields: Any) -> list[dict[str, Any]]:
    """The subsets with other fields of the first."""
    first, *others = world.document["spec"]["topology"]["subsets"]
    return [{**first, **fields}, *others]


def with_room(world: Fleet, **room: int) -> None:
    for name, pods in room.items():
        world.facts[name] = ClusterFacts(world.facts.get(name, ClusterFacts()).taints, rooms={name: pods})


def test_replicas_move_to_where_there_is_room_and_stay_there() -> None:
    """Room that changes later moves nothing; room that nobody has keeps nothing from moving."""
    world = fleet(THREE, 12, adaptive=False)
    world.taint("c")
    with_room(world, a=1, b=9)
    world.go_on()
    assert world.asked() == [5, 7, 0]
    with_room(world, a=9, b=0)
    world.go_on()
    assert world.asked() == [5, 7, 0]
    world = fleet(THREE, 12, adaptive=False)
    world.taint("c")
    with_room(world, a=0, b=0)
    world.go_on()
    assert world.asked() == [6, 6, 0]
    assert "no room" in world.entry("a").reason


def test_room_has_no_influence_on_shares_that_the_user_set() -> None:
    """Fixed: pods that cannot be scheduled wait."""
    world = fleet({"a": {"weight": 1}, "b": {"weight": 1}}, 4, adaptive=False)
    with_room(world, a=0, b=50)
    world.edit(replicas=8)
    world.go_on()
    assert world.asked() == [4, 4]


def test_pods_that_leave_a_subset_are_not_updated_before() -> None:
    """I6: the partition of the desired number bounds the updated pods from the start."""
    world = fleet({"a": {"weight": 3}, "b": {"weight": 1}}, 8, adaptive=False, maxUnavailable=0)
    world.one_pass()
    world.document["spec"]["topology"]["subsets"][0]["weight"] = 1
    world.document["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = (
        "app:2"
    )
    world.edit(updateStrategy={"manualUpdate": {"partition": 1}})
    made = world.one_pass()
    assert [(result.replicas, result.partition) for result in made.results] == [(6, 3), (4, 1)]


def test_what_was_not_written_is_decided_again() -> None:
    """A write fails, and fewer pods are ready when it is tried again: the ready pods of the source stay."""
    world = fleet(THREE, 12, adaptive=False, maxUnavailable=0)
    world.taint("c")
    world.one_pass()
    world.one_pass()
    world.start_pods()
    made = world.one_pass(writes=0)
    assert [result.replicas for result in made.results] == [6, 6, 0]
    assert made.status is not None
    assert [entry.replicas for entry in made.status.subset_statuses or ()] == [6, 6, 4]
    world.members["a"].ready = 2
    world.one_pass()
    assert world.asked() == [6, 6, 4]


def test_pods_without_another_place_keep_the_workload_of_a_removed_subset() -> None:
    """I7: the cluster of the only other subset is cordoned, so nothing replaces the pods of the removed one."""
    world = fleet({"a": {"weight": 1}, "b": {"weight": 1}}, 6)
    world.taint("a", "NoSchedule")
    world.document["spec"]["topology"]["subsets"].pop()
    world.edit()
    world.go_on()
    assert world.asked() == [3, 3]
    del world.facts["a"]
    world.go_on()
    assert world.asked() == [6, None]
    assert world.lowest >= 0
