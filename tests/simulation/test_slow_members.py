"""Members that answer late or never: the others do not wait, and nothing is written twice or too early (I10, I1)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.kruise import world_for
from tests.support.planning import manifest
from tests.support.watchdog import workloads
from tests.support.world import World, simulate

SHARES = {"member-1": 4, "member-2": 2, "member-3": 2, "member-4": 2}
HEALTHY = ("member-1", "member-2")
HALF = {"member-1": 2, "member-2": 1, "member-3": 1, "member-4": 1}
KINDS = ("statefulSetTemplate", "deploymentTemplate")
TOLERATED = 1.5
"""Seconds of virtual time that the others may take longer: one short wait for an answer."""


def document(kind: str, **more: Any) -> dict[str, Any]:
    return manifest(kind=kind, replicas=10, shares=SHARES, **more)


def slowed(w: World) -> None:
    w.members["member-3"].faults.set(latency=20.0)
    w.members["member-4"].faults.set(black_hole=True)


def unharmed(_: World) -> None:
    """All members are well."""


async def creation(w: World, kind: str, harm: Callable[[World], None]) -> float:
    harm(w)
    return await timed(w, document(kind), {"app:1": 4}, {"app:1": 2})


async def rollout(w: World, kind: str, harm: Callable[[World], None]) -> float:
    await settled(w, document(kind))
    harm(w)
    return await timed(w, document(kind, image="app:2"), {"app:2": 4}, {"app:2": 2})


async def canary(w: World, kind: str, harm: Callable[[World], None]) -> float:
    await settled(w, document(kind))
    harm(w)
    half = document(kind, image="app:2", partitions=HALF)
    first = await timed(w, half, {"app:1": 2, "app:2": 2}, {"app:1": 1, "app:2": 1})
    return first + await timed(w, document(kind, image="app:2"), {"app:2": 4}, {"app:2": 2})


async def deletion(w: World, kind: str, harm: Callable[[World], None]) -> float:
    await settled(w, document(kind))
    harm(w)
    begun = w.loop.time()
    w.delete()
    await w.until(lambda: not any(workloads(w, member) for member in HEALTHY), what="deletion")
    return w.loop.time() - begun


async def settled(w: World, asked: dict[str, Any]) -> None:
    w.apply(asked)
    await w.until(w.settled, what="settling")
    await asyncio.sleep(5)


async def timed(w: World, asked: dict[str, Any], *images: dict[str, int]) -> float:
    """How long the healthy members take to run these images."""
    begun = w.loop.time()
    w.apply(asked)
    await w.until(lambda: [w.images(member) for member in HEALTHY] == list(images), what=f"{images}")
    return w.loop.time() - begun


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("story", [creation, rollout, canary, deletion])
def test_the_others_are_as_fast_as_without_a_slow_and_a_frozen_member(story: Any, kind: str) -> None:
    """I10"""
    took = []

    async def told() -> None:
        for harm in (unharmed, slowed):
            async with world_for(kind, members=4) as w:
                await w.until(lambda w=w: w.controller is not None and w.controller.synced.is_set(), what="the start")
                took.append(await story(w, kind, harm))

    simulate(told)
    assert took[1] <= took[0] + TOLERATED


def under_way(w: World, member: str) -> Iterator[int]:
    """After each request of the controller: how many writes to one object are on their way to a member at once."""
    transport = w.transports[member]
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
def test_a_slow_member_gets_one_write_at_a_time_and_the_last_word_of_the_user(kind: str) -> None:
    """I1, I9: edits come faster than its answers."""

    async def story() -> None:
        async with world_for(kind) as w:
            await settled(w, manifest(kind=kind))
            counts = under_way(w, "member-3")
            next(counts)
            w.members["member-3"].faults.set(latency=4.0)
            for number in range(2, 7):
                w.apply(manifest(kind=kind, image=f"app:{number}", replicas=8 + number))
                await asyncio.sleep(1.3)
            w.apply(manifest(kind=kind, image="app:9"))
            await w.until(w.settled, what="the last word")
            assert [w.images(member) for member in w.members] == [{"app:9": 4}, {"app:9": 2}, {"app:9": 2}]
            assert next(counts) == 1

    simulate(story)


def test_an_edit_ends_a_sequence_of_writes_that_nobody_wants_any_more() -> None:
    """I9: after the write that is under way the new plan takes over."""

    async def story() -> None:
        async with world_for("deploymentTemplate", members=1) as w:
            shares = {name: {"replicas": 1} for name in ("a", "b", "c", "d")}

            def wanted(image: str) -> dict[str, Any]:
                asked = manifest(kind="deploymentTemplate", replicas=4, shares=shares, image=image)
                for subset in asked["spec"]["topology"]["subsets"]:
                    subset["targetCluster"] = {"name": "member-1"}
                return asked

            await w.until(lambda: w.controller is not None and w.controller.synced.is_set(), what="the start")
            w.members["member-1"].faults.set(latency=4.0)
            w.apply(wanted("app:1"))
            await asyncio.sleep(1)
            w.apply(wanted("app:2"))
            await w.until(lambda: w.images("member-1") == {"app:2": 4}, what="the second image")
            written = [one.body for one in w.transports["member-1"].sent if one.verb == "apply"]
            assert sum(b"app:1" in body for body in written) == 1

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_deletion_waits_for_a_creation_that_is_on_its_way(kind: str) -> None:
    """I9: else its workload would be nobody's."""

    async def story() -> None:
        async with world_for(kind) as w:
            await w.until(lambda: w.controller is not None and w.controller.synced.is_set(), what="the start")
            w.members["member-3"].faults.set(latency=6.0)
            w.apply(manifest(kind=kind))
            await w.until(lambda: workloads(w, "member-1"), what="the others")
            await asyncio.sleep(1)
            assert not workloads(w, "member-3")
            w.delete()
            await w.until(lambda: w.ud() is None, what="deletion")
            await asyncio.sleep(60)
            assert not any(workloads(w, member) for member in w.members)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_status_shows_the_others_while_one_member_takes_its_time(kind: str) -> None:
    """I8, I10"""

    async def story() -> None:
        async with world_for(kind) as w:
            await settled(w, manifest(kind=kind))
            w.members["member-3"].faults.set(latency=4.5)
            w.apply(manifest(kind=kind, image="app:2"))
            generation = w.ud()["metadata"]["generation"]
            await w.until(lambda: w.status()["observedGeneration"] == generation, seconds=3, what="the generation")
            entries = {one["name"]: one for one in w.status()["subsetStatuses"]}
            assert entries["member-3"]["state"] == "Progressing"
            assert "default/member-3 to answer" in entries["member-3"]["reason"]
            assert w.condition("Reconciling") == "True"
            await w.until(w.settled, what="the rollout")

    simulate(story)


def test_a_stop_waits_for_the_writes_that_are_on_their_way() -> None:
    """I9: a request that was sent is answered before the process ends, also one that no pass waits for."""

    async def story() -> None:
        async with world_for("statefulSetTemplate") as w:
            await w.until(lambda: w.controller is not None and w.controller.synced.is_set(), what="the start")
            w.members["member-3"].faults.set(latency=6.0)
            w.apply(manifest())
            await w.until(lambda: workloads(w, "member-1"), what="the others")
            await asyncio.sleep(2)
            begun = w.loop.time()
            await w.stop_controller()
            assert 2.0 < w.loop.time() - begun < 6.0
            assert workloads(w, "member-3")
            await asyncio.sleep(30)
            w.members["member-3"].faults.clear()
            w.start_controller()
            await w.until(w.settled, what="the next process")

    simulate(story)
