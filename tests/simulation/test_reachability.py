"""How it is found out that a member cannot be reached, what is shown of it meanwhile, and how it comes back."""

import asyncio
import base64
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support import rights
from tests.support.inprocess import InProcessTransport
from tests.support.narrowing import of
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.world import World
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Response
from uniteddeployment.fleet.member import PROBE_INTERVAL, Member
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import TokenProvider
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

FOUND_WITHIN = 30.0


def entry(world: World, subset: str) -> dict[str, Any]:
    return next(one for one in world.status()["subsetStatuses"] if one["name"] == subset)


def observed_at(world: World, subset: str) -> datetime:
    return datetime.fromisoformat(entry(world, subset)["lastObservedTime"])


def second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


async def created(world: World, **more: Any) -> None:
    world.apply(manifest(**more))
    await world.until(world.settled, what="creation")


async def next_probe(world: World, member: str) -> None:
    """Wait until a member has just been probed."""
    count = world.probes()[member]
    await world.until(lambda: world.probes()[member] > count, what="a probe", every=0.01)


def with_transport(world: World, made: type[Any]) -> None:
    """Let the members' clients use transports of another kind, from now on."""

    def client(cluster: Cluster, token: TokenProvider | str = rights.TOKEN) -> Client:
        transport = (made if cluster.name != "host" else InProcessTransport)(cluster, token, cluster.name)
        world.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    world.client = client  # type: ignore[method-assign]  # only in this test


@pytest.mark.parametrize("after", [0.1, 7.0, 14.9])
async def test_an_idle_member_that_freezes_is_offline_within_30_seconds(world: World, after: float) -> None:
    """I8: its connections stay open, and nothing comes. It is well again as soon as it goes on."""
    await created(world)
    await asyncio.sleep(300)
    await next_probe(world, "member-2")
    await asyncio.sleep(after)
    world.members["member-2"].faults.set(black_hole=True)
    await world.until(lambda: world.phase("member-2") == "Offline", FOUND_WITHIN, what="Offline")
    await world.until(lambda: world.condition("Ready") == "Unknown", 1, what="the condition")
    assert "no answer within 5 s" in entry(world, "member-2")["reason"]
    assert world.phase("member-1") == world.phase("member-3") == "Running"
    world.members["member-2"].faults.clear()
    await world.until(lambda: world.phase("member-2") == "Running" and world.settled(), 20, what="its return")


async def test_one_slow_probe_changes_nothing(world: World) -> None:
    """The next one is answered, so nothing is written (I3, I8)."""
    await created(world)
    await asyncio.sleep(60)
    before = world.requests()
    for _ in range(5):
        world.members["member-2"].faults.set(latency=6.0)
        await next_probe(world, "member-2")
        await asyncio.sleep(5.5)
        world.members["member-2"].faults.clear()
        assert world.phase("member-2") == "Running"
        await asyncio.sleep(60)
    assert world.phase("member-2") == "Running"
    assert world.requests() == before


async def test_a_member_that_was_lost_for_long_is_probed_as_often_as_ever_the_next_time(world: World) -> None:
    """The pauses between probes grow while it is lost, and start over when it is well again."""
    member = world.members["member-2"]
    await created(world)
    for seconds in (600, 0):
        member.faults.set(cut_off=True)
        await world.until(lambda: world.phase("member-2") == "Offline", 10, what="Offline")
        await asyncio.sleep(seconds)
        member.faults.clear()
        await world.until(lambda: world.phase("member-2") == "Running", 30 if seconds else 5, what="its return")
        await asyncio.sleep(30)


async def test_a_lost_member_is_probed_with_growing_pauses(world: World) -> None:
    """An hour of it costs no more than a member that is well (I10)."""
    await created(world)
    world.members["member-2"].faults.set(cut_off=True)
    await asyncio.sleep(600)
    before = world.probes()["member-2"]
    await asyncio.sleep(3600)
    assert 3600 / 30 < world.probes()["member-2"] - before <= 3600 / PROBE_INTERVAL


