"""Status says why pods are not ready, per subset: what would otherwise take a look into the member."""

import asyncio
from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.world import UDS, World, running_world

KINDS = ["statefulSetTemplate", "deploymentTemplate"]


def entry(world: World, subset: str) -> dict[str, Any]:
    return next((one for one in world.status().get("subsetStatuses", ()) if one["name"] == subset), {"reason": ""})


async def says(world: World, text: str, subset: str = "member-1") -> None:
    await world.until(lambda: text in entry(world, subset)["reason"], what=f"{subset} says {text!r}")
    assert entry(world, subset)["state"] == "Progressing"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("pullfail:2", 'ImagePullBackOff: Back-off pulling image "pullfail:2"'),
        ("fail:2", "CrashLoopBackOff: container app ended with Error, exit code 1, 3 restarts"),
    ],
)
async def test_a_broken_image_is_named_in_the_subsets_that_run_it(
    world: World, kind: str, image: str, text: str
) -> None:
    """Also in the message of the condition Ready (I11)."""
    world.apply(manifest(kind=kind))
    await world.until(world.settled, what="creation")
    world.apply(manifest(kind=kind, image=image, partitions={"member-2": 2, "member-3": 2}))
    await says(world, text)
    assert "BackOff" not in entry(world, "member-2")["reason"]
    ready = next(one for one in world.status()["conditions"] if one["type"] == "Ready")
    assert f"member-1: {entry(world, 'member-1')['reason']}" in ready["message"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("deploymentTemplate", "exceeded quota: few"),
        ("statefulSetTemplate", "1 not created: see the Events of StatefulSet web-member-1"),
    ],
)
async def test_pods_that_a_quota_refuses_are_told(world: World, kind: str, text: str) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "3"}}}
    world.request(world.members["member-1"], "POST", "/api/v1/namespaces/default/resourcequotas", quota)
    world.apply(manifest(kind=kind))
    await says(world, text)


@pytest.mark.parametrize("kind", KINDS)
async def test_pods_that_find_no_node_are_told(world: World, kind: str) -> None:
    access = world.members["member-1"].access
    for node in access.list("nodes"):
        access.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": True}}, manager="test")
    world.apply(manifest(kind=kind))
    await says(world, "Unschedulable: 0/3 nodes are available")


@pytest.mark.parametrize("kind", KINDS)
async def test_pods_that_stay_unready_are_told_and_those_that_only_start_are_not(kind: str) -> None:
    """What every pod goes through is not written (I3)."""
    async with running_world(ready_after=5.0) as world:
        told: list[str] = []
        world.host.access.subscribe(UDS, lambda _: told.append(entry(world, "member-1")["reason"]))
        world.apply(manifest(kind=kind))
        await world.until(world.settled, what="creation")
        assert not [text for text in told if "NotReady" in text or "Creating" in text]
    async with running_world(ready_after=3600.0) as world:
        world.apply(manifest(kind=kind))
        await says(world, "ContainersNotReady: containers with unready status: [app]")
        before = world.requests()
        await asyncio.sleep(600)
        assert world.requests() == before
