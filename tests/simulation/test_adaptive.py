"""Adaptive scheduling end to end under virtual time: nodes come and go, pods move and stay.

These are OpenKruise's own end-to-end scenarios, with a member for each of its subsets, and what may never happen on the
way: a ready pod that goes because another could not be placed (I7).
"""

import asyncio
import itertools
from functools import partial
from random import Random
from typing import Any

import pytest

from tests.simulation.scene import Scene, is_ready
from tests.support.kruise import ALL_KINDS, KRUISE_KINDS, NATIVE_KINDS, RESOURCES, kinds, world_for
from tests.support.narrowing import present
from tests.support.stories import some
from tests.support.world import World
from uniteddeployment.embedded.access import Change

KINDS = ALL_KINDS
UNORDERED = ["deploymentTemplate", "cloneSetTemplate"]
"""Kinds whose pods can have stand-ins."""


def adaptive(critical: int = 10, duration: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "type": "Adaptive",
        "adaptive": {"rescheduleCriticalSeconds": critical, "unschedulableDuration": duration, **more},
    }


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_bounds_are_filled_in_the_order_of_the_list(world: World, kind: str) -> None:
    """Scenario 37."""
    limited = {"minReplicas": 1, "maxReplicas": 2}
    scene = Scene(world, kind, {"a": limited, "b": limited, "c": {"minReplicas": 1}})
    scene.ask(3)
    await scene.comes_to(1, 1, 1)
    scene.ask(7)
    await scene.comes_to(2, 2, 3)
    scene.ask(1)
    await scene.comes_to(1, 0, 0)


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_percentages_are_rounded_and_the_rest_is_for_the_last(world: World, kind: str) -> None:
    """Scenario 38."""
    scene = Scene(world, kind, {"a": "25%", "b": "25%", "c": None})
    scene.ask(3)
    await scene.comes_to(1, 1, 1)
    scene.ask(4)
    await scene.comes_to(1, 1, 2)
    scene.ask(1)
    await scene.comes_to(0, 0, 1)


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
@pytest.mark.fleet(members=4)
async def test_pods_move_away_from_a_subset_without_nodes_and_new_ones_are_tried_there_later(
    world: World, kind: str
) -> None:
    """Scenario 39; on the way no ready pod ever goes but those that are too many (I7)."""
    scene = Scene(world, kind, {"a": {"maxReplicas": 2}, "b": {"maxReplicas": 2}, "c": {}}, strategy=adaptive())
    scene.cordon("b")
    scene.ask(3)
    await scene.comes_to(2, 0, 1, marked=["b"])
    scene.ask(5)
    await scene.comes_to(2, 0, 3, marked=["b"])
    scene.ask(4)
    await scene.comes_to(2, 0, 2)
    await scene.comes_to(2, 0, 2, marked=[])
    scene.ask(5)
    await scene.comes_to(2, 1, 2, seconds=5)
    scene.ask(4)
    await scene.comes_to(2, 0, 2)
    assert scene.lowest == 4
    scene.ask(3)
    await scene.comes_to(2, 0, 1)
    scene.subsets["d"] = {"minReplicas": 2}
    scene.ask(6)
    await scene.comes_to(2, 0, 2, 2)
    scene.cordon("b", on=False)
    await scene.comes_to(2, 0, 2, 2, marked=[])
    del scene.subsets["d"]
    scene.ask(6)
    await scene.comes_to(2, 2, 2)
    await world.until(lambda: not world.pods("member-4"), what="the removed subset is gone")
    scene.ask(3)
    await scene.comes_to(2, 1, 0)
    scene.ask(5)
    await scene.comes_to(2, 2, 1)


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "cloneSetTemplate"))
async def test_a_minimum_waits_where_it_was_asked_for_and_the_mark_lasts_as_long(world: World, kind: str) -> None:
    """Scenario 40."""
    scene = Scene(world, kind, {"a": {"minReplicas": 1, "maxReplicas": 2}, "b": {}}, strategy=adaptive())
    scene.cordon("a")
    scene.ask(3)
    await scene.comes_to(1, 2, marked=["a"])
    scene.ask(4)
    await scene.comes_to(1, 3)
    scene.ask(3)
    await scene.comes_to(1, 2)
    await asyncio.sleep(60)
    assert scene.unschedulable() == ["a"]
    scene.cordon("a", on=False)
    await scene.comes_to(1, 2, marked=[])
    scene.ask(5)
    await scene.comes_to(2, 3)
    scene.ask(4)
    await scene.comes_to(2, 2)
    scene.ask(3)
    await scene.comes_to(2, 1)
    scene.ask(1)
    await scene.comes_to(1, 0)


