"""How it is found out that a member cannot be reached, what is shown of it meanwhile, and how it comes back."""

import asyncio
import base64
from datetime import datetime, timedelta

import pytest

from tests.support import rights
from tests.support.inprocess import InProcessTransport
from tests.support.planning import manifest
from tests.support.world import simulate, world
from uniteddeployment.fleet.member import PROBE_INTERVAL, Member
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment_api import names

FOUND_WITHIN = 30.0


def entry(w, subset):
    return next(one for one in w.status()["subsetStatuses"] if one["name"] == subset)


def observed_at(w, subset):
    return datetime.fromisoformat(entry(w, subset)["lastObservedTime"])


def second(moment):
    return moment.replace(microsecond=0)


async def created(w, **more):
    w.apply(manifest(**more))
    await w.until(w.settled, what="creation")


async def next_probe(w, member):
    """Wait until a member has just been probed."""
    count = w.probes()[member]
    await w.until(lambda: w.probes()[member] > count, what="a probe", every=0.01)


def with_transport(w, made):
    """Let the members' clients use transports of another kind, from now on."""

    def client(cluster, token=rights.TOKEN):
        transport = (made if cluster.name != "host" else InProcessTransport)(cluster, token, cluster.name)
        w.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    w.client = client


@pytest.mark.parametrize("after", [0.1, 7.0, 14.9])
def test_an_idle_member_that_freezes_is_offline_within_30_seconds(after):
    """I8: its connections stay open, and nothing comes. It is well again as soon as it goes on."""

    async def story():
        async with world() as w:
            await created(w)
            await asyncio.sleep(300)
            await next_probe(w, "member-2")
            await asyncio.sleep(after)
            w.members["member-2"].faults.set(black_hole=True)
            await w.until(lambda: w.phase("member-2") == "Offline", FOUND_WITHIN, what="Offline")
            await w.until(lambda: w.condition("Ready") == "Unknown", 1, what="the condition")
            assert "no answer within 5 s" in entry(w, "member-2")["reason"]
            assert w.phase("member-1") == w.phase("member-3") == "Running"
            w.members["member-2"].faults.clear()
            await w.until(lambda: w.phase("member-2") == "Running" and w.settled(), 20, what="its return")

    simulate(story)


def test_one_slow_probe_changes_nothing():
    """I3, I8: the next one is answered, so nothing is written."""

    async def story():
        async with world() as w:
            await created(w)
            await asyncio.sleep(60)
            before = w.requests()
            for _ in range(5):
                w.members["member-2"].faults.set(latency=6.0)
                await next_probe(w, "member-2")
                await asyncio.sleep(5.5)
                w.members["member-2"].faults.clear()
                assert w.phase("member-2") == "Running"
                await asyncio.sleep(60)
            assert w.phase("member-2") == "Running"
            assert w.requests() == before

    simulate(story)


def test_a_member_that_was_lost_for_long_is_probed_as_often_as_ever_the_next_time():
    """The pauses between probes grow while it is lost, and start over when it is well again."""

    async def story():
        async with world() as w:
            member = w.members["member-2"]
            await created(w)
            for seconds in (600, 0):
                member.faults.set(cut_off=True)
                await w.until(lambda: w.phase("member-2") == "Offline", 10, what="Offline")
                await asyncio.sleep(seconds)
                member.faults.clear()
                await w.until(lambda: w.phase("member-2") == "Running", 30 if seconds else 5, what="its return")
                await asyncio.sleep(30)

    simulate(story)


def test_a_lost_member_is_probed_with_growing_pauses():
    """I10: an hour of it costs no more than a member that is well."""

    async def story():
        async with world() as w:
            await created(w)
            w.members["member-2"].faults.set(cut_off=True)
            await asyncio.sleep(600)
            before = w.probes()["member-2"]
            await asyncio.sleep(3600)
            assert 3600 / 30 < w.probes()["member-2"] - before <= 3600 / PROBE_INTERVAL

    simulate(story)


def test_the_time_of_the_counts_is_the_last_at_which_they_were_seen():
    """I8: after an idle hour it is the last probe that was answered, and not the last change."""

    async def story():
        async with world() as w:
            await created(w)
            await asyncio.sleep(3600)
            await next_probe(w, "member-2")
            probed = second(w.clock.now())
            await asyncio.sleep(5)
            w.members["member-2"].faults.set(black_hole=True)
            await w.until(lambda: w.phase("member-2") == "Offline", FOUND_WITHIN, what="Offline")
            await w.until(lambda: "lastObservedTime" in entry(w, "member-2"), 1, what="the time")
            assert observed_at(w, "member-2") == probed
            stored = w.ud()["metadata"]["resourceVersion"]
            await asyncio.sleep(600)
            assert w.ud()["metadata"]["resourceVersion"] == stored, "it says nothing new while nothing is heard"

    simulate(story)


def test_the_time_of_the_counts_is_not_older_than_the_last_change_that_they_show():
    """I8: it goes silent in the middle of a rollout."""

    async def story():
        async with world() as w:
            await created(w)
            await asyncio.sleep(60)
            await next_probe(w, "member-2")
            await asyncio.sleep(7)
            w.apply(manifest(image="app:2"))
            await w.until(lambda: w.images("member-2").get("app:2") == 1, 7, what="the first new pod", every=0.01)
            await asyncio.sleep(0.2)
            changed = second(w.clock.now())
            w.members["member-2"].faults.set(black_hole=True)
            await w.until(lambda: "lastObservedTime" in entry(w, "member-2"), FOUND_WITHIN, what="the time")
            assert entry(w, "member-2")["updatedReplicas"] >= 1
            assert changed <= observed_at(w, "member-2") <= changed + timedelta(seconds=1)

    simulate(story)


