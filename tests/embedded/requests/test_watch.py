"""Watches: their events, their start and their end."""

import asyncio
from typing import Any

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, MERGE, Api, Events, definition
from uniteddeployment.embedded.requests import watch
from uniteddeployment.embedded.storage.store import HistoryLimits

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
THINGS = "/apis/example.com/v1/namespaces/default/things"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def version(api: Api) -> str:
    result: str = api.get(CONFIGMAPS)["metadata"]["resourceVersion"]
    return result


def test_a_watch_from_a_version_sees_everything_after_it_in_order() -> None:
    api = Api()
    since = version(api)
    api.configmap("a")
    events = api.watch(f"{CONFIGMAPS}?resourceVersion={since}")
    api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
    api.json("DELETE", f"{CONFIGMAPS}/a", status=200)
    seen = events.take()
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions))


def test_a_watch_without_a_version_begins_with_what_is_there() -> None:
    api = Api()
    api.configmap("a")
    events = api.watch(CONFIGMAPS)
    api.configmap("b")
    assert events.seen() == [("ADDED", "a"), ("ADDED", "b")]


def test_a_streaming_list_says_where_it_ends() -> None:
    api = Api()
    api.configmap("a")
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    first, last = api.watch(f"{CONFIGMAPS}?{query}").take()
    assert (first["type"], last["type"]) == ("ADDED", "BOOKMARK")
    assert last["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(last["object"]["metadata"]["resourceVersion"]) >= int(first["object"]["metadata"]["resourceVersion"])


def test_objects_come_and_go_as_they_begin_and_cease_to_match() -> None:
    """An object that no longer matches is shown as it was, with the version of the change."""
    api = Api()
    api.configmap("a")
    events = api.watch(f"{CONFIGMAPS}?labelSelector=on=yes")
    for label in ("no", "yes", "yes", "no", "no"):
        api.patch(
            f"{CONFIGMAPS}/a", {"metadata": {"labels": {"on": label, "n": f"{label}{api.cluster.core.store.rv}"}}}
        )
    seen = events.take()
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    deleted = seen[-1]["object"]["metadata"]
    assert deleted["labels"]["on"] == "yes"
    assert int(deleted["resourceVersion"]) > int(seen[-2]["object"]["metadata"]["resourceVersion"])


def test_a_watch_hears_of_its_namespace_only() -> None:
    api = Api()
    events = api.watch(CONFIGMAPS)
    api.create("/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "other"}})
    assert events.seen() == []


def test_a_write_without_a_change_makes_no_event() -> None:
    """Without a change there is no event (I3)."""
    api = Api()
    created = api.configmap("a")
    events = api.watch(f"{CONFIGMAPS}?resourceVersion={version(api)}")
    api.json("PUT", f"{CONFIGMAPS}/a", created, status=200)
    api.json("PATCH", f"{CONFIGMAPS}/a?dryRun=All", {"data": {"k": "v"}}, content=MERGE, status=200)
    assert events.seen() == []


def test_a_version_outside_the_history_is_gone() -> None:
    api = Api(history=HistoryLimits(events=2))
    for i in range(5):
        api.configmap(f"a{i}")
    events = api.watch(f"{CONFIGMAPS}?resourceVersion=1")
    (event,) = events.take()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert events.has_ended()


def test_a_watch_ends_when_its_time_is_over_with_a_last_bookmark() -> None:
    api = Api()
    events = api.watch(f"{CONFIGMAPS}?timeoutSeconds=10&allowWatchBookmarks=true&resourceVersion={version(api)}")
    api.clock.advance(9)
    assert events.seen() == []
    assert not events.has_ended()
    api.clock.advance(2)
    assert [event["type"] for event in events.take()] == ["BOOKMARK"]
    assert events.has_ended()
    assert not api.cluster.core.watches


def test_bookmarks_give_a_quiet_watch_the_current_version() -> None:
    api = Api()
    events = api.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true&resourceVersion={version(api)}")
    api.create("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    api.clock.advance(watch.BOOKMARK_SECONDS)
    (event,) = events.take()
    assert event["object"]["metadata"] == {"resourceVersion": version(api)}


def test_a_watch_as_a_table_defines_its_columns_once() -> None:
    api = Api()
    events = api.watch(CONFIGMAPS, accept=TABLE)
    api.configmap("a", data={"k": "v"})
    api.configmap("b")
    first, second = (event["object"] for event in events.take())
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["columnDefinitions"] is None
    assert second["rows"][0]["cells"][:2] == ["b", 0]


def test_an_event_is_encoded_once_for_all_watches_of_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    encoded = 0
    original = watch.Watch._encode

    def count(self: watch.Watch, *args: Any) -> bytes:
        nonlocal encoded
        encoded += 1
        return original(self, *args)

    monkeypatch.setattr(watch.Watch, "_encode", count)
    streams = [api.watch(CONFIGMAPS) for _ in range(50)]
    api.configmap("a")
    assert encoded == 1
    assert all(events.seen() == [("ADDED", "a")] for events in streams)


def test_a_reader_that_falls_too_far_behind_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BACKLOG", 3)
    api = Api()
    events = api.watch(CONFIGMAPS)
    for i in range(5):
        api.configmap(f"a{i}")
    assert len(events.take()) == 3
    assert events.has_ended()
    assert not api.cluster.core.watches


def test_the_end_of_a_definition_ends_its_watches_after_its_objects() -> None:
    api = Api(controllers=True)
    api.create(DEFINITIONS, definition())
    api.clock.advance(1)
    api.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}})
    events = api.watch(THINGS)
    api.json("DELETE", f"{DEFINITIONS}/things.example.com", status=200)
    api.clock.advance(5)
    assert events.seen() == [("ADDED", "t"), ("DELETED", "t")]
    assert events.has_ended()
    assert api.ask("GET", THINGS).status == 404


