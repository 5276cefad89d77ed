"""API servers accept the CRDs, and the files in config/ match the models."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.api.host_kit import Host
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.embedded.crd.cel import rules as cel_rules
from uniteddeployment.embedded.crd.cel.compilation import Rule
from uniteddeployment.embedded.errors import Cause
from uniteddeployment_api import parse_cluster, parse_united_deployment, validate_united_deployment
from uniteddeployment_api.crd import custom_resource_definitions, schema_of, to_yaml
from uniteddeployment_api.errors import InvalidObject
from uniteddeployment_api.rules import RULES
from uniteddeployment_api.v1alpha1.cluster import Cluster
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment
from uniteddeployment_api.validation.gates import parse_gate_template, validate_gate_template
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout

CONFIG = Path(__file__).parents[3] / "config"
SCHEMAS = {model.__name__: schema_of(model) for model in (UnitedDeployment, Cluster, UnitedRollout)}

KEYWORDS = {
    "description", "type", "format", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties", "required", "default", "properties", "items", "additionalProperties",
    "anyOf", "nullable",
}  # fmt: skip


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}[]")


NODES = [(f"{kind}{path}", node) for kind, schema in SCHEMAS.items() for path, node in nodes(schema)]


def test_the_generated_file_has_not_drifted_from_the_models() -> None:
    assert (CONFIG / "crd" / "crds.yaml").read_text() == to_yaml(), "run `make generate`"


def test_generating_twice_gives_the_same_text() -> None:
    """The same models always give the same file (I2)."""
    assert to_yaml() == to_yaml()


@pytest.mark.parametrize(("path", "node"), NODES, ids=[path for path, _ in NODES])
def test_every_node_is_structural(path: str, node: dict[str, Any]) -> None:
    unknown = {key for key in node if not key.startswith("x-kubernetes-")} - KEYWORDS
    assert not unknown
    if node.get("x-kubernetes-int-or-string"):
        assert "type" not in node
        assert node["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    else:
        assert "anyOf" not in node
        # A node without a type accepts any value, so the API server must preserve all of it.
        assert isinstance(node.get("type", ""), str)
        assert "type" in node or node["x-kubernetes-preserve-unknown-fields"]
    assert not ("properties" in node and "additionalProperties" in node)
    if node.get("type") == "array":
        assert "items" in node
    if node.get("type") == "object" and path.count(".") > 0 and not path.endswith(".metadata"):
        # The API server would drop all fields of any other object.
        assert node.keys() & {"properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields"}
    for key in node.get("required", ()):
        assert key in node["properties"]
    for key in node.get("x-kubernetes-list-map-keys", ()):
        assert key in node["items"]["required"]


def test_kubectl_explain_describes_every_field() -> None:
    """A description is a sentence. Fields of workloads are described by their own kinds."""
    own = [(path, node) for path, node in NODES if not re.search(r"Template\.spec\.|\.patch\.|\[\]$|\.metadata$", path)]
    described = {path: node.get("description", "") for path, node in own}
    assert [path for path, text in described.items() if path.count(".") and not text.endswith(".")] == []


def test_fields_that_rules_read_are_bounded() -> None:
    """An API server rejects a CRD if it cannot limit the cost of a rule."""
    for path, node in NODES:
        if ".spec.topology" in path or ".selector" in path:
            if node.get("type") == "array":
                assert "maxItems" in node, path
            if "additionalProperties" in node:
                assert "maxProperties" in node, path
            if node.get("type") == "string" and "enum" not in node:
                assert "maxLength" in node, path


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.cel], ids=lambda rule: f"{rule.name}@{rule.at}")
def test_every_rule_reports_at_a_field_that_exists(rule: Any) -> None:
    node = SCHEMAS[rule.kind]
    for step in rule.at.split("."):
        node = node["properties"][step.removesuffix("[]")]
        node = node["items"] if step.endswith("[]") else node
    for step in filter(None, rule.field_path.split(".")):
        node = node["properties"][step]
    assert rule.message
    assert len(rule.message) < 2048
    assert not rule.message.endswith(".")


def test_few_rules_are_evaluated_when_an_ordinary_application_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs the API server of the host up to 100 microseconds, on every write of the object."""
    own = [node for path, node in NODES if path.startswith("UnitedDeployment.")]
    assert sum(len(node.get("x-kubernetes-validations", ())) for node in own) <= 28
    evaluated: list[str] = []
    evaluate = cel_rules._evaluate

    def counted(rule: Rule, *arguments: Any, **options: Any) -> Cause | None:
        evaluated.append(rule.label)
        return evaluate(rule, *arguments, **options)

    monkeypatch.setattr(cel_rules, "_evaluate", counted)
    sample = yaml.safe_load((CONFIG / "samples" / "web.yaml").read_text())
    host, path = Host(), UNITED_DEPLOYMENTS.path("default")
    status, stored = host.ask("POST", path, sample)
    assert status == 201
    evaluated.clear()
    stored["spec"]["replicas"] += 1
    assert host.ask("PUT", f"{path}/web", stored)[0] == 200
    assert 0 < len(evaluated) <= 10


