"""Members that answer late or never: the others do not wait, and nothing is written twice or too early (I10, I1)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, product
from typing import Any

import pytest

from tests.support.kruise import world_for
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.watchdog import workloads
from tests.support.world import World

SHARES = {"member-1": 4, "member-2": 2, "member-3": 2, "member-4": 2}
HEALTHY = ("member-1", "member-2")
HALF = {"member-1": 2, "member-2": 1, "member-3": 1, "member-4": 1}
KINDS = ("statefulSetTemplate", "deploymentTemplate")
TOLERATED = 1.5
"""Seconds of virtual time that the others may take longer: one short wait for an answer."""


def document(kind: str, **more: Any) -> dict[str, Any]:
    return manifest(kind=kind, replicas=10, shares=SHARES, **more)


def slowed(world: World) -> None:
    world.members["member-3"].faults.set(latency=20.0)
    world.members["member-4"].faults.set(black_hole=True)


def _synced(world: World) -> bool:
    return world.controller is not None and world.controller.synced.is_set()


def unharmed(_: World) -> None:
    """All members are well."""


async def creation(world: World, kind: str, harm: Callable[[World], None]) -> float:
    harm(world)
    return await timed(world, document(kind), {"app:1": 4}, {"app:1": 2})


async def rollout(world: World, kind: str, harm: Callable[[World], None]) -> float:
    await settled(world, document(kind))
    harm(world)
    return await timed(world, document(kind, image="app:2"), {"app:2": 4}, {"app:2": 2})


async def canary(world: World, kind: str, harm: Callable[[World], None]) -> float:
    await settled(world, document(kind))
    harm(world)
    half = document(kind, image="app:2", partitions=HALF)
    first = await timed(world, half, {"app:1": 2, "app:2": 2}, {"app:1": 1, "app:2": 1})
    return first + await timed(world, document(kind, image="app:2"), {"app:2": 4}, {"app:2": 2})


async def deletion(world: World, kind: str, harm: Callable[[World], None]) -> float:
    await settled(world, document(kind))
    harm(world)
    begun = world.loop.time()
    world.delete()
    await world.until(lambda: not any(workloads(world, member) for member in HEALTHY), what="deletion")
    return world.loop.time() - begun


STORIES = [creation, rollout, canary, deletion]


async def settled(world: World, asked: dict[str, Any]) -> None:
    world.apply(asked)
    await world.until(world.settled, what="settling")
    await asyncio.sleep(5)


async def timed(world: World, asked: dict[str, Any], *images: dict[str, int]) -> float:
    """How long the healthy members take to run these images."""
    begun = world.loop.time()
    world.apply(asked)
    await world.until(lambda: [world.images(member) for member in HEALTHY] == list(images), what=f"{images}")
    return world.loop.time() - begun


@pytest.mark.parametrize(
    ("story", "kind"), some(list(product(STORIES, KINDS)), list(zip(STORIES, cycle(KINDS), strict=False)))
)
async def test_the_others_are_as_fast_as_without_a_slow_and_a_frozen_member(story: Any, kind: str) -> None:
    """A slow and a frozen member do not delay the other members (I10)."""
    took = []
    for harm in (unharmed, slowed):
        async with world_for(kind, members=4) as world:
            await world.until(partial(_synced, world), what="the start")
            took.append(await story(world, kind, harm))
    assert took[1] <= took[0] + TOLERATED


def under_way(world: World, member: str) -> Iterator[int]:
    """After each request of the controller: how many writes to one object are on their way to a member at once."""
    transport = world.transports[member]
    flying: Counter[str] = Counter()
    most = [0]
    ask = transport._ask

    async def counted(request: Any, seconds: float) -> Any:
        if request.method == "GET":
            return await ask(request, seconds)
        name = request.path.partition("/namespaces/default/")[2].rpartition("/scale")[0] or request.path
        flying[name] += 1
        most[0] = max(most[0], flying[name])
        try:
            return await ask(request, seconds)
        finally:
            flying[name] -= 1

    transport._ask = counted  # type: ignore[method-assign]
    while True:
        yield most[0]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_slow_member_gets_one_write_at_a_time_and_the_last_word_of_the_user(world: World, kind: str) -> None:
    """Edits come faster than its answers (I1, I9)."""
    await settled(world, manifest(kind=kind))
    counts = under_way(world, "member-3")
    next(counts)
    world.members["member-3"].faults.set(latency=4.0)
    for number in range(2, 7):
        world.apply(manifest(kind=kind, image=f"app:{number}", replicas=8 + number))
        await asyncio.sleep(1.3)
    world.apply(manifest(kind=kind, image="app:9"))
    await world.until(world.settled, what="the last word")
    assert [world.images(member) for member in world.members] == [{"app:9": 4}, {"app:9": 2}, {"app:9": 2}]
    assert next(counts) == 1


@pytest.mark.fleet(members=1)
async def test_an_edit_ends_a_sequence_of_writes_that_nobody_wants_any_more(world: World) -> None:
    """After the write that is under way the new plan takes over (I9)."""
    shares = {name: {"replicas": 1} for name in ("a", "b", "c", "d")}

    def wanted(image: str) -> dict[str, Any]:
        asked = manifest(kind="deploymentTemplate", replicas=4, shares=shares, image=image)
        for subset in asked["spec"]["topology"]["subsets"]:
            subset["targetCluster"] = {"name": "member-1"}
        return asked

    await world.until(lambda: world.controller is not None and world.controller.synced.is_set(), what="the start")
    world.members["member-1"].faults.set(latency=4.0)
    world.apply(wanted("app:1"))
    await asyncio.sleep(1)
    world.apply(wanted("app:2"))
    await world.until(lambda: world.images("member-1") == {"app:2": 4}, what="the second image")
    written = [one.body for one in world.transports["member-1"].sent if one.verb == "apply"]
    assert sum(b"app:1" in body for body in written) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_deletion_waits_for_a_creation_that_is_on_its_way(world: World, kind: str) -> None:
    """Else its workload would be nobody's (I9)."""
    await world.until(lambda: world.controller is not None and world.controller.synced.is_set(), what="the start")
    world.members["member-3"].faults.set(latency=6.0)
    world.apply(manifest(kind=kind))
    await world.until(lambda: workloads(world, "member-1"), what="the others")
    await asyncio.sleep(1)
    assert not workloads(world, "member-3")
    world.delete()
    await world.until(lambda: world.ud() is None, what="deletion")
    await asyncio.sleep(60)
    assert not any(workloads(world, member) for member in world.members)


