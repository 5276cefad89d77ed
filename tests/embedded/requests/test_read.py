"""Get and list: selectors, pages, versions, forms."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, PODS, Api, configmap, names, pod
from uniteddeployment.embedded.storage.store import HistoryLimits

EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def filled(*labels: dict[str, str], history: HistoryLimits | None = None) -> Api:
    """A cluster with ConfigMaps a, b, c... that have these labels."""
    api = Api(history=history)
    for name, own in zip("abcdefgh", labels, strict=False):
        api.configmap(name, labels=own)
    return api


@pytest.mark.parametrize(
    ("selector", "matching"),
    [
        ("env=prod", "a"),
        ("env==prod", "a"),
        ("env!=prod", "bc"),
        ("env in (prod, dev)", "ab"),
        ("env notin (prod)", "bc"),
        ("env", "ab"),
        ("!env", "c"),
        ("tier>1", "b"),
        ("tier<3,env", "a"),
        ("tier in (1,)", "a"),
        ("", "abc"),
    ],
)
def test_label_selectors(selector: str, matching: str) -> None:
    api = filled({"env": "prod", "tier": "1"}, {"env": "dev", "tier": "5"}, {"tier": "x"})
    assert names(api.get(f"{CONFIGMAPS}?labelSelector={selector}")) == list(matching)


@pytest.mark.parametrize(
    "selector", ["a in (b", "a b", "=x", "a=b c", "a,", "a in b", "a in ()", "a>x", "-a=b", "a=-b"]
)
def test_label_selectors_that_cannot_be_read_are_refused(selector: str) -> None:
    assert Api().ask("GET", f"{CONFIGMAPS}?labelSelector={selector}").status == 400


def test_field_selectors_know_the_fields_of_the_kind() -> None:
    api = Api()
    api.create(PODS, pod("a"))
    api.create(PODS, pod("b", nodeName="n"))
    assert names(api.get(f"{PODS}?fieldSelector=spec.nodeName=n")) == ["b"]
    assert names(api.get(f"{PODS}?fieldSelector=metadata.name!=b,status.phase=Pending")) == ["a"]
    assert api.ask("GET", f"{PODS}?fieldSelector=spec.bogus=1").status == 400
    assert api.ask("GET", f"{CONFIGMAPS}?fieldSelector=data.x=1").status == 400


def test_pages_show_one_state_whatever_happens_between_them() -> None:
    api = filled({}, {}, {}, {})
    first = api.get(f"{CONFIGMAPS}?limit=2")
    assert (names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 2)
    api.json("DELETE", f"{CONFIGMAPS}/c", status=200)
    api.configmap("bb")
    second = api.get(f"{CONFIGMAPS}?limit=2&continue={first['metadata']['continue']}")
    assert names(second) == ["c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]


def test_a_page_that_comes_too_late_is_gone_but_says_how_to_go_on() -> None:
    api = filled({}, {}, {}, history=HistoryLimits(events=2))
    first = api.get(f"{CONFIGMAPS}?limit=1")
    for i in range(5):
        api.configmap(f"later-{i}")
    deleted = api.json("GET", f"{CONFIGMAPS}?limit=1&continue={first['metadata']['continue']}", status=410)
    assert deleted["reason"] == "Expired"
    assert names(api.get(f"{CONFIGMAPS}?limit=1&continue={deleted['metadata']['continue']}")) == ["b"]


def test_a_list_can_show_an_exact_past_version() -> None:
    api = filled({})
    version = api.get(f"{CONFIGMAPS}/a")["metadata"]["resourceVersion"]
    api.configmap("b")
    past = api.get(f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (names(past), past["metadata"]["resourceVersion"]) == (["a"], version)
    assert names(api.get(f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")) == ["a", "b"]


def test_a_version_from_the_future_is_not_there_yet() -> None:
    response = Api().ask("GET", f"{CONFIGMAPS}?resourceVersion=999999")
    assert (response.status, response.headers["retry-after"]) == (504, "1")


def test_items_of_typed_lists_do_not_repeat_their_kind() -> None:
    listed = filled({}).get(CONFIGMAPS)
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert "kind" not in listed["items"][0]


def test_metadata_only_answers() -> None:
    api = filled({})
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert set(api.get(f"{CONFIGMAPS}/a", accept=accept)) == {"kind", "apiVersion", "metadata"}
    listed = api.get(CONFIGMAPS, accept=accept.replace("Metadata;", "MetadataList;"))
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["items"][0]["kind"] == "PartialObjectMetadata"
    assert api.ask("GET", CONFIGMAPS, accept=accept).status == 406


def test_two_versions_of_a_kind_are_two_views_of_one_object() -> None:
    api = Api()
    involved = {"kind": "Pod", "namespace": "default", "name": "p"}
    api.create(EVENTS, {"metadata": {"name": "e"}, "involvedObject": involved, "message": "hello", "count": 3})
    seen = api.get(f"{NEW_EVENTS}/e")
    assert (seen["apiVersion"], seen["note"], seen["regarding"]["name"]) == ("events.k8s.io/v1", "hello", "p")
    assert names(api.get(f"{NEW_EVENTS}?fieldSelector=regarding.name=p")) == ["e"]
    api.json("DELETE", f"{NEW_EVENTS}/e", status=200)
    assert names(api.get(EVENTS)) == []


def test_the_common_answers_are_joined_from_stored_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    api = filled({}, {})
    before = api.get(CONFIGMAPS), api.get(f"{CONFIGMAPS}/a")

    def refuse(*_: Any) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr(api.cluster.core.store, "obj", refuse)
    monkeypatch.setattr(api.cluster.core.store, "objects", refuse)
    assert (api.get(CONFIGMAPS), api.get(f"{CONFIGMAPS}/a")) == before


@pytest.mark.parametrize(
    "query",
    [
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Sometimes",
        "sendInitialEvents=true",
        "watch=true&sendInitialEvents=true",
        "watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan",
    ],
)
def test_options_that_contradict_each_other_are_refused(query: str) -> None:
    refused = Api().json("GET", f"{CONFIGMAPS}?{query}", status=422)
    assert refused["details"]["kind"] == "ListOptions"


def test_metadata_is_checked_with_the_path_of_the_field() -> None:
    """Errors have the path of the field (I11)."""
    api = Api()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    for metadata, field in (
        ({"name": "Bad_Name"}, "metadata.name"),
        ({"name": "a", "labels": {"k": "bad value"}}, "metadata.labels"),
        ({"name": "a", "labels": {"a/b/c": ""}}, "metadata.labels"),
        ({"name": "a", "annotations": {"bad key": ""}}, "metadata.annotations"),
        ({"name": "a", "finalizers": ["bare"]}, "metadata.finalizers[0]"),
        ({"name": "a", "ownerReferences": [owner]}, "metadata.ownerReferences.uid"),
        ({}, "metadata.name"),
    ):
        refused = api.json("POST", CONFIGMAPS, {**configmap("x"), "metadata": metadata}, status=422)
        assert {cause["field"] for cause in refused["details"]["causes"]} == {field}
