"""What somebody else changed: the field and who wrote it."""

from typing import Any

import pytest

from uniteddeployment.controller import drift
from uniteddeployment.controller.drift import Difference

BODY: dict[str, Any] = {
    "metadata": {"labels": {"a": "1"}},
    "spec": {
        "replicas": 4,
        "template": {"spec": {"containers": [{"name": "app", "image": "app:1", "args": ["x", "y"]}]}},
    },
}


def live(**changes: Any) -> dict[str, Any]:
    spec = {
        "replicas": 4,
        "revisionHistoryLimit": 10,
        "template": {
            "spec": {
                "containers": [
                    {"name": "sidecar", "image": "s:1"},
                    {"name": "app", "image": "app:1", "args": ["x", "y"], "imagePullPolicy": "Always"},
                ]
            }
        },
    }
    fields: dict[str, Any] = {
        "f:spec": {
            "f:replicas": {},
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"app"}': {".": {}, "f:image": {}}}}},
        }
    }
    entry = {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}
    ours = {"manager": "uniteddeployment", "operation": "Apply", "fieldsV1": fields}
    return {"metadata": {"labels": {"a": "1", "b": "2"}, "managedFields": [ours, entry]}, "spec": {**spec, **changes}}


def differences(found: dict[str, Any]) -> list[str]:
    return [str(one) for one in drift.differences(BODY, found, ours="uniteddeployment")]


def test_what_the_server_fills_in_is_no_drift() -> None:
    assert differences(live()) == []


def test_a_changed_number_is_named_with_who_changed_it() -> None:
    assert differences(live(replicas=7)) == ["spec.replicas (by kubectl-edit)"]


def test_items_of_lists_are_matched_by_name() -> None:
    found = live()
    found["spec"]["template"]["spec"]["containers"][1]["image"] = "app:666"
    assert differences(found) == ["spec.template.spec.containers[1].image (by kubectl-edit)"]


def test_lists_without_names_are_compared_item_by_item() -> None:
    found = live()
    found["spec"]["template"]["spec"]["containers"][1]["args"] = ["x", "z"]
    assert differences(found) == ["spec.template.spec.containers[1].args[1]"]


def test_a_label_that_was_taken_away_is_drift_and_one_that_was_added_is_not() -> None:
    found = live()
    found["metadata"]["labels"] = {"b": "2"}
    assert differences(found) == ["metadata.labels.a"]


def test_what_is_left_to_others_is_sent_as_the_cluster_has_it() -> None:
    """An HPA's replicas, say: applying them changes nothing, and leaving them out would reset them."""
    kept = drift.keeping(BODY, live(replicas=9), ["spec.replicas", "spec.nothing.there"])
    assert kept["spec"]["replicas"] == 9
    assert BODY["spec"]["replicas"] == 4
    assert kept == {**BODY, "spec": {**BODY["spec"], "replicas": 9}}, "nothing else is taken from the cluster"
    assert drift.differences(kept, live(replicas=9), ours="uniteddeployment") == ()


def test_what_is_left_to_others_and_missing_in_the_cluster_is_not_applied() -> None:
    body = {**BODY, "spec": {**BODY["spec"], "paused": True}}
    assert drift.keeping(body, live(), ["spec.paused"]) == BODY


