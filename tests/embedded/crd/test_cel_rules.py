"""Validation rules on objects: where they apply, their messages, and the old values they see."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.embedded.crd_kit import decoded, established, problems, refusals, strategy
from uniteddeployment.embedded.crd.custom import CustomStrategy, resources_of

TEXT = {"type": "string"}
ROOT = Path(__file__).parents[3]


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def ruled(schema: dict[str, Any], *rules: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": list(rules)}


def rule(source: str, **rest: Any) -> dict[str, Any]:
    return {"rule": source, **rest}


def test_a_failed_rule_says_its_message_or_itself_and_repeats_scalars_only() -> None:
    created = strategy(
        ruled(
            fields(a=ruled(TEXT, rule("self == 'x'", message="must be x")), n={"type": "integer"}),
            rule("self.n > 1"),
        )
    )
    assert problems(created, {"a": "y", "n": 1}) == [
        "spec: Invalid value: failed rule: self.n > 1",
        'spec.a: Invalid value: "y": must be x',
    ]


def test_reason_and_field_path_decide_what_the_cause_looks_like() -> None:
    created = strategy(
        ruled(
            fields(a=TEXT),
            rule("false", message="no a", reason="FieldValueForbidden", fieldPath=".a"),
            rule("false", message="a it is", reason="FieldValueRequired", fieldPath=".a"),
        )
    )
    assert problems(created, {"a": "y"}) == ["spec.a: Forbidden: no a", "spec.a: Required value: a it is"]


def test_a_message_expression_is_used_unless_it_says_nothing() -> None:
    created = strategy(
        ruled(
            fields(a=TEXT),
            rule("false", messageExpression="'not ' + self.a", message="unused"),
            rule("false", messageExpression="self.a.substring(5)", message="fallback"),
            rule("false", messageExpression="'  '", message="blank"),
        )
    )
    assert problems(created, {"a": "y"}) == [
        "spec: Invalid value: not y",
        "spec: Invalid value: fallback",
        "spec: Invalid value: blank",
    ]


def test_a_rule_that_cannot_be_evaluated_is_a_failure() -> None:
    """Invalid input is refused even if a rule fails on it (I11)."""
    created = strategy(
        ruled(
            fields(a=TEXT, n={"x-kubernetes-int-or-string": True}),
            rule("self.a.size() > 0", message="a it is"),
            rule("self.n > 0"),
        )
    )
    missing, unlike = problems(created, {"n": "5%"})
    assert missing == 'spec: Invalid value: "object": no such key: a evaluating rule: a it is'
    assert unlike.startswith("spec: Invalid value: \"object\": 'no such overload': call arguments did not match a ")
    assert unlike.endswith(" for rule: self.n > 0")


def test_rules_are_not_evaluated_on_objects_that_are_malformed() -> None:
    created = strategy(ruled(fields(a=TEXT), rule("self.a == 'x'")))
    assert problems(created, {"a": 5})[-1] == (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )


def test_transition_rules_run_where_there_is_an_old_value() -> None:
    created = strategy(fields(a=ruled(TEXT, rule("self == oldSelf", message="fixed"))))
    assert problems(created, {"a": "x"}) == []
    assert problems(created, {"a": "x"}, old={}) == []
    assert problems(created, {"a": "y"}, old={"a": "x"}) == ['spec.a: Invalid value: "y": fixed']


def test_an_optional_old_value_lets_a_rule_run_always() -> None:
    created = strategy(fields(a=ruled(TEXT, rule("oldSelf.hasValue() || self == 'first'", optionalOldSelf=True))))
    assert len(problems(created, {"a": "second"})) == 1
    assert problems(created, {"a": "first"}) == []
    assert problems(created, {"a": "second"}, old={"a": "first"}) == []


def test_old_values_are_followed_through_lists_with_keys_and_not_through_others() -> None:
    item = fields(k=TEXT, v=ruled({"type": "integer"}, rule("self >= oldSelf", message="may only grow")))
    item["required"] = ["k"]
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item}
    created = strategy(fields(l=keyed))
    old = {"l": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]}
    assert problems(created, {"l": [{"k": "b", "v": 4}, {"k": "a", "v": 2}, {"k": "c", "v": 0}]}, old=old) == [
        "spec.l[0].v: Invalid value: 4: may only grow"
    ]
    plain = strategy(fields(l={"type": "array", "items": item}))
    assert problems(plain, {"l": [{"k": "a", "v": 0}]}, old=old) == []


def test_a_rule_that_failed_before_does_not_block_changes_elsewhere() -> None:
    strict = ruled(TEXT, rule("self.startsWith('o')", message="must start with o"))
    created = strategy(fields(a=strict, b=TEXT))
    assert problems(created, {"a": "x", "b": "2"}, old={"a": "x", "b": "1"}) == []
    assert problems(created, {"a": "y"}, old={"a": "x"}) == ['spec.a: Invalid value: "y": must start with o']


def test_a_rule_that_does_not_compile_lets_nothing_through() -> None:
    created = strategy(ruled(fields(a=TEXT), rule("self.gone == 1")))
    (message,) = problems(created, {"a": "x"})
    assert message.startswith(
        'spec: Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:5:'
    )


def test_rules_at_the_root_see_the_name() -> None:
    root = ruled({"type": "object", "properties": {"spec": fields()}}, rule("self.metadata.name == 'u'"))
    created = strategy(schema={"openAPIV3Schema": root})
    assert problems(created, {}) == ["<nil>: Invalid value: failed rule: self.metadata.name == 'u'"]


# The definitions of this project


@pytest.fixture(scope="module")
def own() -> dict[str, CustomStrategy]:
    """The strategies of this project's kinds."""
    created: dict[str, CustomStrategy] = {}
    for crd in yaml.safe_load_all((ROOT / "config" / "crd" / "crds.yaml").read_text()):
        assert refusals(crd) == []
        (served,) = resources_of(established(crd))
        assert isinstance(served.strategy, CustomStrategy)
        created[served.kind] = served.strategy
    return created


