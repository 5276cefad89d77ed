"""Validation of definitions with the real server's paths and messages, and their defaults."""

from copy import deepcopy
from typing import Any

import pytest

from tests.embedded.crd_kit import definition, established, refusals
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.crd.definition.strategy import DefinitionStrategy

SCHEMA = "spec.validation.openAPIV3Schema.properties[spec]"
TEXT = {"type": "string"}
KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def rules(rule: str, field_path: str = "") -> dict[str, Any]:
    path = {"fieldPath": field_path} if field_path else {}
    return {"x-kubernetes-validations": [{"rule": rule, "message": "m", **path}]}


def changed(crd: Obj, dotted: str, value: Any) -> Obj:
    created = deepcopy(crd)
    *steps, last = dotted.split(".")
    node: Any = created
    for step in steps:
        node = node[int(step)] if step.isdecimal() else node.setdefault(step, {})
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return created


def test_names_that_follow_from_the_kind_are_filled_in() -> None:
    crd = definition()
    crd["spec"]["names"] = {"plural": "things", "kind": "Thing"}
    DefinitionStrategy().default(crd)
    assert crd["spec"]["names"] == {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}


def test_a_new_definition_has_accepted_nothing_and_stores_in_its_storage_version() -> None:
    crd = definition()
    DefinitionStrategy().prepare_create(crd)
    assert crd["status"] == {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}


@pytest.mark.parametrize(
    ("dotted", "value", "message"),
    [
        (
            "metadata.name",
            "other.example.com",
            'metadata.name: Invalid value: "other.example.com": must be spec.names.',
        ),
        ("spec.group", "", "spec.group: Required value"),
        ("spec.scope", "", "spec.scope: Required value"),
        ("spec.scope", "Wide", 'spec.scope: Unsupported value: "Wide": supported values: "Cluster", "Namespaced"'),
        ("spec.names.kind", "", "spec.names.kind: Required value"),
        ("spec.names.listKind", "Thing", 'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be'),
        ("spec.names.shortNames", ["T"], 'spec.names.shortNames[0]: Invalid value: "T": a DNS-1035 label must consist'),
        ("spec.conversion", {"strategy": "Magic"}, 'spec.conversion.strategy: Unsupported value: "Magic"'),
        ("spec.versions.0.name", "V1", 'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist'),
        (
            "spec.versions.0.storage",
            False,
            'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,',
        ),
        (
            "spec.versions.0.schema",
            ...,
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            "spec.versions.0.subresources",
            {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".status.n"}},
            'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
        ),
        (
            "spec.versions.0.additionalPrinterColumns",
            [{"name": "A", "type": "text", "jsonPath": ".a"}],
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,',
        ),
        (
            "spec.versions.0.selectableFields",
            [{"jsonPath": ".spec.a"}],
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.a": is an invalid path: does not refer to a',
        ),
    ],
)
def test_errors_of_a_definition_outside_of_its_schema(dotted: str, value: Any, message: str) -> None:
    result = refusals(changed(definition(), dotted, value))
    assert any(text.startswith(message) for text in result), result


