"""Strategic merge patch with the real server's results."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.builtin.shapes import resolve
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.patch import merge, strategic
from uniteddeployment.embedded.schema.node import node_of

DEPLOYMENT = node_of(resolve("io.k8s.api.apps.v1.Deployment"), resolve)
CONFIG_MAP = node_of(resolve("io.k8s.api.core.v1.ConfigMap"), resolve)


def deployment() -> dict[str, Any]:
    pod = {
        "containers": [
            {
                "name": "c1",
                "image": "one",
                "args": ["x", "y"],
                "env": [{"name": "A", "value": "a"}, {"name": "B", "value": "b"}],
                "ports": [{"containerPort": 80}, {"containerPort": 81, "name": "m"}],
            },
            {"name": "c2", "image": "two"},
        ],
        "tolerations": [{"key": "k1"}],
        "nodeSelector": {"a": "b", "c": "d"},
        "volumes": [{"name": "v1", "emptyDir": {}}, {"name": "v2", "configMap": {"name": "cm"}}],
    }
    return {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}, "template": {"spec": pod}}}


def patched(pod: dict[str, Any]) -> dict[str, Any]:
    doc = deployment()
    before = copy.deepcopy(doc)
    result = strategic.apply(doc, {"spec": {"template": {"spec": pod}}}, DEPLOYMENT)
    assert doc == before
    actual: dict[str, Any] = result["spec"]["template"]["spec"]
    return actual


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["name"] for item in items]


def refused(patch: dict[str, Any]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        strategic.apply(deployment(), patch, DEPLOYMENT)
    return caught.value


def refused_pod(pod: dict[str, Any]) -> StatusError:
    return refused({"spec": {"template": {"spec": pod}}})


def test_lists_are_merged_by_their_keys_and_new_items_come_after_patched_ones() -> None:
    pod = patched({"containers": [{"name": "c1", "image": "one-b"}, {"name": "c3", "image": "three"}]})
    assert [(c["name"], c["image"]) for c in pod["containers"]] == [("c1", "one-b"), ("c3", "three"), ("c2", "two")]
    assert pod["containers"][0]["args"] == ["x", "y"]


def test_items_that_only_the_patch_knows_come_first() -> None:
    assert names(patched({"volumes": [{"name": "v3", "emptyDir": {}}]})["volumes"]) == ["v3", "v1", "v2"]


def test_nested_lists_are_merged_too() -> None:
    pod = patched({"containers": [{"name": "c1", "env": [{"name": "B", "value": "b2"}, {"name": "C", "value": "c"}]}]})
    env = pod["containers"][0]["env"]
    assert [(e["name"], e["value"]) for e in env] == [("A", "a"), ("B", "b2"), ("C", "c")]


def test_lists_without_merge_strategy_are_replaced() -> None:
    pod = patched({"tolerations": [{"key": "k2"}], "containers": [{"name": "c1", "args": ["z"]}]})
    assert pod["tolerations"] == [{"key": "k2"}]
    assert pod["containers"][0]["args"] == ["z"]


def test_null_deletes_and_is_dropped_from_what_is_new() -> None:
    pod = patched({"nodeSelector": {"a": None, "e": "f"}, "volumes": None, "affinity": {"podAffinity": None}})
    assert pod["nodeSelector"] == {"c": "d", "e": "f"}
    assert "volumes" not in pod
    assert pod["affinity"] == {}


def test_directives_delete_and_replace_items_and_maps() -> None:
    pod = patched({"containers": [{"name": "c1", "$patch": "delete"}], "nodeSelector": {"$patch": "replace", "x": "y"}})
    assert names(pod["containers"]) == ["c2"]
    assert pod["nodeSelector"] == {"x": "y"}
    replaced = patched({"containers": [{"name": "new", "image": "i"}, {"$patch": "replace"}]})
    assert replaced["containers"] == [{"name": "new", "image": "i"}]
    assert patched({"nodeSelector": {"$patch": "delete"}})["nodeSelector"] == {}


def test_directives_in_new_items_do_nothing_and_do_not_stay() -> None:
    item = {"name": "c9", "$setElementOrder/env": [{"name": "A"}], "env": [{"name": "A"}], "image": None}
    pod = patched({"containers": [item, {"name": "c0", "$patch": "delete"}]})
    assert pod["containers"][0] == {"name": "c9", "env": [{"name": "A"}]}


def test_an_element_order_moves_items() -> None:
    order = [{"name": "c2"}, {"name": "c3"}, {"name": "c1"}]
    wanted = [{"name": "c3", "image": "three"}, {"name": "c1", "image": "one-c"}]
    pod = patched({"$setElementOrder/containers": order, "containers": wanted})
    assert [(c["name"], c["image"]) for c in pod["containers"]] == [("c2", "two"), ("c3", "three"), ("c1", "one-c")]


def test_an_element_order_may_come_without_a_list_and_nest() -> None:
    assert names(patched({"$setElementOrder/volumes": [{"name": "v2"}, {"name": "v1"}]})["volumes"]) == ["v2", "v1"]
    container = {
        "name": "c1",
        "$setElementOrder/env": [{"name": "C"}, {"name": "A"}, {"name": "B"}],
        "env": [{"name": "C", "value": "c"}],
    }
    pod = patched({"$setElementOrder/containers": [{"name": "c1"}], "containers": [container]})
    assert names(pod["containers"][0]["env"]) == ["C", "A", "B"]


def test_an_item_that_its_order_does_not_know_is_500() -> None:
    error = refused_pod({"$setElementOrder/containers": [{"name": "c1"}], "containers": [{"name": "u", "image": "i"}]})
    assert (error.code, error.reason) == (500, "")
    assert error.message == (
        "The order in patch list:\n[map[image:i name:u]]\n doesn't match $setElementOrder list:\n[map[name:c1]]\n"
    )


def test_retain_keys_drop_the_others() -> None:
    volume = {"name": "v1", "$retainKeys": ["name", "configMap"], "configMap": {"name": "x"}}
    assert patched({"volumes": [volume]})["volumes"][0] == {"name": "v1", "configMap": {"name": "x"}}
    result = strategic.apply(
        deployment(), {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, DEPLOYMENT
    )
    assert result["spec"]["strategy"] == {"type": "Recreate"}


def test_retain_keys_that_do_not_retain_what_the_patch_sets_are_400() -> None:
    error = refused({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {}}}})
    assert (error.code, error.message) == (400, "invalid patch format of retainKeys")


def test_lists_of_scalars_are_merged_deleted_from_and_ordered() -> None:
    doc = {"metadata": {"finalizers": ["x/a", "x/b"]}}

    def finalizers(patch: dict[str, Any]) -> list[str]:
        result: list[str] = strategic.apply(doc, {"metadata": patch}, CONFIG_MAP)["metadata"]["finalizers"]
        return result

    assert finalizers({"finalizers": ["x/c"]}) == ["x/c", "x/a", "x/b"]
    assert finalizers({"$deleteFromPrimitiveList/finalizers": ["x/a"]}) == ["x/b"]
    ordered = {"$setElementOrder/finalizers": ["x/b", "x/a"], "finalizers": ["x/b"]}
    assert finalizers(ordered) == ["x/b", "x/a"]


def test_an_item_without_its_merge_key_is_500() -> None:
    error = refused_pod({"containers": [{"image": "nokey"}]})
    assert (error.code, error.reason) == (500, "")
    assert error.message == "map: map[image:nokey] does not contain declared merge key: name"


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"spec": {"template": {"spec": {"containers": {"name": "x"}}}}}, "cannot restore slice from map"),
        ({"spec": {"replicas": "three"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": "yes"}}, "unrecognized type: bool"),
        ({"spec": {"template": []}}, "cannot restore struct from: slice"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"labels": {"a": 5}}}, "cannot convert int64 to string"),
    ],
)
def test_a_value_of_the_wrong_type_is_422_and_shows_the_patch(patch: dict[str, Any], why: str) -> None:
    error = refused(patch)
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message.startswith(' "" is invalid: patch: Invalid value: "map[')
    assert error.message.endswith(f']": {why}')


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        ({"nodeSelector": {"$patch": "wrong"}}, 500),
        ({"containers": [{"$patch": "merge"}]}, 500),
        ({"containers": [{"$patch": "wrong"}]}, 500),
        ({"containers": [{"$patch": "delete"}]}, 500),
        ({"$setElementOrder/containers": {}}, 400),
        ({"$deleteFromPrimitiveList/x": {}}, 400),
        ({"nodeSelector": {"$retainKeys": "a"}}, 400),
    ],
)
def test_malformed_directives_are_refused(pod: dict[str, Any], code: int) -> None:
    assert refused_pod(pod).code == code


labels = st.dictionaries(st.sampled_from("abc"), st.none() | st.text("xy", max_size=2), max_size=3)
plain = st.dictionaries(st.sampled_from("abc"), st.text("xy", max_size=2), max_size=3)


def config_map(data: dict[str, Any], annotations: dict[str, Any]) -> dict[str, Any]:
    return {"data": data, "metadata": {"annotations": annotations}}


@given(st.builds(config_map, plain, plain), st.builds(config_map, labels, labels))
def test_without_lists_it_is_a_merge_patch(doc: dict[str, Any], patch: dict[str, Any]) -> None:
    assert strategic.apply(doc, patch, CONFIG_MAP) == merge.apply(doc, patch)
