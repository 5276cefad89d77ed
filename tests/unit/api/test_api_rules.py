"""One table of bad manifests, driven through the Python checks and through the CEL of the generated CRDs (I11)."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import cel
import pytest

from uniteddeployment_api import FieldError, InvalidObject, parse_united_deployment, validate_united_deployment
from uniteddeployment_api.crd import schema_of
from uniteddeployment_api.rules import RULES
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment

SCHEMA = schema_of(UnitedDeployment)
ROOT = "spec.template.statefulSetTemplate.spec"


def manifest(**spec: Any) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    return {
        "apiVersion": "uniteddeployment.io/v1alpha1",
        "kind": "UnitedDeployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 10,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"statefulSetTemplate": {"spec": {"template": pod}}},
            "topology": {"subsets": [{"name": "a"}, {"name": "b"}]},
            **spec,
        },
    }


def subsets(*entries: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = [{"name": chr(ord("a") + index), **entry} for index, entry in enumerate(entries)]
    return manifest(topology={"subsets": named}, **spec)


def changed(obj: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    obj = copy.deepcopy(obj)
    *steps, last = path.split(".")
    node: Any = obj
    for step in steps:
        node = node[int(step)] if step.isdecimal() else node.setdefault(step, {})
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return obj


# name of the rule, where it is told, the manifest
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("exactly-one-template", "spec.template", manifest(template={})),
    (
        "exactly-one-template",
        "spec.template",
        changed(
            manifest(),
            "spec.template.deploymentTemplate",
            manifest()["spec"]["template"]["statefulSetTemplate"],
        ),
    ),
    ("template-has-no-replicas", f"{ROOT}.replicas", changed(manifest(), f"{ROOT}.replicas", 3)),
    (
        "template-has-no-partition",
        f"{ROOT}.updateStrategy.rollingUpdate.partition",
        changed(manifest(), f"{ROOT}.updateStrategy.rollingUpdate.partition", 1),
    ),
    ("selector-not-empty", "spec.selector", manifest(selector={})),
    (
        "selector-values",
        "spec.selector.matchExpressions[0].values",
        manifest(selector={"matchExpressions": [{"key": "app", "operator": "In"}]}),
    ),
    (
        "selector-matches-labels",
        f"{ROOT}.template.metadata.labels",
        manifest(selector={"matchLabels": {"app": "other"}}),
    ),
    (
        "selector-matches-expressions",
        f"{ROOT}.template.metadata.labels",
        manifest(selector={"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
    ),
    ("shares-not-mixed", "spec.topology.subsets", subsets({"replicas": 3}, {"minReplicas": 1})),
    ("shares-not-mixed", "spec.topology.subsets", subsets({"replicas": 3}, {"weight": 1})),
    ("min-not-above-max", "spec.topology.subsets[0].minReplicas", subsets({"minReplicas": 3, "maxReplicas": 2}, {})),
    (
        "bounds-consistent",
        "spec.topology.subsets[0].minReplicas",
        subsets({"minReplicas": 3, "maxReplicas": "20%"}, {}),
    ),
    ("some-subset-unbounded", "spec.topology.subsets", subsets({"maxReplicas": 5}, {"maxReplicas": 50})),
    ("total-needed", "spec.topology.subsets", changed(subsets({"replicas": 3}, {}), "spec.replicas", ...)),
    ("total-needed", "spec.topology.subsets", changed(subsets({"replicas": "30%"}), "spec.replicas", ...)),
    ("shares-within-total", "spec.topology.subsets", subsets({"replicas": 6}, {"replicas": 5}, {})),
    ("shares-within-total", "spec.topology.subsets", subsets({"replicas": "71%"}, {"replicas": "90%"})),
    ("shares-within-total", "spec.topology.subsets", subsets({"replicas": "100%"}, {"replicas": 1})),
    ("shares-reach-total", "spec.topology.subsets", subsets({"replicas": 1})),
    ("shares-reach-total", "spec.topology.subsets", subsets({"replicas": 1}, {"replicas": "71%"})),
    (
        "partitions-name-subsets",
        "spec.updateStrategy.manualUpdate.partitions[z]",
        manifest(updateStrategy={"manualUpdate": {"partitions": {"a": 1, "z": 1}}}),
    ),
    (
        "subset-names-unique",
        "spec.topology.subsets[1].name",
        manifest(topology={"subsets": [{"name": "a"}, {"name": "a"}]}),
    ),
    (
        "node-term-values",
        "spec.topology.subsets[0].nodeSelectorTerm.matchExpressions[0].values",
        subsets({"nodeSelectorTerm": {"matchExpressions": [{"key": "zone", "operator": "Exists", "values": ["x"]}]}}),
    ),
    (
        "node-term-fields",
        "spec.topology.subsets[0].nodeSelectorTerm.matchFields[0]",
        subsets({"nodeSelectorTerm": {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["x"]}]}}),
    ),
    (
        "toleration-exists",
        "spec.topology.subsets[0].tolerations[0]",
        subsets({"tolerations": [{"operator": "Exists", "key": "k", "value": "v"}]}),
    ),
    ("toleration-exists", "spec.topology.subsets[0].tolerations[0]", subsets({"tolerations": [{"value": "v"}]})),
    (
        "toleration-seconds",
        "spec.topology.subsets[0].tolerations[0].effect",
        subsets({"tolerations": [{"key": "k", "tolerationSeconds": 3}]}),
    ),
    (
        "pod-template",
        f"{ROOT}.template.spec.containers",
        changed(manifest(), f"{ROOT}.template.spec.containers", []),
    ),
]

ACCEPTED: list[dict[str, Any]] = [
    manifest(),
    changed(manifest(), "spec.topology", ...),
    subsets({"replicas": 1}, {}),
    subsets({"replicas": 1}, {"replicas": "90%"}),
    subsets({"replicas": "71%"}, {"replicas": "29%"}),
    subsets({"replicas": "50%"}, {"replicas": "50%"}, replicas=3),
    subsets({"replicas": "33%"}, {"replicas": "33%"}, {"replicas": "34%"}),
    subsets({"replicas": "100%"}, {}),
    subsets({"replicas": "5%"}, {}),
    subsets({"minReplicas": 1, "maxReplicas": 2}, {"minReplicas": "10%"}, {}),
    subsets({"weight": 1, "maxReplicas": 2}, {"weight": 3, "maxReplicas": 4}),
    changed(subsets({"replicas": 3}, {"replicas": 2}), "spec.replicas", ...),
    manifest(updateStrategy={"manualUpdate": {"partitions": {"a": "50%"}, "partition": "100%"}}),
    subsets({"tolerations": [{"operator": "Exists"}, {"key": "k", "effect": "NoExecute", "tolerationSeconds": 3}]}),
    subsets({"nodeSelectorTerm": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}}),
    subsets({"nodeSelectorTerm": {"matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["4"]}]}}),
]

TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}

# name of the rule, before, after
FORBIDDEN_CHANGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "selector-immutable",
        manifest(),
        manifest(selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
    ),
    ("nodes-immutable", subsets({"nodeSelectorTerm": TERM}), subsets({})),
    ("nodes-immutable", subsets({}), subsets({"nodeSelectorTerm": TERM})),
    ("tolerations-immutable", subsets({"tolerations": [{"operator": "Exists"}]}), subsets({})),
    ("shares-within-total", subsets({}, {}), subsets({"replicas": 11}, {})),
    ("shares-reach-total", subsets({}, {}), subsets({"replicas": 1}, {"replicas": 1})),
]

ALLOWED_CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (subsets({"nodeSelectorTerm": TERM}), subsets({"nodeSelectorTerm": TERM}, {})),
    (subsets({}, {}), subsets({})),
    (manifest(), manifest(replicas=3)),
    # As kubectl scale and autoscalers do: the topology stays, and the shares do not fit any more.
    (subsets({"replicas": 4}, {"replicas": 6}), subsets({"replicas": 4}, {"replicas": 6}, replicas=3)),
    (subsets({"replicas": 4}, {"replicas": 6}), subsets({"replicas": 4}, {"replicas": 6}, replicas=30)),
]


def python_errors(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> tuple[FieldError, ...]:
    before = None if old is None else parse_united_deployment(old)
    return validate_united_deployment(parse_united_deployment(obj), before)


@pytest.mark.parametrize(("name", "path", "obj"), BROKEN, ids=[f"{row[0]}-{i}" for i, row in enumerate(BROKEN)])
def test_a_broken_rule_is_told_with_the_path_of_the_field(name: str, path: str, obj: dict[str, Any]) -> None:
    """I11"""
    assert [(error.rule, error.path) for error in python_errors(obj)] == [(name, path)] * len(python_errors(obj))
    assert python_errors(obj)


@pytest.mark.parametrize("obj", ACCEPTED, ids=range(len(ACCEPTED)))
def test_what_makes_sense_is_accepted(obj: dict[str, Any]) -> None:
    assert python_errors(obj) == ()
    assert cel_errors(obj) == []


@pytest.mark.parametrize(("name", "path", "obj"), BROKEN, ids=[f"{row[0]}-{i}" for i, row in enumerate(BROKEN)])
def test_the_crd_refuses_what_cel_can_say(name: str, path: str, obj: dict[str, Any]) -> None:
    """I11: Python and CEL find the same rule broken, and no other."""
    said = any(rule.cel for rule in RULES if rule.name == name)
    assert cel_errors(obj) == ([name] if said else [])


@pytest.mark.parametrize(("name", "old", "new"), FORBIDDEN_CHANGES)
def test_a_forbidden_change_is_refused(name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """I11"""
    assert [error.rule for error in python_errors(new, old)] == [name]
    assert cel_errors(new, old) == [name]


@pytest.mark.parametrize(("old", "new"), ALLOWED_CHANGES)
def test_an_allowed_change_is_accepted_and_scaling_never_refused(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert python_errors(new, old) == ()
    assert cel_errors(new, old) == []


def test_a_total_that_was_scaled_away_from_the_shares_is_still_told_to_the_controller() -> None:
    """I4, I11: it becomes a condition, and is marked as one that does not keep the object from being served."""
    (error,) = python_errors(subsets({"replicas": 4}, {"replicas": 6}, replicas=3))
    assert error.feasibility


def test_every_rule_has_a_case() -> None:
    covered = {row[0] for row in BROKEN} | {row[0] for row in FORBIDDEN_CHANGES}
    assert {rule.name for rule in RULES if rule.kind == "UnitedDeployment"} == covered


@pytest.mark.parametrize(
    ("path", "value", "where", "words"),
    [
        ("spec.replicas", -1, "spec.replicas", "0 or more"),
        ("spec.replicas", "3", "spec.replicas", "whole number"),
        ("spec.replicas", True, "spec.replicas", "whole number"),
        ("spec.topology.subsets.1.replicas", "25", "spec.topology.subsets[1].replicas", "percentage"),
        ("spec.topology.subsets.1.replicas", "101%", "spec.topology.subsets[1].replicas", "percentage"),
        ("spec.topology.subsets.1.replicas", -1, "spec.topology.subsets[1].replicas", "not negative"),
        ("spec.topology.subsets.1.name", "A_b", "spec.topology.subsets[1].name", "must match"),
        ("spec.topology.subsets.0.name", ..., "spec.topology.subsets[0].name", "required"),
        ("spec.topology.subsets.0.colour", 1, "spec.topology.subsets[0].colour", "unknown field"),
        ("spec.topology.subsets.0.targetCluster", {}, "spec.topology.subsets[0].targetCluster.name", "required"),
        ("spec.selector", ..., "spec.selector", "required"),
        ("spec.selector.matchLabels", {"app": "a b"}, "spec.selector.matchLabels[app]", "must match"),
        ("spec.selector.matchLabels", {"a b": "x"}, "spec.selector.matchLabels[a b]", "must match"),
        ("spec.topology.subsets.0.replicas", 1.5, "spec.topology.subsets[0].replicas", "whole number"),
        ("spec.revisionHistoryLimit", -1, "spec.revisionHistoryLimit", "0 or more"),
        ("spec.updateStrategy.type", "Auto", "spec.updateStrategy.type", "'Manual'"),
        (
            "spec.updateStrategy.manualUpdate.partitions",
            {"a": -1},
            "spec.updateStrategy.manualUpdate.partitions[a]",
            "not negative",
        ),
    ],
)
def test_a_value_of_the_wrong_form_is_told_with_its_path(path: str, value: Any, where: str, words: str) -> None:
    """I11"""
    with pytest.raises(InvalidObject) as caught:
        parse_united_deployment(changed(manifest(), path, value))
    (error,) = caught.value.errors
    assert error.path == where
    assert words in error.message


# --- CEL as an API server evaluates it, as far as these rules need it -------------------------------------------------


def cel_errors(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[str]:
    """The names of the rules that are broken, each once."""
    filled = defaulted(SCHEMA, copy.deepcopy(dict(obj)))
    before = None if old is None else defaulted(SCHEMA, copy.deepcopy(dict(old)))
    found = dict.fromkeys(broken(SCHEMA, filled, before))
    by_rule = {(rule.cel, rule.message): rule.name for rule in RULES}
    return list(dict.fromkeys(by_rule[key] for key in found))


def broken(schema: Mapping[str, Any], value: Any, old: Any) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        optional = rule.get("optionalOldSelf", False)
        if "oldSelf" in rule["rule"] and old is None and not optional:
            continue
        context = cel.Context({"self": value})
        context.add_function("sum", sum)
        context.add_function("charAt", lambda text, index: text[index])
        if optional:
            context.add_variable("oldSelf", cel.OptionalValue.none() if old is None else cel.OptionalValue.of(old))
        elif old is not None:
            context.add_variable("oldSelf", old)
        if not cel.evaluate(rule["rule"], context):
            yield rule["rule"], rule["message"]
    for name, child in schema.get("properties", {}).items():
        if isinstance(value, Mapping) and name in value:
            yield from broken(child, value[name], None if old is None else old.get(name))
    if isinstance(value, list) and "items" in schema:
        keys = schema.get("x-kubernetes-list-map-keys")
        before = {tuple(item[key] for key in keys): item for item in old or ()} if keys else {}
        for item in value:
            yield from broken(schema["items"], item, before.get(tuple(item[key] for key in keys)) if keys else None)


def defaulted(schema: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, dict):
        for name, child in schema.get("properties", {}).items():
            if name not in value and "default" in child:
                value[name] = copy.deepcopy(child["default"])
            if name in value:
                value[name] = defaulted(child, value[name])
    elif isinstance(value, list) and "items" in schema:
        return [defaulted(schema["items"], item) for item in value]
    return value
