"""The status of Cluster objects is what is known in the end, whatever becomes of single writes (I8, I9)."""

import asyncio
from typing import Any

from tests.support.world import World, simulate, world
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

CLUSTERS = f"clusters.{names.GROUP}"


def status(w: World, name: str = "member-1") -> dict[str, Any]:
    found: dict[str, Any] = w.host.access.get(CLUSTERS, "default", name)["status"]
    return found


def phases(w: World) -> list[str]:
    return [status(w, name).get("phase", "") for name in w.members]


async def running(w: World) -> None:
    await w.until(lambda: all("status" in one for one in w.host.access.list(CLUSTERS)), what="a status")
    await w.until(lambda: phases(w) == ["Running"] * 3, what="the members")
    await asyncio.sleep(5)


def test_a_change_that_is_taken_back_before_its_watch_event_comes_is_written_back() -> None:
    """I9: what is stored is told by the answer to the last write, not by an event that is still on its way."""

    async def story() -> None:
        async with world() as w:
            await running(w)
            w.host.faults.set(slow_watch=120.0)
            w.members["member-1"].faults.set(cut_off=True)
            await w.until(lambda: phases(w)[0] == "Offline", what="the loss")
            w.members["member-1"].faults.clear()
            await w.until(lambda: phases(w)[0] == "Running", seconds=60, what="the return")

    simulate(story)


def test_a_write_that_failed_is_tried_again() -> None:
    """I8: no further change of state has to come for that."""

    async def story() -> None:
        async with world() as w:
            await running(w)
            failed = []

            def fail(request: Request) -> None:
                if request.method == "PATCH" and request.path.endswith("/clusters/member-1/status") and len(failed) < 3:
                    failed.append(request)
                    raise Unreachable("host", "connection reset")

            w.transports["host"].before = fail
            w.members["member-1"].faults.set(cut_off=True)
            await w.until(lambda: phases(w)[0] == "Offline", seconds=120, what="the loss")
            assert len(failed) == 3

    simulate(story)


def test_late_answers_do_not_leave_an_old_status() -> None:
    """I9: two writes at once could be answered in the wrong order, so there is one at a time."""

    async def story() -> None:
        async with world(seed=5) as w:
            await running(w)
            member = w.members["member-1"]
            w.host.faults.set(latency=0.1, jitter=6.0)
            for _ in range(6):
                member.faults.set(cut_off=True)
                await asyncio.sleep(4)
                member.faults.clear()
                await asyncio.sleep(2)
            w.host.faults.clear()
            await w.until(lambda: phases(w)[0] == "Running", seconds=90, what="the last state")
            await asyncio.sleep(60)
            assert phases(w)[0] == "Running"

    simulate(story)


def test_a_status_that_somebody_removed_is_written_again() -> None:
    """I8: without waiting for the cluster to change its state."""

    async def story() -> None:
        async with world() as w:
            await running(w)
            path = f"{names.API_PATH}/namespaces/default/clusters/member-2/status"
            stored = w.host.access.get(CLUSTERS, "default", "member-2")
            w.request(w.host, "PUT", path, {**stored, "status": {"phase": "Offline"}})
            await w.until(lambda: phases(w)[1] == "Running", seconds=30, what="the status")
            await asyncio.sleep(5)
            before = w.requests()["host"]
            await asyncio.sleep(3600)
            written = [one for one in w.transports["host"].sent if one.method != "GET"]
            assert w.requests()["host"] - before < 300, "nothing but probes"
            assert len(written) < 20

    simulate(story)
