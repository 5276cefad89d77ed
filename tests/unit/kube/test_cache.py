"""A cache holds the newest known state of each object, whatever the order in which events, lists and answers come."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from tests.support.narrowing import now
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.errors import TooMany
from uniteddeployment.kube.index import Index
from uniteddeployment.kube.meta import ObjectMeta, PartialObject
from uniteddeployment.kube.snapshot import Snapshot
from uniteddeployment.kube.watch import ADDED, DELETED, MODIFIED, Change, Key

KEY = ("ns", "a")


def thing(version: int | str, name: str = "a", *, uid: str = "uid-1", label: str = "x") -> PartialObject:
    meta = ObjectMeta(name=name, namespace="ns", uid=uid, resource_version=str(version), labels={"group": label})
    return PartialObject(metadata=meta)


class Listened:
    """A cache with an index, and the changes that its listener was called with."""

    def __init__(self, **options: Any) -> None:
        self.changes: list[tuple[str | None, str | None]] = []
        self.index: Index[str, PartialObject] = Index(lambda one: (one.metadata.labels or {})["group"])
        self.cache: Cache[PartialObject] = Cache(self._changed, indexes=(self.index,), **options)

    def _changed(self, old: PartialObject | None, new: PartialObject | None) -> None:
        versions = [None if one is None else one.metadata.resource_version for one in (old, new)]
        self.changes.append((versions[0], versions[1]))

    def sees(self, kind: str, *states: PartialObject) -> None:
        self.cache.take([Change(kind, state) for state in states])

    def lists(self, version: int, *states: PartialObject) -> None:
        listed: Snapshot[PartialObject] = Snapshot(version=str(version))
        for state in states:
            listed.put(state)
        self.cache.replace(listed)

    @property
    def version(self) -> str | None:
        cached = self.cache.get(KEY)
        return None if cached is None else cached.metadata.resource_version


def test_a_change_that_a_watch_shows_is_stored_and_reported() -> None:
    world = Listened()
    world.sees(ADDED, thing(1))
    world.sees(MODIFIED, thing(2))
    world.sees(DELETED, thing(3))
    assert world.changes == [(None, "1"), ("1", "2"), ("2", None)]
    assert world.cache.objects == {}


def test_an_answer_is_stored_and_not_reported_and_neither_is_its_event() -> None:
    """I3: our own write wakes nobody up."""
    world = Listened()
    world.sees(ADDED, thing(1))
    world.changes.clear()
    assert world.cache.merge(thing(5))
    world.sees(MODIFIED, thing(5))
    assert world.changes == []
    assert world.version == "5"


def test_events_from_before_an_answer_change_nothing_and_those_after_it_do() -> None:
    """I9"""
    world = Listened()
    world.sees(ADDED, thing(1))
    world.cache.merge(thing(5))
    world.sees(MODIFIED, thing(3), thing(4))
    assert world.version == "5"
    world.sees(MODIFIED, thing(6))
    assert world.version == "6"
    assert world.changes == [(None, "1"), ("5", "6")]


@pytest.mark.parametrize("version", [5, 6])
def test_an_answer_that_is_not_newer_is_not_stored(version: int) -> None:
    """It comes after the event of its own write, or after that of a later one."""
    world = Listened()
    world.sees(ADDED, thing(6))
    assert not world.cache.merge(thing(version))
    assert world.version == "6"


def test_an_answer_from_before_a_deletion_brings_nothing_back() -> None:
    """I9"""
    world = Listened()
    world.sees(ADDED, thing(5))
    world.sees(DELETED, thing(7))
    assert not world.cache.merge(thing(6))
    assert world.version is None


def test_an_answer_from_before_a_deletion_that_only_a_list_shows_brings_nothing_back() -> None:
    world = Listened()
    world.sees(ADDED, thing(5))
    world.lists(8)
    assert not world.cache.merge(thing(6))
    assert world.version is None


def test_an_object_can_come_back_with_its_uid() -> None:
    """A watch with a label selector sends DELETED when the label is removed, and ADDED when it is back."""
    world = Listened()
    world.sees(ADDED, thing(5))
    world.sees(DELETED, thing(7))
    assert world.cache.merge(thing(8))
    assert world.version == "8"


def test_an_answer_whose_order_is_not_known_waits_for_its_event() -> None:
    """Resource versions that are no numbers cannot be compared; a stale state would stay until the next change."""
    world = Listened()
    world.sees(ADDED, thing("abc"))
    assert not world.cache.merge(thing("xyz"))
    world.sees(MODIFIED, thing("xyz"))
    assert world.version == "xyz"


def test_an_answer_from_before_a_bookmark_brings_nothing_back() -> None:
    """The watch has shown everything up to the bookmark, also that an object was created and deleted."""
    world = Listened()
    world.cache.caught_up("9")
    assert not world.cache.merge(thing(8))
    assert world.cache.merge(thing(10))


def test_an_answer_from_after_a_deletion_outlives_the_event_of_that_deletion() -> None:
    world = Listened()
    world.sees(ADDED, thing(5))
    world.cache.merge(thing(8))
    world.sees(DELETED, thing(7))
    assert world.version == "8"


def test_the_events_of_a_namesake_that_was_deleted_before_do_not_touch_what_an_answer_shows() -> None:
    """We delete an object and create another with its name; both answers come before all events."""
    world = Listened()
    world.sees(ADDED, thing(5))
    world.cache.merge(thing(9, uid="uid-2"))
    world.sees(MODIFIED, thing(6))
    world.sees(DELETED, thing(7))
    cached = world.cache.get(KEY)
    assert cached is not None
    assert (cached.metadata.uid, world.version) == ("uid-2", "9")


def test_a_list_does_not_remove_what_was_created_after_it_was_made() -> None:
    world = Listened()
    world.cache.merge(thing(9))
    world.lists(8)
    assert now(world.version) == "9"
    world.lists(10)
    assert world.version is None
    assert world.changes == [("9", None)]


def test_a_list_does_not_replace_what_was_written_after_it_was_made() -> None:
    world = Listened()
    world.sees(ADDED, thing(5))
    world.cache.merge(thing(9))
    world.lists(8, thing(5))
    assert world.version == "9"


def test_a_list_goes_before_events_whatever_the_versions_are() -> None:
    """An API server whose data was restored from a backup counts on from an earlier version."""
    world = Listened()
    world.sees(ADDED, thing(500), thing(501, "b"))
    world.lists(300, thing(250))
    assert world.version == "250"
    assert list(world.cache.objects) == [KEY]
    world.sees(MODIFIED, thing(301))
    assert world.version == "301"


def test_a_list_that_shows_nothing_new_keeps_the_objects_that_are_cached() -> None:
    """Others refer to them, so new copies would be kept beside them. I3: and nobody is called."""
    world = Listened()
    world.sees(ADDED, thing(5))
    before = world.cache.get(KEY)
    world.lists(8, thing(5))
    assert world.cache.get(KEY) is before
    assert world.changes == [(None, "5")]


def test_a_list_is_complete_before_the_listener_is_called() -> None:
    seen: list[tuple[int, int]] = []
    index: Index[str, PartialObject] = Index(lambda one: (one.metadata.labels or {})["group"])
    cache: Cache[PartialObject] = Cache(
        lambda _old, _new: seen.append((len(cache.objects), len(index.keys("x")))), indexes=(index,)
    )
    cache.take([Change(ADDED, thing(1))])
    listed: Snapshot[PartialObject] = Snapshot(version="9")
    for name in "bcd":
        listed.put(thing(5, name))
    cache.replace(listed)
    assert seen == [(1, 1), *[(3, 3)] * 4]


def test_an_amended_copy_stays_until_there_is_a_newer_state() -> None:
    """For a deletion that was requested: the event of an earlier write must not hide it."""
    world = Listened()
    world.sees(ADDED, thing(4))
    world.cache.merge(thing(5))
    world.cache.amend(KEY, thing(5, label="going"))
    world.sees(MODIFIED, thing(5))
    world.lists(5, thing(5))
    assert list(world.index.keys("going")) == [KEY]
    world.sees(MODIFIED, thing(6))
    assert not world.index.keys("going")


def test_what_a_request_has_shown_to_be_gone_is_removed_and_can_come_back() -> None:
    world = Listened()
    world.sees(ADDED, thing(4))
    world.changes.clear()
    world.cache.discard(KEY)
    world.cache.discard(KEY)
    assert world.version is None
    assert not world.index.keys("x")
    world.sees(DELETED, thing(5))
    assert world.changes == []
    world.sees(ADDED, thing(6, uid="uid-2"))
    assert world.version == "6"


def test_an_object_that_cannot_be_decoded_keeps_its_last_good_state_until_it_is_deleted() -> None:
    """I8"""
    world = Listened()
    world.sees(ADDED, thing(4))
    with structlog.testing.capture_logs():
        world.cache.skip(MODIFIED, KEY, "5", "spec: expected an object")
        assert now(world.version) == "4"
        assert world.cache.undecodable == {KEY: "spec: expected an object"}
        world.cache.skip(DELETED, KEY, "6", "spec: expected an object")
    assert world.version is None
    assert world.cache.undecodable == {}
    assert not world.cache.merge(thing(5))


def test_a_deletion_that_cannot_be_decoded_does_not_remove_a_later_answer() -> None:
    world = Listened()
    world.sees(ADDED, thing(4))
    world.cache.merge(thing(9))
    world.cache.skip(DELETED, KEY, "6", "spec: expected an object")
    assert world.version == "9"


def test_objects_are_adapted_wherever_they_come_from() -> None:
    def named(one: PartialObject) -> PartialObject:
        return PartialObject(kind="Thing", metadata=one.metadata)

    world = Listened(adapt=named)
    world.sees(ADDED, thing(1))
    world.cache.merge(thing(2, "b"))
    world.lists(3, thing(1), thing(2, "b"), thing(3, "c"))
    assert {one.kind for one in world.cache.objects.values()} == {"Thing"}


def test_the_index_follows_objects_from_group_to_group() -> None:
    world = Listened()
    world.sees(ADDED, thing(1), thing(2, "b"))
    world.sees(MODIFIED, thing(3, label="y"))
    assert (list(world.index.keys("x")), list(world.index.keys("y"))) == ([("ns", "b")], [KEY])
    assert world.cache.select(world.index.keys("y")) == [thing(3, label="y")]
    world.sees(DELETED, thing(4, "b"))
    assert "x" not in world.index


def test_events_do_not_add_more_objects_than_there_may_be() -> None:
    """I16"""
    world = Listened(most=2)
    world.sees(ADDED, thing(1), thing(2, "b"))
    world.sees(MODIFIED, thing(3))
    with pytest.raises(TooMany, match="more than 2 objects"):
        world.sees(ADDED, thing(4, "c"))
    assert len(world.cache.objects) == 2


@dataclass
class Server:
    """An API server with three names; it remembers every event, and every answer that is still on its way."""

    version: int = 0
    objects: dict[str, PartialObject] = field(default_factory=dict)
    events: list[Change[PartialObject]] = field(default_factory=list)
    answers: list[PartialObject] = field(default_factory=list)
    uids: int = 0

    def write(self, name: str) -> None:
        """Create or change an object. The answer may come at any time, or never."""
        self.version += 1
        old = self.objects.get(name)
        self.uids += old is None
        state = thing(self.version, name, uid=f"uid-{self.uids}" if old is None else old.metadata.uid)
        self.objects[name] = state
        self.events.append(Change(ADDED if old is None else MODIFIED, state))
        self.answers.append(state)

    def delete(self, name: str) -> None:
        old = self.objects.pop(name, None)
        if old is not None:
            self.version += 1
            self.events.append(Change(DELETED, thing(self.version, name, uid=old.metadata.uid)))

    def listed(self) -> Snapshot[PartialObject]:
        listed: Snapshot[PartialObject] = Snapshot(version=str(self.version))
        for state in self.objects.values():
            listed.put(state)
        return listed


ACTIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from("abc")),
    st.tuples(st.just("delete"), st.sampled_from("abc")),
    st.tuples(st.just("answer"), st.integers(0, 5)),
    st.tuples(st.just("events"), st.integers(1, 4)),
    st.tuples(st.just("list"), st.integers(0, 3)),
)


@given(st.lists(ACTIONS, max_size=40))
def test_whatever_comes_when_the_cache_ends_with_the_state_of_the_server(actions: list[tuple[str, Any]]) -> None:
    """I9. Events come in order; answers come early, late or never; a list may take time and miss what is written then.

    What is cached never goes back to an earlier version, but for what a deletion removes.
    """
    server, world = Server(), Listened()
    seen = 0
    """How many events the watch has delivered."""
    for action, value in actions:
        before: dict[Key, PartialObject] = dict(world.cache.objects)
        match action:
            case "write":
                server.write(value)
            case "delete":
                server.delete(value)
            case "answer" if server.answers:
                world.cache.merge(server.answers.pop(value % len(server.answers)))
            case "events":
                world.cache.take(server.events[seen : seen + value])
                seen = min(seen + value, len(server.events))
            case "list":
                listed, events = server.listed(), len(server.events)
                for name in "abc"[:value]:
                    server.write(name)
                    world.cache.merge(server.answers.pop())
                world.cache.replace(listed)
                seen = events
        for key, state in world.cache.objects.items():
            known = before.get(key)
            assert known is None or int(known.metadata.resource_version) <= int(state.metadata.resource_version)
    world.cache.take(server.events[seen:])
    for answer in server.answers:
        world.cache.merge(answer)
    assert {key[1]: state for key, state in world.cache.objects.items()} == server.objects
    assert set(world.index.keys("x")) == set(world.cache.objects)
