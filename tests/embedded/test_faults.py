"""Faults in process: latency, errors, cut off, black hole, slow watches."""

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, TOKEN, configmap
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity, Request, Response

HEADERS = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
LIST = Request("GET", CONFIGMAPS, headers=HEADERS)
WATCH = Request("GET", CONFIGMAPS, query=(("watch", "true"),), headers=HEADERS)

pytestmark = pytest.mark.looptime


def make(seed: int = 1) -> Cluster:
    clock = LoopClock(asyncio.get_running_loop())
    return Cluster(
        "f",
        clock=clock,
        random=Random(seed),
        nodes=0,
        controllers=False,
        tokens={TOKEN: Identity("admin", ("system:masters",))},
    )


def now() -> float:
    return asyncio.get_running_loop().time()


def stream_of(response: Response) -> AsyncIterator[bytes]:
    assert response.stream is not None
    return response.stream


def change(cluster: Cluster, name: str) -> None:
    cluster.access.create("configmaps", {**configmap(name, namespace="default")}, manager="test")


async def test_a_calm_cluster_answers_at_once() -> None:
    start = now()
    assert (await make().request(LIST)).status == 200
    assert now() == start


async def test_latency_is_waited_on_the_clock_of_the_cluster() -> None:
    cluster = make()
    cluster.faults.set(latency=5.0)
    start = now()
    assert (await cluster.request(LIST)).status == 200
    assert now() - start == pytest.approx(5.0)


async def test_errors_come_at_their_rate_and_the_same_each_time() -> None:
    """The same seed yields the same faults (I2)."""

    async def codes() -> list[int]:
        cluster = make(seed=3)
        cluster.faults.set(error_rate=0.5)
        return [(await cluster.request(LIST)).status for _ in range(40)]

    first = await codes()
    assert first == await codes()
    assert set(first) == {200, 429, 500}


async def test_too_many_requests_have_a_retry_after_header() -> None:
    cluster = make()
    cluster.faults.set(error_rate=1.0, error_codes=(429,))
    response = await cluster.request(LIST)
    assert (response.status, response.headers["retry-after"]) == (429, "1")


async def test_a_cut_off_cluster_refuses_and_breaks_open_watches() -> None:
    """A cut-off cluster fails at once and therefore delays nobody (I10)."""
    cluster = make()
    stream = stream_of(await cluster.request(WATCH))
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    cluster.faults.set(cut_off=True)
    with pytest.raises(ConnectionError):
        await reading
    with pytest.raises(ConnectionError):
        await cluster.request(LIST)
    cluster.faults.clear()
    assert (await cluster.request(LIST)).status == 200


async def test_being_cut_off_while_waiting_ends_the_wait() -> None:
    cluster = make()
    cluster.faults.set(latency=100.0)
    asking = asyncio.ensure_future(cluster.request(LIST))
    await asyncio.sleep(1)
    cluster.faults.set(cut_off=True)
    with pytest.raises(ConnectionError):
        await asking
    assert now() < 50


async def test_a_black_hole_never_answers_and_open_watches_fall_silent() -> None:
    cluster = make()
    stream = stream_of(await cluster.request(WATCH))
    cluster.faults.set(black_hole=True)
    change(cluster, "a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cluster.request(LIST), 30)
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(30)
    assert not reading.done()
    cluster.faults.clear()
    assert b'"name":"a"' in await reading


async def test_a_frozen_cluster_handles_what_it_was_asked_when_it_goes_on() -> None:
    """As after SIGSTOP and SIGCONT: also the write of a client that has given up long before."""
    cluster = make()
    stream = stream_of(await cluster.request(WATCH))
    cluster.faults.set(frozen=True)
    body = json.dumps(configmap("late")).encode()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cluster.request(Request("POST", CONFIGMAPS, headers=HEADERS, body=body)), 30)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cluster.request(WATCH), 5)
    patient = asyncio.ensure_future(cluster.request(LIST))
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(30)
    assert cluster.access.get("configmaps", "default", "late") is None
    assert not reading.done()
    cluster.faults.clear()
    assert b'"name":"late"' in await reading
    assert (await patient).status == 200
    assert len(cluster.core.watches) == 1, "nobody is left for the other one"


async def test_a_frozen_cluster_that_is_cut_off_handles_nothing() -> None:
    """As if it was killed while it was frozen."""
    cluster = make()
    cluster.faults.set(frozen=True)
    asking = asyncio.ensure_future(cluster.request(LIST))
    await asyncio.sleep(1)
    cluster.faults.set(cut_off=True)
    with pytest.raises(ConnectionError):
        await asking


async def test_a_slow_watch_delays_events() -> None:
    cluster = make()
    cluster.faults.set(slow_watch=3.0)
    stream = stream_of(await cluster.request(WATCH))
    change(cluster, "a")
    start = now()
    assert b'"name":"a"' in await anext(stream)
    assert now() - start == pytest.approx(3.0)


async def test_a_watch_through_faults_ends_like_any_other() -> None:
    cluster = make()
    stream = stream_of(await cluster.request(WATCH))
    change(cluster, "a")
    cluster.stop()
    assert len([chunk async for chunk in stream]) == 1
    assert not cluster.core.watches


async def test_controllers_do_not_feel_the_faults_of_clients() -> None:
    cluster = make()
    cluster.faults.set(cut_off=True)
    change(cluster, "a")
    assert cluster.access.get("configmaps", "default", "a") is not None
