"""What a server sends too much of, or in a form that nobody can read, and what the reflector makes of it (I16)."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import structlog

from tests.unit.kube.fakes import FakeTransport, Feed, json_answer, running, thing, until
from uniteddeployment.kube import client as client_module
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Malformed, TooLarge
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.reflector import STEADY_SECONDS, Reflector
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import Resource
from uniteddeployment.kube.snapshot import MOST_UNDECODABLE

THINGS = Resource("example.io", "v1", "things", "Thing")

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as found:
        yield found


class World:
    """A reflector that keeps three things, on a fake server."""

    def __init__(self, most: int | None = 3) -> None:
        self.transport = FakeTransport()
        self.states: list[bool] = []
        self.reflector = Reflector(
            Client(self.transport, "test"),
            THINGS,
            PartialObject,
            Cache(most=most),
            on_state=self.states.append,
            chance=lambda: 0.5,
        )

    def feed(self, *names: str, listed: bool = True) -> Feed:
        feed = Feed()
        self.transport.feeds.append(feed)
        if names:
            feed.event("ADDED", *[thing(name, 1) for name in names])
        return feed.bookmark(9, initial_end=True) if listed else feed

    def names(self) -> list[str]:
        return sorted(name for _, name in self.reflector.cache.objects)


async def test_a_list_with_too_many_objects_is_not_kept_and_not_asked_for_again_at_once() -> None:
    world = World()
    world.feed("a", "b", "c", "d")
    second = world.feed("a", "b", "c")
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.trouble)
        assert "more than 3 objects" in str(world.reflector.trouble)
        assert world.reflector.cache.objects == {}
        world.reflector.retry_now()
        assert not second.opened.is_set()
        await world.reflector.synced.wait()
        assert world.names() == ["a", "b", "c"]
        assert world.reflector.trouble is None


async def test_a_change_that_makes_too_many_objects_leaves_the_copy_as_it_is_until_there_is_a_list() -> None:
    """I8: deletions that come after it would never be seen, so a list has to follow."""
    world = World()
    first = world.feed("a", "b", "c")
    world.feed("a", "d")
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        first.event("ADDED", thing("d", 10))
        await until(lambda: not world.reflector.connected)
        assert world.names() == ["a", "b", "c"]
        await asyncio.sleep(400)
        assert world.names() == ["a", "d"]


async def test_pages_with_too_many_objects_are_not_kept() -> None:
    world = World()
    world.transport.feeds.append(Feed(400, {"kind": "Status", "code": 400}))
    listed = {"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [thing("a", 1), thing("b", 1)]}
    numbers = iter(range(10**6))

    def answer(_: Request) -> Any:
        number = next(numbers)
        return json_answer({**listed, "items": [thing(f"{number}", 1), thing(f"{number}-b", 1)]})

    world.transport.answer = answer
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.trouble)
        assert "more than 3 objects" in str(world.reflector.trouble)
    assert next(numbers) == 2, "the list is given up as soon as it is too long"


@pytest.mark.parametrize("listed", [True, False])
async def test_too_many_objects_that_cannot_be_read_are_an_error_and_look_not_deleted(listed: bool) -> None:
    """I7: an object of which nobody knows any more that it could not be read would count as gone."""
    world = World(most=10**6)
    feed = world.feed("a", listed=not listed)
    odd = [
        {"metadata": {"name": f"odd-{n}", "resourceVersion": "x" * 1000, "labels": 5}} for n in range(MOST_UNDECODABLE)
    ]
    feed.event("ADDED", *odd)
    async with running(world.reflector.run()):
        await until(feed._chunks.empty)
        assert world.reflector.trouble is None
        feed.event("ADDED", {"metadata": {"name": "one-more", "labels": 5}})
        await until(lambda: world.reflector.trouble)
        assert "cannot be decoded" in str(world.reflector.trouble)
        assert len(world.reflector.cache.undecodable) <= MOST_UNDECODABLE
        assert world.names() == ([] if listed else ["a"])


async def test_the_host_has_no_such_limits() -> None:
    """A user who may create objects there must not end the work on those of others."""
    world = World(most=None)
    feed = world.feed("a")
    feed.event("ADDED", *[{"metadata": {"name": f"odd-{n}", "labels": 5}} for n in range(MOST_UNDECODABLE + 5)])
    feed.event("ADDED", thing("b", 12))
    async with running(world.reflector.run()):
        await until(lambda: world.names() == ["a", "b"])
        assert world.reflector.trouble is None


async def test_objects_that_cannot_be_read_do_not_fill_the_log(logs: list[Any]) -> None:
    world = World(most=None)
    feed = world.feed("a")
    for number in range(3000):
        feed.event("MODIFIED", {"metadata": {"name": f"odd-{number % 7}", "labels": 5}})
        feed.event("MODIFIED", thing(f"odd-{number % 7}", number + 10))
    async with running(world.reflector.run()):
        await until(feed._chunks.empty, 100_000)
    assert world.reflector.cache.undecodable_total == 3000
    assert len(logs) < 120


async def test_one_object_that_is_nested_too_deep_hides_no_other_one() -> None:
    world = World()
    feed = world.feed("a")
    deep = b"[" * 5000 + b"]" * 5000
    feed.raw(b'{"type":"ADDED","object":{"metadata":{"name":"b","uid":%s}}}\n' % deep)
    feed.event("ADDED", thing("c", 11))
    async with running(world.reflector.run()):
        await until(lambda: world.names() == ["a", "c"])
        assert list(world.reflector.cache.undecodable) == [("", "b")]


async def test_an_error_that_nobody_foresaw_is_a_failure_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    first = world.feed("a")
    world.feed("a", "b")
    async with running(world.reflector.run()) as task:
        await world.reflector.synced.wait()
        take = world.reflector.cache.take

        def fails(_: object) -> None:
            monkeypatch.setattr(world.reflector.cache, "take", take)
            raise ZeroDivisionError("a secret")

        monkeypatch.setattr(world.reflector.cache, "take", fails)
        first.event("ADDED", thing("c", 10))
        await until(lambda: not world.reflector.connected)
        assert str(world.reflector.trouble) == "internal error: ZeroDivisionError"
        await until(lambda: world.names() == ["a", "b"])
        assert not task.done()


async def test_a_watch_that_fails_each_time_it_is_opened_is_not_steady_in_between() -> None:
    world = World()
    first = world.feed("a")
    first.raw(b"garbage\n")
    for _ in range(20):
        world.feed(listed=False).raw(b"garbage\n")
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        await until(lambda: world.reflector.failing_for > 30)
        assert not world.reflector.steady
        assert "not an event" in str(world.reflector.trouble)
        quiet = world.feed(listed=False)
        world.transport.feeds.clear()
        world.transport.feeds.append(quiet)
        await quiet.opened.wait()
        assert not world.reflector.steady
        await until(lambda: world.reflector.steady)
        assert world.reflector.failing_for == 0.0
        assert world.reflector._now() - world.reflector._opened > STEADY_SECONDS


async def test_a_page_that_is_too_large_is_asked_for_with_fewer_objects() -> None:
    """Large objects of some users must not hide those of others."""
    asked: list[str] = []

    def answer(request: Request) -> Any:
        limit = dict(request.query)["limit"]
        asked.append(limit)
        if int(limit) > 5:
            raise TooLarge("test", "list things", request.max_bytes)
        first = "continue" not in dict(request.query)
        meta = {"resourceVersion": "5", "continue": "more" if first else ""}
        return json_answer({"metadata": meta, "items": [thing("a" if first else "b", 1)]})

    client = Client(FakeTransport(answer), "test")
    found = await client.list_all(THINGS, PartialObject)
    assert [one.metadata.name for one in found] == ["a", "b"]
    assert asked == ["500", "50", "5", "5"]


async def test_an_object_that_is_too_large_for_a_page_of_its_own_is_an_error() -> None:
    def answer(request: Request) -> Any:
        raise TooLarge("test", "list things", request.max_bytes)

    with pytest.raises(TooLarge, match="larger than 32768 KiB"):
        await Client(FakeTransport(answer), "test").list_all(THINGS, PartialObject)


async def test_a_list_that_goes_on_without_objects_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_MOST_EMPTY_PAGES", 5)
    page = json_answer({"metadata": {"continue": "more"}, "items": []})
    transport = FakeTransport(lambda _: page)
    with pytest.raises(Malformed, match="too many empty pages"):
        await Client(transport, "test").list_all(THINGS, PartialObject)
    assert len(transport.requests) == 6


async def test_a_continue_token_that_would_make_a_request_of_megabytes_is_refused() -> None:
    page = json_answer({"metadata": {"continue": "x" * 10_000}, "items": []})
    with pytest.raises(Malformed, match="continue token"):
        await Client(FakeTransport(lambda _: page), "test").list_all(THINGS, PartialObject)


async def test_the_refusal_of_a_watch_is_read_up_to_a_size_and_a_time() -> None:
    endless = Feed(500)
    for _ in range(100):
        endless.raw(b"x" * 10_000)
    silent = Feed(503)
    silent.raw(msgspec.json.encode({"message": "busy"}))
    transport = FakeTransport()
    transport.feeds.extend([endless, silent])
    client = Client(transport, "test", timeout=3)
    for words in ("HTTP 500", "busy"):
        with pytest.raises(Exception, match=words):
            async with client.stream(Request("GET", "/x")):
                raise AssertionError("it was refused")
    assert not endless._chunks.empty(), "the rest was never read"


async def test_an_answer_that_cannot_be_read_leaves_the_circuit_as_it_is() -> None:
    """I10: otherwise the one request that is let through would be the last forever."""
    answers = iter([TooLarge("test", "x", 1), *[json_answer({})] * 3])

    def answer(_: Request) -> Any:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    client = Client(FakeTransport(answer), "test")
    client.circuit._openings, client.circuit._until = 1, 0.0
    with pytest.raises(TooLarge):
        await client.get(THINGS, "a", PartialObject, namespace="ns")
    await client.get(THINGS, "a", PartialObject, namespace="ns")
    assert not client.circuit.open
