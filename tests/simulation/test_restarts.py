"""Restarts of the controller write nothing and say nothing, in whatever order clusters come (I3)."""

import asyncio
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
import structlog

from tests.support.kruise import KRUISE_KINDS, NATIVE_KINDS, kinds
from tests.support.planning import manifest
from tests.support.stories import EVERY, some
from tests.support.world import World
from uniteddeployment.kube.requests import Request

HALF = {"member-1": 2, "member-2": 1, "member-3": 1}
APPLICATIONS = ("web", "shop", "mail")
STARTS = 8 if EVERY else 3


def documents(kind: str, **more: Any) -> Iterator[dict[str, Any]]:
    for name in APPLICATIONS:
        document = manifest(kind=kind, **more)
        document["metadata"]["name"] = name
        yield document


async def in_mid_canary(world: World, kind: str) -> None:
    """Three applications, settled, with pods at two revisions."""
    for more in ({}, {"image": "app:2", "partitions": HALF}):
        for document in documents(kind, **more):
            world.apply(document)
        await world.until(lambda: all(map(world.settled, APPLICATIONS)), what="the applications")
    await asyncio.sleep(5)


def is_of_a_workload(request: Request) -> bool:
    """Whether it asks for, or writes, one object of an application."""
    return request.method != "GET" or ("/namespaces/default/" in request.path and "/secrets/" not in request.path)


def sent(world: World) -> list[str]:
    """What the controller asked for beside what a start has to."""
    found = [(name, one) for name, transport in world.transports.items() for one in transport.sent]
    return [f"{one.method} {name}:{one.path}" for name, one in found if one.verb != "watch" and is_of_a_workload(one)]


def events(world: World) -> list[str]:
    return sorted(one["message"] for one in world.host.access.list("events"))


async def restarted(world: World, random: Random, spread: float) -> None:
    """Stop, and start with clusters that answer in a random order."""
    await world.stop_controller()
    world.transports.clear()
    for cluster in world.clusters.values():
        cluster.faults.set(latency=random.random() * spread, slow_watch=random.choice((0.0, random.random() * spread)))
    world.start_controller()


@pytest.mark.parametrize(
    ("kind", "spread"),
    [("statefulSetTemplate", 0.2), ("deploymentTemplate", 2.0), ("statefulSetTemplate", 4.0), (KRUISE_KINDS[0], 1.0)],
)
async def test_starts_write_nothing_and_say_nothing_in_whatever_order_clusters_come(
    world: World, kind: str, spread: float
) -> None:
    """No request about an object, and no Event, in many starts in mid-canary (I3)."""
    await in_mid_canary(world, kind)
    told, stored = events(world), [world.ud(name) for name in APPLICATIONS]
    random = Random(7)
    for _ in range(STARTS):
        await restarted(world, random, spread)
        await asyncio.sleep(30)
        assert sent(world) == []
    assert events(world) == told
    assert [world.ud(name) for name in APPLICATIONS] == stored


@pytest.mark.parametrize(
    ("kind", "fault"),
    some(
        list(product(NATIVE_KINDS, ["cut_off", "black_hole"])),
        [("statefulSetTemplate", "cut_off"), ("deploymentTemplate", "black_hole")],
    ),
)
@pytest.mark.fleet(health={})  # with the default thresholds, a short outage changes no phase
async def test_a_member_that_is_down_at_the_start_is_told_as_unknown_and_nothing_of_it_is_written_when_it_is_back(
    world: World, kind: str, fault: str
) -> None:
    """What status knew of its workloads is known again, so nothing is read, repaired or told (I3, I8)."""
    await in_mid_canary(world, kind)
    told, stored = events(world), [world.status(name) for name in APPLICATIONS]
    world.members["member-2"].faults.set(**dict[str, Any]({fault: True}))
    await restarted(world, Random(3), 0.1)
    world.members["member-2"].faults.set(**dict[str, Any]({fault: True}))
    await world.until(lambda: {world.condition("Ready", name) for name in APPLICATIONS} == {"Unknown"}, seconds=30)
    world.members["member-2"].faults.clear()
    await world.until(lambda: all(map(world.settled, APPLICATIONS)), seconds=60, what="its return")
    await asyncio.sleep(30)
    assert {one.partition(":")[2].rpartition("/")[2] for one in sent(world)} == {"status"}
    assert events(world) == told
    assert [without_times(world.status(name)) for name in APPLICATIONS] == [without_times(one) for one in stored]


def without_times(status: dict[str, Any]) -> dict[str, Any]:
    """A status without times, and without the count of what may still run, which is 0 once the member is seen."""
    assert not status.get("possiblyRunningReplicas")
    conditions = [{**one, "lastTransitionTime": ""} for one in status["conditions"]]
    return {**status, "conditions": conditions, "possiblyRunningReplicas": 0}


async def test_a_member_that_does_not_answer_at_the_start_holds_up_no_other_one(world: World) -> None:
    """A start waits a few seconds for a member that hangs, and then works on the others (I10)."""
    await in_mid_canary(world, "statefulSetTemplate")
    await world.stop_controller()
    world.members["member-2"].faults.set(black_hole=True)
    world.start_controller()
    world.apply(manifest(image="app:3"))
    others = ("member-1", "member-3")
    await world.until(lambda: all("app:3" in world.images(one) for one in others), seconds=8, what="the others")


@pytest.mark.fleet(controller=False)
async def test_a_stop_at_any_moment_after_the_start_is_no_error(world: World) -> None:
    """Whatever is being read or probed when a stop comes ends quietly, and no member is called lost because of it."""
    world.apply(manifest())
    for moment in range(25):
        with structlog.testing.capture_logs() as logs:
            world.start_controller()
            await world.until(lambda: "member-1" in world.transports, what="the first request", every=0.0)
            for _ in range(moment):
                await asyncio.sleep(0)
            await world.stop_controller()
        assert [log for log in logs if log["log_level"] in ("warning", "error")] == []


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "deploymentTemplate"))
async def test_the_revision_that_is_not_stable_any_more_goes_when_the_rollout_ends(world: World, kind: str) -> None:
    """Nothing is left for a later start to do (I3): with a history of 0, one template is kept."""
    for member in world.members.values():
        member.faults.set(slow_watch=0.5)  # so that one pass sees the whole end of the rollout
    for image in ("app:1", "app:2"):
        world.apply(manifest(kind=kind, revisionHistoryLimit=0, image=image))
        await world.until(world.settled, what=image)
    await asyncio.sleep(60)
    revisions = [one["metadata"]["name"] for one in world.host.access.list("controllerrevisions.apps", "default")]
    assert revisions == [world.status()["currentRevision"]]
    await restarted(world, Random(1), 0.0)
    await asyncio.sleep(30)
    assert sent(world) == []


@pytest.mark.fleet(members=1)
async def test_a_stop_between_a_write_and_its_status_writes_the_status(world: World) -> None:
    """A status waits a moment after a write, and the pass that would write it does not come any more (I9)."""
    world.apply(manifest(shares={"member-1": 2}, replicas=2))
    await world.until(world.settled, what="creation")
    world.apply(manifest(shares={"member-1": 2}, replicas=2, image="app:2"))
    await asyncio.sleep(0.1)
    assert world.status()["observedGeneration"] == 1
    await world.stop_controller()
    assert world.status()["observedGeneration"] == 2
