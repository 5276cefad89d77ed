"""The replicas of a lost cluster run elsewhere, and return: make-before-break, and never with two copies of data."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.planning.replicas.fleet_model import Fleet, Member, fleet

KINDS = ("statefulSetTemplate", "deploymentTemplate")
EVEN: dict[str, Any] = {"a": {"weight": 1}, "b": {"weight": 1}, "c": {"weight": 1}}


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_of_a_lost_cluster_run_elsewhere_after_the_grace_period_and_return_in_rounds(kind: str) -> None:
    """One story: lost, failed over, back, failed back; the division of a fresh plan is the end."""
    world = fleet(EVEN, 12, kind=kind, maxUnavailable=2)
    assert world.asked() == [4, 4, 4]
    world.lose("c")
    world.go_on(295, step=60)
    assert world.asked() == [4, 4, 4]
    assert world.entry("c").reason.endswith("its replicas stay for 5m")
    world.go_on(60)
    assert world.asked() == [6, 6, 4]
    assert (world.entry("c").replicas, world.entry("c").desired_replicas, world.entry("c").possibly_running) == (
        4,
        0,
        4,
    )
    assert (world.status.replicas, world.status.ready_replicas, world.status.possibly_running_replicas) == (12, 12, 4)
    assert world.condition("Ready") == ("Unknown", "Unknown")
    assert "12 of 12 pods ready" in world.message("Ready")
    assert world.condition("Moving") is None
    assert [event for event in world.events if event.startswith("Moving")] == [
        f"Moving: 4 replicas move from c to a, b: default/c is Offline since {Fleet.time(world_lost(world))}"
    ]
    assert world.moved == {"default/c": 4}
    world.answers("c")
    world.go_on(30)
    assert world.asked() == [6, 6, 0], "its surplus goes, since the replacements are ready"
    assert world.entry("c").moved_replicas == 4
    world.recovers("c")
    most = 0
    for _ in range(30):
        before = world.members["c"].asked or 0
        world.one_pass()
        most = max(most, (world.members["c"].asked or 0) - before)
        world.start_pods()
        world.seconds += 5
    assert world.asked() == [4, 4, 4]
    assert most == 2, "a round is as large as the budget"
    assert world.condition("Ready") == ("True", "Ready")
    assert world.entry("c").moved_replicas == 0
    assert world.status.possibly_running_replicas == 0
    assert world.lowest >= 0


def world_lost(world: Fleet) -> int:
    """The second in which c was lost."""
    return next(second for second in range(world.seconds) if world.facts["c"].offline_since == Fleet.time(second))


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_failback_goes_on_after_a_crash_although_nothing_happens_any_more(rounds: int) -> None:
    """The controller dies after a write, and all pods are ready when another one starts: no event wakes it up (I9)."""
    world = fleet(EVEN, 12, maxUnavailable=2)
    world.lose("c")
    world.go_on(400, step=60)
    world.answers("c")
    for _ in range(rounds):
        while not world.one_pass().persist_first:
            world.start_pods()
            if "c" in world.facts:
                world.recovers("c")
    world.one_pass(writes=2)
    world.start_pods()
    if "c" in world.facts:
        world.recovers("c")
    awake = True
    while awake:
        before = [replace(member) for member in world.members.values()]
        made = world.one_pass()
        world.start_pods()
        awake = made.persist_first or made.requeue_after == 0.0 or before != list(world.members.values())
    assert world.asked() == [4, 4, 4]
    assert world.entry("c").moved_replicas == 0


def test_no_failover_begins_from_a_member_that_answers_again() -> None:
    """Its pods can be seen, so none of them is lost although the grace period ends before it is Running."""
    world = fleet(EVEN, 12)
    world.lose("c")
    world.go_on(290, step=60)
    world.answers("c")
    world.go_on(120, step=20)
    assert world.asked() == [4, 4, 4]
    assert not world.moved
    world.lose("c")
    world.go_on(400, step=60)
    assert world.asked() == [6, 6, 4], "it was lost again"


def test_no_failover_begins_when_members_return_one_after_the_other() -> None:
    """The brake ends with the first that is Running; the others answer, too."""
    world = fleet({name: {"weight": 1} for name in "abcd"}, 8)
    world.lose("b", "c", "d")
    world.go_on(900, step=60)
    for name in "bcd":
        world.answers(name)
    for name in "bcd":
        world.recovers(name)
        world.go_on(20)
        assert world.asked() == [2, 2, 2, 2]


def test_a_member_that_returns_early_keeps_its_pods_until_their_replacements_are_ready() -> None:
    """No oscillation: a failover that has begun goes on, and ends before failback begins."""
    world = fleet(EVEN, 6, maxUnavailable=0)
    world.lose("c")
    for member in ("a", "b"):
        world.members[member].broken = True
    world.go_on(400, step=60)
    assert world.asked() == [3, 3, 2]
    world.recovers("c")
    world.go_on(600, step=60)
    assert world.asked() == [3, 3, 2], "neither the old nor the new pods go"
    assert world.entry("c").desired_replicas == 0
    assert world.condition("Moving") == ("True", "Moving")
    assert world.condition("Ready") == ("False", "Progressing")
    for member in ("a", "b"):
        world.members[member].broken = False
    world.go_on(600, step=60)
    assert world.asked() == [2, 2, 2]
    assert world.lowest >= 0


def test_pods_that_a_lost_cluster_should_have_removed_stay_if_they_are_needed_again() -> None:
    """The total fell and rose again meanwhile, and no others are ready in their place (I7)."""
    world = fleet(EVEN, 12, adaptive=False, maxUnavailable=0)
    world.lose("c")
    world.go_on(30)
    world.edit(replicas=6)
    world.go_on(30)
    assert world.asked() == [2, 2, 4]
    world.members["a"].broken = True
    world.edit(replicas=12)
    world.go_on(30)
    world.answers("c")
    world.lowest = 0
    world.go_on(30)
    assert world.asked()[2] == 4
    world.recovers("c")
    world.members["a"].broken = False
    world.go_on(300)
    assert world.asked() == [4, 4, 4]
    assert world.lowest >= 0


def test_pods_that_one_of_many_lost_clusters_should_have_removed_stay_if_they_are_needed_again() -> None:
    """The brake stops moves, so the numbers are stored before anything is written (I7)."""
    world = fleet({name: {"weight": 1} for name in "abcd"}, 5, maxUnavailable="25%")
    assert world.asked() == [2, 1, 1, 1]
    world.lose("a", "b", "d")
    world.go_on(400, step=60)
    assert world.asked() == [2, 1, 1, 1]
    world.edit(replicas=3)
    world.go_on(30)
    world.edit(replicas=5)
    world.go_on(30)
    assert world.asked() == [2, 1, 3, 1]
    world.answers("d")
    world.lowest = 0
    world.go_on(30)
    world.recovers("d")
    world.go_on(10)
    assert world.lowest >= 0, "the pods of a and b may be gone"
    world.recovers("a")
    world.recovers("b")
    world.go_on(60)
    assert world.lowest >= 0
    assert sum(number or 0 for number in world.asked()) == 5, "what is not needed goes"


def test_pods_that_a_lost_cluster_should_have_removed_go_when_it_returns() -> None:
    """The total fell meanwhile, and the pods of the others are enough."""
    world = fleet(EVEN, 12, adaptive=False, maxUnavailable=0)
    world.lose("c")
    world.go_on(30)
    world.edit(replicas=6)
    world.go_on(30)
    world.answers("c")
    world.go_on(30)
    assert world.asked() == [2, 2, 2]
    assert world.condition("Ready") == ("True", "Ready")


@pytest.mark.parametrize(("failback", "end"), [("Never", [6, 6, 0]), ("Immediate", [4, 4, 4])])
def test_failback_is_a_policy(failback: str, end: list[int]) -> None:
    """Never: replicas stay where they are. Immediate: all return in one round."""
    world = fleet(EVEN, 12, failover={"failback": failback, "gracePeriod": "30s"})
    world.lose("c")
    world.go_on(60)
    world.recovers("c")
    world.go_on(300, step=30)
    assert world.asked() == end
    assert world.lowest >= 0
    world.edit(replicas=15)
    world.go_on()
    assert world.asked() == [5, 5, 5] if failback == "Immediate" else [6, 6, 3]


@pytest.mark.parametrize(
    ("failover", "topology", "template", "reason"),
    [
        ({"gracePeriod": "Never"}, {}, {}, "spec.failover.gracePeriod is Never"),
        ({}, {}, {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}, "statefulSets: Allowed"),
        ({}, {"ordinals": "Disjoint", "ordinalBlock": 50}, {}, "statefulSets: Allowed"),
        ({}, {"scheduleStrategy": {"type": "Fixed"}}, {}, "spec.topology.scheduleStrategy is not Adaptive"),
    ],
)
def test_replicas_stay_if_they_are_not_allowed_to_run_elsewhere(
    failover: dict[str, str], topology: dict[str, Any], template: dict[str, Any], reason: str
) -> None:
    """Never is a value, volumes and ordinals are not copied, only Adaptive moves anything, and each reason is given."""
    world = fleet(EVEN, 6, failover=failover, **topology)
    world.document["spec"]["template"]["statefulSetTemplate"]["spec"] |= template
    world.lose("c")
    world.go_on(1200, step=60)
    assert world.asked() == [2, 2, 2]
    assert world.entry("c").desired == 2
    assert reason in world.entry("c").reason
    if "Allowed" in reason:
        world.edit(failover={"statefulSets": "Allowed"})
        world.go_on(1200, step=60)
        assert world.asked() == [3, 3, 2]


def test_nothing_moves_when_no_other_member_can_be_reached() -> None:
    """What nobody else can take stays where it may run."""
    world = fleet({"a": {"weight": 1}, "b": {"weight": 1}}, 4)
    world.lose("a", "b")
    world.go_on(1200, step=60)
    assert world.asked() == [2, 2]
    assert [world.entry(name).desired for name in "ab"] == [2, 2]
    assert "can run nowhere else now" in world.entry("a").reason


def test_a_member_that_was_replaced_by_an_empty_one_gets_its_replicas_by_failback() -> None:
    """The workload is gone; what failed over stays until the new pods are ready."""
    world = fleet(EVEN, 6)
    world.lose("c")
    world.go_on(400, step=60)
    assert world.asked() == [3, 3, 2]
    world.members["c"] = Member()
    world.recovers("c")
    world.go_on(300, step=30)
    assert world.asked() == [2, 2, 2]
    assert world.lowest >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_controller_that_dies_at_any_write_of_a_failover_changes_nothing_about_its_end(kind: str) -> None:
    """I9: each pass writes once and dies before it stores its status; every other pass is whole."""
    world = fleet(EVEN, 12, kind=kind, maxUnavailable=1)
    for event in (world.lose, world.answers, world.recovers):
        event("c")
        for turn in range(40):
            world.one_pass(writes=turn % 3)
            world.start_pods(1)
            world.one_pass(writes=None if turn % 2 else 1)
            world.seconds += 5
            assert sum(number or 0 for number in world.asked()) <= 16
    world.go_on()
    assert world.asked() == [4, 4, 4]
    assert world.lowest >= 0


def test_an_autoscaler_in_mid_move_is_followed_at_once() -> None:
    """A lower total needs no replacements; the division ends as a fresh one does."""
    world = fleet(EVEN, 12, maxUnavailable=0)
    world.lose("c")
    world.seconds += 300
    world.one_pass()
    world.one_pass()
    assert world.asked() == [6, 6, 4]
    world.edit(replicas=6)
    world.one_pass()
    assert world.asked() == [3, 3, 4]
    world.edit(replicas=12)
    world.go_on()
    world.recovers("c")
    world.go_on(300, step=30)
    assert world.asked() == [4, 4, 4]


# --- The brake --------------------------------------------------------------------------------------------------------


def test_moves_stop_while_more_than_half_of_the_fleet_is_lost() -> None:
    """Three of four at once are more likely us: nothing moves, and a condition and an Event say why."""
    world = fleet({name: {"weight": 1} for name in "abcd"}, 8)
    world.lose("b", "c", "d")
    world.go_on(900, step=60)
    assert world.asked() == [2, 2, 2, 2]
    assert world.condition("Moving") == ("False", "Stopped")
    warnings = [event for event in world.events if event.startswith("Moves")]
    assert warnings == ["MovesStopped: 3 of 4 clusters were lost within 300 seconds"]
    for name in "bcd":
        world.recovers(name)
    world.go_on(60)
    assert world.asked() == [2, 2, 2, 2]
    assert (world.condition("Moving"), world.condition("Ready")) == (None, ("True", "Ready"))


@pytest.mark.parametrize("grace", ["0s", "1s"])
def test_a_short_grace_period_releases_no_brake(grace: str) -> None:
    """Clusters that are lost at once are noticed one after the other, which takes longer than such a grace period."""
    world = fleet({name: {"weight": 1} for name in "abcd"}, 8, failover={"gracePeriod": grace})
    for name in "bcd":
        world.lose(name)
        world.seconds += 2
    world.go_on(60, step=20)
    assert world.asked() == [2, 2, 2, 2]
    assert world.condition("Moving") == ("False", "Stopped")


def test_moves_are_slow_while_more_than_a_third_of_the_fleet_is_lost() -> None:
    """One replica of the application in a tenth of the grace period."""
    world = fleet({name: {"weight": 1} for name in "abcdefg"}, 14)
    world.lose("e", "f", "g")
    world.seconds += 300
    numbers = []
    for _ in range(24):
        world.one_pass()
        world.start_pods()
        world.seconds += 5
        numbers.append(sum(world.entry(name).desired for name in "efg"))
    assert numbers[:4] == [5, 5, 5, 5]
    assert numbers[-1] == 2, "120 seconds are four steps of 30"
    assert world.condition("Moving") == ("True", "Slowed")
