"""Leader election: at most one leader, whatever happens to requests, clocks and processes (I1)."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer, running, status_answer, until
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.election import Elector, LostLeadership
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.limiter import Limiter
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.transport import Answer

pytestmark = pytest.mark.looptime


class LeaseServer:
    """Serves one Lease with optimistic concurrency, and can be cut off or made to hang."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.latency = 0.0
        self.written_at = 0.0
        self.hanging: set[str] = set()
        self.cut: set[str] = set()

    def transport(self, identity: str) -> FakeTransport:
        server = self

        class Hooked(FakeTransport):
            async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
                self.requests.append(request)
                if identity in server.cut:
                    raise Unreachable("test", "cut off")
                if identity in server.hanging:
                    await asyncio.Event().wait()
                await asyncio.sleep(server.latency)
                return server.answer(request)

        return Hooked()

    def answer(self, request: Request) -> Answer:
        if request.method == "GET":
            return json_answer(self.lease) if self.lease else status_answer(404, "NotFound")
        body = msgspec.json.decode(request.body)
        if request.method == "POST":
            if self.lease:
                return status_answer(409, "AlreadyExists")
            self.lease = body
        else:
            assert self.lease is not None
            if body["metadata"]["resourceVersion"] != str(self.version):
                return status_answer(409, "Conflict")
            self.lease["spec"] |= body["spec"]
        self.version += 1
        self.written_at = asyncio.get_running_loop().time()
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return json_answer(self.lease)

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"]) if self.lease else ""

    def elector(self, identity: str) -> Elector:
        return Elector(
            Client(self.transport(identity), "test"), "system", "lead", identity, chance=lambda: 0.5, retry_period=2.0
        )


class Work:
    """Work that notes who is doing it, and fails the test if two do."""

    def __init__(self) -> None:
        self.active: set[str] = set()
        self.most = 0

    async def run(self, identity: str) -> None:
        self.active.add(identity)
        self.most = max(self.most, len(self.active))
        try:
            await asyncio.Event().wait()
        finally:
            self.active.discard(identity)


async def test_the_first_takes_the_lease_and_the_second_waits_until_it_is_given_back() -> None:
    server, work = LeaseServer(), Work()
    one, two = server.elector("one"), server.elector("two")
    async with running(two.run(lambda: work.run("two"))):
        async with running(one.run(lambda: work.run("one"))):
            await until(lambda: work.active)
            first = next(iter(work.active))
            await asyncio.sleep(120)
            assert work.active == {first}
            assert server.holder == first
            assert [one.is_leader, two.is_leader] == [first == "one", first == "two"]
            assert one.leader == two.leader == first
        started = asyncio.get_running_loop().time()
        await until(lambda: work.active == {"two"})
        assert asyncio.get_running_loop().time() - started < 5
    assert work.most == 1
    assert server.holder == ""


async def test_a_dead_leader_is_followed_after_its_lease_has_run_out() -> None:
    server, work = LeaseServer(), Work()
    server.answer(_create("dead"))
    elector = server.elector("heir")
    started = asyncio.get_running_loop().time()
    async with running(elector.run(lambda: work.run("heir"))):
        await until(lambda: work.active == {"heir"})
        assert 15 <= asyncio.get_running_loop().time() - started < 19
        assert server.lease is not None
        assert server.lease["spec"]["leaseTransitions"] == 1


def _create(holder: str) -> Request:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0}
    body = {"metadata": {"name": "lead", "namespace": "system"}, "spec": spec}
    return Request("POST", "/x", body=msgspec.json.encode(body))


@pytest.mark.parametrize("how", ["hanging", "cut"])
async def test_a_leader_that_cannot_renew_stops_before_another_may_begin(how: str) -> None:
    """A renewal that hangs is as bad as one that fails: neither outlives the deadline."""
    server, work = LeaseServer(), Work()
    one, two = server.elector("one"), server.elector("two")
    first = asyncio.create_task(one.run(lambda: work.run("one")))
    await until(lambda: work.active == {"one"})
    async with running(two.run(lambda: work.run("two"))):
        await asyncio.sleep(7)
        getattr(server, how).add("one")
        started = asyncio.get_running_loop().time()
        async with asyncio.timeout(60):
            with pytest.raises(LostLeadership):
                await first
        assert asyncio.get_running_loop().time() - started <= 10
        assert work.active == set()
        assert not one.is_leader
        await until(lambda: work.active == {"two"})
    assert work.most == 1


