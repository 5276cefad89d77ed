"""Ownership of replicas that are written through the scale subresource."""

from typing import Any

from tests.embedded.cluster_kit import APPLY, DEPLOYMENTS, Api, deployment
from uniteddeployment.embedded.managed_fields import scale as scaled

PATH = ".spec.replicas"
REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: str) -> dict[str, Any]:
    known = {"apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", **more}
    return {"manager": manager, "operation": operation, **known, "fieldsType": "FieldsV1", "fieldsV1": fields}


def timeless(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != "time"}


USER = entry("user", {"f:spec": {"f:paused": {}, "f:replicas": {}}})
OTHER = entry("other", {"f:spec": {"f:paused": {}}}, "Apply")


def test_a_scale_shows_the_owners_of_replicas_only() -> None:
    assert scaled.of_scale([OTHER, USER], PATH) == [entry("user", REPLICAS, apiVersion="autoscaling/v1")]
    assert scaled.of_scale(None, PATH) == []


def test_a_new_owner_takes_replicas_and_has_no_time() -> None:
    scale = [entry("hpa", REPLICAS, "Apply", apiVersion="autoscaling/v1", subresource="scale")]
    assert scaled.of_object([OTHER, USER], scale, PATH, "apps/v1") == [
        timeless(entry("hpa", REPLICAS, "Apply", subresource="scale")),
        OTHER,
        entry("user", {"f:spec": {"f:paused": {}}}),
    ]


def test_an_applier_that_keeps_replicas_keeps_its_entry() -> None:
    applier = entry("user", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, "Apply")
    scale = scaled.of_scale([OTHER, applier], PATH)
    assert scaled.of_object([OTHER, applier], scale, PATH, "apps/v1") == [OTHER, applier]


def test_an_updater_that_keeps_replicas_gets_an_entry_for_them_alone() -> None:
    scale = scaled.of_scale([USER], PATH)
    result = scaled.of_object([USER], scale, PATH, "apps/v1")
    assert sorted(result, key=lambda item: "time" in item) == [
        timeless(entry("user", REPLICAS)),
        entry("user", {"f:spec": {"f:paused": {}}}),
    ]


def test_without_owners_of_the_scale_nobody_owns_replicas() -> None:
    assert scaled.of_object([USER], [], PATH, "apps/v1") == [entry("user", {"f:spec": {"f:paused": {}}})]


def test_replicas_may_be_anywhere_in_a_custom_resource() -> None:
    stored = [entry("user", {"f:spec": {"f:size": {"f:count": {}}}}, apiVersion="example.com/v1")]
    scale = [entry("hpa", REPLICAS, apiVersion="autoscaling/v1", subresource="scale")]
    assert scaled.of_scale(stored, ".spec.size.count") == [entry("user", REPLICAS, apiVersion="autoscaling/v1")]
    (result,) = scaled.of_object(stored, scale, ".spec.size.count", "example.com/v1")
    assert (result["manager"], result["apiVersion"]) == ("hpa", "example.com/v1")
    assert result["fieldsV1"] == {"f:spec": {"f:size": {"f:count": {}}}}


def _deployment_owned_by_hpa(api: Api) -> str:
    url = f"{DEPLOYMENTS}/web/scale"
    api.create(DEPLOYMENTS, deployment("web", 2))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 3}}
    api.json(
        "PUT", f"{url}?fieldManager=hpa", {**scale, "metadata": {"name": "web", "namespace": "default"}}, status=200
    )
    return url


def test_an_apply_of_a_scale_meets_the_owner_of_its_replicas() -> None:
    api = Api()
    url = _deployment_owned_by_hpa(api)
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    refused = api.json("PATCH", f"{url}?fieldManager=other", config, content=APPLY, status=409)
    assert "hpa" in refused["message"]
    assert refused["details"]["causes"][0]["field"] == ".spec.replicas"
    api.json("PATCH", f"{url}?fieldManager=other&force=true", config, content=APPLY, status=200)
    owners = api.get(f"{DEPLOYMENTS}/web")["metadata"]["managedFields"]
    assert [
        (owner["manager"], owner["operation"]) for owner in owners if "f:replicas" in owner["fieldsV1"]["f:spec"]
    ] == [("other", "Apply")]


def test_zero_replicas_of_a_scale_have_no_owner() -> None:
    api = Api()
    url = _deployment_owned_by_hpa(api)
    assert api.patch(url, {"spec": {"replicas": 0}})["spec"] == {}
    owners = api.get(f"{DEPLOYMENTS}/web")["metadata"]["managedFields"]
    assert not [owner for owner in owners if "f:replicas" in owner["fieldsV1"]["f:spec"]]


def test_the_replicas_of_a_scale_are_a_number() -> None:
    api = Api()
    url = _deployment_owned_by_hpa(api)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "default"}}
    for errors in ("", False, "3"):
        assert api.ask("PUT", url, {**scale, "spec": {"replicas": errors}}).status == 400


def test_a_scale_as_a_table_has_columns_of_its_own() -> None:
    api = Api()
    url = _deployment_owned_by_hpa(api)
    table = api.get(url, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"] == ["web", 3, 0, "0s"]