def test_groups_of_kubernetes_need_an_approval() -> None:
    crd = changed(definition(), "spec.group", "apps.k8s.io")
    crd["metadata"]["name"] = "things.apps.k8s.io"
    (message,) = refusals(crd)
    assert message.startswith("metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must")
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/pull/1"}
    assert refusals(crd) == []


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, f"{SCHEMA}.type: Required value: must not be empty for specified object fields"),
        (
            {"type": "text"},
            f'{SCHEMA}.type: Unsupported value: "text": supported values: "array", "boolean", "integer"',
        ),
        ({"type": "array"}, f"{SCHEMA}.items: Required value: must be specified"),
        ({"type": "array", "items": {}}, f"{SCHEMA}.items.type: Required value: must not be empty for specified array"),
        (
            {**fields(a=TEXT), "additionalProperties": TEXT},
            f"{SCHEMA}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        ({"type": "array", "items": TEXT, "uniqueItems": True}, f"{SCHEMA}.uniqueItems: Forbidden: uniqueItems cannot"),
        ({"$ref": "x", **TEXT}, f"{SCHEMA}.$ref: Forbidden: $ref is not supported"),
        ({**TEXT, "pattern": "("}, f'{SCHEMA}.pattern: Invalid value: "(": must be a valid regular expression'),
        (
            {**fields(a=TEXT), "anyOf": [{"properties": {"a": TEXT}}]},
            f"{SCHEMA}.anyOf[0].properties[a].type: Forbidden: must be empty to be structural",
        ),
        (
            {**fields(a=TEXT), "anyOf": [{"properties": {"b": {"minLength": 1}}}]},
            f"{SCHEMA}.properties[b]: Required value: because it is defined in {SCHEMA}.anyOf[0].properties[b]",
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            f"{SCHEMA}.properties: Required value: must not be",
        ),
        (
            {**KEYED, "items": fields(k=TEXT)},
            f"{SCHEMA}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so",
        ),
        (
            {**KEYED, "items": fields(a=TEXT)},
            f'{SCHEMA}.x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must',
        ),
        ({**TEXT, "x-kubernetes-list-type": "set"}, f'{SCHEMA}.type: Invalid value: "string": must be array if'),
        ({**TEXT, "x-kubernetes-map-type": "atomic"}, f'{SCHEMA}.type: Invalid value: "string": must be object if'),
        (
            {**TEXT, "default": 5},
            f'{SCHEMA}.default: Invalid value: "integer": {SCHEMA}.default in body must be of type',
        ),
        (
            {**fields(a=TEXT), "default": {"b": 1}},
            f'{SCHEMA}.default: Invalid value: {{"b":1}}: must not contain the unknown field "b"',
        ),
        # A default is judged by the rules as it is written, without the defaults of the fields inside it.
        (
            {**fields(a={**TEXT, "default": "x"}), "default": {}, **rules("self.a == 'x'")},
            f'{SCHEMA}.default: Invalid value: "object": no such key: a evaluating rule: m',
        ),
        ({**fields(a=TEXT), "default": {"a": "z"}, **rules("self.a == 'x'", ".a")}, f"{SCHEMA}.default.a: Invalid"),
        ({**fields(a=TEXT), "default": {"a": "z"}, **rules("self.a != oldSelf.a")}, f"{SCHEMA}.default: Invalid"),
        ({**fields(a={**TEXT, **rules("self == 'x'")}), "default": {"a": "z"}}, f"{SCHEMA}.default.a: Invalid"),
    ],
)
def test_schemas_that_are_not_structural_or_inconsistent(schema: dict[str, Any], message: str) -> None:
    result = refusals(definition(schema or {"description": "of no type"}))
    assert any(text.startswith(message) for text in result), result


def test_a_rule_above_a_default_does_not_judge_it() -> None:
    inner = {**fields(a=TEXT), "default": {"a": "z"}}
    assert refusals(definition({**fields(inner=inner), **rules("self.inner.a == 'x'")})) == []


def test_the_one_way_to_repeat_types_is_that_of_int_or_string() -> None:
    types = [{"type": "integer"}, {"type": "string"}]
    assert refusals(definition(fields(a={"x-kubernetes-int-or-string": True, "anyOf": types}))) == []
    assert refusals(definition(fields(a={"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": types}]}))) == []


def test_metadata_can_only_narrow_the_name() -> None:
    crd = definition()
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root["properties"]["metadata"] = fields(name={**TEXT, "maxLength": 10})
    assert refusals(crd) == []
    root["properties"]["metadata"]["properties"]["labels"] = {"type": "object"}
    (message,) = refusals(crd)
    assert message.startswith(
        "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything"
    )


def test_schemas_that_differ_between_versions_are_named_by_version() -> None:
    crd = definition()
    crd["spec"]["versions"].append({"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {}}})
    assert refusals(crd) == [
        "spec.versions[1].schema.openAPIV3Schema.type: Required value: must not be empty at the root"
    ]


# Rules


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": ""}, "rule: Required value: rule is not specified"),
        ({"rule": "self.b == 1"}, 'rule: Invalid value: {"Rule":"self.b == 1","Message":"","MessageExpression":"",'),
        ({"rule": "true", "reason": "Because"}, 'reason: Unsupported value: "Because": supported values: "FieldValueD'),
        ({"rule": "true", "fieldPath": ".b"}, 'fieldPath: Invalid value: ".b": fieldPath must be a valid path'),
        ({"rule": "true", "message": "a\nb"}, 'message: Invalid value: "a\\nb": message must not contain line breaks'),
        ({"rule": "true", "messageExpression": "1"}, 'messageExpression: Invalid value: {"Rule":"true",'),
    ],
)
def test_rules_are_compiled_when_the_definition_is_written(rule: dict[str, Any], message: str) -> None:
    schema = {**fields(a=TEXT), "x-kubernetes-validations": [rule]}
    (result,) = refusals(definition(schema))
    assert result.startswith(f"{SCHEMA}.x-kubernetes-validations[0].{message}")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "self.b == 1"}, "failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^"),
        ({"rule": "self.a"}, "cel expression must evaluate to a bool"),
        ({"rule": "true", "messageExpression": "1"}, "messageExpression must evaluate to a string"),
        ({"rule": "true", "optionalOldSelf": True}, "may not be set if oldSelf is not used in rule"),
    ],
)
def test_compile_errors_are_explained(rule: dict[str, Any], message: str) -> None:
    (result,) = refusals(definition({**fields(a=TEXT), "x-kubernetes-validations": [rule]}))
    assert result.endswith(message)