def wrote(manager: str, fields: dict[str, Any], time: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    return {"manager": manager, "time": time, "fieldsV1": fields}


def found(spec: dict[str, Any], live: dict[str, Any], *writers: dict[str, Any]) -> list[Difference]:
    """The differences of a spec from what is there, by who wrote it."""
    body = {"metadata": {}, "spec": spec}
    return list(drift.differences(body, {"metadata": {"managedFields": writers}, "spec": live}, ours="us"))


PORTS = [{"name": "http", "containerPort": 80, "protocol": "TCP"}, {"name": "dns", "containerPort": 53}]


@pytest.mark.parametrize(
    ("key", "manager"),
    [
        ('k:{"containerPort":80,"protocol":"TCP"}', "them"),
        ('k:{"name":"http"}', "them"),
        ('k:{"containerPort":8080,"protocol":"TCP"}', ""),
        ('k:{"containerPort":53}', ""),
        ('k:{"containerPort":"80"}', ""),
        ("k:nonsense", ""),
        ("k:[]", ""),
    ],
)
def test_the_owner_of_an_item_is_found_by_all_keys_that_the_server_matches_it_by(key: str, manager: str) -> None:
    """Ports are matched by number and protocol."""
    live = [{**PORTS[0], "hostPort": 1}, PORTS[1]]
    wanted = [{**PORTS[0], "hostPort": 2}, PORTS[1]]
    fields: dict[str, Any] = {"f:spec": {"f:ports": {key: {"f:hostPort": {}}}}}
    assert found({"ports": wanted}, {"ports": live}, wrote("them", fields)) == [
        Difference("spec.ports[0].hostPort", manager)
    ]


@pytest.mark.parametrize(
    ("fields", "manager"),
    [
        ({"f:spec": {"f:args": {}}}, "them"),
        ({"f:spec": {"f:args": {".": {}}}}, "them"),
        ({"f:spec": {"f:args": {"v:x": {}}}}, ""),
        ({"f:spec": {"f:other": {}}}, ""),
        ({"f:spec": {}}, "them"),
        ({}, ""),
    ],
)
def test_a_list_that_is_owned_as_a_whole_is_owned_in_each_item(fields: dict[str, Any], manager: str) -> None:
    assert found({"args": ["a", "b"]}, {"args": ["a", "c"]}, wrote("them", fields)) == [
        Difference("spec.args[1]", manager)
    ]


def test_of_several_owners_the_last_other_one_is_named() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:paused": {}}}
    writers = [
        wrote("early", fields, "2026-01-01T00:00:00Z"),
        wrote("late", fields, "2026-01-02T00:00:00Z"),
        wrote("us", fields, "2026-01-03T00:00:00Z"),
        {"manager": "timeless", "fieldsV1": fields},
        {"manager": "fieldless"},
    ]
    assert found({"paused": True}, {"paused": False}, *writers) == [Difference("spec.paused", "late")]
    assert str(Difference("spec.paused", "")) == "spec.paused"


@pytest.mark.parametrize(
    ("wanted", "live", "paths"),
    [
        ({"a": {}}, {}, []),
        ({"a": []}, {}, []),
        ({"a": ""}, {}, []),
        ({"a": 0}, {}, []),
        ({"a": False}, {}, []),
        ({"a": 0}, {"a": 1}, ["spec.a"]),
        ({"a": 1}, {}, ["spec.a"]),
        ({"a": {"b": 1}}, {"a": 3}, ["spec.a"]),
        ({"a": [1]}, {"a": [1, 2]}, ["spec.a"]),
        ({"a": [1]}, {"a": 3}, ["spec.a"]),
        ({"a": []}, {"a": [1]}, ["spec.a"]),
        ({"a": [{"x": 1}]}, {"a": [{"x": 2}]}, ["spec.a[0].x"]),
        ({"a": [{"name": "n", "x": 1}]}, {"a": [{"name": "m", "x": 1}]}, ["spec.a[0]"]),
        ({"a": [{"name": "n", "x": 1}]}, {"a": ["n", {"name": "n", "x": 2}]}, ["spec.a[1].x"]),
        ({"a": [{"name": "n"}]}, {"a": [{"name": "m"}, {"name": "n"}]}, []),
        ({"a": [{"mountPath": "p", "x": 1}]}, {"a": [{"mountPath": "q"}, {"mountPath": "p", "x": 2}]}, ["spec.a[1].x"]),
        ({"a": [{"ip": "p", "x": 1}]}, {"a": [{"ip": "p", "x": 1}]}, []),
        ({"a": [{"name": "n"}, {"x": 1}]}, {"a": [{"name": "n"}, {"x": 2}]}, ["spec.a[1].x"]),
    ],
)
def test_a_difference_is_what_was_applied_and_is_not_there(
    wanted: dict[str, Any], live: dict[str, Any], paths: list[str]
) -> None:
    assert [one.path for one in found(wanted, live)] == paths


def test_labels_and_annotations_count_also_if_there_are_none() -> None:
    body = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}
    assert [str(one) for one in drift.differences(body, {}, ours="us")] == [
        "metadata.labels.a",
        "metadata.annotations.b",
    ]
    assert drift.differences({"metadata": {"labels": None}}, {}, ours="us") == ()


@pytest.mark.parametrize(
    ("live", "path", "kept"),
    [
        ({"a": {"b": 2}}, "a.b", {"a": {"b": 2, "c": 3}}),
        ({"a": {}}, "a.b", {"a": {"c": 3}}),
        ({}, "a.b", {"a": {"b": 1, "c": 3}}),
        ({}, "a", {}),
        ({"a": 7}, "a.b", {"a": {"c": 3}}),
        ({"a": {"b": 2}}, "x.y", {"a": {"b": 1, "c": 3}}),
        ({"x": {"y": 2}}, "x.y", {"a": {"b": 1, "c": 3}}),
    ],
)
def test_only_the_value_at_a_path_is_taken_over(live: dict[str, Any], path: str, kept: dict[str, Any]) -> None:
    assert drift.keeping({"a": {"b": 1, "c": 3}}, live, [path]) == kept
