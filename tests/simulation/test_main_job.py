"""The main job under virtual time: create, canary, finish, delete; with crashes and cut-off members."""

import asyncio
from collections import Counter

import pytest

from tests.support.kruise import ALL_KINDS
from tests.support.planning import manifest
from tests.support.world import World

HALF = {"member-1": 2, "member-2": 1, "member-3": 1}


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_an_application_is_rolled_out_in_two_halves(world: World, kind: str) -> None:
    world.apply(manifest(kind=kind))
    await world.until(world.settled, what="creation")
    assert [len(world.pods(member)) for member in world.members] == [4, 2, 2]
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="canary")
    assert {member: world.images(member) for member in world.members} == {
        "member-1": {"app:1": 2, "app:2": 2},
        "member-2": {"app:1": 1, "app:2": 1},
        "member-3": {"app:1": 1, "app:2": 1},
    }
    assert world.status()["updatedReadyReplicas"] == 4
    world.apply(manifest(kind=kind, image="app:2"))
    await world.until(
        lambda: world.settled() and world.status()["currentRevision"] == world.status()["updatedRevision"]
    )
    assert {member: world.images(member) for member in world.members} == {
        "member-1": {"app:2": 4},
        "member-2": {"app:2": 2},
        "member-3": {"app:2": 2},
    }
    world.delete()
    await world.until(lambda: world.ud() is None, what="deletion")
    await world.until(lambda: not any(world.pods(member) for member in world.members), what="clean-up")


async def test_creation_costs_the_host_a_finalizer_a_revision_a_status_and_an_event(world: World) -> None:
    """Each write of an object with rules is dear. Pods that start at once need no status in between."""
    world.apply(manifest())
    await world.until(world.settled, what="creation")
    await asyncio.sleep(5)
    sent = [one for one in world.transports["host"].sent if "web" in one.path or one.verb == "create"]
    sent = [one for one in sent if one.resource != "events" or b"Cluster" not in one.body]
    writes = Counter((one.verb, one.path.rpartition("/")[2]) for one in sent if one.verb in ("create", "patch"))
    assert writes == {
        ("patch", "web"): 1,
        ("create", "controllerrevisions"): 1,
        ("patch", "status"): 1,
        ("create", "events"): 1,
    }
