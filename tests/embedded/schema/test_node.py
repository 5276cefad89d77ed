"""Schemas for merging and field ownership, of built-in kinds and custom resources."""

from collections.abc import Mapping
from typing import Any

import pytest

from uniteddeployment.embedded.builtin.shapes import resolve
from uniteddeployment.embedded.schema.node import ABSENT, ANY, Kind, Node, node_of

DEPLOYMENT = resolve("io.k8s.api.apps.v1.Deployment")


def no_references(name: str) -> Mapping[str, Any]:
    raise AssertionError(f"{name} is not to be resolved")


def custom(schema: Mapping[str, Any]) -> Node:
    return node_of({"type": "object", "properties": {"spec": schema}}, no_references).fields["spec"]


def at(node: Node, *path: str) -> Node:
    for name in path:
        child = node.items if name == "[]" else node.child(name)
        assert child is not None, name
        node = child
    return node


def test_the_same_raw_schema_gives_the_same_node() -> None:
    assert node_of(DEPLOYMENT, resolve) is node_of(DEPLOYMENT, resolve)


def test_lists_of_built_in_kinds_have_types_keys_and_merge_keys() -> None:
    pod = at(node_of(DEPLOYMENT, resolve), "spec", "template", "spec")
    containers = at(pod, "containers")
    assert (containers.kind, containers.list_type, containers.keys) == (Kind.LIST, "map", ("name",))
    assert (containers.patch_merge, containers.merge_key, containers.atomic) == (True, "name", False)
    tolerations = at(pod, "tolerations")
    assert (tolerations.list_type, tolerations.atomic, tolerations.patch_merge) == ("atomic", True, False)
    finalizers = at(node_of(DEPLOYMENT, resolve), "metadata", "finalizers")
    assert (finalizers.list_type, finalizers.patch_merge, finalizers.merge_key) == ("set", True, "")


def test_keys_of_ports_have_their_default() -> None:
    ports = at(node_of(DEPLOYMENT, resolve), "spec", "template", "spec", "containers", "[]", "ports")
    assert ports.keys == ("containerPort", "protocol")
    assert ports.key_defaults == {"protocol": "TCP"}


def test_a_list_without_type_takes_it_from_its_patch_strategy() -> None:
    assert custom({"type": "array", "x-kubernetes-patch-strategy": "merge"}).list_type == "set"
    keyed = {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "ip"}
    assert (custom(keyed).list_type, custom(keyed).keys) == ("map", ("ip",))
    assert custom({"type": "array", "items": {"type": "string"}}).list_type == "atomic"


def test_retain_keys_belong_to_the_use_of_a_definition() -> None:
    spec = at(node_of(DEPLOYMENT, resolve), "spec")
    assert at(spec, "strategy").retain_keys
    assert at(spec, "template", "spec", "volumes").retain_keys
    assert not at(spec, "template").retain_keys


def test_fields_that_an_object_is_never_without_are_known() -> None:
    node = node_of(DEPLOYMENT, resolve)
    assert node.implied_fields == {"metadata": {}, "spec": {}, "status": {}}
    assert at(node, "spec").implied_fields == {"selector": None, "strategy": {}, "template": {}}
    assert at(node, "spec", "template", "spec").implied_fields == {"containers": None}
    assert at(node, "spec", "replicas").implied is ABSENT


def test_selectors_are_atomic_and_labels_are_not() -> None:
    node = node_of(DEPLOYMENT, resolve)
    assert at(node, "spec", "selector").atomic
    labels = at(node, "metadata", "labels")
    assert (labels.kind, labels.atomic, at(labels, "any").scalar) == (Kind.MAP, False, "string")


def test_scalars_are_strings_numbers_booleans_or_untyped() -> None:
    rolling = at(node_of(DEPLOYMENT, resolve), "spec", "strategy", "rollingUpdate", "maxSurge")
    assert (rolling.kind, rolling.scalar) == (Kind.SCALAR, "untyped")
    assert custom({"x-kubernetes-int-or-string": True}).scalar == "untyped"
    assert custom({"type": "integer"}).scalar == "numeric"
    assert custom({"type": "boolean"}).scalar == "boolean"
    assert custom({"type": "string", "format": "date-time"}).scalar == "string"
    assert at(node_of(DEPLOYMENT, resolve), "metadata", "creationTimestamp").scalar == "untyped"


def test_decoding_errors_name_types_as_the_real_server_does() -> None:
    spec = at(node_of(DEPLOYMENT, resolve), "spec")
    assert (at(spec, "replicas").type_name, at(spec, "paused").type_name) == ("int32", "bool")


def test_a_custom_resource_has_metadata_whatever_its_schema_says() -> None:
    node = node_of({"type": "object", "properties": {"metadata": {"type": "object"}}}, no_references)
    assert at(node, "metadata", "ownerReferences").keys == ("uid",)
    assert at(node, "metadata", "ownerReferences", "[]").atomic
    assert at(node, "kind").scalar == "string"


def test_unknown_fields_are_free_form_only_where_they_are_preserved() -> None:
    closed = custom({"type": "object", "properties": {"a": {"type": "string"}}})
    assert closed.child("b") is None
    mixed = custom(
        {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-preserve-unknown-fields": True}
    )
    assert mixed.child("b") is ANY
    assert at(mixed, "a").scalar == "string"
    free = custom({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert (free.kind, free.child("x")) == (Kind.ANY, ANY)


def test_an_embedded_resource_has_the_fields_of_every_object() -> None:
    node = custom(
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}
    )
    assert at(node, "metadata", "finalizers").list_type == "set"
    assert at(node, "apiVersion").scalar == "string"


def test_a_recursive_schema_is_read_only_as_deep_as_it_is_asked() -> None:
    props = resolve("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    node = node_of(props, resolve)
    first = at(node, "properties", "a")
    assert at(first, "properties", "b").fields.keys() == first.fields.keys()


@pytest.mark.parametrize("form", [{"$ref": "x.y.Thing"}, {"allOf": [{"$ref": "#/components/schemas/x.y.Thing"}]}])
def test_references_are_followed_in_both_dialects(form: dict[str, Any]) -> None:
    thing = {"type": "object", "properties": {"size": {"type": "integer"}}}
    node = node_of({"type": "object", "properties": {"spec": form}}, {"x.y.Thing": thing}.__getitem__)
    assert at(node, "spec", "size").scalar == "numeric"
    assert at(node, "spec").definition == "Thing"
