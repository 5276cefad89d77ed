"""Delivery of notifications: a real HTTP server, Secrets, and a controller that stops in between (I12)."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Never

import pytest
import pytest_asyncio
import yaml
from aiohttp import web
from structlog.testing import capture_logs

from tests.unit.rollout.notifications.test_outbox import CHAT, Notifying, made
from uniteddeployment.kube.errors import Forbidden, NotFound, Unreachable
from uniteddeployment.kube.resource import Resource
from uniteddeployment.kube.web import Web
from uniteddeployment_api import notification_texts
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout
from uniteddeployment_rollout.loop.objects import RolloutMetadata, StoredRollout
from uniteddeployment_rollout.loop.writes import dumped
from uniteddeployment_rollout.notifications.outbox import Outcome
from uniteddeployment_rollout.notifications.sender import Sender, _Secret, post

SAMPLES = Path(__file__).parents[4] / "config" / "samples"
SECRET = "T0P-5ECRET"
KEY = ("default", "web")


class Receiver:
    """An HTTP server that keeps what it gets, and answers what a test wants."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Mapping[str, str], bytes]] = []
        self.status = 200
        self.gate = asyncio.Event()
        self.gate.set()
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append((request.path, request.headers, await request.read()))
        await self.gate.wait()
        location = {"Location": f"{self.url}/elsewhere"} if 300 <= self.status < 400 else {}
        return web.Response(status=self.status, headers=location, text=SECRET)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        receiver.gate.set()
        await runner.cleanup()


@pytest_asyncio.fixture
async def http() -> AsyncIterator[Web]:
    web = Web()
    yield web
    await web.close()


class Secrets:
    """A client that knows Secrets."""

    def __init__(self, **data: Any) -> None:
        self.data = data

    async def get(self, _resource: Resource, name: str, _type: type[Any], *, namespace: str) -> _Secret:
        assert namespace == "default"
        found = self.data.get(name, NotFound(404, "NotFound", f"no {name}"))
        if isinstance(found, Exception):
            raise found
        return _Secret({"url": base64.b64encode(found).decode() if isinstance(found, bytes) else found})


def waiting(**notification: Any) -> tuple[Notifying, StoredRollout]:
    """A rollout whose first step is paused, with the notification of that."""
    fleet, controller = made(notifications=[{**CHAT, "events": ["Paused"], **notification}])
    fleet.release("v2")
    controller.settle()
    metadata = RolloutMetadata("web", "default", uid="u1", generation=1)
    spec = controller.rollout.spec.model_dump(by_alias=True, exclude_none=True)
    return controller, StoredRollout(metadata, spec, dumped(controller.status))


class Broken:
    async def get(self, *_: Any, **__: Any) -> Never:
        raise RuntimeError(SECRET)


def sending(http: Web, client: Secrets | Broken, recorded: Callable[[tuple[str, str]], None]) -> Sender:
    return Sender(http, client, recorded)  # type: ignore[arg-type]  # it needs no more of a client


async def outcome(sender: Sender, controller: Notifying, rollout: StoredRollout) -> Outcome:
    sender.send(rollout, controller.rollout, controller.status, controller.now)
    await asyncio.gather(*sender._running.values())
    (found,) = sender.outcomes(KEY, "u1").values()
    return found


async def test_a_notification_is_a_request_with_the_filled_template(http: Web) -> None:
    async with receiving() as receiver:
        template = '{"text": "${namespace}/${name}: ${event}", "step": ${step}, "said": "${message}"}'
        controller, rollout = waiting(url=f"{receiver.url}/hook", template=template)
        done: list[tuple[str, str]] = []
        sender = sending(http, Secrets(), done.append)
        assert await outcome(sender, controller, rollout) == Outcome()
        ((path, headers, body),) = receiver.requests
        assert (path, headers["Content-Type"], headers["Idempotency-Key"]) == ("/hook", "application/json", "u1-1")
        assert json.loads(body) == {
            "text": "default/web: Paused",
            "step": 1,
            "said": "step 1 of 3: waits for approval",
        }
        assert done == [KEY]


