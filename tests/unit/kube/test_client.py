"""The client: manners towards one API server, and what its limiter and circuit breaker promise."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.support.narrowing import now
from tests.unit.kube.fakes import FakeTransport, json_answer, running, status_answer, thing, until
from uniteddeployment.kube import errors
from uniteddeployment.kube.circuit import Circuit
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.limiter import Limiter, Priority
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import PODS, STATEFULSETS
from uniteddeployment.kube.transport import Answer

pytestmark = pytest.mark.looptime


def client(answer: Callable[[Request], Answer], **options: Any) -> tuple[Client, FakeTransport]:
    transport = FakeTransport(answer)
    return Client(transport, "test", **options), transport


def unreachable(_: Request) -> Answer:
    raise errors.Unreachable("test", "refused")


async def test_a_client_that_acts_as_another_user_does_so_for_writes_alone() -> None:
    """I15: it shares limits and counters with the client that it was made of, which stays as it is."""
    own, transport = client(lambda _: json_answer(thing("a", 3)))
    acting = own.acting_as("system:serviceaccount:ns:tenant")
    for made in (acting, own):
        await made.get(PODS, "a", PartialObject, namespace="ns")
        await made.create(PODS, {"metadata": {"name": "a"}}, PartialObject, namespace="ns")
        await made.delete(PODS, "a", namespace="ns")
    users = [request.headers.get("impersonate-user") for request in transport.requests]
    assert users == [None, *["system:serviceaccount:ns:tenant"] * 2, None, None, None]
    assert own.stats.total == 6


async def test_every_verb_decodes_into_the_type_that_is_asked_for() -> None:
    one, transport = client(lambda _: json_answer(thing("a", 3)), field_manager="me")
    place: dict[str, Any] = {"namespace": "ns"}
    results = [
        await one.get(PODS, "a", PartialObject, **place),
        await one.create(PODS, {"metadata": {"name": "a"}}, PartialObject, **place),
        await one.replace(PODS, "a", {"metadata": {}}, PartialObject, subresource="status", **place),
        await one.merge_patch(PODS, "a", {"spec": {}}, PartialObject, **place),
        await one.json_patch(PODS, "a", [{"op": "test", "path": "/a", "value": 1}], PartialObject, **place),
        await one.apply(PODS, "a", {"spec": {}}, PartialObject, field_manager="me", force=True, **place),
    ]
    assert {result.metadata.resource_version for result in results} == {"3"}
    assert (await one.get(PODS, "a", dict, **place))["kind"] == "Thing"
    await one.delete(PODS, "a", uid="u", **place)
    methods = ["GET", "POST", "PUT", "PATCH", "PATCH", "PATCH", "GET", "DELETE"]
    assert [request.method for request in transport.requests] == methods
    assert all(("fieldManager", "me") in request.query for request in transport.requests[1:6])
    assert one.stats.by_verb() == {"get": 2, "create": 1, "update": 1, "patch": 2, "apply": 1, "delete": 1}
    assert one.stats.total == 8
    assert one.stats.writes == 6
    assert one.stats.statuses == {200: 8}
    await one.close()
    assert transport.closed


async def test_scale_gives_the_scale() -> None:
    answer = {"metadata": {"name": "w"}, "spec": {"replicas": 4}, "status": {"replicas": 2, "selector": "a=b"}}
    one, _ = client(lambda _: json_answer(answer))
    scale = await one.scale(STATEFULSETS, "w", 4, namespace="ns")
    assert (scale.spec.replicas, scale.status.replicas, scale.status.selector) == (4, 2, "a=b")


async def test_a_whole_collection_comes_in_pages_or_at_once_if_they_expire() -> None:
    def answer(request: Request) -> Answer:
        query = dict(request.query)
        if "continue" in query:
            return status_answer(410, "Expired")
        meta = {"resourceVersion": "1", "continue": "x"} if "limit" in query else {"resourceVersion": "1"}
        return json_answer({"metadata": meta, "items": [thing("a", 1), thing("b", 1)]})

    one, transport = client(answer)
    assert len(await one.list_all(PODS, PartialObject, namespace="ns")) == 2
    assert len(transport.requests) == 3


async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks() -> None:
    answers = [Answer(429, {"retry-after": "2"}, b""), Answer(429, {"retry-after": "1"}, b""), json_answer({})]
    one, transport = client(lambda _: answers.pop(0))
    started = asyncio.get_running_loop().time()
    await one.get(PODS, "a", PartialObject, namespace="ns")
    assert asyncio.get_running_loop().time() - started == pytest.approx(3)
    assert len(transport.requests) == 3


@pytest.mark.parametrize("headers", [{"retry-after": "60"}, {}])
async def test_a_server_that_is_busy_for_long_is_the_queues_business(headers: dict[str, str]) -> None:
    one, transport = client(lambda _: Answer(429, headers, b""))
    with pytest.raises(errors.TooManyRequests):
        await one.get(PODS, "a", PartialObject, namespace="ns")
    assert len(transport.requests) == 1


async def test_a_server_that_stays_busy_is_given_up() -> None:
    one, transport = client(lambda _: Answer(429, {"retry-after": "1"}, b""))
    with pytest.raises(errors.TooManyRequests):
        await one.get(PODS, "a", PartialObject, namespace="ns")
    assert len(transport.requests) == 4


async def test_no_other_refusal_is_retried() -> None:
    for code in (409, 500, 503):
        one, transport = client(lambda _, code=code: status_answer(code, "x"))  # type: ignore[misc]  # bound per turn
        with pytest.raises(errors.ApiError):
            await one.get(PODS, "a", PartialObject, namespace="ns")
        assert len(transport.requests) == 1


async def test_no_more_requests_than_allowed_are_in_flight_and_urgent_ones_pass_the_others() -> None:
    """I10: a user's change does not queue behind status and events."""
    one, transport = client(lambda _: json_answer({}), limiter=Limiter(2))
    transport.hold = asyncio.Event()

    async def ask(name: str, priority: Priority) -> None:
        await one.get(PODS, name, PartialObject, namespace="ns", priority=priority)

    async with asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(ask(f"status-{number}", Priority.BACKGROUND))
        await until(lambda: len(transport.requests) == 2)
        tasks.create_task(ask("edit", Priority.URGENT))
        await asyncio.sleep(1)
        assert len(transport.requests) == 2
        transport.hold.set()
    assert [request.path.rsplit("/", 1)[1] for request in transport.requests] == [
        "status-0",
        "status-1",
        "edit",
        "status-2",
        "status-3",
    ]
    assert one.limiter.free == 2


