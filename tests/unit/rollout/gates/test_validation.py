"""Gates in rollouts and GateTemplates: what is wrong is refused with the path of the field (I11)."""

from collections.abc import Mapping
from typing import Any

import kopf
import pytest

from tests.unit.api.host_kit import Host
from tests.unit.rollout.gates.kit import PROMETHEUS
from uniteddeployment.controller.shell import refuse_gate_template, refuse_united_rollout
from uniteddeployment_api import names
from uniteddeployment_api.validation.gates import parse_gate_template, validate_gate_template
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout

JOB: dict[str, Any] = {"spec": {"template": {"spec": {"containers": []}}}}
OBJECT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "condition": {"type": "Available"}}


def rollout(*gates: Any) -> dict[str, Any]:
    spec = {"targetRef": {"name": "web"}, "steps": [{"replicas": 1, "gates": list(gates)}]}
    return {"apiVersion": names.API_VERSION, "kind": "UnitedRollout", "metadata": {"name": "web"}, "spec": spec}


def template(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": names.API_VERSION, "kind": "GateTemplate", "metadata": {"name": "errors"}, "spec": spec}


def errors(*gates: Any, subsets: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, str]:
    found = validate_united_rollout(parse_united_rollout(rollout(*gates)), subsets)
    return {error.path.removeprefix("spec.steps[0].gates"): error.message for error in found}


def prometheus(**fields: Any) -> dict[str, Any]:
    return {"name": "errors", "prometheus": {**PROMETHEUS, **fields}}


VALID = [
    {"name": "errors"},
    {"name": "errors", "templateRef": {"name": "errors"}, "args": [{"name": "job", "value": "web"}], "count": 3},
    prometheus(),
    prometheus(address="https://prometheus.example/path", query="up{a='{{ args.x }}'}")
    | {"args": [{"name": "x", "value": "y"}]},
    {"name": "restarts", "readiness": {"maxRestarts": 2}, "dryRun": True},
    {"name": "hook", "webhook": {"url": "http://hook/{{subset}}"}, "count": 5, "failureLimit": 4},
    {"name": "job", "job": JOB},
    {"name": "object", "object": OBJECT},
    {"name": "field", "object": {**OBJECT, "condition": None, "jsonPath": "{.status.x[0]['a.b']}", "value": "1"}},
]


def test_valid_gates_are_accepted_by_us_and_by_an_api_server() -> None:
    host = Host()
    for gate in VALID:
        assert errors(gate) == {}
        assert host.causes(rollout(gate)) == [], gate


@pytest.mark.parametrize(
    ("gate", "path", "message"),
    [
        ({**prometheus(), "readiness": {}}, "[0].prometheus", "must not be set together with readiness"),
        ({**prometheus(), "templateRef": {"name": "x"}}, "[0].templateRef", "remove one of the two"),
        (prometheus(successCondition=None), "[0].prometheus.successCondition", "required"),
        (prometheus(successCondition="result <"), "[0].prometheus.successCondition", "not the end"),
        (prometheus(successCondition="stable < 1"), "[0].prometheus.successCondition", "must refer to result"),
        (prometheus(failureCondition="result"), "[0].prometheus.failureCondition", "must be a truth value"),
        (prometheus(successCondition="result < {{revision}}"), "[0].prometheus.successCondition", "only have arg"),
        (prometheus(query="up{x='{{version}}'}"), "[0].prometheus.query", "unknown variable {{version}}; known are"),
        (prometheus(query="{{args.job}}"), "[0].prometheus.query", "unknown variable {{args.job}}"),
        (prometheus(address="prometheus:9090"), "[0].prometheus.address", "must be a URL"),
        (prometheus(address="ftp://prometheus"), "[0].prometheus.address", "must be a URL"),
        (prometheus(address="http://ann:secret@prometheus"), "[0].prometheus.address", "must not have credentials"),
        (prometheus(address="http://a b"), "[0].prometheus.address", "must not have spaces"),
        (prometheus(timeout="2m"), "[0].prometheus.timeout", "must be from 1s to 60s"),
        ({**prometheus(), "failureLimit": 1}, "[0].failureLimit", "must be less than count, which is 1"),
        ({**prometheus(), "interval": "0s"}, "[0].interval", "must be at least 1s"),
        ({"name": "x", "webhook": {"url": "x"}}, "[0].webhook.url", "must be a URL"),
        ({"name": "x", "job": {"spec": {}}}, "[0].job.spec.template", "required"),
        ({"name": "x", "job": {**JOB, "timeout": "100h"}}, "[0].job.timeout", "must be from 1s to 86400s"),
        ({"name": "x", "object": {**OBJECT, "jsonPath": ".a"}}, "[0].object", "either condition or jsonPath"),
        ({"name": "x", "object": {**OBJECT, "apiVersion": "v1", "kind": "Secret"}}, "[0].object.kind", "not be Secret"),
        ({"name": "x", "object": {**OBJECT, "condition": None, "jsonPath": "a b"}}, "[0].object.jsonPath", "cannot be"),
        ({"name": "x", "object": {**OBJECT, "apiVersion": "a/b/c"}}, "[0].object.apiVersion", "must be a version"),
        ({"name": "x", "args": [{"name": "a", "value": ""}] * 2}, "[0].args[1].name", "a is used twice"),
    ],
)  # fmt: skip
def test_a_gate_that_cannot_work_is_refused_with_the_path_of_the_field(
    gate: dict[str, Any], path: str, message: str
) -> None:
    found = errors(gate)
    assert list(found) == [path]
    assert message in found[path]
    assert "secret" not in str(found).replace("secretRef", "")


def test_the_names_of_gates_are_unique_in_a_step() -> None:
    assert errors({"name": "a"}, {"name": "b"}, {"name": "a"}) == {"[2].name": "a is used twice"}


def test_results_of_too_many_subsets_are_refused_because_the_status_has_no_room_for_them() -> None:
    gates = [{**prometheus(scope="Subset"), "name": f"g{number}"} for number in range(8)]
    assert errors(*gates, subsets={f"s{number}": {} for number in range(40)}) == {}
    (message,) = errors(*gates, subsets={f"s{number}": {} for number in range(41)}).values()
    assert "have 328 results" in message


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"args": [{"name": "x"}]}, "spec"),
        ({"prometheus": PROMETHEUS, "args": [{"name": "x"}, {"name": "x"}]}, "spec.args[1].name"),
        ({"prometheus": {**PROMETHEUS, "query": "{{args.y}}"}, "args": [{"name": "x"}]}, "spec.prometheus.query"),
        ({"prometheus": {**PROMETHEUS, "successCondition": "result << {{args.x}}"}, "args": [{"name": "x"}]},
         "spec.prometheus.successCondition"),
        ({"webhook": {"url": "{{args.x}}"}, "args": [{"name": "x", "default": "no-url"}]}, "spec.webhook.url"),
    ],
)  # fmt: skip
def test_a_template_that_cannot_work_is_refused_with_the_path_of_the_field(spec: dict[str, Any], path: str) -> None:
    assert [error.path for error in validate_gate_template(parse_gate_template(template(**spec)))] == [path]


def test_admission_refuses_a_template_and_a_rollout_with_a_gate_that_cannot_work() -> None:
    measured = {**PROMETHEUS, "successCondition": "result <"}
    for refuse, document, path in (
        (refuse_gate_template, template(prometheus=measured), r"spec\.prometheus\.successCondition"),
        (
            refuse_united_rollout,
            rollout(prometheus(successCondition="result <")),
            r"spec\.steps\[0\]\.gates\[0\]\.prom",
        ),
    ):
        with pytest.raises(kopf.AdmissionError, match=path):
            refuse(document, None)


def test_a_template_whose_url_and_threshold_are_arguments_is_accepted_by_us_and_by_an_api_server() -> None:
    measured = {**PROMETHEUS, "address": "{{args.server}}", "successCondition": "result < {{args.most}}"}
    document = template(prometheus=measured, args=[{"name": "server"}, {"name": "most", "default": "0.05"}])
    assert validate_gate_template(parse_gate_template(document)) == ()
    assert Host().causes(document) == []
