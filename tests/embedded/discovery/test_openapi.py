"""OpenAPI documents as kubectl reads them."""

import json
import subprocess
import sys
from importlib import resources
from typing import Any

from tests.embedded.crd_kit import resource
from uniteddeployment.embedded import builtin, discovery
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


def test_the_fields_of_built_in_kinds_are_described() -> None:
    """Also those that refer to another type, which has a description of its own."""
    schemas = document("apps", "v1")["components"]["schemas"]
    assert schemas["io.k8s.api.apps.v1.StatefulSetSpec"]["properties"]["updateStrategy"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.StatefulSetUpdateStrategy"}],
        "default": {},
        "description": (
            "updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update Pods in the "
            "StatefulSet when a revision is made to Template."
        ),
    }
    strategy = schemas["io.k8s.api.apps.v1.StatefulSetUpdateStrategy"]
    assert strategy["description"].startswith("StatefulSetUpdateStrategy indicates the strategy that")
    assert strategy["properties"]["type"]["enum"] == ["OnDelete", "RollingUpdate"]


def test_kinds_and_lists_describe_what_all_of_them_have() -> None:
    schemas = document("apps", "v1")["components"]["schemas"]
    for name in ("StatefulSet", "StatefulSetList"):
        fields = schemas[f"io.k8s.api.apps.v1.{name}"]["properties"]
        assert fields["apiVersion"]["description"].startswith("APIVersion defines the versioned schema")
        assert fields["kind"]["description"].startswith("Kind is a string value representing the REST resource")
        assert fields["metadata"]["description"].startswith("Standard ")
    assert (
        schemas["io.k8s.api.apps.v1.StatefulSetList"]["description"]
        == "StatefulSetList is a collection of StatefulSets."
    )
    items = schemas["io.k8s.api.apps.v1.StatefulSetList"]["properties"]["items"]
    assert items["items"] == {"$ref": "#/components/schemas/io.k8s.api.apps.v1.StatefulSet"}


def test_every_type_of_every_document_is_described() -> None:
    resources = served()
    undescribed = {
        name
        for group, version in {
            (member.group, member.version) for member in builtin.resources({KEY: DefinitionStrategy()})
        }
        for name, schema in openapi.document(group, version, resources)["components"]["schemas"].items()  # type: ignore[index]
        if not schema.get("description")
    }
    assert undescribed == set()


def test_every_description_belongs_to_something() -> None:
    described = resources.files(discovery).joinpath("descriptions.json").read_bytes()
    all_resources = served()
    documents = [openapi.document(member.group, member.version, all_resources) or {} for member in all_resources]
    known = {name for content in documents for name in content["components"]["schemas"]}
    assert set(json.loads(described)) - known == set()


def test_descriptions_are_read_when_a_document_is_requested() -> None:
    """A cluster starts without them."""
    program = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from tests.embedded.cluster_kit import Api
api = Api(controllers=True)
api.get("/openapi/v3")
assert not [path for path in opened if path.endswith("descriptions.json")]
api.get("/openapi/v3/apis/apps/v1")
assert [path for path in opened if path.endswith("descriptions.json")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_custom_document_says_what_it_is_made_from() -> None:
    assert document("example.com", "v1")["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert document("apps", "v1")["info"]["title"] == "Kubernetes"


def test_an_embedded_resource_has_the_fields_of_objects() -> None:
    nested = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"]}
    things = resource({"type": "object", "properties": {"pod": nested}})
    result = openapi.document("example.com", "v1", [things])
    assert result is not None
    pod = result["components"]["schemas"]["com.example.v1.Thing"]["properties"]["spec"]["properties"]["pod"]
    assert pod["required"] == ["spec", "kind", "apiVersion"]
    assert sorted(pod["properties"]) == ["apiVersion", "kind", "metadata"]
    assert pod["properties"]["kind"]["description"].startswith("kind is a string value representing the type")


def test_selectable_fields_are_published() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    things = resource(schema, selectableFields=[{"jsonPath": ".spec.a"}])
    result = openapi.document("example.com", "v1", [things])
    assert result is not None
    kind = result["components"]["schemas"]["com.example.v1.Thing"]
    assert kind["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.a"}]


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