async def test_an_outcome_that_is_not_recorded_is_not_sent_again_by_the_same_process_and_is_by_the_next(
    http: Web,
) -> None:
    """At least once: after a crash before the result is stored, and never while it is known."""
    async with receiving() as receiver:
        controller, rollout = waiting(url=receiver.url)
        sender = sending(http, Secrets(), lambda _: None)
        await outcome(sender, controller, rollout)
        sender.send(rollout, controller.rollout, controller.status, controller.now)
        assert (len(receiver.requests), sender._running) == (1, {})
        await outcome(sending(http, Secrets(), lambda _: None), controller, rollout)
        assert len(receiver.requests) == 2
        controller.outcomes = sender.outcomes(KEY, "u1")
        controller.settle()
        sender.recorded(KEY, "u1", {1: Outcome()})
        restarted = sending(http, Secrets(), lambda _: None)
        for process in (sender, restarted):
            process.send(rollout, controller.rollout, controller.status, controller.now)
            assert process._running == {}


async def test_a_stop_waits_until_the_result_of_what_is_under_way_is_recorded(http: Web) -> None:
    async with receiving() as receiver:
        receiver.gate.clear()
        controller, rollout = waiting(url=receiver.url)
        sender = sending(http, Secrets(), lambda _: None)
        sender.send(rollout, controller.rollout, controller.status, controller.now)
        (running,) = sender._running.values()
        settling = asyncio.create_task(sender.settle())
        receiver.gate.set()
        await running
        await asyncio.sleep(0)
        assert not settling.done(), "the result is known, and not recorded yet"
        sender.recorded(KEY, "u1", sender.outcomes(KEY, "u1"))
        await settling
        sender.send(rollout, controller.rollout, controller.status, controller.now)
        assert len(receiver.requests) == 1, "nothing starts any more"


async def test_slow_receivers_of_one_namespace_delay_no_other(http: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """I10, I16"""
    open_ = asyncio.Event()
    sent = []

    async def post(_web: Web, url: str, _content: bytes, _headers: dict[str, str]) -> Outcome:
        sent.append(url)
        if "slow" in url:
            await open_.wait()
        return Outcome()

    monkeypatch.setattr("uniteddeployment_rollout.notifications.sender.post", post)
    sender = sending(http, Secrets(), lambda _: None)
    controller, rollout = waiting(url="http://slow")
    for number in range(100):
        metadata = RolloutMetadata(f"web-{number}", "crowded", uid=str(number))
        sender.send(StoredRollout(metadata, rollout.spec), controller.rollout, controller.status, controller.now)
    controller, rollout = waiting(url="http://other")
    sender.send(rollout, controller.rollout, controller.status, controller.now)
    await sender._running[(KEY, "u1", 1)]
    assert sorted(sent) == ["http://other", *["http://slow"] * 4]
    open_.set()
    await asyncio.gather(*sender._running.values())
    assert len(sent) == 101
    assert dict(sender._of_namespace) == {}


async def test_outcomes_of_a_deleted_rollout_are_forgotten(http: Web) -> None:
    async with receiving() as receiver:
        controller, rollout = waiting(url=receiver.url)
        sender = sending(http, Secrets(), lambda _: None)
        await outcome(sender, controller, rollout)
        assert sender.outcomes(KEY, "u2") == {}
        sender.recorded(KEY, "u2", {})
        assert sender.outcomes(KEY, "u1") == {}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (204, Outcome()),
        (302, Outcome("HTTP 302: redirects are not followed", permanent=True)),
        (404, Outcome("HTTP 404", permanent=True)),
        (429, Outcome("HTTP 429")),
        (503, Outcome("HTTP 503")),
    ],
)
async def test_the_answer_decides_whether_another_attempt_makes_sense(
    http: Web, status: int, expected: Outcome
) -> None:
    async with receiving() as receiver:
        receiver.status = status
        assert await post(http, f"{receiver.url}/{SECRET}", b"{}", {}) == expected
        assert len(receiver.requests) == 1


async def test_a_server_that_does_not_answer_ends_in_words_without_its_url(http: Web) -> None:
    async with receiving() as receiver:
        receiver.gate.clear()
        assert await post(http, f"{receiver.url}/{SECRET}", b"{}", {}, 0.05) == Outcome(
            "the server did not answer within 0.05 seconds"
        )
        closed = receiver.url
    unreachable = Outcome("the server cannot be reached: ConnectionRefusedError")
    assert await post(http, f"{closed}/{SECRET}", b"{}", {}) == unreachable
    invalid = await post(http, f"http://[{SECRET}/", b"{}", {})
    assert invalid == Outcome("the URL is invalid", permanent=True)


