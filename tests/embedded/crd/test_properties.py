"""Custom resources under arbitrary input: no failures, and idempotent operations."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.crd_kit import definition, refusals, strategy, thing
from uniteddeployment.embedded.crd.cel.compilation import RuleError, compile_expression
from uniteddeployment.embedded.crd.cel.declarations import DYN
from uniteddeployment.embedded.crd.cel.values import CelError
from uniteddeployment.embedded.errors import StatusError

NAMES = st.sampled_from(["a", "b", "c", "list", "map", "any"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "x", "long text", "5%"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
INNER = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "default": "x"},
        "b": {"x-kubernetes-int-or-string": True, "nullable": True},
    },
}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}
RULES = [
    {"rule": "self.a.size() < 5"},
    {"rule": "self.list.all(e, e.a != 'x') || self.b > 1"},
    {"rule": "self.map == oldSelf.map"},
    {"rule": "!has(self.any) || oldSelf.hasValue()", "optionalOldSelf": True, "messageExpression": "self.a"},
]
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 3, "enum": ["x", "long text", ""]},
        "b": {"type": "integer", "minimum": 0, "multipleOf": 2},
        "c": {"type": "number", "nullable": True, "multipleOf": 0.5},
        "list": {"type": "array", "items": INNER, **KEYED},
        "map": {"type": "object", "additionalProperties": INNER, "maxProperties": 2},
        "any": {
            "x-kubernetes-preserve-unknown-fields": True,
            "anyOf": [{"required": ["a"]}, {"not": {"minLength": 1}}],
        },
    },
    "x-kubernetes-validations": RULES,
}
SUBJECT = strategy(SCHEMA)


@given(JSON)
def test_pruning_and_defaulting_twice_changes_nothing(spec: Any) -> None:
    obj = thing(spec)
    SUBJECT.conform(obj)
    SUBJECT.default(obj)
    again = deepcopy(obj)
    assert not SUBJECT.conform(again)
    SUBJECT.default(again)
    assert again == obj


@given(JSON, JSON)
def test_any_input_is_validated_and_validation_changes_nothing(spec: Any, old: Any) -> None:
    """Invalid input is refused and never a failure of the cluster (I11)."""
    new, before = thing(spec), thing(old)
    for obj in (new, before):
        SUBJECT.conform(obj)
        SUBJECT.default(obj)
    copies = deepcopy((new, before))
    SUBJECT.validate_create(new)
    SUBJECT.validate_update(new, before, "")
    assert (new, before) == copies


ANYTHING = JSON | st.sampled_from(
    ["object", "array", "string", "set", "map", "^a+$", "(", "self.a == 1", ".spec.a", "v1"]
)
KEYWORDS = st.sampled_from(
    [
        "type", "properties", "items", "additionalProperties", "required", "enum", "default", "pattern", "nullable",
        "minimum", "anyOf", "allOf", "not", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
        "x-kubernetes-validations", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource", "rule", "a", "name",
        "x-kubernetes-preserve-unknown-fields", "jsonPath", "scale", "specReplicasPath", "strategy", "kind", "plural",
    ]
)  # fmt: skip
SCHEMAS = st.recursive(
    ANYTHING, lambda inner: st.dictionaries(KEYWORDS, inner, max_size=4) | st.lists(inner, max_size=2), max_leaves=15
)


@given(SCHEMAS, st.sampled_from(["", "names", "versions", "conversion", "scope", "group"]))
def test_any_definition_is_validated(junk: Any, field: str) -> None:
    """Invalid input is refused and never a failure of the cluster (I11)."""
    crd = definition()
    if field:
        crd["spec"][field] = junk
    else:
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = junk
    try:
        refusals(crd)
    except StatusError as error:
        assert error.code == 400  # noqa: PT017  # decoding may refuse, and only so


OPERANDS = st.sampled_from(
    ["self.a", "self.b", "self.list", "self", "1", "'x'", "[1]", "{'a': 1}", "null", "1.5", "true"]
)
EXPRESSIONS = st.one_of(
    st.builds(
        "({} {} {})".format, OPERANDS, st.sampled_from(["+", "-", "*", "/", "%", "<", "==", "in", "&&"]), OPERANDS
    ),
    st.builds("{}[{}]".format, OPERANDS, OPERANDS),
    st.builds("{{{}: {}}}".format, OPERANDS, OPERANDS),
    st.builds("{}.{}()".format, OPERANDS, st.sampled_from(["size", "sum", "max", "isSorted", "trim", "value", "join"])),
    st.builds(
        "{}({})".format, st.sampled_from(["int", "string", "quantity", "ip", "url", "timestamp", "duration"]), OPERANDS
    ),
    st.builds(
        "{}.{}({})".format, OPERANDS, st.sampled_from(["matches", "indexOf", "split", "format", "add"]), OPERANDS
    ),
    st.builds("{}.all(x, x == {})".format, OPERANDS, OPERANDS),
)


@given(EXPRESSIONS, JSON)
def test_an_expression_has_a_value_or_an_error_of_its_own(source: str, value: Any) -> None:
    try:
        compile_expression(source, DYN).evaluate(value, None)
    except (RuleError, CelError):
        return
