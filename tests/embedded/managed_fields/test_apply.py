"""Server-side apply: merging, ownership, conflicts, removal."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.builtin.shapes import resolve
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.schema.node import Node, node_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP = node_of(resolve("io.k8s.api.core.v1.ConfigMap"), resolve)
SERVICE = node_of(resolve("io.k8s.api.core.v1.Service"), resolve)
STRINGS = {"type": "array", "items": {"type": "string"}}
PORT = {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "note": {"type": "string"}}
SPEC = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "number": {"type": "integer"},
    "set": {**STRINGS, "x-kubernetes-list-type": "set"},
    "atomic": {**STRINGS, "x-kubernetes-list-type": "atomic"},
    "plain": STRINGS,
    "byname": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {name: {"type": "string"} for name in ("name", "val", "other")}},
    },
    "byport": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "properties": PORT},
    },
    "amap": {"type": "object", "additionalProperties": {"type": "string"}},
    "atomicmap": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "additionalProperties": {"type": "string"},
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}},
}
THING = node_of(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": SPEC},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}, "conditions": CONDITIONS}},
        },
    },
    resolve,
)

Obj = dict[str, Any]


def apply(live: Obj | None, patch: Obj, manager: str, *, node: Node = CONFIG_MAP, at: int = 0, **options: Any) -> Obj:
    before, config = copy.deepcopy(live), copy.deepcopy(patch)
    arguments = {"force": False, "api_version": "v1", "subresource": "", **options}
    result = managed.apply(live, patch, manager=manager, now=NOW + timedelta(seconds=at), node=node, **arguments)
    assert (live, patch) == (before, config)
    return result


def refused(live: Obj | None, patch: Obj, manager: str, **options: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        apply(live, patch, manager, **options)
    return caught.value


def cm(data: Obj | None = None, **metadata: Any) -> Obj:
    obj: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", **metadata}}
    return obj if data is None else {**obj, "data": data}


def thing(spec: Obj | None = None, **parts: Any) -> Obj:
    obj: Obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, **parts}
    return obj if spec is None else {**obj, "spec": spec}


def apply_thing(live: Obj | None, patch: Obj, manager: str, **options: Any) -> Obj:
    return apply(live, patch, manager, node=THING, api_version="example.com/v1", **options)


def owners(obj: Obj) -> dict[str, Obj]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def update(live: Obj | None, new: Obj, manager: str, **options: Any) -> Obj:
    written = copy.deepcopy(new)
    arguments = {"api_version": "v1", "subresource": "", "node": CONFIG_MAP, **options}
    managed.update(live, written, manager=manager, now=NOW, **arguments)
    return written


A = cm({"k1": "v1", "k2": "v2"}, labels={"a": "1"})


def test_an_apply_creates_and_owns_its_leaves() -> None:
    live = apply(None, A, "m1")
    assert live["data"] == {"k1": "v1", "k2": "v2"}
    assert live["metadata"]["managedFields"] == [
        {
            "manager": "m1",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k1": {}, "f:k2": {}}, "f:metadata": {"f:labels": {"f:a": {}}}},
        }
    ]


def test_the_same_apply_changes_nothing_and_keeps_its_time() -> None:
    """Without a change there is no write (I3)."""
    live = apply(None, A, "m1")
    assert apply(live, A, "m1", at=5) == live


def test_fields_that_are_no_longer_applied_are_removed() -> None:
    live = apply(None, A, "m1")
    live = apply(live, cm({"k2": "v2b", "k3": "v3"}), "m1", at=5)
    assert live["data"] == {"k2": "v2b", "k3": "v3"}
    assert "labels" not in live["metadata"]
    (entry,) = live["metadata"]["managedFields"]
    assert (entry["fieldsV1"], entry["time"]) == ({"f:data": {"f:k2": {}, "f:k3": {}}}, "2026-01-01T00:00:05Z")
    assert apply(live, cm(), "m1") == cm()


def test_fields_of_others_conflict() -> None:
    live = apply(None, A, "m1")
    error = refused(live, cm({"k1": "other"}), "m2")
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "m1": .data.k1'
    assert error.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.k1"}]
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    live = apply(None, A, "m1")
    live = apply(live, cm({"k1": "other"}), "m2", force=True)
    live = update(live, {**live, "data": {**live["data"], "k2": "updated"}}, "m3")
    error = refused(live, cm({"k1": "third", "k2": "third"}, labels={"a": "2"}), "m4")
    assert error.message == (
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .metadata.labels.a\n'
        'conflicts with "m2":\n- .data.k1\nconflicts with "m3" using v1:\n- .data.k2'
    )
    assert [cause["field"] for cause in error.details["causes"]] == [".metadata.labels.a", ".data.k1", ".data.k2"]


def test_force_takes_fields_from_their_owners() -> None:
    live = apply(apply(None, A, "m1"), cm({"k1": "other"}), "m2", force=True)
    assert live["data"] == {"k1": "other", "k2": "v2"}
    assert owners(live) == {
        "m1": {"f:data": {"f:k2": {}}, "f:metadata": {"f:labels": {"f:a": {}}}},
        "m2": {"f:data": {"f:k1": {}}},
    }


def test_equal_values_are_owned_together_without_conflict_and_without_time() -> None:
    live = update(None, A, "creator")
    live = apply(live, cm({"k1": "v1"}), "m1")
    (entry,) = [entry for entry in live["metadata"]["managedFields"] if entry["manager"] == "m1"]
    assert entry["fieldsV1"] == {"f:data": {"f:k1": {}}}
    assert "time" not in entry
    assert owners(live)["creator"]["f:data"] == {".": {}, "f:k1": {}, "f:k2": {}}


def test_a_field_with_two_owners_stays_until_both_let_go() -> None:
    live = apply(apply(None, A, "m1"), cm({"k1": "v1"}), "m2")
    live = apply(live, cm(), "m1")
    assert (live["data"], owners(live).keys()) == ({"k1": "v1"}, {"m2"})
    assert "data" not in apply(live, cm(), "m2")


def test_a_field_that_an_update_took_is_not_removed_by_its_former_applier() -> None:
    live = apply(None, cm({"k1": "v1"}), "m1")
    live = update(live, {**live, "data": {"k1": "put"}}, "putter")
    assert owners(live) == {"putter": {"f:data": {"f:k1": {}}}}
    assert apply(live, cm(), "m1") == live


def test_fields_without_an_owner_stay_while_their_container_has_one() -> None:
    live = apply(None, A, "m1")
    live = {**live, "data": {**live["data"], "unowned": "x"}}
    assert apply(live, cm({"k1": "v1"}), "m1")["data"] == {"k1": "v1", "unowned": "x"}
    assert "data" not in apply(live, cm(), "m1")


def test_a_container_whose_parts_are_all_removed_is_removed() -> None:
    live = apply_thing(None, thing({"amap": {"k": "v"}, "text": "x"}), "m")
    assert apply_thing(live, thing({"amap": {}, "text": "x"}), "m")["spec"] == {"text": "x"}


def test_an_object_without_owners_gets_one_for_what_was_there() -> None:
    live = apply(cm({"k1": "v1", "k2": "v2"}), cm({"k1": "v1"}), "m1")
    assert owners(live) == {
        "before-first-apply": {"f:data": {".": {}, "f:k1": {}, "f:k2": {}}},
        "m1": {"f:data": {"f:k1": {}}},
    }
    error = refused(cm({"k1": "v1"}), cm({"k1": "x"}), "m1")
    assert error.message == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k1'


def test_all_kinds_of_lists_and_maps_are_owned_by_their_schema() -> None:
    spec = {
        "text": "hello",
        "set": ["a", "b"],
        "atomic": ["a", "b"],
        "plain": ["a"],
        "byname": [{"name": "x", "val": "1"}],
        "byport": [{"port": 80}],
        "amap": {"k1": "v1"},
        "atomicmap": {"k1": "v1"},
        "free": {"any": {"thing": 1}},
    }
    live = apply_thing(None, thing(spec), "m1")
    assert owners(live)["m1"] == {
        "f:spec": {
            "f:amap": {"f:k1": {}},
            "f:atomic": {},
            "f:atomicmap": {},
            "f:byname": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:val": {}}},
            "f:byport": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
            "f:free": {"f:any": {".": {}, "f:thing": {}}},
            "f:plain": {},
            "f:set": {'v:"a"': {}, 'v:"b"': {}},
            "f:text": {},
        }
    }
    error = refused(
        live,
        thing({"atomic": ["z"], "atomicmap": {"k2": "v2"}, "plain": ["b"]}),
        "m2",
        node=THING,
        api_version="example.com/v1",
    )
    assert error.message.endswith("- .spec.atomic\n- .spec.atomicmap\n- .spec.plain")


def test_lists_are_merged_in_the_applied_order_and_pruned_item_by_item() -> None:
    live = apply_thing(
        None, thing({"set": ["a", "b"], "byname": [{"name": "x", "val": "1"}], "amap": {"k": "v"}}), "m1"
    )
    two = thing({"set": ["c", "a"], "byname": [{"name": "y"}, {"name": "x", "other": "o"}]})
    live = apply_thing(live, two, "m2")
    assert live["spec"]["set"] == ["c", "a", "b"]
    assert live["spec"]["byname"] == [{"name": "y"}, {"name": "x", "val": "1", "other": "o"}]
    live = apply_thing(live, thing({"set": ["b"], "byname": [{"name": "x"}]}), "m1")
    assert live["spec"] == {"set": ["c", "a", "b"], "byname": [{"name": "y"}, {"name": "x", "other": "o"}]}


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ("abx", "bac", "bxac"),
        ("xaybz", "ab", "xaybz"),
        ("abc", "ca", "bca"),
        ("ab", "xay", "xaby"),
        ("xyz", "a", "xyza"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
    ],
)
def test_items_of_the_object_alone_keep_their_place_before_shared_ones(live: str, applied: str, merged: str) -> None:
    obj = apply_thing(None, thing({"set": list(live)}), "m1")
    assert "".join(apply_thing(obj, thing({"set": list(applied)}), "m2")["spec"]["set"]) == merged


def test_ports_are_keyed_with_the_default_protocol() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    live = apply(None, {**service, "spec": {"ports": [{"name": "a", "port": 80}]}}, "m1", node=SERVICE)
    stored = copy.deepcopy(live)
    stored["spec"]["ports"][0].update(protocol="TCP", targetPort=80)
    two = [{"name": "b", "port": 80, "protocol": "UDP"}, {"name": "c", "port": 81}]
    both = apply(stored, {**service, "spec": {"ports": two}}, "m2", node=SERVICE)
    assert [port["name"] for port in both["spec"]["ports"]] == ["a", "b", "c"]
    moved = apply(both, {**service, "spec": {"ports": [{"name": "a", "port": 82}]}}, "m1", node=SERVICE)
    assert [port["port"] for port in moved["spec"]["ports"]] == [80, 81, 82]


def test_finalizers_and_owner_references_go_with_their_applier() -> None:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "owner", "uid": "u"}
    live = apply(None, cm(finalizers=["x/a"], ownerReferences=[reference]), "m1")
    assert owners(live)["m1"] == {
        "f:metadata": {"f:finalizers": {'v:"x/a"': {}}, "f:ownerReferences": {'k:{"uid":"u"}': {}}}
    }
    live = apply(live, cm(finalizers=["x/b"]), "m2")
    live = apply(live, cm(), "m1")
    assert live["metadata"]["finalizers"] == ["x/b"]
    assert "ownerReferences" not in live["metadata"]
    assert "finalizers" not in apply(live, cm(), "m2")["metadata"]


def test_status_applies_own_status_and_object_applies_own_the_rest() -> None:
    live = apply_thing(None, thing({"text": "hello"}, status={"phase": "Dropped"}), "m1")
    assert owners(live)["m1"] == {"f:spec": {"f:text": {}}}
    live.pop("status")
    ready = thing({"text": "ignored"}, status={"phase": "Ready", "conditions": [{"type": "A", "status": "True"}]})
    live = {**apply_thing(live, ready, "c1", subresource="status"), "spec": live["spec"]}
    assert owners(live)["c1"]["f:status"] == {
        "f:conditions": {'k:{"type":"A"}': {".": {}, "f:status": {}, "f:type": {}}},
        "f:phase": {},
    }
    other = thing(status={"conditions": [{"type": "A", "status": "False"}]})
    error = refused(live, other, "c2", node=THING, api_version="example.com/v1", subresource="status")
    assert error.message == (
        'Apply failed with 1 conflict: conflict with "c1" with subresource "status": '
        '.status.conditions[type="A"].status'
    )


def test_one_manager_owns_by_subresource() -> None:
    live = apply_thing(None, thing({"text": "x"}), "m")
    live = apply_thing(live, thing(status={"phase": "p"}), "m", subresource="status")
    assert [entry.get("subresource") for entry in live["metadata"]["managedFields"]] == [None, "status"]
    assert live["spec"] == {"text": "x"}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"set": ["b", "b"]}, '.spec.set: duplicate entries for key [="b"]'),
        ({"byname": [{"name": "x"}, {"name": "x"}]}, '.spec.byname: duplicate entries for key [name="x"]'),
        (
            {"byname": [{"val": "nokey"}]},
            (
                '.spec.byname: element 0: associative list with keys has an element that omits all key fields ["name"] '
                "(and doesn't have default values for any key fields)"
            ),
        ),
        ({"unknown": 5}, ".spec.unknown: field not declared in schema"),
        ({"text": 5}, ".spec.text: expected string, got &value.valueUnstructured{Value:5}"),
        ({"number": "5"}, ".spec.number: expected numeric (int or float), got string"),
        ({"flag": "yes"}, ".spec.flag: expected boolean, got &{yes}"),
        ({"set": {"a": 1}}, ".spec.set: expected list, got &{map[a:1]}"),
        ({"amap": "x"}, ".spec.amap: expected map, got &{x}"),
        (
            {"text": [], "unknown": 1},
            (
                "errors:\n  .spec.text: expected string, got &value.valueUnstructured{Value:[]interface {}{}}\n"
                "  .spec.unknown: field not declared in schema"
            ),
        ),
    ],
)
def test_a_configuration_that_does_not_fit_is_500(spec: Obj, why: str) -> None:
    error = refused(None, thing(spec), "m", node=THING, api_version="example.com/v1")
    assert (error.code, error.reason) == (500, "")
    assert error.message == f"failed to create typed patch object (/t; example.com/v1, Kind=Thing): {why}"


def test_the_core_group_shows_as_an_empty_one() -> None:
    error = refused(None, cm({"a": 5}), "m")
    assert error.message.startswith("failed to create typed patch object (/one; /v1, Kind=ConfigMap): .data.a: ")


def test_a_configuration_for_another_version_or_with_managed_fields_is_400() -> None:
    error = refused(None, {"kind": "ConfigMap", "metadata": {"name": "one"}}, "m")
    assert (error.code, error.message) == (400, "invalid object type: /, Kind=ConfigMap")
    error = refused(None, cm(managedFields=[{"manager": "x"}]), "m")
    assert (error.code, error.message) == (400, "metadata.managedFields must be nil")


def test_a_configuration_of_another_kind_is_400() -> None:
    error = refused(None, {**cm(), "kind": "Secret"}, "m")
    assert (error.code, error.message) == (400, "invalid object type: /v1, Kind=Secret")


def test_identity_stays_when_all_other_metadata_goes() -> None:
    live = apply(None, A, "m1")
    live["metadata"].update(uid="u", resourceVersion="5")
    assert apply(live, cm(), "m1") == cm(uid="u", resourceVersion="5")


def test_a_null_is_owned_like_a_value() -> None:
    live = apply(None, cm({"a": None}), "m")
    assert owners(live)["m"] == {"f:data": {"f:a": {}}}


def test_null_for_a_map_or_list_of_others_removes_nothing() -> None:
    live = apply_thing(None, thing({"amap": {"k": "v"}, "set": ["a"]}), "m1")
    assert apply_thing(live, thing({"amap": None, "set": None}), "m2")["spec"] == {"amap": {"k": "v"}, "set": ["a"]}


def test_appliers_are_the_same_in_all_versions() -> None:
    live = apply_thing(None, thing({"text": "x", "number": 1}), "m")
    newer = {**thing({"text": "x"}), "apiVersion": "example.com/v2"}
    live = apply({**live, "apiVersion": "example.com/v2"}, newer, "m", node=THING, api_version="example.com/v2")
    (entry,) = live["metadata"]["managedFields"]
    assert (entry["apiVersion"], live["spec"]) == ("example.com/v2", {"text": "x"})


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


def test_an_object_that_differs_in_times_alone_gets_its_entries_back() -> None:
    live = apply(None, A, "m1")
    later = copy.deepcopy(live)
    later["metadata"]["managedFields"][0]["time"] = "2026-01-01T00:00:09Z"
    managed.settle(live, later)
    assert later == live


texts = st.sampled_from(["x", "y"])
specs = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "set": st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=3),
        "amap": st.dictionaries(st.sampled_from("pq"), texts, min_size=1, max_size=2),
        "atomicmap": st.dictionaries(st.sampled_from("pq"), texts, max_size=2),
        "free": st.dictionaries(st.sampled_from("pq"), texts | st.just({"r": 1}), min_size=1, max_size=2),
        "byname": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"val": texts}),
            unique_by=lambda item: item["name"],
            min_size=1,
            max_size=2,
        ),
    },
)
applies = st.lists(st.tuples(st.sampled_from(["m", "n"]), specs), min_size=1, max_size=5)


def history(writes: list[tuple[str, Obj]]) -> Obj:
    live: Obj | None = None
    for manager, spec in writes:
        live = apply_thing(live, thing(spec or None), manager, force=True)
    assert live is not None
    return live


@given(applies)
def test_applying_twice_is_applying_once(writes: list[tuple[str, Obj]]) -> None:
    live = history(writes)
    manager, spec = writes[-1]
    assert apply_thing(live, thing(spec or None), manager, at=9, force=True) == live


@given(applies)
def test_applied_fields_are_set_and_owned(writes: list[tuple[str, Obj]]) -> None:
    live = history(writes)
    manager, spec = writes[-1]
    mine = owners(live).get(manager, {})
    if "text" in spec:
        assert live["spec"]["text"] == spec["text"]
        assert fieldset.has(mine, ("f:spec", "f:text"))
    for item in spec.get("set", ()):
        assert item in live["spec"]["set"]
        assert fieldset.has(mine, ("f:spec", "f:set", fieldset.value(item)))
    for item in spec.get("byname", ()):
        assert any(item.items() <= result.items() for result in live["spec"]["byname"])
        assert fieldset.has(mine, ("f:spec", "f:byname", fieldset.key({"name": item["name"]})))


@given(applies)
def test_a_field_without_any_owner_left_is_removed(writes: list[tuple[str, Obj]]) -> None:
    live = history(writes)
    for manager in ("m", "n"):
        live = apply_thing(live, thing(), manager, force=True)
    assert not owners(live)
    assert not live.get("spec")
