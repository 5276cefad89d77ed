"""The access of controllers in the same process."""

import pytest

from tests.embedded.cluster_kit import Api, configmap, definition, deployment, pod
from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.errors import StatusError

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_controllers_see_each_resource_in_one_version() -> None:
    api = Api()
    served = [(resource.key, resource.version) for resource in api.cluster.access.resources()]
    assert ("horizontalpodautoscalers.autoscaling", "v2") in served
    assert len({key for key, _ in served}) == len(served)


def test_writes_go_through_defaults_and_checks() -> None:
    access = Api().cluster.access
    created = access.create(
        "deployments.apps", {**deployment("web"), "metadata": {"name": "w", "namespace": "default"}}, manager="m"
    )
    assert created["spec"]["revisionHistoryLimit"] == 10
    assert created["metadata"]["generation"] == 1
    errors = clone(created)
    errors["spec"]["replicas"] = -1
    with pytest.raises(StatusError) as refused:
        access.update("deployments.apps", errors, manager="m")
    assert refused.value.code == 422


def test_an_update_based_on_an_old_version_is_a_conflict_and_an_empty_one_no_write() -> None:
    """Without a change there is no write (I3)."""
    api = Api()
    access = api.cluster.access
    first = access.create("configmaps", configmap("a", namespace="default"), manager="m")
    assert access.update("configmaps", first, manager="m") is first
    changed = access.update("configmaps", {**first, "data": {"k": "v"}}, manager="m")
    assert changed["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    with pytest.raises(StatusError) as refused:
        access.update("configmaps", {**first, "data": {"k": "w"}}, manager="m")
    assert refused.value.reason == "Conflict"


def test_arguments_are_not_changed() -> None:
    access = Api().cluster.access
    mine = configmap("a", {"k": "v"}, namespace="default")
    access.create("configmaps", mine, manager="m")
    assert mine == configmap("a", {"k": "v"}, namespace="default")
    mine["data"]["k"] = "changed"
    stored = access.get("configmaps", "default", "a")
    assert stored is not None
    assert stored["data"] == {"k": "v"}


def test_lists_are_sorted_and_filtered_by_labels() -> None:
    access = Api().cluster.access
    for name, labels in (("b", {"x": "1", "y": "1"}), ("a", {"x": "1"}), ("c", {"x": "2"})):
        access.create("configmaps", configmap(name, namespace="default", labels=labels), manager="m")
    results = access.list("configmaps", "default", labels={"x": "1"})
    assert [obj["metadata"]["name"] for obj in results] == ["a", "b"]
    assert list(access.list("nosuch.example.com")) == []


def test_owned_objects_are_found_by_the_uid_of_their_owner() -> None:
    access = Api().cluster.access
    owner = access.create("configmaps", configmap("o", namespace="default"), manager="m")
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}
    access.create(
        "pods",
        {**pod("p"), "metadata": {"name": "p", "namespace": "default", "ownerReferences": [reference]}},
        manager="m",
    )
    assert [obj["metadata"]["name"] for obj in access.owned("pods", "default", uid)] == ["p"]
    assert list(access.owned("pods", "kube-system", uid)) == []


def test_a_subscription_to_all_resources_includes_later_ones() -> None:
    api = Api(controllers=True)
    heard: list[Change] = []
    stop = api.cluster.access.subscribe("*", heard.append)
    api.create(DEFINITIONS, definition())
    api.clock.advance(1)
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    api.create("/apis/example.com/v1/namespaces/default/things", thing)
    stop()
    api.configmap("later")
    keys = [(change.resource, change.type) for change in heard]
    assert ("things.example.com", "ADDED") in keys
    assert all(change.resource != "configmaps" for change in heard)


def test_a_change_shows_both_states() -> None:
    api = Api()
    heard: list[Change] = []
    api.cluster.access.subscribe("configmaps", heard.append)
    api.configmap("a", data={"k": "1"})
    api.patch("/api/v1/namespaces/default/configmaps/a", {"data": {"k": "2"}})
    api.cluster.access.delete("configmaps", "default", "a")
    assert [change.type for change in heard] == ["ADDED", "MODIFIED", "DELETED"]
    assert heard[1].old is not None
    assert (heard[1].old["data"], heard[1].obj["data"], heard[2].obj["data"]) == ({"k": "1"}, {"k": "2"}, {"k": "2"})


def test_fields_set_by_a_binding_have_no_owner() -> None:
    access = Api().cluster.access
    created = access.create("pods", {**pod("p"), "metadata": {"name": "p", "namespace": "default"}}, manager="m")
    bound = clone(created)
    bound["spec"]["nodeName"] = "n"
    stored = access.update("pods", bound, manager="scheduler", subresource="binding")
    assert stored["spec"]["nodeName"] == "n"
    assert stored["metadata"]["managedFields"] == created["metadata"]["managedFields"]
