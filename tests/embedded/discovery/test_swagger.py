"""The OpenAPI v2 document, in JSON and in protobuf."""

from typing import Any

from tests.embedded.cluster_kit import Api
from tests.embedded.crd_kit import resource
from uniteddeployment.embedded import builtin
from uniteddeployment.embedded.crd.definition.conditions import KEY
from uniteddeployment.embedded.crd.definition.strategy import DefinitionStrategy
from uniteddeployment.embedded.discovery import swagger, swagger_protobuf

Json = dict[str, Any]


def definitions(spec: Json | None = None) -> Json:
    served = [*builtin.resources({KEY: DefinitionStrategy()}), resource(spec or {"type": "object"})]
    result: Json = swagger.document(served)["definitions"]
    return result


def spec_of(schema: Json) -> Json:
    """The spec of a custom kind as version 2 has it."""
    result: Json = definitions(schema)["com.example.v1.Thing"]["properties"]["spec"]
    return result


def test_built_in_kinds_are_described_as_in_version_3_without_defaults() -> None:
    known = definitions()
    assert known["io.k8s.api.apps.v1.StatefulSetSpec"]["properties"]["updateStrategy"] == {
        "$ref": "#/definitions/io.k8s.api.apps.v1.StatefulSetUpdateStrategy",
        "description": (
            "updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update Pods in the "
            "StatefulSet when a revision is made to Template."
        ),
    }
    assert known["io.k8s.api.apps.v1.StatefulSetUpdateStrategy"]["properties"]["type"]["enum"][0] == "OnDelete"
    assert "default" not in known["io.k8s.api.core.v1.Container"]["properties"]["name"]


def test_quantities_and_numbers_that_may_be_names_are_strings() -> None:
    known = definitions()
    assert known["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"
    port = known["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert (port["type"], port["format"], "oneOf" in port) == ("string", "int-or-string", False)


def test_a_custom_kind_loses_what_version_2_cannot_express() -> None:
    assert spec_of(
        {
            "type": "object",
            "required": ["a", "b"],
            "oneOf": [{"required": ["a"]}],
            "properties": {
                "a": {"type": "string", "nullable": True, "default": "x", "enum": ["x"]},
                "b": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "c": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "d": {"type": "array", "nullable": True, "items": {"type": "string"}},
            },
        }
    ) == {
        "type": "object",
        "required": ["b"],
        "properties": {
            "a": {"enum": ["x"]},
            "b": {"x-kubernetes-preserve-unknown-fields": True},
            "c": {"x-kubernetes-int-or-string": True},
            "d": {},
        },
    }


def test_an_embedded_resource_has_metadata_unless_its_fields_are_unknown() -> None:
    nested = {"type": "object", "x-kubernetes-embedded-resource": True}
    known = spec_of({"type": "object", "properties": {"pod": {**nested, "properties": {"spec": {"type": "object"}}}}})
    pod = known["properties"]["pod"]
    assert (pod["required"], sorted(pod["properties"])) == (
        ["kind", "apiVersion"],
        ["apiVersion", "kind", "metadata", "spec"],
    )
    unknown = {**nested, "x-kubernetes-preserve-unknown-fields": True}
    assert spec_of({"type": "object", "properties": {"pod": unknown}})["properties"]["pod"] == {
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_a_custom_kind_that_keeps_unknown_fields_is_only_an_object() -> None:
    """kubectl would refuse all fields but those that are described."""
    root = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    things = resource({"type": "object"}, schema={"openAPIV3Schema": root})
    assert swagger.document([things])["definitions"]["com.example.v1.Thing"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
    }


def test_protobuf_has_the_fields_of_gnostics_messages() -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "T", "version": "v"},
        "definitions": {
            "A": {
                "type": "object",
                "required": ["x"],
                "properties": {"x": {"$ref": "#/definitions/B"}},
                "additionalProperties": True,
                "x-y": [1],
            },
            "B": {"type": "array", "items": {"type": "string", "enum": ["e"]}, "minimum": 1, "maxItems": 300},
        },
    }
    a = (
        b"\xb2\x01\x08\n\x06object"
        b"\x9a\x01\x01x"
        b"\xca\x01\x18\n\x16\n\x01x\x12\x11\n\x0f#/definitions/B"
        b"\xaa\x01\x02\x10\x01"
        b"\xfa\x01\x0c\n\x03x-y\x12\x05\x12\x03[1]"
    )
    b = (
        b"\xb2\x01\x07\n\x05array"
        b'\xba\x01\x15\n\x13\xb2\x01\x08\n\x06string\xa2\x01\x05\x12\x03"e"'
        b"\x49\x00\x00\x00\x00\x00\x00\xf0\x3f"
        b"\x70\xac\x02"
    )
    schemas = b"".join(
        b"\n" + bytes([len(schema) + 5]) + b"\n\x01" + name + b"\x12" + bytes([len(schema)]) + schema
        for name, schema in ((b"A", a), (b"B", b))
    )
    expected = b"\n\x032.0\x12\x06\n\x01T\x12\x01v\x42\x00\x4a" + bytes([len(schemas)])
    assert swagger_protobuf.encode(document) == expected + schemas


def test_kubectl_gets_protobuf_and_others_json() -> None:
    api = Api()
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    response = api.ask("GET", "/openapi/v2", accept=accept)
    assert response.headers["content-type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert response.body.startswith(b"\n\x032.0")
    assert "io.k8s.api.core.v1.Pod" in api.get("/openapi/v2")["definitions"]


def test_documents_that_are_not_there_are_empty_responses() -> None:
    api = Api()
    for path in ("/openapi/v3/apis/none", "/openapi/v3/apis/none/v1", "/openapi/v3/"):
        response = api.ask("GET", path)
        assert (response.status, response.body, response.headers.get("content-type")) == (404, b"", None)
    assert api.ask("GET", "/openapi/v2/x").body == b"404 page not found\n"
