"""The store: one counter, shared decoded objects, indexes, a history that can be read backwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.storage.store import Event, HistoryGoneError, HistoryLimits, Store, Table


def make(limits: HistoryLimits | None = None, now: list[float] | None = None) -> tuple[Store, Table]:
    time = now if now is not None else [0.0]
    store = Store(monotonic=lambda: time[0], limits=limits)
    return store, store.table("configmaps", lambda stored: {"kind": "ConfigMap", "apiVersion": "v1", **stored})


def obj(name: str, namespace: str = "ns", owner: str = "", **data: str) -> Obj:
    metadata: Obj = {"name": name, "namespace": namespace}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner}]
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


def put(store: Store, table: Table, new: Obj) -> Obj:
    key = (new["metadata"]["namespace"], new["metadata"]["name"])
    return store.replace(table, key, new) if key in table.entries else store.create(table, key, new)


def test_every_commit_gets_a_higher_version_and_lists_are_newer_than_objects() -> None:
    store, table = make()
    first = put(store, table, obj("a"))
    second = put(store, table, obj("b"))
    assert int(first["metadata"]["resourceVersion"]) < int(second["metadata"]["resourceVersion"]) < store.rv


def test_stored_bytes_leave_out_what_the_table_knows() -> None:
    store, table = make()
    put(store, table, obj("a", k="v"))
    entry = table.entries["ns", "a"]
    assert b"apiVersion" not in entry.raw
    assert b'"kind"' not in entry.raw
    assert store.obj(table, entry)["kind"] == "ConfigMap"


def test_entries_are_sorted_and_a_namespace_is_a_range_of_them() -> None:
    store, table = make()
    for namespace, name in (("b", "x"), ("a", "z"), ("a", "y"), ("ab", "x")):
        put(store, table, obj(name, namespace))
    assert [entry.key for entry in table.select(None)] == [("a", "y"), ("a", "z"), ("ab", "x"), ("b", "x")]
    assert [entry.key for entry in table.select("a")] == [("a", "y"), ("a", "z")]
    assert table.select("c") == []


def test_owned_objects_are_found_by_uid_after_a_change_of_owner() -> None:
    store, table = make()
    put(store, table, obj("a", owner="one"))
    put(store, table, obj("b", owner="one"))
    put(store, table, obj("b", owner="two"))
    assert [entry.key[1] for entry in table.owned("one")] == ["a"]
    assert [entry.key[1] for entry in table.owned("two")] == ["b"]
    store.remove(table, ("ns", "a"))
    assert table.owned("one") == []


def test_a_removed_object_is_shown_as_it_was_with_the_version_of_its_end() -> None:
    store, table = make()
    created = put(store, table, obj("a", k="v"))
    events: list[Event] = []
    table.listen(events.append)
    store.remove(table, ("ns", "a"))
    last = store.obj(table, events[0].after)
    assert (events[0].type, last["data"]) == ("DELETED", {"k": "v"})
    assert int(last["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])


def test_listeners_hear_of_their_namespace_only_until_they_stop() -> None:
    store, table = make()
    heard: list[str] = []
    stop = table.listen(lambda event: heard.append(event.after.key[1]), "ns")
    put(store, table, obj("a"))
    put(store, table, obj("b", "other"))
    stop()
    put(store, table, obj("c"))
    assert heard == ["a"]


def test_the_cache_of_decoded_objects_is_bounded() -> None:
    store = Store(monotonic=lambda: 0.0, cache_bytes=2000)
    table = store.table("configmaps", lambda stored: stored)
    for i in range(100):
        store.create(table, ("ns", f"n{i}"), obj(f"n{i}", k="v" * 100))
    assert len(store._decoded) < 20
    assert store.obj(table, table.entries["ns", "n0"])["data"] == {"k": "v" * 100}


def test_history_is_bounded_by_events_and_by_age() -> None:
    now = [0.0]
    store, table = make(HistoryLimits(events=3, seconds=10.0), now)
    for i in range(5):
        put(store, table, obj(f"n{i}"))
    with pytest.raises(HistoryGoneError):
        store.since(table, 1)
    assert len(store.since(table, store.compacted)) == 3
    now[0] = 60.0
    with pytest.raises(HistoryGoneError):
        store.since(table, store.compacted - 1)
    assert store.since(table, store.rv) == []


def test_a_discarded_table_forgets_its_objects_and_leaves_the_others() -> None:
    store, table = make()
    put(store, table, obj("a"))
    store.discard(table)
    assert store.table("configmaps", lambda stored: stored).select(None) == []


def test_a_store_that_begins_with_an_image_goes_on_by_itself() -> None:
    """It has the objects, versions and owners, and what happens to it changes neither the image nor the original."""
    store, table = make()
    put(store, table, obj("a", owner="u"))
    put(store, table, obj("b"))
    image = store.image()
    other = Store(monotonic=lambda: 0.0, image=image)
    copied = other.table("configmaps", table.read)
    assert other.objects(copied, copied.select(None)) == store.objects(table, table.select(None))
    assert [entry.key[1] for entry in copied.owned("u")] == ["a"]
    assert other.since(copied, other.rv) == []
    other.remove(copied, ("ns", "a"))
    put(other, copied, obj("c"))
    assert int(copied.entries["ns", "c"].raw.partition(b'"resourceVersion":"')[2].partition(b'"')[0]) > image.rv
    assert [entry.key[1] for entry in copied.select(None)] == ["b", "c"]
    assert [entry.key[1] for entry in table.select(None)] == ["a", "b"]
    with pytest.raises(HistoryGoneError):
        other.since(copied, 1)


def test_a_table_that_was_discarded_does_not_come_back_from_the_image() -> None:
    store, table = make()
    put(store, table, obj("a"))
    other = Store(monotonic=lambda: 0.0, image=store.image())
    other.discard(other.table("configmaps", table.read))
    assert other.table("configmaps", table.read).select(None) == []


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["put", "remove"])), max_size=30))
def test_every_past_state_can_be_rebuilt_from_the_history(steps: list[tuple[str, str]]) -> None:
    """Later pages of a list show the state of the first page, whatever happened since."""
    store, table = make()
    states: list[tuple[int, list[tuple[str, str]]]] = []
    for i, (name, what) in enumerate(steps):
        if what == "put":
            put(store, table, obj(name, k=str(i)))
        elif ("ns", name) in table.entries:
            store.remove(table, ("ns", name))
        seen = [(entry.key[1], store.obj(table, entry)["data"]["k"]) for entry in table.select(None)]
        states.append((store.rv, seen))
    for rv, seen in states:
        past = [(entry.key[1], store.obj(table, entry)["data"]["k"]) for entry in store.snapshot(table, rv)]
        assert past == seen