@pytest.mark.parametrize("kind", UNORDERED)
async def test_stand_ins_run_while_pods_wait_and_go_when_those_are_ready(world: World, kind: str) -> None:
    """Scenario 41: the pods that wait stay where they are, and the total serves all the time (I7)."""
    scene = Scene(world, kind, {"a": {}, "b": {}, "c": {}}, strategy=adaptive(20, 1, reserveUnschedulablePods=True))
    scene.cordon("a", "b")
    scene.ask(2)
    await scene.comes_to(2, 2, 2, reserved=[2, 2, 0])
    assert world.status()["replicas"] == world.status()["readyReplicas"] == 2
    await world.until(world.settled, what="an application that has what it needs")
    scene.ask(4)
    await scene.comes_to(2, 2, 4, reserved=[2, 2, 0])
    scene.ask(2)
    await scene.comes_to(2, 2, 2, reserved=[2, 2, 0])
    scene.ask(4)
    await scene.comes_to(2, 2, 4, reserved=[2, 2, 0])
    scene.image = "app:2"
    scene.ask(4)
    await world.until(
        lambda: all(set(world.images(member)) == {"app:2"} for member in world.members), what="the update"
    )
    await scene.comes_to(2, 2, 4, reserved=[2, 2, 0])
    assert scene.lowest >= 3, "maxUnavailable and maxSurge of the template are kept"
    await world.until(lambda: world.status()["currentRevision"] == world.status()["updatedRevision"])
    scene.lowest = 4
    scene.cordon("a", on=False)
    await scene.comes_to(4, 0, 0, reserved=[0, 0, 0])
    assert scene.lowest == 4
    scene.ask(5)
    await scene.comes_to(5, 0, 0, reserved=[0, 0, 0])


@pytest.mark.parametrize("kind", some(UNORDERED, ["cloneSetTemplate"]))
async def test_minimums_wait_with_stand_ins(world: World, kind: str) -> None:
    """Scenario 42."""
    bounds = {"a": {"minReplicas": 1}, "b": {"minReplicas": 1}, "c": {}}
    scene = Scene(world, kind, bounds, strategy=adaptive(20, 1, reserveUnschedulablePods=True))
    scene.cordon("a", "b")
    scene.ask(2)
    await scene.comes_to(1, 1, 2, reserved=[1, 1, 0])
    scene.ask(4)
    await scene.comes_to(1, 1, 4, reserved=[1, 1, 0])
    scene.ask(2)
    await scene.comes_to(1, 1, 2, reserved=[1, 1, 0])
    scene.ask(4)
    await scene.comes_to(1, 1, 4, reserved=[1, 1, 0])
    scene.image = "app:2"
    scene.ask(4)
    await world.until(
        lambda: all(set(world.images(member)) == {"app:2"} for member in world.members), what="the update"
    )
    await scene.comes_to(1, 1, 4, reserved=[1, 1, 0])
    scene.lowest = 4
    scene.cordon("a", on=False)
    await scene.comes_to(4, 1, 0, reserved=[0, 1, 0])
    assert scene.lowest == 4
    scene.ask(5)
    await scene.comes_to(5, 1, 0, reserved=[0, 1, 0])


