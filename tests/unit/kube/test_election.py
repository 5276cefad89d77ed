"""Leader election: at most one leader, whatever happens to requests, clocks and processes (I1)."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import structlog

from tests.unit.kube.fakes import FakeTransport, json_answer, running, status_answer, until
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.clock import since_boot
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

    def elector(self, identity: str, clock: Callable[[], float] | None = None) -> Elector:
        client = Client(self.transport(identity), "test")
        return Elector(client, "system", "lead", identity, chance=lambda: 0.5, retry_period=2.0, clock=clock)


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
    elector = server.elector("next")
    started = asyncio.get_running_loop().time()
    async with running(elector.run(lambda: work.run("next"))):
        await until(lambda: work.active == {"next"})
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
    server.lease["spec"]["holderIdentity"] = "somebody-else"
    server.version += 1
    server.lease["metadata"]["resourceVersion"] = str(server.version)
    started = asyncio.get_running_loop().time()
    with pytest.raises(LostLeadership, match="somebody-else"):
        await first
    assert asyncio.get_running_loop().time() - started <= 3
    assert server.holder == "somebody-else"


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


@pytest.mark.parametrize("holder", ["one", "somebody-else"])
async def test_the_lease_is_given_back_also_when_the_last_renewal_was_cut_short(holder: str) -> None:
    """It may have arrived although its answer was not waited for. A Lease of another one is left alone."""
    server = LeaseServer()

    async def work() -> None:
        assert server.lease is not None
        server.version += 1
        server.lease["metadata"]["resourceVersion"] = str(server.version)
        server.lease["spec"]["holderIdentity"] = holder

    await server.elector("one").run(work)
    assert server.holder == ("" if holder == "one" else "somebody-else")


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
    with pytest.raises(ValueError, match="must exceed"):
        Elector(client, "a", "b", "c", lease_duration=10, renew_deadline=10)
    with pytest.raises(ValueError, match="must exceed"):
        Elector(client, "a", "b", "c", renew_deadline=2, retry_period=2)


def refusing(server: LeaseServer, methods: set[str], refusal: Answer) -> None:
    """From now on the server refuses these methods."""
    answer = server.answer

    def refuse(request: Request) -> Answer:
        return refusal if request.method in methods else answer(request)

    server.answer = refuse  # type: ignore[method-assign]  # a server that changes its mind


FORBIDDEN = status_answer(403, "Forbidden", 'leases "lead" is forbidden: User "sa" cannot get resource "leases"')


async def test_a_refused_lease_is_a_problem_with_the_way_out_until_it_is_granted() -> None:
    """A candidate that may not read the Lease never leads: it has to say so."""
    server, work = LeaseServer(), Work()
    granted = server.answer
    refusing(server, {"GET"}, FORBIDDEN)
    elector = server.elector("one")
    assert "has not been read yet" in elector.problem
    with structlog.testing.capture_logs() as logs:
        async with running(elector.run(lambda: work.run("one"))):
            await asyncio.sleep(1)
            assert 'system/lead cannot be used: leases "lead" is forbidden' in elector.problem
            assert "allow get, create and patch of leases in the namespace system" in elector.problem
            server.answer = granted  # type: ignore[method-assign]
            await until(lambda: work.active)
            assert elector.problem == ""
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert len(warnings) == 1
    assert "allow get, create and patch" in warnings[0]["problem"]
    assert any(line["event"] == "the lease can be used again" for line in logs)


async def test_a_lease_that_may_not_be_written_is_a_problem_also_for_a_leader() -> None:
    server, work = LeaseServer(), Work()
    elector = server.elector("one")
    first = asyncio.create_task(elector.run(lambda: work.run("one")))
    await until(lambda: work.active)
    refusing(server, {"PATCH"}, FORBIDDEN)
    with structlog.testing.capture_logs():
        await until(lambda: elector.problem)
        with pytest.raises(LostLeadership):
            await first


async def test_a_namespace_that_does_not_exist_is_named() -> None:
    server = LeaseServer()
    refusing(server, {"POST"}, status_answer(404, "NotFound", 'namespaces "system" not found'))
    elector = server.elector("one")
    with structlog.testing.capture_logs():
        async with running(elector.run(lambda: asyncio.sleep(0))):
            await asyncio.sleep(1)
            assert "create the namespace system" in elector.problem


async def test_the_same_warning_is_given_once_a_minute() -> None:
    server = LeaseServer()
    refusing(server, {"GET"}, FORBIDDEN)
    with structlog.testing.capture_logs() as logs:
        async with running(server.elector("one").run(lambda: asyncio.sleep(0))):
            await asyncio.sleep(150)
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["cannot lead"] * 3


async def test_failures_are_a_problem_when_they_outlast_a_lease() -> None:
    """An API server that restarts must not take every webhook out of service."""
    server, work = LeaseServer(), Work()
    server.answer(_create("somebody-else"))
    elector = server.elector("one")
    with structlog.testing.capture_logs() as logs:
        async with running(elector.run(lambda: work.run("one"))):
            await asyncio.sleep(1)
            assert elector.problem == "", "to stand by is no problem"
            server.cut.add("one")
            await asyncio.sleep(12)
            assert elector.problem == ""
            await asyncio.sleep(10)
            assert "cut off" in elector.problem
            server.cut.clear()
            await until(lambda: not elector.problem)
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["cannot lead"]


async def test_losing_a_race_for_the_lease_is_no_problem() -> None:
    server = LeaseServer()
    refusing(server, {"PATCH", "POST"}, status_answer(409, "Conflict"))
    elector = server.elector("one")
    async with running(elector.run(lambda: asyncio.sleep(0))):
        await asyncio.sleep(30)
        assert elector.problem == ""
        assert not elector.is_leader


class Suspended:
    """A clock that counts while the machine is suspended; the event loop's clock does not."""

    def __init__(self) -> None:
        self.away = 0.0

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self.away