async def test_notifications_reach_no_link_local_address(http: Web) -> None:
    """Cloud providers serve the credentials of nodes there."""
    refused = Outcome("the server is a link-local address, which is not allowed", permanent=True)
    assert await post(http, f"http://169.254.169.254/{SECRET}", b"{}", {}) == refused


async def test_the_url_of_a_secret_is_used_and_never_shown(http: Web) -> None:
    async with receiving() as receiver:
        source = {"url": None, "urlFrom": {"secretKeyRef": {"name": "chat"}}}
        controller, rollout = waiting(**source)
        url = f"{receiver.url}/services/{SECRET}\n".encode()
        assert await outcome(sending(http, Secrets(chat=url), lambda _: None), controller, rollout) == Outcome()
        assert receiver.requests[0][0] == f"/services/{SECRET}"
        receiver.status = 500
        with capture_logs() as logs:
            failed = await outcome(sending(http, Secrets(chat=url), lambda _: None), controller, rollout)
        controller.outcomes = {1: Outcome(failed.problem, permanent=True)}
        controller.settle()
        texts = f"{failed} {logs} {dumped(controller.status)} {controller.events}"
        assert "HTTP 500" in texts
        assert SECRET not in texts


@pytest.mark.parametrize(
    ("secrets", "problem"),
    [
        ({}, "there is no Secret chat"),
        ({"chat": Forbidden(403, "Forbidden", SECRET)}, "the rollout controller may not get Secret chat; grant it"),
        ({"chat": Unreachable("host", SECRET)}, "Secret chat cannot be read at present"),
        ({"chat": f"postgres://{SECRET}".encode()}, "key url of Secret chat is not an HTTP URL"),
        ({"chat": f"http://user:{SECRET}@x/".encode()}, "key url of Secret chat is not an HTTP URL"),
        ({"chat": b"\xff\xfe"}, "key url of Secret chat is not an HTTP URL"),
        ({"chat": "=?"}, "key url of Secret chat is not an HTTP URL"),
    ],
)
async def test_a_secret_that_cannot_be_used_is_a_problem_in_words(
    http: Web, secrets: dict[str, Any], problem: str
) -> None:
    controller, rollout = waiting(url=None, urlFrom={"secretKeyRef": {"name": "chat"}})
    failed = await outcome(sending(http, Secrets(**secrets), lambda _: None), controller, rollout)
    assert failed.problem.startswith(problem)
    assert not failed.permanent
    assert SECRET not in failed.problem


async def test_a_key_that_a_secret_does_not_have_is_named(http: Web) -> None:
    controller, rollout = waiting(url=None, urlFrom={"secretKeyRef": {"name": "chat", "key": "other"}})
    failed = await outcome(sending(http, Secrets(chat=b"http://x"), lambda _: None), controller, rollout)
    assert failed.problem == "Secret chat has no key other"


async def test_an_unexpected_error_ends_one_attempt_and_nothing_else(http: Web) -> None:
    controller, rollout = waiting(url=None, urlFrom={"secretKeyRef": {"name": "chat"}})
    assert await outcome(sending(http, Broken(), lambda _: None), controller, rollout) == Outcome(
        "unexpected RuntimeError", permanent=True
    )


@pytest.mark.parametrize("name", ["slack", "teams"])
def test_the_samples_for_chats_are_valid_and_quote_texts_from_clusters(name: str) -> None:
    """Texts from clusters are plain text there, so they cannot mention people or add links."""
    rollout = parse_united_rollout(yaml.safe_load((SAMPLES / f"rollout-{name}.yaml").read_text()))
    assert validate_united_rollout(rollout) == ()
    (notification,) = rollout.spec.notifications
    assert notification.url_from is not None
    hostile = dict.fromkeys(notification_texts.TEXTS, '<!channel> "[x](http://y)')
    values: dict[str, str | int] = {**hostile, **dict.fromkeys(notification_texts.NUMBERS, 1)}
    body = json.loads(notification_texts.filled(notification.template, values))
    assert body
