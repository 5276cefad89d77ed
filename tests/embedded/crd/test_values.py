"""Custom resources by their schema: pruning, defaults and validation with the real server's messages."""

from typing import Any

import pytest

from tests.embedded.crd_kit import decoded, problems, resource, strategy, thing
from uniteddeployment.embedded.errors import StatusError

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# Pruning


def test_unknown_fields_are_dropped_and_named_with_their_paths() -> None:
    results = strategy(fields(known=TEXT, list={"type": "array", "items": fields(a=TEXT)}))
    obj = thing({"known": "a", "unknown": 1, "list": [{"a": "x"}, {"b": "y"}]}, extra=1)
    obj["metadata"]["bogus"] = 1
    unknown, pruned = decoded(results, obj)
    assert unknown == [
        'unknown field "metadata.bogus"',
        'unknown field "extra"',
        'unknown field "spec.list[1].b"',
        'unknown field "spec.unknown"',
    ]
    assert pruned == thing({"known": "a", "list": [{"a": "x"}, {}]})


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        (5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
    ],
)
def test_metadata_that_cannot_be_decoded_is_a_bad_request(metadata: Any, message: str) -> None:
    """Invalid input is refused and never a failure of the cluster (I11)."""
    obj = {**thing({}), "metadata": metadata}
    with pytest.raises(StatusError) as result:
        strategy().conform(obj)
    assert result.value.code == 400
    assert result.value.message == f'Thing in version "v1" cannot be handled as a Thing: {message}'


def test_preserved_fields_keep_everything_but_what_is_declared_inside() -> None:
    created = strategy(fields(free={**FREE, "properties": {"typed": fields(a=TEXT)}}))
    unknown, pruned = decoded(created, thing({"free": {"any": {"deep": [1]}, "typed": {"a": "x", "b": "y"}}}))
    assert unknown == ['unknown field "spec.free.typed.b"']
    assert pruned["spec"] == {"free": {"any": {"deep": [1]}, "typed": {"a": "x"}}}


def test_embedded_resources_keep_their_type_and_lose_unknown_metadata() -> None:
    created = strategy(fields(pod={**FREE, "x-kubernetes-embedded-resource": True}))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "bogus": "y"}, "anything": 1}
    unknown, pruned = decoded(created, thing({"pod": pod}))
    assert unknown == ['unknown field "spec.pod.metadata.bogus"']
    assert pruned["spec"]["pod"] == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "anything": 1}
    assert problems(created, {"pod": {"kind": "Pod"}}) == ["spec.pod.apiVersion: Required value"]


def test_maps_of_any_value_are_kept() -> None:
    created = strategy({"type": "object", "additionalProperties": True})
    assert decoded(created, thing({"a": {"b": [{"c": 1}]}}))[0] == []


def test_whole_numbers_are_stored_as_integers() -> None:
    _, obj = decoded(strategy(fields(n={"type": "integer"})), thing({"n": 2.0}))
    assert type(obj["spec"]["n"]) is int


# Defaulting


def test_defaults_go_as_deep_as_the_object_does_and_are_not_shared() -> None:
    inner = {**fields(b={"type": "integer", "default": 1}), "default": {}}
    results = strategy(fields(a=inner, list={"type": "array", "items": inner}))
    _, item = decoded(results, thing({"list": [{}, {"b": 2}]}))
    assert item["spec"] == {"a": {"b": 1}, "list": [{"b": 1}, {"b": 2}]}
    item["spec"]["a"]["b"] = 7
    assert decoded(results, thing({}))[1]["spec"] == {"a": {"b": 1}}


def test_a_null_stands_for_nothing_unless_the_field_may_be_null() -> None:
    created = strategy(
        fields(plain=TEXT, filled={**TEXT, "default": "x"}, null={**TEXT, "nullable": True, "default": "x"})
    )
    _, obj = decoded(created, thing({"plain": None, "filled": None, "null": None}))
    assert obj["spec"] == {"filled": "x", "null": None}
    assert problems(created, {"null": None}) == []