class Garbling(InProcessTransport):
    """Answers every request and garbles what watches say, from a moment on."""

    broken = False
    garbage = b"\xff\xfe no event\n"

    async def _guarded(self, chunks):
        async for chunk in super()._guarded(chunks):
            yield self.garbage if self.broken else chunk


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xfe no event\n",
        b"[" * 200_000 + b"\n",
        b'{"type":5}\n',
        b'{"type":"ERROR","object":{"code":"x"}}\n',
    ],
    ids=["bytes", "deep", "type", "error"],
)
def test_a_member_that_answers_and_whose_watches_are_garbage_is_no_more_to_be_trusted(garbage):
    """I8, I16: the counts are not taken for those of now, their time does not move, and the others go on."""

    async def story():
        async with world(controller=False) as w:
            with_transport(w, Garbling)
            w.start_controller()
            await created(w)
            await asyncio.sleep(30)
            transport = w.transports["member-2"]
            transport.broken, transport.garbage = True, garbage
            last = second(w.clock.now())
            w.apply(manifest(image="app:2"))
            others = ("member-1", "member-3")
            await w.until(lambda: all(set(w.images(one)) == {"app:2"} for one in others), 120, what="the others")
            await w.until(lambda: w.phase("member-2") == "Offline", 30, what="Offline")
            await asyncio.sleep(120)
            assert "cannot be watched" in entry(w, "member-2")["reason"]
            assert observed_at(w, "member-2") <= last + timedelta(seconds=20)
            transport.broken = False
            await w.until(lambda: w.phase("member-2") == "Running" and w.settled(), 120, what="its return")
            assert set(w.images("member-2")) == {"app:2"}

    simulate(story)


def test_a_cluster_that_is_suspended_leaves_the_time_of_its_last_counts():
    """I8"""

    async def story():
        async with world() as w:
            await created(w)
            await asyncio.sleep(100)
            path = f"{names.API_PATH}/namespaces/default/clusters/member-2"
            before = second(w.clock.now())
            patch = {"spec": {"suspended": True}}
            w.request(w.host, "PATCH", path, patch, content_type="application/merge-patch+json")
            await w.until(lambda: "lastObservedTime" in entry(w, "member-2"), 10, what="the time")
            assert before - timedelta(seconds=PROBE_INTERVAL + 1) <= observed_at(w, "member-2") <= w.clock.now()
            assert entry(w, "member-2")["readyReplicas"] == 2

    simulate(story)


class OldAuthority(InProcessTransport):
    """As over TLS with a certificate authority that was replaced: the connection fails before any answer."""

    async def _ask(self, request, seconds):
        if self._token not in self._cluster.tokens:
            self.sent.append(request)
            raise Unreachable(self._name, "TLS: self-signed certificate in certificate chain")
        return await super()._ask(request, seconds)


def test_a_secret_is_read_again_whatever_the_connection_fails_with():
    """A member whose certificate authority was replaced is reached again when its Secret has the new one."""

    async def story():
        async with world(controller=False) as w:
            with_transport(w, OldAuthority)
            w.start_controller()
            await created(w)
            member = w.members["member-2"]
            member.tokens["fresh-token"] = member.tokens.pop(rights.TOKEN)
            await w.until(lambda: w.phase("member-2") == "Offline", 60, what="Offline")
            await asyncio.sleep(600)
            before = w.requests()["host"]
            await asyncio.sleep(3600)
            assert w.requests()["host"] - before == 60, "it is read once a minute"
            secret = {"data": {"token": base64.b64encode(b"fresh-token").decode()}}
            path = "/api/v1/namespaces/default/secrets/member-2-credentials"
            w.request(w.host, "PATCH", path, secret, content_type="application/merge-patch+json")
            await w.until(lambda: w.phase("member-2") == "Running", 70, what="its return")
            await w.until(w.settled, what="the application")

    simulate(story)


def test_a_failure_that_nobody_foresaw_stays_in_its_member(monkeypatch):
    """I10, I16: it is Offline with a reason, the others go on, and it is tried again."""

    async def story():
        async with world() as w:
            await created(w)
            look = Member._look
            broken = {"default/member-2"}

            async def fails(member):
                if member.name in broken:
                    raise RuntimeError("secret-token")
                await look(member)

            monkeypatch.setattr(Member, "_look", fails)
            await w.until(lambda: w.phase("member-2") == "Offline", 60, what="Offline")
            w.apply(manifest(image="app:2"))
            others = ("member-1", "member-3")
            await w.until(lambda: all(set(w.images(one)) == {"app:2"} for one in others), 120, what="the others")
            reason = entry(w, "member-2")["reason"]
            assert "internal error: RuntimeError" in reason
            assert "secret-token" not in str(w.ud()), "I12"
            assert entry(w, "member-2")["readyReplicas"] == 2, "what it last said is kept"
            await asyncio.sleep(300)
            broken.clear()
            await w.until(lambda: w.phase("member-2") == "Running" and w.settled(), 120, what="its return")
            assert set(w.images("member-2")) == {"app:2"}

    simulate(story)


def test_a_failure_that_nobody_foresaw_about_the_host_itself_is_tried_again(monkeypatch):
    """I16"""

    async def story():
        async with world(members=1) as w:
            document = manifest(shares={"member-1": None})
            del document["spec"]["topology"]["subsets"][0]["targetCluster"]
            w.apply(document)
            await w.until(w.settled, what="creation")
            look = Member._look
            broken = {""}

            async def fails(member):
                if member.name in broken:
                    raise RuntimeError
                await look(member)

            monkeypatch.setattr(Member, "_look", fails)
            await w.until(lambda: w.condition("Ready") == "Unknown", 60, what="the condition")
            broken.clear()
            await w.until(w.settled, 120, what="its return")

    simulate(story)