class Guard:
    """Notes each pod that was ready and is deleted by anybody but the test (I7), unless enough others are ready.

    A pod that was not ready when its workload was scaled down may go, also if it should get ready at the last moment.
    """

    def __init__(self, scene: Scene, enough: int = 10**6) -> None:
        self.scene, self.enough = scene, enough
        self.broken: list[str] = []
        self.expected: set[Any] = set()
        for name, member in scene.world.members.items():
            member.access.subscribe("pods", partial(self._look, name))
            member.access.subscribe(RESOURCES[scene.kind], partial(self._scaled, name))

    def _scaled(self, member: str, change: Change) -> None:
        if change.type == "MODIFIED" and change.obj["spec"]["replicas"] < present(change.old)["spec"]["replicas"]:
            self.expected |= {pod["metadata"]["uid"] for pod in self.scene.world.pods(member) if not is_ready(pod)}

    def _look(self, member: str, change: Change) -> None:
        if change.old is None or "deletionTimestamp" in change.old["metadata"] or not is_ready(change.old):
            return
        if change.type == "DELETED" or "deletionTimestamp" in change.obj["metadata"]:
            uid = change.old["metadata"]["uid"]
            if uid not in self.expected and self.scene.ready() < self.enough:
                self.broken.append(f"{member}/{change.old['metadata']['name']}")


@pytest.mark.parametrize(
    ("kind", "writes"),
    some(
        list(itertools.product(ALL_KINDS, range(1, 5))),
        [*zip(itertools.cycle(NATIVE_KINDS), range(1, 5), strict=False), *((kind, 2) for kind in KRUISE_KINDS)],
    ),
)
async def test_a_crash_at_any_moment_of_a_move_ends_in_the_same_state(world: World, kind: str, writes: int) -> None:
    """That a subset is unschedulable is stored before anything is done about it (I9, I7)."""
    scene = Scene(world, kind, {"a": {"maxReplicas": 2}, "b": {"maxReplicas": 2}, "c": {}}, strategy=adaptive(10, 60))
    scene.cordon("b")
    scene.ask(5)
    await asyncio.sleep(9.5)
    guard = Guard(scene)
    before = {name: len(transport.sent) for name, transport in world.transports.items()}

    def written() -> bool:
        sent = [one for name, t in world.transports.items() for one in t.sent[before[name] :]]
        return sum(1 for one in sent if one.method != "GET") >= writes

    await world.until(written, 5, what="the writes of the move", every=0.002)
    world.kill_controller()
    await asyncio.sleep(1)
    world.start_controller()
    await scene.comes_to(2, 0, 3, marked=["b"])
    await scene.comes_to(2, 0, 3, marked=[])
    assert not guard.broken


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_a_member_that_is_cut_off_moves_nothing_whatever_its_pods_said_last(world: World, kind: str) -> None:
    """Neither is it marked, nor does its mark end (I8)."""
    scene = Scene(world, kind, {"a": {"maxReplicas": 2}, "b": {}}, strategy=adaptive(60, 300))
    scene.cordon("a")
    scene.ask(3)
    await asyncio.sleep(10)
    # It takes up to 26 s to see that it is lost, and its pods are unschedulable for 60 s before they move.
    world.members["member-1"].faults.set(cut_off=True)
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the member is seen as lost")
    await asyncio.sleep(120)
    assert [scene.entry(name)["replicas"] for name in "ab"] == [2, 1]
    assert not scene.unschedulable()
    world.members["member-1"].faults.clear()
    await scene.comes_to(0, 3, marked=["a"])


