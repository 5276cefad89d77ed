"""The status of Cluster objects is what is known in the end, whatever becomes of single writes (I8, I9)."""

import asyncio
from typing import Any

import pytest

from tests.support.narrowing import present
from tests.support.world import World
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

CLUSTERS = f"clusters.{names.GROUP}"


def status(world: World, name: str = "member-1") -> dict[str, Any]:
    found: dict[str, Any] = present(world.host.access.get(CLUSTERS, "default", name))["status"]
    return found


def phases(world: World) -> list[str]:
    return [status(world, name).get("phase", "") for name in world.members]


async def running(world: World) -> None:
    await world.until(lambda: all("status" in one for one in world.host.access.list(CLUSTERS)), what="a status")
    await world.until(lambda: phases(world) == ["Running"] * 3, what="the members")
    await asyncio.sleep(5)


async def test_a_change_that_is_taken_back_before_its_watch_event_comes_is_written_back(world: World) -> None:
    """The answer to the last write shows what is stored, not an event that is still on its way (I9)."""
    await running(world)
    world.host.faults.set(slow_watch=120.0)
    world.members["member-1"].faults.set(cut_off=True)
    await world.until(lambda: phases(world)[0] == "Offline", what="the loss")
    world.members["member-1"].faults.clear()
    await world.until(lambda: phases(world)[0] == "Running", seconds=60, what="the return")


async def test_a_write_that_failed_is_tried_again(world: World) -> None:
    """No further change of state has to come for that (I8)."""
    await running(world)
    failed: list[Any] = []

    def fail(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/clusters/member-1/status") and len(failed) < 3:
            failed.append(request)
            raise Unreachable("host", "connection reset")

    world.transports["host"].before = fail
    world.members["member-1"].faults.set(cut_off=True)
    await world.until(lambda: phases(world)[0] == "Offline", seconds=120, what="the loss")
    assert len(failed) == 3


@pytest.mark.fleet(seed=5)
async def test_late_answers_do_not_leave_an_old_status(world: World) -> None:
    """Two writes at once could be answered in the wrong order, so there is one at a time (I9)."""
    await running(world)
    member = world.members["member-1"]
    world.host.faults.set(latency=0.1, jitter=6.0)
    for _ in range(6):
        member.faults.set(cut_off=True)
        await asyncio.sleep(4)
        member.faults.clear()
        await asyncio.sleep(2)
    world.host.faults.clear()
    await world.until(lambda: phases(world)[0] == "Running", seconds=90, what="the last state")
    await asyncio.sleep(60)
    assert phases(world)[0] == "Running"


async def test_a_status_that_somebody_removed_is_written_again(world: World) -> None:
    """Without waiting for the cluster to change its state (I8)."""
    await running(world)
    path = f"{names.API_PATH}/namespaces/default/clusters/member-2/status"
    stored = present(world.host.access.get(CLUSTERS, "default", "member-2"))
    world.request(world.host, "PUT", path, {**stored, "status": {"phase": "Offline"}})
    await world.until(lambda: phases(world)[1] == "Running", seconds=30, what="the status")
    await asyncio.sleep(5)
    before = world.requests()["host"]
    await asyncio.sleep(3600)
    written = [one for one in world.transports["host"].sent if one.method != "GET"]
    assert world.requests()["host"] - before < 300, "nothing but probes"
    assert len(written) < 20
