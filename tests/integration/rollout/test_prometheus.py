"""Gates against a real Prometheus: the queries of docs/gates.md, and every outcome of scenario 35."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.narrowing import present
from tests.support.prometheus import prometheus
from tests.unit.rollout.gates.servers import SUBJECT, Secrets, probe
from uniteddeployment.controller.queries import query_errors
from uniteddeployment.kube.web import Web
from uniteddeployment_api.validation.gates import parse_gate_template
from uniteddeployment_rollout.gates.measuring import CannotMeasure
from uniteddeployment_rollout.gates.prometheus import Prometheus

PAGE = (Path(__file__).parents[3] / "docs" / "gates.md").read_text()
(TEMPLATE,) = (
    document
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for document in yaml.safe_load_all(block)
    if document.get("kind") == "GateTemplate"
)
ERRORS = {
    ("good", "new"): 1,
    ("good", "old"): 1,
    ("bad", "new"): 20,
    ("bad", "old"): 1,
    ("bad-zone", "new"): 20,
    ("bad-zone", "old"): 19,
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with prometheus(ERRORS) as address:
        yield address


async def measured(url: str, cluster: str = "good", **fields: Any) -> tuple[str, str]:
    session = Web()
    gate = {"address": url, "successCondition": "result < 0.05", **fields}
    try:
        found = await Prometheus(Secrets(), session).measure(  # type: ignore[arg-type]  # it needs no more of a client
            SUBJECT, probe(prometheus=gate, variables={"cluster": cluster})
        )
    finally:
        await session.close()
    return found.outcome, found.value


async def test_35_and_36_the_error_rate_of_the_page_judges_each_cluster_by_itself(url: str) -> None:
    """Scenario 36: where stable pods have as many errors, the cluster is to blame and not the new version."""
    spec = present(parse_gate_template(TEMPLATE).spec.prometheus).model_dump(by_alias=True, exclude_none=True)
    fields = {
        "query": spec["query"].replace("[2m]", "[5s]").replace("{{args.job}}", "web"),
        "successCondition": spec["successCondition"].replace("{{args.most}}", "0.05"),
    }
    outcomes = {cluster: await measured(url, cluster, **fields) for cluster in ("good", "bad", "bad-zone", "empty")}
    assert outcomes == {
        "good": ("Success", "0.01"),
        "bad": ("Failure", "0.2"),
        "bad-zone": ("Inconclusive", "0.2/0.19"),
        "empty": ("Inconclusive", "no data"),
    }
    compared = {**fields, "successCondition": "canary <= stable * 1.2"}
    assert await measured(url, "bad-zone", **compared) == ("Success", "0.2/0.19")
    assert await measured(url, "bad", **compared) == ("Failure", "0.2/0.01")


async def test_35_what_is_not_a_number_is_inconclusive_and_what_is_not_a_query_is_an_error(url: str) -> None:
    assert await measured(url, query="0 * sum(build_info) / 0") == ("Inconclusive", "no data")
    assert await measured(url, query="vector(0)") == ("Success", "0")
    assert await measured(url, query="scalar(build_info)") == ("Failure", "1")
    for query, message in (
        ("sum(rate(", "the query is not valid"),
        ("http_requests_total", "series instead of one; aggregate them"),
        ("build_info[1m]", "returns a matrix instead of one number"),
    ):
        with pytest.raises(CannotMeasure, match=message) as caught:
            await measured(url, query=query)
        assert caught.value.permanent


def rollout(url: str, **fields: Any) -> dict[str, Any]:
    measured = {"address": url, "query": "sum(up)", "successCondition": "result < 1", **fields}
    steps = [{"replicas": 1, "gates": [{"name": "errors", "prometheus": measured}]}]
    return {
        "kind": "UnitedRollout",
        "metadata": {"name": "web"},
        "spec": {"targetRef": {"name": "web"}, "steps": steps},
    }


async def test_a_query_that_does_not_parse_is_refused_at_admission_with_the_path_of_the_field(url: str) -> None:
    valid = rollout(url, query='sum(rate(x{v="{{revision}}"}[1m]))', baseline="vector(1)")
    assert await query_errors(valid) == ()
    broken = rollout(url, query="sum(", baseline="up[")
    errors = await query_errors(broken, valid)
    path = "spec.steps[0].gates[0].prometheus"
    assert [error.path for error in errors] == [f"{path}.query", f"{path}.baseline"]
    assert "Prometheus cannot parse the query: " in errors[0].message
    assert await query_errors(broken, broken) == (), "what is stored can be edited elsewhere"
    template = {"kind": "GateTemplate", "metadata": {"name": "x"}}
    prometheus_ = {"address": url, "query": "up[{{args.x}}]", "successCondition": "result < 1"}
    unknown = {**template, "spec": {"args": [{"name": "x"}], "prometheus": prometheus_}}
    assert await query_errors(unknown) == ()
    wrong = {**template, "spec": {"args": [{"name": "x", "default": "soon"}], "prometheus": prometheus_}}
    assert [error.path for error in await query_errors(wrong)] == ["spec.prometheus.query"]
