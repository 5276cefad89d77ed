"""Processes of the rollout controller and their way to the host: two of them, refused requests, and lost answers."""

import asyncio
from itertools import count

import pytest

from tests.simulation.rollout.kit import Rollouts, rollouts
from tests.support.inprocess import InProcessTransport
from tests.support.life import Connection
from tests.support.narrowing import present
from uniteddeployment.embedded import http
from uniteddeployment.kube.requests import Request

OLD, NEW = "app:1", "app:2"
SMALL = {"a": 2, "b": 1}


def writes(transport: InProcessTransport) -> list[Request]:
    return [
        request for request in transport.sent if request.verb == "patch" and "/uniteddeployment.io/" in request.path
    ]


async def test_06_of_two_processes_only_the_one_with_the_lease_writes_and_the_other_takes_over() -> None:
    async with rollouts(subsets=SMALL) as kit:
        kit.kill()
        kit.start("first")
        await asyncio.sleep(5)
        first, leader = kit.life, kit.transport
        kit.start("second")
        kit.release(NEW)
        await kit.phase("Paused", 1)
        assert writes(present(leader))
        assert not writes(present(kit.transport))
        kit.give("approve")
        await asyncio.sleep(0.05)
        present(first).kill()
        before = present(first).writes
        await kit.phase("Paused", 2)
        kit.give("approve")
        await kit.phase("Healthy")
        assert kit.running(NEW) == [2, 1]
        assert kit.most_down == 1
        assert present(first).writes == before
        assert writes(present(kit.transport))
        assert [run["outcome"] for run in kit.status["history"]] == ["Completed"]


class Lossy:
    """A way to the host on which the answer to every third write is lost after the host has carried it out."""

    def __init__(self, way: Connection) -> None:
        self._way = way
        self._number = count(1)
        self.lost = 0

    async def request(self, request: http.Request) -> http.Response:
        response = await self._way.request(request)
        if request.method == "PATCH" and next(self._number) % 3 == 0:
            self.lost += 1
            raise ConnectionResetError("connection reset by peer")
        return response


async def completed(kit: Rollouts) -> None:
    kit.release(NEW)
    await kit.world.until(lambda: kit.status.get("history"))
    assert kit.running(NEW) == [2, 1]
    assert kit.most_down == 1
    assert kit.status["runCount"] == 1
    assert [run["outcome"] for run in kit.status["history"]] == ["Completed"]


async def test_33_a_write_whose_answer_is_lost_has_no_second_effect() -> None:
    async with rollouts(subsets=SMALL, steps=[{"replicas": 1}, {"replicas": "100%"}]) as kit:
        kit.kill()
        ways: list[Lossy] = []

        def through(way: Connection) -> Lossy:
            ways.append(Lossy(way))
            return ways[-1]

        kit.start(through=through)
        await completed(kit)
        assert ways[0].lost >= 2


@pytest.mark.parametrize("code", [409, 429, 500])
async def test_33_refused_requests_are_tried_again_and_change_nothing_but_time(code: int) -> None:
    async with rollouts(subsets=SMALL, steps=[{"replicas": 1}, {"replicas": "100%"}]) as kit:
        kit.world.host.faults.set(error_rate=0.3, error_codes=(code,))
        await completed(kit)
