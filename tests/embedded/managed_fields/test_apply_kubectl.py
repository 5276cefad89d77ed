"""Server-side apply by kubectl: objects that client-side apply owns."""

import json

from tests.embedded.managed_fields.apply_kit import (
    Obj,
    apply,
    cm,
    refused,
    update,
)


def client_side(data: Obj, *, live: Obj) -> Obj:
    annotation = json.dumps({**cm(data), "metadata": {"name": "one"}})
    return cm(live, annotations={"kubectl.kubernetes.io/last-applied-configuration": annotation})


def test_kubectl_takes_over_what_it_applied_on_the_client_side() -> None:
    live = update(None, client_side({"k1": "v1"}, live={"k1": "v1"}), "kubectl-client-side-apply")
    taken = apply(live, cm({"k1": "new"}), "kubectl")
    assert taken["data"] == {"k1": "new"}
    (text,) = taken["metadata"]["annotations"].values()
    assert json.loads(text) == cm({"k1": "new"})
    assert refused(live, cm({"k1": "new"}), "other").code == 409
    drifted = update(None, client_side({"k1": "v1"}, live={"k1": "drifted"}), "editor")
    assert refused(drifted, cm({"k1": "new"}), "kubectl").code == 409


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_the_annotation_follows_an_apply_of_kubectl_that_changes_nothing_else() -> None:
    live = update(None, client_side({"k1": "1", "k2": "2"}, live={"k1": "1", "k2": "2"}), "kubectl-client-side-apply")
    taken = apply(live, cm({"k1": "1"}), "kubectl")
    assert taken["data"] == {"k1": "1", "k2": "2"}
    assert json.loads(taken["metadata"]["annotations"][LAST_APPLIED]) == cm({"k1": "1"})
    other = apply(live, cm({"k1": "1"}), "other")
    assert other["metadata"]["annotations"] == live["metadata"]["annotations"]


def test_the_annotation_is_written_as_go_writes_json() -> None:
    live = update(None, client_side({}, live={}), "kubectl-client-side-apply")
    taken = apply(live, cm({"k": "<&>", "a": "ü"}), "kubectl")
    assert taken["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"ü","k":"\\u003c\\u0026\\u003e"},"kind":"ConfigMap","metadata":{"name":"one"}}\n'
    )


def test_kubectl_has_conflicts_about_what_it_did_not_apply_on_the_client_side() -> None:
    live = update(None, client_side({"k1": "1", "k2": "2"}, live={"k1": "1", "k2": "2"}), "kubectl-client-side-apply")
    live = apply(live, cm({"k1": "3"}), "flux", force=True)
    refusal = refused(live, cm({"k1": "4", "k2": "5"}), "kubectl")
    assert refusal.message == 'Apply failed with 1 conflict: conflict with "flux": .data.k1'
