"""The recorder: repeated Events are written once and counted, and recording delays and fails nothing."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer, running, status_answer, until
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotLeading, Unreachable
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer

pytestmark = pytest.mark.looptime

WEB = ObjectReference(api_version="apps/v1", kind="StatefulSet", namespace="prod", name="web", uid="u1")
NODE = ObjectReference(api_version="v1", kind="Node", name="n1")


def make(**options: Any) -> tuple[Recorder, FakeTransport]:
    transport = FakeTransport(lambda _: json_answer({}))
    epoch = datetime(2024, 5, 1, tzinfo=UTC)

    def wall() -> datetime:
        return epoch + timedelta(seconds=asyncio.get_running_loop().time())

    return Recorder(Client(transport, "test"), "example.io/controller", "pod-1", wall=wall, **options), transport


def bodies(transport: FakeTransport) -> list[dict[str, Any]]:
    return [msgspec.json.decode(request.body) for request in transport.requests]


async def test_an_event_has_what_the_api_server_demands() -> None:
    recorder, transport = make()
    recorder.event(WEB, "Normal", "Scaled", "from 1 to 2", action="Scale", related=NODE)
    await recorder.flush()
    (body,) = bodies(transport)
    name = body["metadata"].pop("name")
    assert name.startswith("web.")
    assert transport.requests[0].path == "/apis/events.k8s.io/v1/namespaces/prod/events"
    time = body.pop("eventTime")
    assert time.startswith("2024-05-01T")
    assert time.endswith("Z")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "prod"},
        "reportingController": "example.io/controller",
        "reportingInstance": "pod-1",
        "action": "Scale",
        "reason": "Scaled",
        "regarding": {"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": "prod", "name": "web", "uid": "u1"},
        "related": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        "note": "from 1 to 2",
        "type": "Normal",
    }


async def test_the_same_thing_said_again_within_ten_minutes_counts_up_one_event() -> None:
    recorder, transport = make()
    async with running(recorder.run()):
        for expected in (1, 2, 3):
            recorder.event(WEB, "Warning", "Stuck", "why")
            await until(lambda expected=expected: len(transport.requests) == expected)  # type: ignore[misc]  # per turn
            await asyncio.sleep(500)
        first, second, third = bodies(transport)
        assert "series" not in first
        assert second["series"]["count"] == 2
        assert third["series"]["count"] == 3
        assert {request.path for request in transport.requests[1:]} == {
            f"/apis/events.k8s.io/v1/namespaces/prod/events/{first['metadata']['name']}"
        }
        await asyncio.sleep(601)
        recorder.event(WEB, "Warning", "Stuck", "why")
        await until(lambda: len(transport.requests) == 4)
        assert bodies(transport)[3]["metadata"]["name"] != first["metadata"]["name"]


async def test_what_repeats_while_it_waits_is_written_once() -> None:
    recorder, transport = make()
    for _ in range(7):
        recorder.event(WEB, "Warning", "Stuck", "why")
    recorder.event(WEB, "Warning", "Stuck", "another reason")
    assert recorder.pending() == 2
    await recorder.flush()
    assert [body.get("series", {}).get("count") for body in bodies(transport)] == [7, None]


async def test_one_object_cannot_flood_the_server_and_silences_no_other() -> None:
    recorder, transport = make()
    for number in range(100):
        recorder.event(WEB, "Normal", "Noise", str(number))
    recorder.event(NODE, "Normal", "Quiet", "x")
    await recorder.flush()
    assert len(transport.requests) == 26
    assert recorder.dropped == 75
    assert transport.requests[-1].path == "/apis/events.k8s.io/v1/namespaces/default/events"
    await asyncio.sleep(300)
    recorder.event(WEB, "Normal", "Noise", "later")
    assert recorder.pending() == 1


async def test_the_queue_is_bounded() -> None:
    recorder, _ = make(bound=3, burst=100)
    for number in range(5):
        recorder.event(WEB, "Normal", "Noise", str(number))
    assert recorder.pending() == 3
    assert recorder.dropped == 2


async def test_a_dead_server_loses_events_and_nothing_else() -> None:
    """I10: the caller never notices."""
    recorder, transport = make()

    def dead(_: Request) -> Answer:
        raise Unreachable("test", "refused")

    transport.answer = dead
    async with running(recorder.run()) as task:
        recorder.event(WEB, "Normal", "A", "a")
        await until(lambda: recorder.dropped == 1, turns=50_000)
        assert not task.done()
        transport.answer = lambda _: json_answer({})
        await asyncio.sleep(60)
        transport.requests.clear()
        recorder.event(WEB, "Normal", "B", "b")
        await until(lambda: len(transport.requests) == 1)


async def test_a_refused_event_is_dropped_at_once() -> None:
    recorder, transport = make()
    transport.answer = lambda _: status_answer(403, "Forbidden")
    recorder.event(WEB, "Normal", "A", "a")
    await recorder.flush()
    assert len(transport.requests) == 1
    assert recorder.dropped == 1


async def test_an_event_that_the_server_forgot_is_told_anew_and_a_known_one_is_not_told_twice() -> None:
    recorder, transport = make()
    recorder.event(WEB, "Normal", "A", "a")
    await recorder.flush()
    transport.answer = lambda request: (
        status_answer(404, "NotFound") if request.method == "PATCH" else status_answer(409, "AlreadyExists")
    )
    recorder.event(WEB, "Normal", "A", "a")
    await recorder.flush()
    assert [request.method for request in transport.requests] == ["POST", "PATCH", "POST"]
    assert bodies(transport)[-1]["series"]["count"] == 2
    assert recorder.dropped == 0


async def test_long_notes_and_names_are_cut_to_what_the_api_allows() -> None:
    recorder, transport = make()
    recorder.event(ObjectReference(kind="Thing", namespace="n", name="x" * 253), "Normal", "A", "é" * 1000)
    await recorder.flush()
    (body,) = bodies(transport)
    assert len(body["note"].encode()) <= 1024
    assert body["note"].endswith("é...")
    assert len(body["metadata"]["name"]) <= 253


async def test_a_process_that_does_not_lead_any_more_drops_its_events_and_goes_on() -> None:
    """I1"""
    transport = FakeTransport(lambda _: json_answer({}))
    leading = False

    def guard() -> None:
        if not leading:
            raise NotLeading("the Lease is old")

    recorder = Recorder(Client(transport, "test", guard=guard), "example.io/controller", "pod-1")
    async with running(recorder.run()):
        recorder.event(WEB, "Normal", "Scaled", "from 1 to 2")
        await until(lambda: recorder.dropped == 1)
        assert transport.requests == []
        leading = True
        recorder.event(WEB, "Normal", "Scaled", "from 2 to 3")
        await until(lambda: transport.requests)