async def test_the_time_of_the_counts_is_the_last_at_which_they_were_seen(world: World) -> None:
    """After ten idle minutes it is the last probe that was answered, and not the last change (I8)."""
    await created(world)
    await asyncio.sleep(600)
    await next_probe(world, "member-2")
    probed = second(world.clock.now())
    await asyncio.sleep(5)
    world.members["member-2"].faults.set(black_hole=True)
    await world.until(lambda: world.phase("member-2") == "Offline", FOUND_WITHIN, what="Offline")
    await world.until(lambda: "lastObservedTime" in entry(world, "member-2"), 1, what="the time")
    assert observed_at(world, "member-2") == probed
    stored = world.ud()["metadata"]["resourceVersion"]
    await asyncio.sleep(600)
    assert world.ud()["metadata"]["resourceVersion"] == stored, "nothing is written while nothing is observed"


async def test_the_time_of_the_counts_is_not_older_than_the_last_change_that_they_show(world: World) -> None:
    """It goes silent in the middle of a rollout (I8)."""
    await created(world)
    await asyncio.sleep(60)
    await next_probe(world, "member-2")
    await asyncio.sleep(7)
    world.apply(manifest(image="app:2"))
    await world.until(lambda: world.images("member-2").get("app:2") == 1, 7, what="the first new pod", every=0.01)
    await asyncio.sleep(0.2)
    changed = second(world.clock.now())
    world.members["member-2"].faults.set(black_hole=True)
    await world.until(lambda: "lastObservedTime" in entry(world, "member-2"), FOUND_WITHIN, what="the time")
    assert entry(world, "member-2")["updatedReplicas"] >= 1
    assert changed <= observed_at(world, "member-2") <= changed + timedelta(seconds=1)


class Garbling(InProcessTransport):
    """Answers every request and garbles what watches say, from a moment on."""

    broken = False
    garbage = b"\xff\xfe no event\n"

    async def _guarded(self, chunks: Any) -> AsyncIterator[bytes]:
        async for chunk in super()._guarded(chunks):
            yield self.garbage if self.broken else chunk


GARBAGE = {
    "bytes": b"\xff\xfe no event\n",
    "deep": b"[" * 200_000 + b"\n",
    "type": b'{"type":5}\n',
    "error": b'{"type":"ERROR","object":{"code":"x"}}\n',
}


@pytest.mark.parametrize("garbage", some(list(GARBAGE), ["deep", "error"]))
@pytest.mark.fleet(controller=False)
async def test_a_member_that_answers_and_whose_watches_are_garbage_is_no_more_to_be_trusted(
    world: World, garbage: str
) -> None:
    """The counts are not taken for those of now, their time does not move, and the others go on (I8, I16)."""
    with_transport(world, Garbling)
    world.start_controller()
    await created(world)
    await asyncio.sleep(30)
    transport = of(Garbling, world.transports["member-2"])
    transport.broken, transport.garbage = True, GARBAGE[garbage]
    last = second(world.clock.now())
    world.apply(manifest(image="app:2"))
    others = ("member-1", "member-3")
    await world.until(lambda: all(set(world.images(one)) == {"app:2"} for one in others), 120, what="the others")
    await world.until(lambda: world.phase("member-2") == "Offline", 30, what="Offline")
    await asyncio.sleep(120)
    assert "cannot be watched" in entry(world, "member-2")["reason"]
    assert observed_at(world, "member-2") <= last + timedelta(seconds=20)
    transport.broken = False
    await world.until(lambda: world.phase("member-2") == "Running" and world.settled(), 120, what="its return")
    assert set(world.images("member-2")) == {"app:2"}


