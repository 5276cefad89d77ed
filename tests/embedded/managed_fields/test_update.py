"""managedFields after creates, updates and patches."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.builtin.shapes import resolve
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.schema.node import Node, node_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP = node_of(resolve("io.k8s.api.core.v1.ConfigMap"), resolve)
DEPLOYMENT = node_of(resolve("io.k8s.api.apps.v1.Deployment"), resolve)
THING = node_of(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"text": {"type": "string"}}},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    },
    resolve,
)

Obj = dict[str, Any]


def write(live: Obj | None, new: Obj, manager: str, *, node: Node = CONFIG_MAP, at: int = 0, **options: Any) -> Obj:
    written = copy.deepcopy(new)
    before = copy.deepcopy(live)
    arguments = {"api_version": "v1", "subresource": "", **options}
    managed.update(live, written, manager=manager, now=NOW + timedelta(seconds=at), node=node, **arguments)
    assert live == before
    return written


def config_map(data: Obj, **metadata: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", **metadata}, "data": data}


def owners(obj: Obj) -> dict[str, Obj]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def changed(live: Obj, **fields: Any) -> Obj:
    new = copy.deepcopy(live)
    for name, value in fields.items():
        new[name] = value
    return new


def test_a_create_owns_everything_but_identity() -> None:
    new = config_map({"k": "v"}, namespace="ns", uid="u", resourceVersion="1", generation=1, labels={"a": "1"})
    written = write(None, new, "creator")
    (entry,) = written["metadata"]["managedFields"]
    assert entry == {
        "manager": "creator",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {".": {}, "f:k": {}}, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}},
    }


def test_parts_that_a_built_in_object_is_never_without_are_not_owned_themselves() -> None:
    pod = {"containers": [{"name": "c", "ports": [{"containerPort": 80}], "resources": {}}]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "strategy": {"type": "Recreate"}}
    new = {"metadata": {"name": "d"}, "spec": {**spec, "template": {"spec": pod}}, "status": {"replicas": 1}}
    container: dict[str, Any] = {
        ".": {},
        "f:name": {},
        "f:ports": {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
        "f:resources": {},
    }
    assert owners(write(None, new, "m", node=DEPLOYMENT))["m"] == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:type": {}},
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': container}}},
        }
    }


def test_the_parts_of_a_custom_resource_are_owned_with_what_is_in_them() -> None:
    new = {"metadata": {"name": "t"}, "spec": {"text": "x"}, "status": {"phase": "p"}}
    assert owners(write(None, new, "m", node=THING))["m"] == {"f:spec": {".": {}, "f:text": {}}}
    whole = owners(write(None, new, "m", node=THING, status=False))["m"]
    assert whole["f:status"] == {".": {}, "f:phase": {}}


def test_changed_fields_go_to_who_changed_them_and_leave_the_others() -> None:
    live = write(None, config_map({"k1": "v1", "k2": "v2"}), "a")
    live = write(live, changed(live, data={"k1": "v1", "k2": "new", "k3": "v3"}), "b", at=5)
    assert owners(live) == {"a": {"f:data": {".": {}, "f:k1": {}}}, "b": {"f:data": {"f:k2": {}, "f:k3": {}}}}
    live = write(live, changed(live, data={"k3": "v3"}), "c")
    assert owners(live) == {"a": {"f:data": {}}, "b": {"f:data": {"f:k3": {}}}}


def test_an_owner_of_nothing_is_dropped() -> None:
    live = write(None, config_map({"k": "v"}), "a")
    bare = changed(live)
    del bare["data"]
    assert "managedFields" not in write(live, bare, "b")["metadata"]


def test_removing_gives_no_ownership_and_no_new_time() -> None:
    live = write(None, config_map({"k1": "v1", "k2": "v2"}), "a")
    (entry,) = write(live, changed(live, data={"k1": "v1"}), "a", at=5)["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k1": {}}}
    assert entry["time"] == "2026-01-01T00:00:00Z"


def test_a_write_that_changes_nothing_keeps_entries_and_times() -> None:
    """Without a change there is no write (I3)."""
    live = write(None, config_map({"k": "v"}), "a")
    assert write(live, live, "b", at=5) == live
    forgetful = changed(live)
    del forgetful["metadata"]["managedFields"]
    assert write(live, forgetful, "b", at=5) == live


def test_a_change_back_and_forth_within_a_second_by_one_manager_extends_its_entry() -> None:
    live = write(None, config_map({"k": "v"}), "a")
    live = write(live, changed(live, data={"k": "w", "l": "x"}), "a", at=1)
    (entry,) = live["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k": {}, "f:l": {}}}
    assert entry["time"] == "2026-01-01T00:00:01Z"


def test_a_client_may_forget_all_owners_and_then_there_are_none() -> None:
    live = write(None, config_map({"k": "v"}), "a")
    reset = changed(live)
    reset["metadata"]["managedFields"] = [{}]
    live = write(live, reset, "b")
    assert "managedFields" not in live["metadata"]
    assert "managedFields" not in write(live, changed(live, data={"k": "after"}), "b")["metadata"]


def test_an_empty_list_of_entries_resets_nothing() -> None:
    live = write(None, config_map({"k": "v"}), "a")
    emptied = changed(live)
    emptied["metadata"]["managedFields"] = []
    assert write(live, emptied, "b") == live


def test_a_client_may_rewrite_entries_but_not_through_a_subresource_nor_with_nonsense() -> None:
    live = write(None, config_map({"k": "v"}), "a")
    rewritten = changed(live)
    rewritten["metadata"]["managedFields"][0]["manager"] = "renamed"
    assert owners(write(live, rewritten, "b")).keys() == {"renamed"}
    assert owners(write(live, rewritten, "b", subresource="status")).keys() == {"a"}
    rewritten["metadata"]["managedFields"][0]["fieldsV1"] = {"nonsense": {}}
    assert owners(write(live, rewritten, "b")).keys() == {"a"}


def test_status_and_object_own_only_their_side() -> None:
    live = write(None, {"metadata": {"name": "d"}, "spec": {"replicas": 1}}, "user", node=DEPLOYMENT)
    both = changed(live, spec={"replicas": 2}, status={"replicas": 2})
    status = write(live, both, "controller", node=DEPLOYMENT, subresource="status")
    (entry,) = [entry for entry in status["metadata"]["managedFields"] if entry["manager"] == "controller"]
    assert (entry["fieldsV1"], entry["subresource"]) == ({"f:status": {"f:replicas": {}}}, "status")
    assert owners(write(live, both, "other", node=DEPLOYMENT))["other"] == {"f:spec": {"f:replicas": {}}}


def test_the_status_of_a_custom_resource_brings_nothing_else() -> None:
    live: dict[str, Any] = {"metadata": {"name": "t", "finalizers": ["x/f"]}, "spec": {"text": "x"}}
    live = write(None, live, "m", node=THING)
    new = {"metadata": {**live["metadata"], "finalizers": [], "labels": {"a": "b"}}, "status": {"phase": "p"}}
    result = owners(write(live, new, "c", node=THING, subresource="status"))
    assert result == {**owners(live), "c": {"f:status": {".": {}, "f:phase": {}}}}


def test_labels_of_a_deployment_are_not_taken_by_a_status() -> None:
    live = write(None, {"metadata": {"name": "d", "labels": {"a": "b"}}}, "user", node=DEPLOYMENT)
    bare = {"metadata": {"name": "d", "annotations": {"c": "d"}}}
    result = owners(write(live, bare, "controller", node=DEPLOYMENT, subresource="status"))
    assert result == {**owners(live), "controller": {"f:metadata": {"f:annotations": {".": {}, "f:c": {}}}}}


def test_a_scale_owns_replicas_under_its_subresource() -> None:
    live = write(None, {"metadata": {"name": "d"}, "spec": {"replicas": 1}}, "user", node=DEPLOYMENT)
    scaled = write(live, changed(live, spec={"replicas": 2}), "scaler", node=DEPLOYMENT, subresource="scale")
    (entry,) = scaled["metadata"]["managedFields"]
    assert (entry["manager"], entry["subresource"]) == ("scaler", "scale")
    assert entry["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


def test_only_ten_updaters_are_kept_apart() -> None:
    live = write(None, config_map({"k0": "v"}), "m0")
    for number in range(1, 14):
        live = write(live, changed(live, data={**live["data"], f"k{number}": "v"}), f"m{number}", at=number)
    result = owners(live)
    assert len(result) == 10
    assert result["ancient-changes"] == {"f:data": {".": {}, **{f"f:k{number}": {} for number in range(5)}}}


def test_entries_are_in_the_order_of_operation_and_time() -> None:
    live = write(None, config_map({"k": "v"}), "z")
    live = write(live, changed(live, data={"k": "v", "l": "v"}), "a", at=5)
    assert [entry["manager"] for entry in live["metadata"]["managedFields"]] == ["z", "a"]


def test_items_of_sets_and_owner_references_are_owned_one_by_one() -> None:
    references = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]
    new = config_map({}, finalizers=["x/a", "x/b"], ownerReferences=references)
    assert owners(write(None, new, "a"))["a"]["f:metadata"] == {
        "f:finalizers": {".": {}, 'v:"x/a"': {}, 'v:"x/b"': {}},
        "f:ownerReferences": {".": {}, 'k:{"uid":"u"}': {}},
    }


def test_items_that_cannot_be_told_apart_are_owned_together() -> None:
    containers = [{"name": "c", "image": "a"}, {"name": "c", "image": "b"}]
    new = {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": containers}}}}
    result = owners(write(None, new, "m", node=DEPLOYMENT))["m"]
    assert result["f:spec"]["f:template"]["f:spec"]["f:containers"] == {'k:{"name":"c"}': {}}


def test_ownership_of_an_item_that_gets_and_loses_a_duplicate_changes() -> None:
    def deployment(*images: str) -> Obj:
        containers = [{"name": "c", "image": image} for image in images]
        return {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": containers}}}}

    def container(obj: Obj, manager: str) -> Obj:
        result: Obj = owners(obj)[manager]["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"c"}']
        return result

    live = write(None, deployment("a"), "m", node=DEPLOYMENT)
    both = deployment("a", "b")
    both["metadata"]["managedFields"] = live["metadata"]["managedFields"]
    live = write(live, both, "n", node=DEPLOYMENT)
    assert (set(owners(live)), container(live, "n")) == ({"n"}, {})
    item = deployment("a")
    item["metadata"]["managedFields"] = live["metadata"]["managedFields"]
    assert container(write(live, item, "o", node=DEPLOYMENT), "o") == {".": {}, "f:image": {}, "f:name": {}}


def test_a_list_that_became_atomic_is_owned_as_one() -> None:
    def thing(list_type: str) -> Node:
        items = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": list_type}
        spec = {"type": "object", "properties": {"s": items, "x": {"type": "integer"}}}
        return node_of({"type": "object", "properties": {"spec": spec}}, resolve)

    live = write(None, {"metadata": {"name": "t"}, "spec": {"s": ["a"]}}, "m", node=thing("set"))
    assert owners(live)["m"]["f:spec"]["f:s"] == {".": {}, 'v:"a"': {}}
    again = write(live, changed(live, spec={"s": ["a"], "x": 1}), "n", node=thing("atomic"))
    assert owners(again)["m"]["f:spec"]["f:s"] == {}


def test_ownership_of_a_free_form_value_that_changes_its_type_changes() -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    node = node_of({"type": "object", "properties": {"spec": free}}, resolve)
    live = write(None, {"metadata": {"name": "t"}, "spec": {"a": {"b": 1}, "c": 2}}, "m", node=node)
    assert owners(live)["m"] == {"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:c": {}}}
    live = write(live, changed(live, spec={"a": [1], "c": {"d": 3}}), "n", node=node)
    assert owners(live) == {"m": {"f:spec": {}}, "n": {"f:spec": {"f:a": {}, "f:c": {".": {}, "f:d": {}}}}}


data = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


@given(st.lists(st.tuples(st.sampled_from("mno"), data), min_size=1, max_size=6))
def test_each_field_has_exactly_one_updater(writes: list[tuple[str, dict[str, str]]]) -> None:
    live: Obj | None = None
    for manager, values in writes:
        new = config_map(values) if live is None else changed(live, data=values)
        live = write(live, new, manager)
        results = [name for fields in owners(live).values() for name in fields.get("f:data", {}) if name != "."]
        assert sorted(results) == sorted(f"f:{name}" for name in values)