async def test_a_slow_renewal_counts_from_its_beginning() -> None:
    """The answer says nothing about when it was written; another may count from earlier than its arrival."""
    server, work = LeaseServer(), Work()
    first = asyncio.create_task(server.elector("one").run(lambda: work.run("one")))
    await until(lambda: work.active)
    server.latency = 1.0
    await asyncio.sleep(20)
    server.hanging.add("one")
    async with asyncio.timeout(60):
        with pytest.raises(LostLeadership):
            await first
    assert asyncio.get_running_loop().time() <= server.written_at - server.latency + 10 + 0.001


async def test_a_leader_that_sees_another_in_its_lease_stops_at_once() -> None:
    server, work = LeaseServer(), Work()
    elector = server.elector("one")
    first = asyncio.create_task(elector.run(lambda: work.run("one")))
    await until(lambda: work.active == {"one"})
    assert server.lease is not None
    server.lease["spec"]["holderIdentity"] = "thief"
    server.version += 1
    server.lease["metadata"]["resourceVersion"] = str(server.version)
    started = asyncio.get_running_loop().time()
    with pytest.raises(LostLeadership, match="thief"):
        await first
    assert asyncio.get_running_loop().time() - started <= 3
    assert server.holder == "thief"


async def test_a_renewal_is_one_request() -> None:
    """I3: a settled controller asks for next to nothing."""
    server, work = LeaseServer(), Work()
    transport = server.transport("one")
    elector = Elector(Client(transport, "test"), "system", "lead", "one")
    async with running(elector.run(lambda: work.run("one"))):
        await until(lambda: work.active)
        transport.requests.clear()
        await asyncio.sleep(21)
        assert [request.method for request in transport.requests] == ["PATCH"] * 10


async def test_a_short_outage_costs_no_leadership() -> None:
    server, work = LeaseServer(), Work()
    elector = server.elector("one")
    async with running(elector.run(lambda: work.run("one"))):
        await until(lambda: work.active)
        server.cut.add("one")
        await asyncio.sleep(6)
        server.cut.clear()
        await asyncio.sleep(30)
        assert work.active == {"one"}
        assert elector.is_leader


async def test_of_two_who_reach_for_the_lease_at_once_one_fails() -> None:
    """The write is bound to the version that was read."""
    server, work = LeaseServer(), Work()
    server.answer(_create(""))
    electors = [server.elector(name) for name in ("one", "two", "three")]
    async with asyncio.TaskGroup() as tasks:
        runs = [
            tasks.create_task(elector.run(lambda name=name: work.run(name)))  # type: ignore[misc]  # bound per turn
            for elector, name in zip(electors, ("one", "two", "three"), strict=True)
        ]
        await asyncio.sleep(60)
        assert work.most == 1
        assert sum(elector.is_leader for elector in electors) == 1
        for run in runs:
            run.cancel()


async def test_the_end_and_the_failures_of_the_work_are_the_callers() -> None:
    server = LeaseServer()
    await server.elector("one").run(lambda: asyncio.sleep(1))
    assert server.holder == ""

    async def fail() -> None:
        raise RuntimeError("work failed")

    with pytest.raises(RuntimeError, match="work failed"):
        await server.elector("two").run(fail)
    assert server.holder == ""


async def test_a_lease_that_cannot_be_given_back_is_left_to_run_out() -> None:
    server, work = LeaseServer(), Work()
    async with running(server.elector("one").run(lambda: work.run("one"))):
        await until(lambda: work.active)
        server.hanging.add("one")
    assert server.holder == "one"


async def test_a_renewal_goes_before_everything_else_that_waits_for_the_server() -> None:
    """A busy controller does not lose its leadership to its own queue."""
    server, work = LeaseServer(), Work()
    transport = server.transport("one")
    client = Client(transport, "test", limiter=Limiter(1))
    async with running(Elector(client, "system", "lead", "one").run(lambda: work.run("one"))):
        await until(lambda: work.active)
        await client.limiter.acquire()
        waiting = [asyncio.create_task(client.get(PODS, "a", PartialObject, namespace="ns")) for _ in range(5)]
        await asyncio.sleep(3)
        transport.requests.clear()
        client.limiter.release()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert transport.requests[0].resource == "leases"


def test_durations_that_could_overlap_are_refused() -> None:
    client = Client(FakeTransport(), "test")
    with pytest.raises(ValueError, match="must outlast"):
        Elector(client, "a", "b", "c", lease_duration=10, renew_deadline=10)
    with pytest.raises(ValueError, match="must outlast"):
        Elector(client, "a", "b", "c", renew_deadline=2, retry_period=2)
