"""Restarts of the controller write nothing and say nothing, in whatever order clusters come (I3)."""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.support.kruise import KRUISE_KINDS, world_for
from tests.support.planning import manifest
from tests.support.world import World, simulate
from uniteddeployment.kube.requests import Request

HALF = {"member-1": 2, "member-2": 1, "member-3": 1}
APPLICATIONS = ("web", "shop", "mail")
STARTS = 8


def documents(kind: str, **more: Any) -> Iterator[dict[str, Any]]:
    for name in APPLICATIONS:
        document = manifest(kind=kind, **more)
        document["metadata"]["name"] = name
        yield document


async def in_mid_canary(w: World, kind: str) -> None:
    """Three applications, settled, with pods at two revisions."""
    for more in ({}, {"image": "app:2", "partitions": HALF}):
        for document in documents(kind, **more):
            w.apply(document)
        await w.until(lambda: all(map(w.settled, APPLICATIONS)), what="the applications")
    await asyncio.sleep(5)


def is_of_a_workload(request: Request) -> bool:
    """Whether it asks for, or writes, one object of an application."""
    return request.method != "GET" or ("/namespaces/default/" in request.path and "/secrets/" not in request.path)


def sent(w: World) -> list[str]:
    """What the controller asked for beside what a start has to."""
    found = [(name, one) for name, transport in w.transports.items() for one in transport.sent]
    return [f"{one.method} {name}:{one.path}" for name, one in found if one.verb != "watch" and is_of_a_workload(one)]


def events(w: World) -> list[str]:
    return sorted(one["message"] for one in w.host.access.list("events"))


async def restarted(w: World, random: Random, spread: float) -> None:
    """Stop, and start with clusters that answer in a random order."""
    await w.stop_controller()
    w.transports.clear()
    for cluster in w.clusters.values():
        cluster.faults.set(latency=random.random() * spread, slow_watch=random.choice((0.0, random.random() * spread)))
    w.start_controller()


@pytest.mark.parametrize(
    ("kind", "spread"),
    [("statefulSetTemplate", 0.2), ("deploymentTemplate", 2.0), ("statefulSetTemplate", 4.0), (KRUISE_KINDS[0], 1.0)],
)
def test_starts_write_nothing_and_say_nothing_in_whatever_order_clusters_come(kind: str, spread: float) -> None:
    """I3: no request about an object, and no Event, in many starts in mid-canary."""

    async def story() -> None:
        async with world_for(kind) as w:
            await in_mid_canary(w, kind)
            told, stored = events(w), [w.ud(name) for name in APPLICATIONS]
            random = Random(7)
            for _ in range(STARTS):
                await restarted(w, random, spread)
                await asyncio.sleep(30)
                assert sent(w) == []
            assert events(w) == told
            assert [w.ud(name) for name in APPLICATIONS] == stored

    simulate(story)


@pytest.mark.parametrize("fault", ["cut_off", "black_hole"])
@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
def test_a_member_that_is_down_at_the_start_is_told_as_unknown_and_nothing_of_it_is_written_when_it_is_back(
    kind: str, fault: str
) -> None:
    """I3, I8: what status knew of its workloads is known again, so nothing is read, repaired or told."""

    async def story() -> None:
        async with world_for(kind) as w:
            await in_mid_canary(w, kind)
            told, stored = events(w), [w.status(name) for name in APPLICATIONS]
            w.members["member-2"].faults.set(**{fault: True})
            await restarted(w, Random(3), 0.1)
            w.members["member-2"].faults.set(**{fault: True})
            await w.until(lambda: {w.condition("Ready", name) for name in APPLICATIONS} == {"Unknown"}, seconds=30)
            w.members["member-2"].faults.clear()
            await w.until(lambda: all(map(w.settled, APPLICATIONS)), seconds=60, what="its return")
            await asyncio.sleep(30)
            assert {one.partition(":")[2].rpartition("/")[2] for one in sent(w)} == {"status"}
            assert events(w) == told
            assert [without_times(w.status(name)) for name in APPLICATIONS] == [without_times(one) for one in stored]

    simulate(story)


def without_times(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [{**one, "lastTransitionTime": ""} for one in status["conditions"]]
    return {**status, "conditions": conditions}


def test_a_member_that_does_not_answer_at_the_start_holds_up_no_other_one() -> None:
    """I10"""

    async def story() -> None:
        async with world_for("statefulSetTemplate") as w:
            await in_mid_canary(w, "statefulSetTemplate")
            await w.stop_controller()
            w.members["member-2"].faults.set(black_hole=True)
            w.start_controller()
            w.apply(manifest(image="app:3"))
            others = ("member-1", "member-3")
            await w.until(lambda: all("app:3" in w.images(one) for one in others), seconds=8, what="the others")

    simulate(story)