async def test_a_leader_that_was_frozen_past_its_deadline_may_not_write_when_it_resumes() -> None:
    """I1: it is checked at the write, since the timers of a frozen process run no earlier than its other work."""
    server, work, clock = LeaseServer(), Work(), Suspended()
    elector = server.elector("one", clock)
    with pytest.raises(errors.NotLeading, match="does not hold"):
        elector.check()
    first = asyncio.create_task(elector.run(lambda: work.run("one")))
    await until(lambda: work.active)
    await asyncio.sleep(20)
    elector.check()
    clock.away = 11
    with pytest.raises(errors.NotLeading, match=r"system/lead was last renewed 1\d\.\d s ago"):
        elector.check()
    with pytest.raises(LostLeadership):
        await first
    with pytest.raises(errors.NotLeading):
        elector.check()


async def test_a_lease_that_was_taken_before_a_freeze_does_not_make_a_leader_after_it() -> None:
    """I1: the answer of a request from before the freeze says nothing about now."""
    server, work, clock = LeaseServer(), Work(), Suspended()
    server.latency = 1.0
    elector = server.elector("one", clock)
    async with running(elector.run(lambda: work.run("one"))):
        await asyncio.sleep(1.5)
        clock.away = 60
        await asyncio.sleep(1)
        assert work.active == set()
        await until(lambda: work.active)
        elector.check()


async def test_others_wait_at_least_as_long_as_the_holder_counts() -> None:
    """I1: a Lease has whole seconds."""
    server, work = LeaseServer(), Work()
    client = Client(server.transport("one"), "test")
    elector = Elector(client, "system", "lead", "one", lease_duration=3.4, renew_deadline=3.2, retry_period=0.5)
    async with running(elector.run(lambda: work.run("one"))):
        await until(lambda: work.active)
        assert server.lease is not None
        assert server.lease["spec"]["leaseDurationSeconds"] == 4


def test_the_clock_for_leases_counts_on() -> None:
    first = since_boot()
    assert since_boot() >= first > 0