async def test_a_reader_waits_for_the_next_event_and_frees_what_it_held() -> None:
    api = Api()
    events = api.watch(CONFIGMAPS)
    reading = asyncio.ensure_future(anext(events.stream))
    await asyncio.sleep(0)
    assert not reading.done()
    api.configmap("a")
    assert b'"name":"a"' in await reading
    await events.stream.aclose()
    assert not api.cluster.core.watches
    with pytest.raises(StopAsyncIteration):
        await anext(events.stream)


# Deprecated paths below watch/


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/api/v1/watch/configmaps", [("ADDED", "a"), ("ADDED", "b")]),
        ("/api/v1/watch/namespaces/default/configmaps", [("ADDED", "a"), ("ADDED", "b")]),
        ("/api/v1/watch/namespaces/default/configmaps?labelSelector=l=b", [("ADDED", "b")]),
        ("/api/v1/watch/namespaces/default/configmaps/b", [("ADDED", "b")]),
        ("/api/v1/watch/namespaces/default/configmaps/b?fieldSelector=metadata.name=b", [("ADDED", "b")]),
        ("/api/v1/watch/namespaces/default/configmaps/gone", []),
        ("/api/v1/watch/namespaces/default", [("ADDED", "default")]),
        ("/apis/rbac.authorization.k8s.io/v1/watch/clusterroles/view", [("ADDED", "view")]),
    ],
)
def test_a_path_below_watch_is_a_watch_of_a_collection_or_of_one_object(path: str, seen: list[tuple[str, str]]) -> None:
    api = Api()
    api.configmap("a", labels={"l": "a"})
    api.configmap("b", labels={"l": "b"})
    response = api.ask("GET", path)
    assert response.status == 200
    assert Events(response.stream).seen() == seen


def test_a_path_below_watch_goes_on_with_what_happens_to_its_object() -> None:
    api = Api()
    api.configmap("a")
    events = Events(api.ask("GET", "/api/v1/watch/namespaces/default/configmaps/a").stream)
    api.configmap("b")
    api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
    api.json("DELETE", f"{CONFIGMAPS}/a", status=200)
    assert events.seen() == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/api/v1/watch/namespaces/default/configmaps", 405),
        ("DELETE", "/api/v1/watch/namespaces/default/configmaps/a", 405),
        ("GET", "/api/v1/watch/namespaces/default/nothings", 404),
        ("GET", "/api/v1/watch/configmaps/a", 404),
        ("GET", "/api/v1/watch/namespaces/default/pods/a/log", 404),
        ("GET", "/apis/apps/v1/watch/namespaces/default/deployments/a/status", 404),
        ("GET", "/apis/authorization.k8s.io/v1/watch/subjectaccessreviews", 404),
        ("GET", "/apis/apps/v1/watch", 500),
    ],
)
def test_below_watch_there_is_nothing_but_watches(method: str, path: str, status: int) -> None:
    assert Api().ask(method, path, {} if method == "POST" else None).status == status


def test_a_path_below_watch_refuses_a_selector_for_another_name() -> None:
    path = "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name=b"
    refused = Api().json("GET", path, status=400)
    assert refused["message"] == "fieldSelector metadata.name doesn't match requested name"


def test_a_path_below_watch_asks_for_the_right_to_watch() -> None:
    refused = Api().json("GET", "/api/v1/watch/namespaces/default/configmaps/a", token="", status=403)
    assert refused["message"] == (
        'configmaps "a" is forbidden: User "system:anonymous" cannot watch resource "configmaps" in API group "" in '
        'the namespace "default"'
    )


def test_the_path_of_an_object_ignores_the_watch_parameter() -> None:
    """Clients watch a single object by a field selector; ``?watch=true`` on its path has no effect."""
    api = Api()
    created = api.configmap("a")
    assert api.get(f"{CONFIGMAPS}/a?watch=true") == created
