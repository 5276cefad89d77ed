"""A member is lost, drained or tainted: its replicas run elsewhere, and return, within the availability budget."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.scene import Scene, is_ready
from tests.support.kruise import ALL_KINDS, NATIVE_KINDS
from tests.support.narrowing import present
from tests.support.world import World
from uniteddeployment_api import names

ADAPTIVE = {"type": "Adaptive"}
EVEN = {"a": {"weight": 1}, "b": {"weight": 1}, "c": {"weight": 1}}
GRACE = 60
FAILOVER = {"gracePeriod": f"{GRACE}s"}


def taints(world: World, member: str, *entries: dict[str, str]) -> None:
    """Write the taints of a Cluster, as an administrator does."""
    path = f"{names.API_PATH}/namespaces/default/clusters/{member}"
    cluster = world.request(world.host, "GET", path)
    world.request(world.host, "PUT", path, {**cluster, "spec": {**cluster["spec"], "taints": list(entries)}})


def lose(world: World, *members: str) -> None:
    for member in members:
        world.members[member].faults.set(black_hole=True)


def give_back(world: World, *members: str) -> None:
    for member in members:
        world.members[member].faults.clear()


def ready(world: World, *members: str) -> int:
    pods = [pod for member in members for pod in world.pods(member)]
    return sum("deletionTimestamp" not in pod["metadata"] and is_ready(pod) for pod in pods)


def moving(world: World) -> str:
    found = [one["reason"] for one in world.status().get("conditions", ()) if one["type"] == "Moving"]
    return found[0] if found else ""


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_the_replicas_of_a_member_that_is_lost_in_mid_canary_run_elsewhere_and_return(
    world: World, kind: str
) -> None:
    """I4-I8: in time, with few requests, at the revisions that partitions allow, and with no pod below the budget."""
    scene = Scene(world, kind, EVEN, strategy=ADAPTIVE, failover=FAILOVER)
    scene.ask(6)
    await scene.settles()
    scene.image = "app:2"
    scene.spec["updateStrategy"] = {"manualUpdate": {"partition": "50%"}}
    scene.ask(6)
    await scene.settles()
    assert [scene.images(name) for name in "abc"] == [{"app:1": 1, "app:2": 1}] * 3

    lost, before = world.loop.time(), world.requests()
    lose(world, "member-3")
    await world.until(lambda: world.phase("member-3") == "Offline", 30, what="detection")
    await world.until(lambda: ready(world, "member-1", "member-2") == 6, GRACE + 60, what="failover")
    assert world.loop.time() - lost < 30 + GRACE + 20, "detection, grace period, and pods that start"
    assert [scene.images(name) for name in "ab"] == [{"app:1": 2, "app:2": 1}] * 2, (
        "I6: half of three is held, rounded up"
    )
    await world.until(lambda: world.status()["readyReplicas"] == 6, 20, what="the status")
    after = world.requests()
    assert sum(after[member] - before[member] for member in ("member-1", "member-2")) <= 6
    assert world.condition("Ready") == "Unknown", "I8"
    assert scene.entry("c")["possiblyRunning"] == world.status()["possiblyRunningReplicas"] == 2

    scene.lowest = scene.ready()
    give_back(world, "member-3")
    await scene.comes_to(2, 2, 2)
    await scene.settles()
    assert scene.lowest >= 5, "the budget is 25 % of 6"
    events = [one["message"] for one in world.host.access.list("events", "default") if one["reason"] == "Moving"]
    assert any(one.endswith("failback to c") for one in events), events
    assert [scene.images(name) for name in "abc"] == [{"app:1": 1, "app:2": 1}] * 3
    assert "movedReplicas" not in scene.entry("c")
    assert moving(world) == ""


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_taints_move_replicas_as_their_tolerations_allow(world: World, kind: str) -> None:
    """A drain, its end, a toleration for a time, and a member that is lost while it is drained."""
    scene = Scene(world, kind, {"a": None, "b": None, "c": None}, strategy=None)
    scene.spec["topology"] = {
        "subsets": scene.document(6)["spec"]["topology"]["subsets"],
        "tolerations": [{"key": "soon", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}],
    }
    scene.ask(6)
    await scene.settles()
    scene.lowest = 6
    taints(world, "member-3", {"key": "upgrade", "effect": "NoExecute"})
    await scene.comes_to(3, 3, 0)
    await scene.settles()
    taints(world, "member-3")
    await scene.comes_to(2, 2, 2)
    await scene.settles()
    taints(world, "member-2", {"key": "soon", "effect": "NoExecute"})
    await asyncio.sleep(90)
    assert [len(scene.pods(name)) for name in "abc"] == [2, 2, 2]
    await scene.comes_to(3, 0, 3, seconds=30)
    assert scene.lowest >= 5
    taints(world, "member-2")
    await scene.comes_to(2, 2, 2)
    lose(world, "member-1")
    await world.until(lambda: world.phase("member-1") == "Offline", 30, what="detection")
    taints(world, "member-1", {"key": "upgrade", "effect": "NoExecute"})
    await world.until(lambda: ready(world, "member-2", "member-3") == 6, 60, what="replacements")
    give_back(world, "member-1")
    await scene.comes_to(0, 3, 3)


@pytest.mark.fleet(members=4)
async def test_nothing_moves_while_three_of_four_members_are_lost(world: World) -> None:
    """The brake: a condition and one Event say why, and everything is as before when they return."""
    scene = Scene(world, "deploymentTemplate", {**EVEN, "d": {"weight": 1}}, strategy=ADAPTIVE, failover=FAILOVER)
    scene.ask(8)
    await scene.settles()
    lose(world, "member-2", "member-3", "member-4")
    await world.until(lambda: moving(world) == "Stopped", 30 + GRACE + 20, what="the brake")
    await asyncio.sleep(600)
    assert ready(world, "member-1") == 2
    events = [one for one in world.host.access.list("events", "default") if one["reason"] == "MovesStopped"]
    assert len(events) == 1
    give_back(world, "member-2", "member-3", "member-4")
    await scene.settles()
    assert [len(scene.pods(name)) for name in "abcd"] == [2, 2, 2, 2]
    assert moving(world) == ""


async def test_a_kill_at_any_write_of_a_failover_ends_in_the_same_state(world: World) -> None:
    """I9: no ordinal runs twice, and each round ends as the division of a fresh plan."""
    scene = Scene(
        world,
        "statefulSetTemplate",
        EVEN,
        strategy=ADAPTIVE,
        failover=FAILOVER | {"gracePeriod": "20s", "failback": "Immediate", "statefulSets": "Allowed"},
    )
    scene.spec["topology"] = {
        "subsets": scene.document(6)["spec"]["topology"]["subsets"],
        "ordinals": "Disjoint",
        "ordinalBlock": 20,
    }
    scene.ask(6)
    await scene.settles()
    killed = 0
    for write in range(1, 7):
        for event in (lose, give_back):
            assert world.life is not None
            world.life.kill_at(write, reached=bool(write % 2))
            event(world, "member-3")
            members = ("member-1", "member-2") if event is lose else ("member-1", "member-2", "member-3")

            def done(members: tuple[str, ...] = members, event: Any = event) -> bool:
                failed_over = scene.entry("c").get("movedReplicas", 0) > 0
                return ready(world, *members) == 6 and (failed_over if event is lose else world.settled())

            def killed_or_done(done: Callable[[], bool] = done) -> bool:
                return present(world.life).dead or done()

            await world.until(killed_or_done, 300, what="the kill")
            if world.life.dead:
                killed += 1
                world.start_controller()
            else:
                world.life.spare()
            await world.until(done, 300, what=f"{event.__name__}, after a kill at write {write}")
            ordinals = [pod["metadata"]["name"].rpartition("-")[2] for name in "abc" for pod in scene.pods(name)]
            assert len(set(ordinals)) == len(ordinals)
        assert [len(scene.pods(name)) for name in "abc"] == [2, 2, 2]
    assert killed >= 8
