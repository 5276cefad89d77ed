"""The scale of custom resources: numbers that it cannot have, and objects without the field that it shows."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import APPLY, MERGE, Api, definition
from uniteddeployment.embedded.apimachinery.resources import Obj

THINGS = "/apis/example.com/v1/namespaces/default/things"
SCALE = f"{THINGS}/t/scale"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PATHS = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def thing(**spec: Any) -> Obj:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


def scale(**spec: Any) -> Obj:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "t"}, "spec": spec}


@pytest.fixture
def api() -> Api:
    made = Api(controllers=True)
    defined = definition(subresources={"status": {}, "scale": PATHS})
    made.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", defined)
    made.clock.advance(5)
    made.create(THINGS, thing(replicas=2))
    return made


def refused(api: Api, method: str, body: Obj, status: int, *, url: str = SCALE, content: str = MERGE) -> str:
    how = {"content": content} if method == "PATCH" else {}
    message: str = api.json(method, url, body, status=status, **how)["message"]
    return message


def test_a_negative_number_is_refused_by_the_path_of_the_field(api: Api) -> None:
    said = 'Thing.example.com "t" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer'
    assert refused(api, "PATCH", {"spec": {"replicas": -1}}, 422) == said
    assert refused(api, "PUT", scale(replicas=-1), 422) == said
    assert refused(api, "PATCH", {"spec": {"replicas": -1}}, 422, url=f"{THINGS}/t") == said


@pytest.mark.parametrize(
    ("value", "shown"), [(3_000_000_000, "number 3000000000"), ("3", "string"), (1.5, "number 1.5")]
)
def test_a_patch_to_what_is_no_int32_is_refused(api: Api, value: object, shown: str) -> None:
    assert refused(api, "PATCH", {"spec": {"replicas": value}}, 422) == (
        f' "" is invalid: patch: Invalid value: <object>: json: cannot unmarshal {shown} into Go struct field '
        "ScaleSpec.spec.replicas of type int32"
    )


def test_replicas_of_another_type_are_refused_in_the_object(api: Api) -> None:
    assert refused(api, "PATCH", {"spec": {"replicas": "x"}}, 422, url=f"{THINGS}/t") == (
        'Thing.example.com "t" is invalid: .spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of '
        "the type string, expected int64"
    )
    assert refused(api, "PATCH", {"status": {"selector": 5}}, 422, url=f"{THINGS}/t/status") == (
        'Thing.example.com "t" is invalid: .status.selector: Invalid value: "": .status.selector accessor error: 5 is '
        "of the type int64, expected string"
    )


def test_an_object_without_the_field_has_no_scale_but_can_get_one(api: Api) -> None:
    api.patch(f"{THINGS}/t", {"spec": None})
    missing = api.json("GET", SCALE, status=500)
    assert missing["message"] == 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
    said = 'the spec replicas field ".spec.replicas" cannot be empty'
    assert refused(api, "PATCH", {"status": {"replicas": 1}}, 400) == said
    assert api.patch(SCALE, {"spec": {"replicas": 3}})["spec"] == {"replicas": 3}
    assert api.get(f"{THINGS}/t")["spec"] == {"replicas": 3}


def test_a_scale_of_another_kind_or_uid_is_refused(api: Api) -> None:
    undecodable = 'no kind is registered for the type v1.Scale in scheme "pkg/apiserver/customresource_handler.go:781"'
    assert refused(api, "PUT", {**scale(replicas=1), "apiVersion": "autoscaling/v2"}, 400) == undecodable
    other = scale(replicas=1)
    other["metadata"]["uid"] = "other"
    assert "Precondition failed: UID in precondition: other" in refused(api, "PUT", other, 409)


def test_unknown_fields_of_a_scale_are_reported(api: Api) -> None:
    change = {"foo": 1, "spec": {"bar": 2}}
    assert refused(api, "PATCH", change, 422, url=f"{SCALE}?fieldValidation=Strict") == (
        ' "" is invalid: patch: Invalid value: <object>: strict decoding error: unknown field "foo", unknown field '
        '"spec.bar"'
    )
    assert len(api.ask("PATCH", SCALE, change, content=MERGE).warnings) == 2
    assert len(api.ask("PUT", SCALE, {**scale(replicas=1), "foo": 1}).warnings) == 1


def test_replicas_that_nobody_owns_cannot_be_applied(api: Api) -> None:
    api.patch(f"{THINGS}/t", {"metadata": {"managedFields": [{}]}})
    assert refused(api, "PATCH", scale(replicas=3), 500, url=f"{SCALE}?fieldManager=m", content=APPLY).startswith(
        "failed to create manager for existing fields: "
    )


def test_the_table_of_a_scale(api: Api) -> None:
    shown = api.get(SCALE, accept=TABLE)
    assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert shown["rows"][0]["cells"][:3] == ["t", 2, 0]


def test_what_is_no_subresource_is_an_object_that_is_not_there(api: Api) -> None:
    assert refused(api, "GET", {}, 404, url=f"{THINGS}/t/nothing") == 'things.example.com "t" not found'