def test_rules_cannot_use_old_values_of_items_without_keys() -> None:
    item = {**TEXT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    (results,) = refusals(definition(fields(list={"type": "array", "items": item})))
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within " in results


# Updates


def test_immutable_fields_of_a_definition() -> None:
    old = established(definition())
    new = deepcopy(old)
    new["spec"].update(group="other.com", scope="Cluster")
    new["spec"]["names"]["kind"] = "Other"
    assert refusals(new, old) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Other": field is immutable',
        'spec.group: Invalid value: "other.com": field is immutable',
    ]


def test_a_version_that_objects_are_stored_in_stays() -> None:
    old = established(definition())
    new = changed(old, "spec.versions.0.name", "v2")
    (message,) = refusals(new, old)
    assert message.startswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously'
    )


def test_a_new_storage_version_is_recorded_and_the_generation_counts_the_spec() -> None:
    old = established(definition())
    old["metadata"]["generation"] = 1
    new = deepcopy(old)
    new["spec"]["versions"][0]["storage"] = False
    new["spec"]["versions"].append({**new["spec"]["versions"][0], "name": "v2", "storage": True})
    DefinitionStrategy().prepare_update(new, old, "")
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert new["metadata"]["generation"] == 2
    labelled = changed(old, "metadata.labels", {"a": "b"})
    DefinitionStrategy().prepare_update(labelled, old, "")
    assert labelled["metadata"]["generation"] == 1


# Versions


def versioned(*versions: Obj) -> list[str]:
    return refusals(changed(definition(), "spec.versions", list(versions)))


def version(name: str, *, storage: bool, **more: Any) -> Obj:
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}, **more}


SHOWN = (
    '{"Name":"%s","Served":true,"Storage":%s,"Deprecated":false,"DeprecationWarning":null,"Schema":null,'
    '"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}'
)


def test_a_definition_without_a_storage_version_has_none_that_objects_are_stored_in() -> None:
    assert versioned(version("v1", storage=False)) == [
        (
            f"spec.versions: Invalid value: [{SHOWN % ('v1', 'false')}]: must have exactly one version marked as "
            "storage version"
        ),
        "status.storedVersions: Invalid value: null: must have at least one stored version",
    ]


def test_of_two_storage_versions_the_first_is_the_one_that_objects_are_stored_in() -> None:
    assert versioned(version("v1", storage=True), version("v2", storage=True)) == [
        (
            f"spec.versions: Invalid value: [{SHOWN % ('v1', 'true')},{SHOWN % ('v2', 'true')}]: must have exactly one "
            "version marked as storage version"
        ),
        'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
    ]


def test_a_version_without_a_schema_is_named() -> None:
    assert versioned(version("v1", storage=True), {"name": "v2", "served": True, "storage": False}) == [
        "spec.versions[1].schema.openAPIV3Schema: Required value"
    ]


def test_schemas_that_differ_are_shown_with_all_fields_of_their_type() -> None:
    other = version("v2", storage=True, schema={"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}})
    said = versioned(version("v1", storage=True), other)
    assert '"Schema":{"OpenAPIV3Schema":{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object",' in said[0]
    assert '"Properties":{"a":{"ID":"","Schema":"","Ref":null,' in said[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"deprecationWarning": "x"}, 'Invalid value: "x": can only be set for deprecated versions'),
        ({"deprecated": True, "deprecationWarning": ""}, 'Invalid value: "": must not be an empty string'),
    ],
)
def test_a_deprecation_warning_is_for_deprecated_versions(more: Obj, said: str) -> None:
    assert versioned(version("v1", storage=True, **more)) == [f"spec.versions[0].deprecationWarning: {said}"]