async def test_a_request_is_checked_when_its_turn_comes_and_not_sent_if_it_is_outdated_by_then() -> None:
    one, transport = client(lambda _: json_answer({}), limiter=Limiter(1))
    transport.hold = asyncio.Event()
    outdated = False

    def check() -> None:
        if outdated:
            raise errors.KubeError("outdated")

    async def ask(through: Client) -> None:
        await through.get(PODS, "a", PartialObject, namespace="ns")

    await one.limiter.acquire()
    asked = [asyncio.create_task(ask(through)) for through in (one.checked(check), one)]
    await asyncio.sleep(0)
    outdated = True
    one.limiter.release()
    transport.hold.set()
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(first, errors.KubeError)
    assert second is None
    assert len(transport.requests) == 1
    assert one.limiter.free == 1


async def test_a_cancelled_request_gives_its_slot_or_its_place_in_the_line_back() -> None:
    limiter = Limiter(1)
    await limiter.acquire()
    first, second = (asyncio.create_task(limiter.acquire()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    limiter.release()
    await second
    third = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)
    limiter.release()
    third.cancel()
    await asyncio.gather(third, return_exceptions=True)
    assert limiter.free == 1
    with pytest.raises(ValueError, match="at least one"):
        Limiter(0)


async def test_a_dead_server_is_not_asked_for_a_growing_time_and_then_by_one_probe() -> None:
    """I10: a dead member costs nobody the time of a time-out."""
    one, transport = client(unreachable, circuit=Circuit("test", failures=3, first=1, longest=4))

    async def fails() -> errors.Unreachable:
        with pytest.raises(errors.Unreachable) as caught:
            await one.get(PODS, "a", PartialObject, namespace="ns")
        return caught.value

    for _ in range(3):
        assert (await fails()).retry_in is None
    assert now(one.circuit.open)
    refused = await fails()
    assert refused.retry_in == pytest.approx(1)
    assert "refused" in str(refused)
    assert len(transport.requests) == 3
    waits = []
    for pause in (1, 2, 4, 4):
        await asyncio.sleep(pause)
        await fails()
        waits.append((await fails()).retry_in)
    assert waits == pytest.approx([2, 4, 4, 4])
    assert len(transport.requests) == 7
    await asyncio.sleep(4)
    transport.answer = lambda _: json_answer({})
    await one.get(PODS, "a", PartialObject, namespace="ns")
    assert not one.circuit.open
    assert one.stats.unreachable == 7


async def test_only_one_probe_goes_out_at_a_time_and_a_cancelled_one_makes_room_for_another() -> None:
    one, transport = client(unreachable, circuit=Circuit("test", failures=1, first=1))
    with pytest.raises(errors.Unreachable):
        await one.get(PODS, "a", PartialObject, namespace="ns")
    await asyncio.sleep(1)
    transport.hold = asyncio.Event()
    transport.answer = lambda _: json_answer({})
    async with running(one.get(PODS, "a", PartialObject, namespace="ns")):
        await until(lambda: len(transport.requests) == 2)
        async with asyncio.timeout(60):
            with pytest.raises(errors.Unreachable):
                await one.get(PODS, "b", PartialObject, namespace="ns")
    assert len(transport.requests) == 2
    transport.hold.set()
    await one.get(PODS, "c", PartialObject, namespace="ns")
    assert not one.circuit.open


async def test_a_refusal_is_an_answer_and_closes_the_circuit() -> None:
    one, transport = client(unreachable, circuit=Circuit("test", failures=2))
    for answer in (unreachable, lambda _: status_answer(500, "x"), unreachable):
        transport.answer = answer
        with pytest.raises(errors.KubeError):
            await one.get(PODS, "a", PartialObject, namespace="ns")
    assert not one.circuit.open


async def test_each_write_asks_the_guard_and_is_not_sent_when_it_objects() -> None:
    """I1: also the second try of a write that had to wait."""
    answers = [Answer(429, {"retry-after": "2"}, b"")]
    asked: list[float] = []
    clock = asyncio.get_running_loop().time
    deadline = clock() + 1

    def guard() -> None:
        asked.append(clock())
        if clock() > deadline:
            raise errors.NotLeading("too late")

    one, transport = client(lambda _: answers.pop() if answers else json_answer(thing("a", 3)), guard=guard)
    place: dict[str, Any] = {"namespace": "ns"}
    with pytest.raises(errors.NotLeading):
        await one.create(PODS, {}, PartialObject, **place)
    assert [request.method for request in transport.requests] == ["POST"]
    assert len(asked) == 2
    for write in (
        one.create(PODS, {}, PartialObject, **place),
        one.replace(PODS, "a", {}, PartialObject, **place),
        one.merge_patch(PODS, "a", {}, PartialObject, **place),
        one.json_patch(PODS, "a", [], PartialObject, **place),
        one.apply(PODS, "a", {}, PartialObject, field_manager="me", **place),
        one.scale(STATEFULSETS, "a", 1, **place),
        one.delete(PODS, "a", **place),
    ):
        with pytest.raises(errors.NotLeading):
            await write
    assert len(transport.requests) == 1
    await one.get(PODS, "a", PartialObject, **place)
    assert [request.method for request in transport.requests] == ["POST", "GET"]
    assert one.limiter.free == 32


async def test_a_write_that_the_guard_stops_makes_room_for_the_next_probe() -> None:
    one, transport = client(unreachable, circuit=Circuit("test", failures=1, first=1))
    with pytest.raises(errors.Unreachable):
        await one.get(PODS, "a", PartialObject, namespace="ns")
    await asyncio.sleep(1)

    def late(_: Request) -> Answer:
        raise errors.NotLeading("the connection took too long")

    transport.answer = late
    with pytest.raises(errors.NotLeading):
        await one.create(PODS, {}, PartialObject, namespace="ns")
    transport.answer = lambda _: json_answer({})
    await one.get(PODS, "a", PartialObject, namespace="ns")
    assert not one.circuit.open


async def test_metrics_are_told_of_each_request_also_of_those_without_an_answer() -> None:
    told: list[tuple[str, str, int]] = []

    class Told:
        def requested(self, verb: str, resource: str, status: int, seconds: float) -> None:
            told.append((verb, resource, status))

    one, transport = client(lambda _: json_answer({}), metrics=Told())
    await one.get(PODS, "a", PartialObject, namespace="ns")
    transport.answer = unreachable
    with pytest.raises(errors.Unreachable):
        await one.scale(STATEFULSETS, "a", 1, namespace="ns")
    assert told == [("get", "pods", 200), ("patch", "statefulsets", 0)]


async def test_bodies_may_be_structs() -> None:
    one, transport = client(lambda _: json_answer({}))
    await one.create(PODS, PartialObject(kind="Pod", api_version="v1"), PartialObject, namespace="ns")
    assert msgspec.json.decode(transport.requests[0].body) == {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
