"""Discovery documents in all forms."""

import json

import pytest

from tests.embedded.cluster_kit import Api, definition
from uniteddeployment.embedded.discovery.groups import version_order

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_versions_are_sorted_as_kubernetes_prefers_them() -> None:
    versions = ["v1beta1", "v10", "v1", "v2alpha1", "v2beta2", "other", "v2"]
    assert sorted(versions, key=version_order) == ["v10", "v2", "v1", "v2beta2", "v1beta1", "v2alpha1", "other"]


def test_groups_name_their_preferred_version() -> None:
    groups = {group["name"]: group for group in Api().get("/apis")["groups"]}
    assert groups["autoscaling"]["preferredVersion"]["version"] == "v2"
    assert [version["version"] for version in groups["autoscaling"]["versions"]] == ["v2", "v1"]


def test_resources_stand_with_their_subresources() -> None:
    lines = {line["name"]: line for line in Api().get("/apis/apps/v1")["resources"]}
    assert lines["deployments"]["shortNames"] == ["deploy"]
    assert lines["deployments/scale"]["group"] == "autoscaling"
    assert lines["deployments/status"]["verbs"] == ["get", "patch", "update"]


def test_aggregated_discovery_has_all_groups_at_once() -> None:
    api = Api()
    response = api.ask("GET", "/apis", accept=AGGREGATED)
    assert response.headers["content-type"].endswith("as=APIGroupDiscoveryList")
    assert "apps" in {item["metadata"]["name"] for item in json.loads(response.body)["items"]}
    core = api.get("/api", accept=AGGREGATED)["items"][0]["versions"][0]["resources"]
    pods = next(resource for resource in core if resource["resource"] == "pods")
    assert {sub["subresource"] for sub in pods["subresources"]} >= {"status", "binding", "eviction"}


def test_a_definition_comes_into_discovery_and_leaves_it() -> None:
    api = Api(controllers=True)
    assert api.ask("GET", "/apis/example.com").status == 404
    api.create(DEFINITIONS, definition(subresources={"status": {}}))
    api.clock.advance(1)
    assert api.get("/apis/example.com")["preferredVersion"]["version"] == "v1"
    assert [line["name"] for line in api.get("/apis/example.com/v1")["resources"]] == ["things", "things/status"]
    assert "apis/example.com/v1" in api.get("/openapi/v3")["paths"]
    api.json("DELETE", f"{DEFINITIONS}/things.example.com", status=200)
    api.clock.advance(1)
    assert api.ask("GET", "/apis/example.com").status == 404
    assert api.ask("GET", "/openapi/v3/apis/example.com/v1").status == 404


def test_a_definition_that_changes_is_served_as_it_is_now() -> None:
    """Objects that were stored before a default was added to the schema have it when they are read."""
    api = Api(controllers=True)
    spec = {"type": "object", "properties": {"a": {"type": "string"}}}
    api.create(DEFINITIONS, definition({"type": "object", "properties": {"spec": spec}}))
    api.clock.advance(1)
    things = "/apis/example.com/v1/namespaces/default/things"
    api.create(things, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}})
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b"
    operation = {"op": "add", "path": path, "value": {"type": "integer", "default": 3}}
    api.patch(f"{DEFINITIONS}/things.example.com", [operation], "application/json-patch+json")
    assert api.get(f"{things}/t")["spec"] == {"b": 3}
    assert api.get(things)["items"][0]["spec"] == {"b": 3}


@pytest.mark.parametrize("path", ["/version", "/healthz", "/readyz", "/livez", "/readyz?verbose=true"])
def test_anonymous_users_may_read_health_and_version(path: str) -> None:
    assert Api().ask("GET", path, token="").status == 200


def test_the_version_is_that_of_the_recordings() -> None:
    version = Api().get("/version")
    assert (version["major"], version["minor"]) == ("1", "36")
