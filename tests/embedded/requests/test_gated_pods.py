"""Pods with scheduling gates."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import MERGE, PODS, Api, pod
from uniteddeployment.embedded.apimachinery.resources import Obj

GATES = [{"name": "a.b/c"}, {"name": "d"}]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def requirement(key: str) -> Obj:
    return {"key": key, "operator": "Exists"}


def near(*terms: list[Obj]) -> Obj:
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {REQUIRED: selector}}}


@pytest.fixture
def api() -> Api:
    created = Api()
    created.create(PODS, pod("web", schedulingGates=GATES))
    return created


def changed(api: Api, status: int, **spec: Any) -> Obj:
    return api.json("PATCH", f"{PODS}/web", {"spec": spec}, content=MERGE, status=status)


def test_the_condition_of_a_gated_pod_says_since_when(api: Api) -> None:
    assert api.get(f"{PODS}/web")["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    assert api.get(f"{PODS}/web", accept=TABLE)["rows"][0]["cells"][2] == "SchedulingGated"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, 'schedulingGates[1]: Duplicate value: "a"'),
        ({"schedulingGates": [{"name": "a/"}]}, 'schedulingGates[0]: Invalid value: "a/": name part must be non-empty'),
        (
            {"schedulingGates": GATES, "nodeName": "n"},
            "nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
    ],
)
def test_gates_that_a_new_pod_may_not_have(spec: Obj, message: str) -> None:
    assert f"spec.{message}" in Api().json("POST", PODS, pod("web", **spec), status=422)["message"]


def test_gates_go_and_do_not_come(api: Api) -> None:
    message = changed(api, 422, schedulingGates=[*GATES, {"name": "e"}])["message"]
    assert message == (
        'Pod "web" is invalid: spec.schedulingGates[2].name: Forbidden: only deletion is allowed, but found new '
        "scheduling gate 'e'"
    )
    assert changed(api, 200, schedulingGates=GATES[:1])["spec"]["schedulingGates"] == GATES[:1]
    changed(api, 200, schedulingGates=[])
    assert "only deletion is allowed" in changed(api, 422, schedulingGates=GATES)["message"]


def test_a_gated_pod_gets_a_narrower_selector_and_no_wider_one(api: Api) -> None:
    assert changed(api, 200, nodeSelector={"a": "b"})["metadata"]["generation"] == 2
    changed(api, 200, nodeSelector={"a": "b", "c": "d"})
    assert changed(api, 422, nodeSelector={"a": "x"})["message"] == (
        'Pod "web" is invalid: spec.nodeSelector: Invalid value: {"a":"x","c":"d"}: only additions to '
        "spec.nodeSelector are allowed (no mutations or deletions)"
    )


def test_a_gated_pod_gets_more_requirements_in_its_terms_and_no_more_terms(api: Api) -> None:
    changed(api, 200, **near([requirement("a")]))
    changed(api, 200, **near([requirement("a"), requirement("b")]))
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    message = changed(api, 422, **near([requirement("b")]))["details"]["causes"][0]
    assert message["field"] == f"{path}[0]"
    assert message["message"].endswith(": only additions are allowed (no mutations or deletions)")
    message = changed(api, 422, **near([requirement("a"), requirement("b")], [requirement("c")]))["details"]["causes"][
        0
    ]
    assert message["field"] == path
    assert message["message"].endswith(": no additions/deletions to non-empty NodeSelectorTerms list are allowed")


def test_a_pod_without_gates_keeps_its_selector(api: Api) -> None:
    changed(api, 200, schedulingGates=None)
    assert "pod updates may not change fields other than" in changed(api, 422, nodeSelector={"a": "b"})["message"]


def test_a_gated_pod_gets_no_node(api: Api) -> None:
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "n"}}
    refused = api.json("POST", f"{PODS}/web/binding", binding, status=409)
    assert refused["message"] == (
        'Operation cannot be fulfilled on pods/binding "web": pod web has non-empty .spec.schedulingGates'
    )
