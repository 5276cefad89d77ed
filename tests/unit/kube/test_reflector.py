"""The reflector: its copy is what the server has, whatever happens to streams, versions and single objects."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import structlog

from tests.support.narrowing import present
from tests.unit.kube.fakes import FakeTransport, Feed, json_answer, running, status_answer, thing, until
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.meta import ObjectMeta
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import Resource

THINGS = Resource("example.io", "v1", "things", "Thing")

pytestmark = pytest.mark.looptime


class Spec(msgspec.Struct):
    """A spec that not every object fits."""

    size: int = 0


class Thing(msgspec.Struct):
    """A narrow struct, as callers define them."""

    metadata: ObjectMeta
    spec: Spec = msgspec.field(default_factory=Spec)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with structlog.testing.capture_logs():
        yield


class World:
    """A reflector on a fake server, and everything that it told."""

    def __init__(self, **options: Any) -> None:
        self.transport = FakeTransport()
        self.told: list[tuple[str, str, int]] = []
        self.states: list[bool] = []
        self.synced = 0
        self.reflector = Reflector(
            Client(self.transport, "test"),
            THINGS,
            Thing,
            Cache[Thing](self.changed),
            on_synced=self.on_synced,
            on_state=self.states.append,
            chance=lambda: 0.5,
            **options,
        )

    def changed(self, old: Thing | None, new: Thing | None) -> None:
        what = "added" if old is None else "deleted" if new is None else "changed"
        one = new or old
        assert one is not None
        self.told.append((what, one.metadata.name, one.spec.size))

    def on_synced(self) -> None:
        self.synced += 1

    def feed(self, *things: dict[str, Any], version: int | None = None) -> Feed:
        """The next stream; with ``version`` it begins with a whole initial list."""
        feed = Feed()
        self.transport.feeds.append(feed)
        if things:
            feed.event("ADDED", *things)
        if version is not None:
            feed.bookmark(version, initial_end=True)
        return feed

    def names(self) -> list[str]:
        return sorted(name for _, name in self.reflector.cache.objects)


async def test_a_streaming_list_fills_the_copy_before_anything_is_told() -> None:
    world = World()
    feed = world.feed(thing("a", 1, size=1), thing("b", 2, size=2))
    async with running(world.reflector.run()):
        await feed.opened.wait()
        await until(lambda: world.reflector.last_contact is not None)
        assert world.told == []
        assert not world.reflector.synced.is_set()
        feed.bookmark(7, initial_end=True)
        await world.reflector.synced.wait()
        assert world.told == [("added", "a", 1), ("added", "b", 2)]
        assert world.names() == ["a", "b"]
        assert world.synced == 1
        assert world.reflector.connected
        assert world.reflector.resource_version == "7"
    assert world.transport.queries("watch")[0] == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "450",
    }
    assert world.states == [True, False]


async def test_changes_after_the_list_are_told_from_old_to_new() -> None:
    world = World()
    feed = world.feed(thing("a", 1, size=1), version=1)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        feed.event("MODIFIED", thing("a", 2, size=5)).event("ADDED", thing("b", 3)).event("DELETED", thing("a", 4))
        await until(lambda: len(world.told) == 4)
    assert world.told[1:] == [("changed", "a", 5), ("added", "b", 0), ("deleted", "a", 5)]
    assert world.names() == ["b"]


async def test_lines_may_be_cut_anywhere() -> None:
    world = World()
    feed = world.feed(thing("a", 1), version=1)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        line = msgspec.json.encode({"type": "ADDED", "object": thing("bé", 2)}) + b"\n"
        for byte in line + line.replace("bé".encode(), b"c"):
            feed.raw(bytes([byte]))
        await until(lambda: world.names() == ["a", "bé", "c"])


async def test_a_watch_that_ends_goes_on_from_the_last_version_or_bookmark() -> None:
    world = World()
    first, second, third = world.feed(thing("a", 1), version=5), world.feed(), world.feed()
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        first.event("MODIFIED", thing("a", 6)).end()
        await second.opened.wait()
        second.bookmark(90).end()
        await third.opened.wait()
        assert world.reflector.connected
    assert [query.get("resourceVersion") for query in world.transport.queries("watch")] == [None, "6", "90"]
    assert world.reflector.relists == 0
    assert world.states == [True, False]


async def test_deletions_missed_while_the_server_forgot_our_version_are_found_at_the_relist() -> None:
    """I9: a missed event ends in the same state."""
    world = World()
    first = world.feed(thing("a", 1), thing("b", 2), thing("c", 3, size=1), version=3)
    second = world.feed(thing("a", 1), thing("c", 9, size=2, uid="another"), thing("d", 8), version=9)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        world.told.clear()
        first.error(410, "Expired")
        await until(lambda: world.reflector.resource_version == "9")
        assert second.opened.is_set()
    assert sorted(world.told) == [("added", "d", 0), ("changed", "c", 2), ("deleted", "b", 0)]
    assert world.names() == ["a", "c", "d"]
    assert world.reflector.relists == 1
    assert world.synced == 1


async def test_a_410_as_an_answer_makes_it_list_again_too() -> None:
    world = World()
    first = world.feed(thing("a", 1), version=1)
    world.transport.feeds.append(Feed(410, {"kind": "Status", "code": 410, "reason": "Expired"}))
    world.feed(thing("b", 2), version=2)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        first.end()
        await until(lambda: world.names() == ["b"])


async def test_a_server_that_forgets_again_and_again_is_asked_with_growing_pauses() -> None:
    world = World()
    for version in range(1, 9):
        world.feed(thing("a", version), version=version).error(410, "Expired")
    last = world.feed(thing("a", 9), version=9)
    started = asyncio.get_running_loop().time()
    async with running(world.reflector.run()):
        await last.opened.wait()
        assert 10 < asyncio.get_running_loop().time() - started < 120


async def test_without_streaming_lists_it_pages() -> None:
    """Servers from before streaming lists answer 422."""
    world = World()
    refusal = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "sendInitialEvents: Forbidden"}
    world.transport.feeds.append(Feed(422, refusal))
    feed = world.feed()
    pages = iter(
        [
            {"metadata": {"resourceVersion": "5", "continue": "next"}, "items": [thing("a", 1)]},
            {"metadata": {"resourceVersion": "5"}, "items": [thing("b", 2)]},
        ]
    )
    world.transport.answer = lambda _: json_answer(next(pages))
    async with running(world.reflector.run()):
        await feed.opened.wait()
        assert world.names() == ["a", "b"]
    assert world.transport.queries("list") == [{"limit": "500"}, {"limit": "500", "continue": "next"}]
    assert world.transport.queries("watch")[1]["resourceVersion"] == "5"
    assert "sendInitialEvents" not in world.transport.queries("watch")[1]


async def test_pages_that_expire_on_the_way_are_followed_by_one_list_in_one_piece() -> None:
    world = World()
    world.transport.feeds.append(Feed(400, {"kind": "Status", "code": 400}))
    feed = world.feed()

    def answer(request: Any) -> Any:
        query = dict(request.query)
        if "continue" in query:
            return status_answer(410, "Expired")
        meta = {"resourceVersion": "5"}
        if "limit" in query:
            meta["continue"] = "x"
        return json_answer({"metadata": meta, "items": [thing("a", 1)]})

    world.transport.answer = answer
    async with running(world.reflector.run()):
        await feed.opened.wait()
    assert world.transport.queries("list")[-1] == {}
    assert world.names() == ["a"]


@pytest.mark.parametrize("silent", [True, False])
async def test_a_server_that_ignores_the_option_is_found_out(silent: bool) -> None:
    """It either falls silent after the objects or sends a bookmark that ends nothing."""
    world = World()
    stream = world.feed(thing("a", 1))
    if not silent:
        stream.bookmark(3)
    second = world.feed()
    world.transport.answer = lambda _: json_answer({"metadata": {"resourceVersion": "4"}, "items": [thing("a", 1)]})
    async with running(world.reflector.run()):
        await second.opened.wait()
        assert world.reflector.synced.is_set()
    assert world.told == [("added", "a", 0)]


async def test_one_object_that_does_not_decode_is_skipped_and_the_others_come_through() -> None:
    """I8, I10: what was known of it stays known; nobody else is delayed."""
    world = World()
    feed = world.feed(thing("a", 1, size=1), thing("odd", 2, size="large"), version=2)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        assert world.names() == ["a"]
        assert list(world.reflector.cache.undecodable) == [("ns", "odd")]
        with structlog.testing.capture_logs() as logs:
            feed.event("MODIFIED", thing("a", 3, size="huge"), thing("b", 4), thing("odd", 5, size="x"))
            feed.event("MODIFIED", thing("a", 6, size="huge"))
            await until(lambda: world.reflector.cache.undecodable_total == 4)
        assert [entry["object"] for entry in logs] == ["a"]
        assert present(world.reflector.cache.objects["ns", "a"]).spec.size == 1
        assert world.names() == ["a", "b"]
        assert world.reflector.resource_version == "6"
        feed.event("MODIFIED", thing("a", 7, size=2)).event("DELETED", thing("odd", 8, size="x"))
        await until(lambda: not world.reflector.cache.undecodable)
        feed.event("MODIFIED", thing("b", 9, size=[])).event("DELETED", thing("b", 10, size=[]))
        await until(lambda: world.names() == ["a"])
    assert world.told[-2:] == [("changed", "a", 2), ("deleted", "b", 0)]


async def test_an_object_that_does_not_decode_at_a_relist_is_not_taken_for_deleted() -> None:
    """I7, I8: unknown is not gone."""
    world = World()
    first = world.feed(thing("a", 1, size=1), version=1)
    world.feed(thing("a", 2, size="?"), version=2)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        first.error(410, "Expired")
        await until(lambda: world.reflector.resource_version == "2")
    assert world.told == [("added", "a", 1)]
    assert present(world.reflector.cache.objects["ns", "a"]).spec.size == 1


async def test_a_half_open_stream_is_left_after_the_idle_time() -> None:
    world = World(idle_timeout=90)
    first, second = world.feed(thing("a", 1), version=5), world.feed()
    started = asyncio.get_running_loop().time()
    async with running(world.reflector.run()):
        await second.opened.wait()
        assert asyncio.get_running_loop().time() - started == pytest.approx(90)
        assert first.closed.is_set()
    assert world.transport.queries("watch")[1]["resourceVersion"] == "5"


async def test_an_unreachable_server_leaves_the_copy_and_says_so() -> None:
    """I8: what an unreachable member last said is kept."""
    world = World()
    first = world.feed(thing("a", 1), version=1)
    world.transport.feeds.extend([Unreachable("test", "refused")] * 4)
    again = world.feed()
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        first.fail(Unreachable("test", "the server closed the connection"))
        await until(lambda: not world.reflector.connected)
        assert "closed the connection" in world.reflector.last_error
        assert world.names() == ["a"]
        await again.opened.wait()
        await until(lambda: world.reflector.connected)
        assert world.reflector.last_error == ""
    assert world.states == [True, False, True, False]


async def test_whoever_knows_that_the_server_is_back_can_cut_the_pause_short() -> None:
    world = World(backoff=Backoff(first=3600, longest=3600, chance=lambda: 0.5))
    world.transport.feeds.append(Unreachable("test", "refused"))
    world.feed(version=1)
    started = asyncio.get_running_loop().time()
    async with running(world.reflector.run()):
        await until(lambda: world.reflector.last_error)
        world.reflector.retry_now()
        await world.reflector.synced.wait()
        assert asyncio.get_running_loop().time() - started < 1


async def test_a_watch_that_ends_at_once_does_not_spin() -> None:
    world = World()
    world.feed(version=1).end()
    for _ in range(6):
        world.feed().end()
    last = world.feed()
    started = asyncio.get_running_loop().time()
    async with running(world.reflector.run()):
        await last.opened.wait()
        assert asyncio.get_running_loop().time() - started > 10


async def test_a_failing_listener_hides_nothing_from_itself() -> None:
    world = World()
    calls: list[str] = []

    def listener(old: Thing | None, new: Thing | None) -> None:
        assert new is not None
        calls.append(new.metadata.name)
        raise RuntimeError("a mistake")

    reflector = Reflector(Client(world.transport, "test"), THINGS, Thing, Cache[Thing](listener))
    world.feed(thing("a", 1), thing("b", 2), version=2)
    async with running(reflector.run()):
        await reflector.synced.wait()
    assert calls == ["a", "b"]
    assert sorted(reflector.cache.objects) == [("ns", "a"), ("ns", "b")]


async def test_a_stream_that_lost_its_place_is_opened_anew() -> None:
    world = World()
    first, second = world.feed(thing("a", 1), version=3), world.feed()
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        first.raw(b"<html>proxy error</html>\n")
        await second.opened.wait()
    assert world.transport.queries("watch")[1]["resourceVersion"] == "3"


async def test_selectors_and_namespace_go_to_the_server() -> None:
    world = World(namespace="prod", label_selector="a=b", field_selector="metadata.name=x")
    world.feed(version=1)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
    request = world.transport.requests[0]
    assert request.path == "/apis/example.io/v1/namespaces/prod/things"
    assert ("labelSelector", "a=b") in request.query
    assert ("fieldSelector", "metadata.name=x") in request.query


async def test_every_state_is_seen_also_those_that_are_replaced_before_the_list_is_complete() -> None:
    """I9: some states last for milliseconds and mean something; ``on_change`` tells the last one of a list only."""
    seen: list[tuple[str, int]] = []
    world = World(on_seen=lambda one: seen.append((one.metadata.name, one.spec.size)))
    feed = world.feed(thing("a", 1, size=1))
    feed.event("MODIFIED", thing("a", 2, size=2)).bookmark(2, initial_end=True)
    feed.event("MODIFIED", thing("a", 3, size=3), thing("a", 4, size=4)).event("DELETED", thing("a", 5, size=5))
    async with running(world.reflector.run()):
        await until(lambda: len(seen) == 5)
    assert seen == [("a", size) for size in range(1, 6)]
    assert world.told == [("added", "a", 2), ("changed", "a", 3), ("changed", "a", 4), ("deleted", "a", 4)]


async def test_pages_are_seen_as_well() -> None:
    """I9: also where the server has no streaming lists."""
    seen: list[str] = []
    world = World(on_seen=lambda one: seen.append(one.metadata.name))
    world.transport.feeds.append(Feed(400, {"kind": "Status", "code": 400, "reason": "BadRequest"}))
    page = {"metadata": {"resourceVersion": "7"}, "items": [thing("a", 1), thing("b", 2)]}
    world.transport.answer = lambda _: json_answer(page)
    async with running(world.reflector.run()):
        await until(lambda: world.synced)
    assert seen == ["a", "b"]


async def test_a_list_that_replaces_the_copy_can_be_prevented() -> None:
    """I14: another server may answer under the address by then, and its list says nothing about what is known."""
    asked: list[str] = []

    async def before_list() -> None:
        asked.append("asked")
        if len(asked) < 3:
            raise Unreachable("test", "another server")

    world = World(before_list=before_list)
    feed = world.feed(thing("a", 1, size=1), version=1)
    async with running(world.reflector.run()):
        await until(lambda: world.synced)
        assert asked == [], "the first list replaces nothing"
        other = world.feed(version=9)
        feed.error(410, "Expired")
        await until(lambda: len(asked) == 2)
        assert world.names() == ["a"]
        assert not other.opened.is_set()
        await until(lambda: world.names() == [])
        assert len(asked) == 3


async def test_an_answer_from_before_a_bookmark_is_outdated() -> None:
    """I9: the watch has shown everything up to the bookmark, so an object that is not there was deleted."""
    world = World()
    feed = world.feed(version=1)
    async with running(world.reflector.run()):
        await world.reflector.synced.wait()
        feed.bookmark(90)
        await until(lambda: world.reflector.resource_version == "90")
        late = Thing(metadata=ObjectMeta(name="a", namespace="ns", uid="uid-a", resource_version="80"))
        assert not world.reflector.cache.merge(late)
