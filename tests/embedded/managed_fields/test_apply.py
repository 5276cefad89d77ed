"""Server-side apply: merging, ownership, conflicts, removal."""

import copy

import pytest

from tests.embedded.managed_fields.apply_kit import (
    SERVICE,
    THING,
    A,
    Obj,
    apply,
    apply_thing,
    cm,
    owners,
    refused,
    thing,
    update,
)
from tests.support.narrowing import present
from uniteddeployment.embedded.managed_fields import field_manager as managed


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
    assert [cause["field"] for cause in present(error.details)["causes"]] == [
        ".metadata.labels.a",
        ".data.k1",
        ".data.k2",
    ]


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
    assert (live["data"], set(owners(live))) == ({"k1": "v1"}, {"m2"})
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


def test_an_object_that_differs_in_times_alone_gets_its_entries_back() -> None:
    live = apply(None, A, "m1")
    later = copy.deepcopy(live)
    later["metadata"]["managedFields"][0]["time"] = "2026-01-01T00:00:09Z"
    managed.settle(live, later)
    assert later == live