async def test_a_cluster_that_is_suspended_leaves_the_time_of_its_last_counts(world: World) -> None:
    """The counts of a suspended cluster keep the time at which they were seen (I8)."""
    await created(world)
    await asyncio.sleep(100)
    path = f"{names.API_PATH}/namespaces/default/clusters/member-2"
    before = second(world.clock.now())
    patch = {"spec": {"suspended": True}}
    world.request(world.host, "PATCH", path, patch, content_type="application/merge-patch+json")
    await world.until(lambda: "lastObservedTime" in entry(world, "member-2"), 10, what="the time")
    assert before - timedelta(seconds=PROBE_INTERVAL + 1) <= observed_at(world, "member-2") <= world.clock.now()
    assert entry(world, "member-2")["readyReplicas"] == 2


class OldAuthority(InProcessTransport):
    """As over TLS with a certificate authority that was replaced: the connection fails before any answer."""

    async def _ask_as(self, token: str, request: Request, seconds: float) -> Response:
        if token not in of(Cluster, self._cluster).tokens:
            self.sent.append(request)
            raise Unreachable(self._name, "TLS: self-signed certificate in certificate chain")
        return await super()._ask_as(token, request, seconds)


@pytest.mark.fleet(controller=False)
async def test_a_secret_is_read_again_whatever_the_connection_fails_with(world: World) -> None:
    """A member whose certificate authority was replaced is reached again when its Secret has the new one."""
    with_transport(world, OldAuthority)
    world.start_controller()
    await created(world)
    member = world.members["member-2"]
    member.tokens["fresh-token"] = member.tokens.pop(rights.TOKEN)
    await world.until(lambda: world.phase("member-2") == "Offline", 60, what="Offline")
    await asyncio.sleep(600)
    before = world.requests()["host"]
    await asyncio.sleep(600)
    assert world.requests()["host"] - before == 10, "it is read once a minute"
    secret = {"data": {"token": base64.b64encode(b"fresh-token").decode()}}
    path = "/api/v1/namespaces/default/secrets/member-2-credentials"
    world.request(world.host, "PATCH", path, secret, content_type="application/merge-patch+json")
    await world.until(lambda: world.phase("member-2") == "Running", 70, what="its return")
    await world.until(world.settled, what="the application")


async def test_a_failure_that_nobody_foresaw_stays_in_its_member(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is Offline with a reason, the others go on, and it is tried again (I10, I16)."""
    await created(world)
    look = Member._probe_once
    broken = {"default/member-2"}

    async def fails(member: Member) -> None:
        if member.name in broken:
            raise RuntimeError("secret-token")
        await look(member)

    monkeypatch.setattr(Member, "_probe_once", fails)
    await world.until(lambda: world.phase("member-2") == "Offline", 60, what="Offline")
    world.apply(manifest(image="app:2"))
    others = ("member-1", "member-3")
    await world.until(lambda: all(set(world.images(one)) == {"app:2"} for one in others), 120, what="the others")
    reason = entry(world, "member-2")["reason"]
    assert "internal error: RuntimeError" in reason
    assert "secret-token" not in str(world.ud()), "I12"
    assert entry(world, "member-2")["readyReplicas"] == 2, "what it last said is kept"
    await asyncio.sleep(300)
    broken.clear()
    await world.until(lambda: world.phase("member-2") == "Running" and world.settled(), 120, what="its return")
    assert set(world.images("member-2")) == {"app:2"}


@pytest.mark.fleet(members=1)
async def test_a_failure_that_nobody_foresaw_about_the_host_itself_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unexpected error about the host's own workloads does not end the controller (I16)."""
    document = manifest(shares={"member-1": None})
    del document["spec"]["topology"]["subsets"][0]["targetCluster"]
    world.apply(document)
    await world.until(world.settled, what="creation")
    look = Member._probe_once
    broken = {""}

    async def fails(member: Member) -> None:
        if member.name in broken:
            raise RuntimeError
        await look(member)

    monkeypatch.setattr(Member, "_probe_once", fails)
    await world.until(lambda: world.condition("Ready") == "Unknown", 60, what="the condition")
    broken.clear()
    await world.until(world.settled, 120, what="its return")