@pytest.mark.parametrize("kind", KINDS)
async def test_status_shows_the_others_while_one_member_takes_its_time(world: World, kind: str) -> None:
    """Status reports the other members while one has not answered yet (I8, I10)."""
    await settled(world, manifest(kind=kind))
    world.members["member-3"].faults.set(latency=4.5)
    world.apply(manifest(kind=kind, image="app:2"))
    generation = world.ud()["metadata"]["generation"]
    await world.until(lambda: world.status()["observedGeneration"] == generation, seconds=3, what="the generation")
    entries = {one["name"]: one for one in world.status()["subsetStatuses"]}
    assert entries["member-3"]["state"] == "Progressing"
    assert "default/member-3 to answer" in entries["member-3"]["reason"]
    assert world.condition("Reconciling") == "True"
    await world.until(world.settled, what="the rollout")


async def test_a_stop_waits_for_the_writes_that_are_on_their_way(world: World) -> None:
    """A request that was sent is answered before the process ends, also one that no pass waits for (I9)."""
    await world.until(lambda: world.controller is not None and world.controller.synced.is_set(), what="the start")
    world.members["member-3"].faults.set(latency=6.0)
    world.apply(manifest())
    await world.until(lambda: workloads(world, "member-1"), what="the others")
    await asyncio.sleep(2)
    begun = world.loop.time()
    await world.stop_controller()
    assert 2.0 < world.loop.time() - begun < 6.0
    assert workloads(world, "member-3")
    await asyncio.sleep(30)
    world.members["member-3"].faults.clear()
    world.start_controller()
    await world.until(world.settled, what="the next process")
