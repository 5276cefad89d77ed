"""OpenAPI documents as kubectl reads them."""

import json
from typing import Any

from tests.embedded.crd_kit import resource
from uniteddeployment.embedded import builtin
from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.crd.definition.conditions import KEY
from uniteddeployment.embedded.crd.definition.strategy import DefinitionStrategy
from uniteddeployment.embedded.discovery import openapi

DESCRIBED = {"type": "object", "description": "What you want.", "properties": {"a": {"type": "string"}}}
SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}


def served() -> list[Resource]:
    things = resource(DESCRIBED, subresources={"status": {}, "scale": SCALE})
    return [*builtin.resources({KEY: DefinitionStrategy()}), things]


def document(group: str, version: str) -> dict[str, Any]:
    result = openapi.document(group, version, served())
    assert result is not None
    return result


def test_the_index_names_each_group_version_with_a_hash_of_what_it_says() -> None:
    paths = openapi.index(served())["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/example.com/v1"} <= set(paths)
    url = paths["apis/example.com/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/example.com/v1?hash=")
    other = openapi.index([resource({"type": "object"})])["paths"]["apis/example.com/v1"]["serverRelativeURL"]
    assert other != url


def test_a_custom_kind_is_described_with_its_metadata() -> None:
    schemas = document("example.com", "v1")["components"]["schemas"]
    kind = schemas["com.example.v1.Thing"]
    assert kind["properties"]["spec"] == DESCRIBED
    assert kind["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Thing"}]
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert kind["properties"]["metadata"]["allOf"] == [{"$ref": f"#/components/schemas/{meta}"}]
    assert "ownerReferences" in schemas[meta]["properties"]
    assert schemas["com.example.v1.ThingList"]["required"] == ["items"]


def test_operations_say_which_parameters_and_patches_they_take() -> None:
    """kubectl checks for ``fieldValidation`` and strategic merge patch before it uses them."""
    paths = document("example.com", "v1")["paths"]
    item = paths["/apis/example.com/v1/namespaces/{namespace}/things/{name}"]
    assert {"dryRun", "fieldManager", "fieldValidation"} <= {p["name"] for p in item["patch"]["parameters"]}
    assert item["patch"]["x-kubernetes-group-version-kind"]["kind"] == "Thing"
    assert "application/strategic-merge-patch+json" not in item["patch"]["requestBody"]["content"]
    built_in = document("apps", "v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert "application/strategic-merge-patch+json" in built_in["patch"]["requestBody"]["content"]
    collection = paths["/apis/example.com/v1/namespaces/{namespace}/things"]
    assert collection["post"]["x-kubernetes-action"] == "post"
    assert "/apis/example.com/v1/things" in paths
    scale = paths["/apis/example.com/v1/namespaces/{namespace}/things/{name}/scale"]
    assert scale["get"]["x-kubernetes-group-version-kind"]["group"] == "autoscaling"


def test_every_reference_of_every_document_leads_somewhere() -> None:
    resources = served()
    for group, version in {(member.group, member.version) for member in resources}:
        result = openapi.document(group, version, resources)
        assert result is not None
        text = json.dumps(result)
        names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
        assert names <= set(result["components"]["schemas"])


def test_documents_are_kept_and_unknown_ones_are_not_there() -> None:
    assert document("apps", "v1") is document("apps", "v1")
    assert openapi.document("nobody.io", "v1", served()) is None


def test_the_old_format_is_a_document_that_says_nothing() -> None:
    assert openapi.legacy_protobuf() == b"\n\x032.0"
    assert openapi.legacy()["swagger"] == "2.0"
