"""What somebody else changed: the field and who wrote it."""

from uniteddeployment.controller import drift

BODY = {
    "metadata": {"labels": {"a": "1"}},
    "spec": {
        "replicas": 4,
        "template": {"spec": {"containers": [{"name": "app", "image": "app:1", "args": ["x", "y"]}]}},
    },
}


def live(**changes):
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
    fields = {
        "f:spec": {
            "f:replicas": {},
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"app"}': {".": {}, "f:image": {}}}}},
        }
    }
    entry = {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}
    ours = {"manager": "uniteddeployment", "operation": "Apply", "fieldsV1": fields}
    return {"metadata": {"labels": {"a": "1", "b": "2"}, "managedFields": [ours, entry]}, "spec": {**spec, **changes}}


def differences(found):
    return [str(one) for one in drift.differences(BODY, found, ours="uniteddeployment")]


def test_what_the_server_fills_in_is_no_drift():
    assert differences(live()) == []


def test_a_changed_number_is_named_with_who_changed_it():
    assert differences(live(replicas=7)) == ["spec.replicas (by kubectl-edit)"]


def test_items_of_lists_are_matched_by_name():
    found = live()
    found["spec"]["template"]["spec"]["containers"][1]["image"] = "app:666"
    assert differences(found) == ["spec.template.spec.containers[1].image (by kubectl-edit)"]


def test_lists_without_names_are_compared_item_by_item():
    found = live()
    found["spec"]["template"]["spec"]["containers"][1]["args"] = ["x", "z"]
    assert differences(found) == ["spec.template.spec.containers[1].args[1]"]


def test_a_label_that_was_taken_away_is_drift_and_one_that_was_added_is_not():
    found = live()
    found["metadata"]["labels"] = {"b": "2"}
    assert differences(found) == ["metadata.labels.a"]


def test_what_is_left_to_others_is_sent_as_the_cluster_has_it():
    """An HPA's replicas, say: applying them changes nothing, and leaving them out would reset them."""
    kept = drift.keeping(BODY, live(replicas=9), ["spec.replicas", "spec.nothing.there"])
    assert kept["spec"]["replicas"] == 9
    assert BODY["spec"]["replicas"] == 4
    assert kept == {**BODY, "spec": {**BODY["spec"], "replicas": 9}}, "nothing else is taken from the cluster"
    assert drift.differences(kept, live(replicas=9), ours="uniteddeployment") == ()


def test_what_is_left_to_others_and_missing_in_the_cluster_is_not_applied():
    body = {**BODY, "spec": {**BODY["spec"], "paused": True}}
    assert drift.keeping(body, live(), ["spec.paused"]) == BODY