def test_a_null_entry_of_a_list_is_refused() -> None:
    results = strategy(fields(list={"type": "array", "items": TEXT}))
    assert problems(results, {"list": [None]}) == [
        'spec.list[0]: Invalid value: "null": spec.list[0] in body must be of type string: "null"'
    ]


# Validation

BOUNDS: list[tuple[dict[str, Any], Any, str]] = [
    (TEXT, 5, 'Invalid value: "integer": spec.f in body must be of type string: "integer"'),
    ({"type": "boolean"}, "true", 'Invalid value: "string": spec.f in body must be of type boolean: "string"'),
    ({"type": "object"}, [], 'Invalid value: "array": spec.f in body must be of type object: "array"'),
    ({**TEXT, "minLength": 2}, "a", 'Invalid value: "a": spec.f in body should be at least 2 chars long'),
    ({**TEXT, "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
    ({**TEXT, "pattern": "^[a-z]+$"}, "a\n", "Invalid value: \"a\\n\": spec.f in body should match '^[a-z]+$'"),
    ({**TEXT, "enum": ["A", "B"]}, "C", 'Unsupported value: "C": supported values: "A", "B"'),
    ({"type": "integer", "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
    ({"type": "integer", "minimum": 1}, 0, "Invalid value: 0: spec.f in body should be greater than or equal to 1"),
    ({"type": "integer", "maximum": 1}, 2, "Invalid value: 2: spec.f in body should be less than or equal to 1"),
    (
        {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        0,
        "Invalid value: 0: spec.f in body should be greater than 0",
    ),
    (
        {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        1.5,
        "Invalid value: 1.5: spec.f in body should be less than 1.5",
    ),
    ({"type": "integer", "multipleOf": 2}, 3, "Invalid value: 3: spec.f in body should be a multiple of 2"),
    (
        {"type": "array", "minItems": 1, "items": TEXT},
        [],
        "Invalid value: 0: spec.f in body should have at least 1 items",
    ),
    ({"type": "array", "maxItems": 1, "items": TEXT}, ["a", "b"], "Too many: 2: must have at most 1 item"),
    (
        {"type": "object", "minProperties": 1, "additionalProperties": TEXT},
        {},
        "Invalid value: 0: spec.f in body should have at least 1 properties",
    ),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        'Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean"',
    ),
    (
        {**TEXT, "format": "date-time"},
        "yesterday",
        'Invalid value: "yesterday": spec.f in body must be of type date-time: "yesterday"',
    ),
]


@pytest.mark.parametrize(("schema", "value", "message"), BOUNDS)
def test_each_bound_is_refused_with_its_sentence(schema: dict[str, Any], value: Any, message: str) -> None:
    """Errors have the path of the field (I11)."""
    assert problems(strategy(fields(f=schema)), {"f": value}) == [f"spec.f: {message}"]


def test_integers_have_a_range() -> None:
    created = strategy(fields(f={"type": "integer", "format": "int32"}))
    assert problems(created, {"f": 2**31}) == [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.f'
    ]


def test_required_fields_and_fields_of_maps_have_paths() -> None:
    numbers = {"type": "object", "additionalProperties": {"type": "integer"}}
    created = strategy({**fields(a=TEXT, m=numbers), "required": ["a"]})
    assert problems(created, {"m": {"k": "v"}}) == [
        "spec.a: Required value",
        'spec.m.k: Invalid value: "string": spec.m.k in body must be of type integer: "string"',
    ]


def test_combinations_of_schemas() -> None:
    pq = fields(p=TEXT, q=TEXT)
    p, q = {"required": ["p"]}, {"required": ["q"]}
    created = strategy(fields(any={**pq, "anyOf": [p, q]}, one={**pq, "oneOf": [p, q]}, no={**pq, "not": p}))
    assert problems(created, {"any": {"p": ""}, "one": {"q": ""}, "no": {"q": ""}}) == []
    assert problems(created, {"any": {}}) == [
        '<nil>: Invalid value: "": "spec.any" must validate at least one schema (anyOf)',
        "spec.any.p: Required value",
    ]
    assert problems(created, {"one": {"p": "", "q": ""}}) == [
        '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]
    assert problems(created, {"no": {"p": ""}}) == [
        '<nil>: Invalid value: "": "spec.no" must not validate the schema (not)'
    ]
    both = strategy(fields(all={**pq, "allOf": [p, q]}))
    assert problems(both, {"all": {}})[-1].endswith("must validate all the schemas (allOf). None validated")


def test_sets_and_lists_with_keys_hold_nothing_twice_but_may_keep_what_they_had() -> None:
    entry = fields(a=TEXT, b={**TEXT, "default": "bb"})
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}
    unique = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
    created = strategy(fields(set=unique, map={"type": "array", **keyed, "items": entry}, n=TEXT))
    assert problems(created, {"set": ["a", "b", "a"]}) == ['spec.set[2]: Duplicate value: "a"']
    assert problems(created, {"map": [{"a": "x"}, {"a": "x", "b": "bb"}]}) == [
        'spec.map[1]: Duplicate value: {"a":"x","b":"bb"}'
    ]
    assert problems(created, {"set": ["a", "a"], "n": "2"}, old={"set": ["a", "a"], "n": "1"}) == []


def test_unchanged_values_are_not_validated_again() -> None:
    entry = fields(name=TEXT, v={**TEXT, "maxLength": 1})
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    created = strategy(fields(a={**TEXT, "maxLength": 1}, b=TEXT, l={"type": "array", **keyed, "items": entry}))
    long = {"name": "one", "v": "too long"}
    old = {"a": "too long", "b": "x", "l": [long]}
    assert problems(created, {**old, "b": "y", "l": [{"name": "two", "v": "x"}, long]}, old=old) == []
    assert problems(created, {**old, "a": "also long"}, old=old) == ["spec.a: Too long: may not be more than 1 bytes"]


# Status and generation


def test_the_status_subresource_changes_the_status_and_nothing_else() -> None:
    created = strategy(fields(a=TEXT), subresources={"status": {}})
    obj = thing({"a": "x"}, status={"phase": "Ready"})
    created.prepare_create(obj)
    assert "status" not in obj
    assert obj["metadata"]["generation"] == 1
    new = thing({"a": "y"}, status={"phase": "Ready"})
    new["metadata"]["labels"] = {"l": "m"}
    created.prepare_update(new, obj, "status")
    assert new["spec"] == {"a": "x"}
    assert new["status"] == {"phase": "Ready"}
    assert "labels" not in new["metadata"]
    assert new["metadata"]["generation"] == 1
    main = thing({"a": "y"}, status={"phase": "Ignored"})
    created.prepare_update(main, new, "")
    assert main["status"] == {"phase": "Ready"}
    assert main["metadata"]["generation"] == 2


def test_errors_of_the_status_are_worded_relative_to_it() -> None:
    root = {"type": "object", "properties": {"spec": {"type": "object"}, "status": fields(phase=TEXT)}}
    created = strategy(subresources={"status": {}}, schema={"openAPIV3Schema": root})
    causes = created.validate_update(thing({}, status={"phase": 5}), thing({}), "status")
    assert [(cause.field, cause.message) for cause in causes] == [
        ("status.phase", 'Invalid value: "integer": phase in body must be of type string: "integer"')
    ]


def test_replicas_that_a_scale_would_show_are_not_negative() -> None:
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    created = resource(fields(n={"type": "integer"}), subresources={"scale": paths})
    assert created.scale is not None
    assert created.scale.replicas == ".spec.n"
    causes = created.strategy.validate_create(thing({"n": -1}))
    assert [f"{cause.field}: {cause.message}" for cause in causes] == [
        ".spec.n: Invalid value: -1: should be a non-negative integer"
    ]