def test_the_status_of_an_application_is_one_field_for_server_side_apply() -> None:
    """Owners of its single fields would be stored, and read and compared on every write of an application."""
    assert SCHEMAS["UnitedDeployment"]["properties"]["status"]["x-kubernetes-map-type"] == "atomic"


def test_the_subresources_and_columns_are_those_that_kubectl_users_expect() -> None:
    by_kind = {crd["spec"]["names"]["kind"]: crd for crd in custom_resource_definitions()}
    united_deployment = by_kind["UnitedDeployment"]["spec"]
    version = united_deployment["versions"][0]
    assert united_deployment["names"]["shortNames"] == ["ud"]
    assert version["subresources"]["scale"]["specReplicasPath"] == ".spec.replicas"
    assert [column["name"] for column in version["additionalPrinterColumns"]] == [
        "Desired", "Ready", "Updated", "Status", "Generation", "Observed", "Current", "Revision", "Age",
    ]  # fmt: skip
    assert by_kind["Cluster"]["spec"]["names"]["shortNames"] == ["udc"]
    columns = by_kind["Cluster"]["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == [
        "Phase", "Reason", "Version", "Nodes", "Last Contact", "Taints", "Server", "Age",
    ]  # fmt: skip
    # The API server shows only the first match of a path with [*].
    assert not any("[*]" in column["jsonPath"] for column in columns)


def test_status_has_no_defaults() -> None:
    assert not [path for path, node in NODES if path.split(".")[1:2] == ["status"] and "default" in node]


SAMPLES = sorted((CONFIG / "samples").glob("*.yaml"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_samples_satisfy_all_rules_and_can_be_applied(path: Path) -> None:
    sample = yaml.safe_load(path.read_text())
    if sample["kind"] == "UnitedDeployment":
        assert validate_united_deployment(parse_united_deployment(sample)) == ()
    elif sample["kind"] == "UnitedRollout":
        assert validate_united_rollout(parse_united_rollout(sample)) == ()
    elif sample["kind"] == "GateTemplate":
        assert validate_gate_template(parse_gate_template(sample)) == ()
    else:
        parse_cluster(sample)
    assert Host().causes(sample) == []


def test_the_sample_cluster_is_a_valid_cluster() -> None:
    cluster = parse_cluster(yaml.safe_load((CONFIG / "samples" / "cluster.yaml").read_text()))
    assert cluster.spec.credentials.secret_ref.name == "member-1"


def test_a_cluster_with_an_authority_that_has_no_effect_is_rejected() -> None:
    """Bad input is rejected with the path of the field (I11)."""
    spec = {"credentials": {"secretRef": {"name": "x"}}, "insecureSkipTLSVerify": True, "caBundle": "eA=="}
    with pytest.raises(InvalidObject) as caught:
        parse_cluster({"spec": spec})
    assert [error.path for error in caught.value.errors] == ["spec.caBundle"]


@pytest.mark.parametrize(
    ("allowed", "field"),
    [
        ({"from": "Selector"}, "selector"),
        ({"from": "All", "selector": {}}, "selector"),
        ({"selector": {}}, "selector"),
        (
            {"from": "Selector", "selector": {"matchExpressions": [{"key": "a", "operator": "NotIn"}]}},
            "selector.matchExpressions[0].values",
        ),
    ],
)
def test_allowed_namespaces_that_contradict_themselves_are_rejected(allowed: dict[str, Any], field: str) -> None:
    """Bad input is rejected with the path of the field (I11), by the API server and by us."""
    cluster = yaml.safe_load((CONFIG / "samples" / "cluster.yaml").read_text())
    assert Host().causes(cluster) == []
    cluster["spec"]["allowedNamespaces"] = allowed
    with pytest.raises(InvalidObject) as caught:
        parse_cluster(cluster)
    path = f"spec.allowedNamespaces.{field}"
    assert [error.path for error in caught.value.errors] == [path]
    assert [cause["field"] for cause in Host().causes(cluster)] == [path]


def test_a_status_that_a_newer_version_wrote_can_be_read() -> None:
    raw = yaml.safe_load((CONFIG / "samples" / "web.yaml").read_text())
    raw["status"] = {"replicas": 8, "shiny": 1, "subsetStatuses": [{"name": "member-1", "gloss": 2}]}
    assert parse_united_deployment(raw).status.replicas == 8
