"""Optional resources: a server that does not have one is asked again after minutes, and nobody waits for it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import structlog

from tests.support.narrowing import now, present
from tests.unit.kube.fakes import FakeTransport, Feed, running, status_answer, thing, until
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden, NotFound
from uniteddeployment.kube.meta import ObjectMeta
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import Resource

THINGS = Resource("example.io", "v1", "things", "Thing")

pytestmark = pytest.mark.looptime


class Thing(msgspec.Struct):
    """A narrow struct."""

    metadata: ObjectMeta


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with structlog.testing.capture_logs():
        yield


class World:
    """An optional reflector on a fake server, and what it told."""

    def __init__(self, **options: Any) -> None:
        self.transport = FakeTransport()
        self.told: list[str] = []
        self.answers = 0
        self.reflector = Reflector(
            Client(self.transport, "test"),
            THINGS,
            Thing,
            Cache(lambda old, new: self.told.append((present(new or old)).metadata.name)),
            on_synced=self.answered,
            chance=lambda: 0.5,
            **{"optional": True, **options},
        )

    def answered(self) -> None:
        self.answers += 1

    def refuse(self, code: int, reason: str) -> None:
        body = status_answer(code, reason)
        self.transport.feeds.append(Feed(code, msgspec.json.decode(body.body)))

    def serve(self, *names: str) -> Feed:
        feed = Feed()
        for version, name in enumerate(names, 1):
            feed.event("ADDED", thing(name, version))
        feed.bookmark(len(names) + 1, initial_end=True)
        self.transport.feeds.append(feed)
        return feed


async def test_what_is_not_served_is_an_answer_and_is_asked_for_again_after_minutes() -> None:
    world = World()
    world.refuse(404, "NotFound")
    world.serve("a")
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.settled)
        assert isinstance(now(world.reflector.refusal), NotFound)
        assert world.answers == 1
        assert not world.reflector.synced.is_set()
        await asyncio.sleep(250)
        assert len(world.transport.requests) == 1
        await asyncio.sleep(60)
        assert world.reflector.synced.is_set()
        assert world.reflector.refusal is None
        assert world.told == ["a"]


async def test_it_can_be_asked_at_once() -> None:
    world = World()
    world.refuse(404, "NotFound")
    world.serve("a")
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.refusal)
        world.reflector.retry_now()
        await until(lambda: world.told == ["a"])


async def test_without_the_right_to_it_one_request_finds_out() -> None:
    """A server refuses before it looks whether it serves; paging would be refused as well."""
    world = World()
    world.refuse(403, "Forbidden")
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.settled)
        assert isinstance(world.reflector.refusal, Forbidden)
        await asyncio.sleep(100)
        assert len(world.transport.requests) == 1


async def test_what_is_no_longer_served_is_kept_until_there_is_a_list_again() -> None:
    """I8, I9: nothing counts as deleted because a server does not serve it for a moment."""
    world = World()
    world.serve("a", "b").end()
    world.refuse(404, "NotFound")
    world.serve("b")
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.refusal)
        assert sorted(name for _, name in world.reflector.cache.objects) == ["a", "b"]
        world.reflector.retry_now()
        await until(lambda: world.reflector.refusal is None)
        assert [name for _, name in world.reflector.cache.objects] == ["b"]
        assert "sendInitialEvents" in dict(world.transport.requests[-1].query)


async def test_another_failure_is_retried_soon_and_is_an_answer_too() -> None:
    world = World()
    world.refuse(500, "InternalError")
    world.serve("a")
    async with running(world.reflector.run()):
        await until(lambda: world.answers)
        assert world.reflector.settled
        assert world.reflector.refusal is None
        await asyncio.sleep(5)
        assert world.told == ["a"]


async def test_what_every_server_has_is_waited_for() -> None:
    world = World(optional=False)
    world.refuse(404, "NotFound")
    world.serve("a")
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.last_error)
        assert not world.reflector.settled
        assert world.reflector.refusal is None
        await asyncio.sleep(5)
        assert world.reflector.settled
