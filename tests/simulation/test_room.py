"""Plans that know how much room clusters have, under virtual time."""

import asyncio
from typing import Any

import pytest

from tests.simulation.scene import Scene
from tests.support.world import World
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.plan import Plan

pytestmark = pytest.mark.fleet(members=2, nodes=1, cpu="4", capacity=True)
ADAPTIVE = {"type": "Adaptive", "adaptive": {"rescheduleCriticalSeconds": 600}}
"""Nothing moves because a pod has waited for a node."""


def application(world: World, name: str, cpu: str = "1", **spec: Any) -> Scene:
    """An application that prefers member-1 to member-2."""
    scene = Scene(world, "deploymentTemplate", {"a": {}, "b": {}}, strategy=ADAPTIVE, name=name, **spec)
    written = scene.document

    def document(total: int | None = None) -> dict[str, Any]:
        made = written(total)
        template = made["spec"]["template"]["deploymentTemplate"]["spec"]["template"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        return made

    scene.document = document  # type: ignore[method-assign]
    return scene


async def counted(world: World) -> None:
    """Wait until the capacity of both members is known."""

    def known() -> bool:
        assert world.controller is not None
        members = [world.controller.fleet.member(f"default/{name}") for name in world.members]
        return all(member is not None and member.capacity.current for member in members)

    await world.until(known, seconds=30, what="the capacity")


def occupy(world: World, member: str, cpu: str, name: str = "other") -> None:
    container = {"name": "c", "image": "other:1", "resources": {"requests": {"cpu": cpu}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    world.request(world.members[member], "POST", "/api/v1/namespaces/default/pods", pod)


def places(world: World, name: str) -> list[int]:
    """How many pods an application has in each member, all of them with a node."""
    mine = [[pod for pod in world.pods(member) if pod["metadata"]["name"].startswith(name)] for member in world.members]
    assert all(pod["spec"].get("nodeName") for pods in mine for pod in pods)
    return [len(pods) for pods in mine]


async def test_two_applications_do_not_get_the_same_last_place(world: World) -> None:
    """Both are planned before the member shows a pod of either; the second one is placed elsewhere at once."""
    await counted(world)
    occupy(world, "member-1", "3")
    await asyncio.sleep(15)
    first, second = application(world, "web"), application(world, "shop")
    first.ask(1)
    second.ask(1)
    await world.until(lambda: world.settled("web") and world.settled("shop"), seconds=30, what="both")
    assert sorted([places(world, "web"), places(world, "shop")]) == [[0, 1], [1, 0]]


async def test_two_subsets_in_one_cluster_do_not_get_the_same_places(world: World) -> None:
    """The member has four places for both together; the rest goes to the other member at once."""
    await counted(world)
    scene = application(world, "web")
    scene.subsets = {"a": {}, "b": {}, "c": {}}
    scene._homes = {"a": "member-1", "b": "member-1", "c": "member-2"}
    scene.ask(6)
    await world.until(lambda: world.settled("web"), seconds=30, what="the application")
    assert places(world, "web") == [4, 2]
    scene.ask(8)
    await world.until(lambda: world.settled("web"), seconds=30, what="the rest")
    assert places(world, "web") == [4, 4]


async def test_what_does_not_fit_goes_where_there_is_room_and_the_reason_says_so(world: World) -> None:
    """It does not take a pod that waits for a node to find out."""
    await counted(world)
    scene = application(world, "web", cpu="1500m")
    scene.ask(3)
    await world.until(lambda: world.settled("web"), seconds=30, what="the application")
    assert places(world, "web") == [2, 1]
    assert "no room" in scene.entry("a")["reason"]


async def test_what_has_room_nowhere_is_placed_and_planned_again_when_there_is_more(world: World) -> None:
    """An autoscaler may add nodes, so it does not wait. More room plans only those again that are not settled."""
    await counted(world)
    settled = application(world, "shop")
    settled.ask(1)
    await world.until(lambda: world.settled("shop"), seconds=30, what="the settled application")
    occupy(world, "member-1", "3")
    occupy(world, "member-2", "4")
    await asyncio.sleep(15)
    application(world, "web").ask(2)
    await world.until(lambda: len(world.pods("member-1")) == 4, seconds=30, what="pods without a node")
    assert not world.settled("web")
    await asyncio.sleep(30)
    assert world.controller is not None
    rooms, planned = world.controller._rooms, list[str]()
    note = rooms.planned

    def noted(subject: Subject, plan: Plan) -> None:
        planned.append(subject.name)
        note(subject, plan)

    rooms.planned = noted  # type: ignore[method-assign]  # only in this test
    world.request(world.members["member-2"], "DELETE", "/api/v1/namespaces/default/pods/other")
    await asyncio.sleep(15)
    assert set(planned) == {"web"}