def sample(name: str) -> dict[str, Any]:
    for obj in yaml.safe_load_all((ROOT / "config" / "samples" / name).read_text()):
        if obj["kind"] == "UnitedDeployment":
            return dict(obj)
    raise AssertionError(f"no UnitedDeployment in {name}")


def own_problems(created: CustomStrategy, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    new = decoded(created, obj)[1]
    causes = created.validate_create(new) if old is None else created.validate_update(new, decoded(created, old)[1], "")
    return [f"{cause.field}: {cause.message}" for cause in causes]


def test_the_sample_of_this_project_is_valid(own: dict[str, CustomStrategy]) -> None:
    obj = sample("web.yaml")
    assert decoded(own["UnitedDeployment"], obj)[0] == []
    assert own_problems(own["UnitedDeployment"], obj) == []


def test_the_rules_of_this_project_refuse_invalid_objects(own: dict[str, CustomStrategy]) -> None:
    """Errors have the path of the field (I11)."""
    created = own["UnitedDeployment"]
    two = sample("web.yaml")
    two["spec"]["template"]["deploymentTemplate"] = two["spec"]["template"]["statefulSetTemplate"]
    assert any(text.startswith("spec.template: Invalid value: ") for text in own_problems(created, two))
    moved = sample("web.yaml")
    moved["spec"]["selector"]["matchLabels"] = {"app": "other"}
    assert any(text.startswith("spec.selector: ") for text in own_problems(created, moved, old=sample("web.yaml")))
    second = sample("web.yaml")
    second["spec"]["topology"]["subsets"][1]["name"] = second["spec"]["topology"]["subsets"][0]["name"]
    assert any(text.startswith("spec.topology.subsets[1]: Duplicate") for text in own_problems(created, second))