@pytest.mark.parametrize("kind", NATIVE_KINDS)
@pytest.mark.fleet(nodes=1, cpu="2")
async def test_where_no_member_has_room_what_runs_goes_on_and_the_rest_waits(world: World, kind: str) -> None:
    """The pods that are too many are tried here and there, a few times in five minutes (I4, I7)."""
    scene = Scene(world, kind, {"a": {"maxReplicas": 6}, "b": {}}, strategy=adaptive(30, 300))
    scene.workload = {"template": with_requests(scene, "1")}
    scene.ask(4)
    await asyncio.sleep(120)
    guard = Guard(scene)
    scene.ask(6)
    await asyncio.sleep(300)
    before = sum(world.requests().values())
    await asyncio.sleep(600)
    assert scene.ready() == 4
    assert sum(scene.entry(name)["replicas"] for name in "ab") == 6
    assert sum(world.requests().values()) - before < 2 * 40
    scene.ask(4)
    await scene.comes_to(2, 2)
    assert not guard.broken


def with_requests(scene: Scene, cpu: str) -> dict[str, Any]:
    """The pod template of a scene with a request for processors."""
    template = scene.document(1)["spec"]["template"][scene.kind]["spec"]["template"]
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    found: dict[str, Any] = template
    return found


async def trouble(scene: Scene, guard: Guard, seed: int) -> None:
    """Nodes are closed and opened, pods are lost, the controller dies: all by chance, and all is well at the end."""
    world, random = scene.world, Random(seed)
    for _ in range(30):
        subset = random.choice("abc")
        match random.choice(["close", "open", "lose", "lose", "die", "wait"]):
            case "close":
                scene.cordon(subset)
            case "open":
                scene.cordon(subset, on=False)
            case "lose" if scene.pods(subset):
                lost = random.choice(scene.pods(subset))
                guard.expected.add(lost["metadata"]["uid"])
                world.members[scene.home(subset)].access.delete("pods", "default", lost["metadata"]["name"])
            case "die":
                world.kill_controller()
                world.start_controller()
            case _:
                await asyncio.sleep(random.choice([3, 12, 30]))
        await asyncio.sleep(random.random() * 4)
    scene.cordon("a", "b", "c", on=False)


@pytest.mark.parametrize(
    ("kind", "seed"), some(list(itertools.product(KINDS, range(10))), list(zip(KINDS, (0, 1, 0, 1), strict=True)))
)
async def test_no_ready_pod_is_removed_for_one_that_has_no_node(kind: str, seed: int) -> None:
    """No ready pod is removed in favor of one without a node, whatever nodes do (I4, I7, I9)."""
    async with world_for(kind, seed) as world:
        scene = Scene(
            world, kind, {"a": {"maxReplicas": 4}, "b": {"maxReplicas": 4}, "c": {}}, strategy=adaptive(5, 20)
        )
        scene.ask(9)
        await scene.comes_to(4, 4, 1)
        guard = Guard(scene)
        await trouble(scene, guard, seed)
        await world.until(lambda: scene.ready() == 9 and not scene.unschedulable(), what="the end")
        await scene.settles()
        assert sum(len(scene.pods(name)) for name in "abc") == 9
        assert not guard.broken


@pytest.mark.parametrize(
    ("kind", "seed"), some(list(itertools.product(UNORDERED, range(10))), list(zip(UNORDERED, (0, 1), strict=True)))
)
async def test_stand_ins_are_removed_only_when_the_pods_that_they_replace_are_ready(kind: str, seed: int) -> None:
    """However nodes fail and return (I4, I7, I9)."""
    strategy = adaptive(5, 20, reserveUnschedulablePods=True)
    async with world_for(kind, seed) as world:
        scene = Scene(world, kind, {"a": {"maxReplicas": 4}, "b": {"maxReplicas": 4}, "c": {}}, strategy=strategy)
        scene.ask(9)
        await scene.comes_to(4, 4, 1)
        guard = Guard(scene, enough=9)
        await trouble(scene, guard, seed)
        await scene.comes_to(4, 4, 1, marked=[], reserved=[0, 0, 0])
        await scene.settles()
        assert not guard.broken
