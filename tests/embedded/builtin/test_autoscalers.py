"""autoscaling/v2 autoscalers in the v1 API, which holds fields unknown to v1 in annotations."""

import json

import pytest

from tests.embedded.cluster_kit import MERGE, Api
from uniteddeployment.embedded.apimachinery.resources import Obj

V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
PREFIX = "autoscaling.alpha.kubernetes.io/"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
OTHERS: list[Obj] = [
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
    {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
    {
        "type": "External",
        "external": {
            "metric": {"name": "q", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "Value", "value": "30"},
        },
    },
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "c",
            "target": {"type": "Utilization", "averageUtilization": 50},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Ingress", "name": "i", "apiVersion": "networking.k8s.io/v1"},
            "metric": {"name": "hits"},
            "target": {"type": "Value", "value": "2k"},
        },
    },
]
OTHERS_V1 = (
    '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},'
    '{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"10"}},'
    '{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"30"}},'
    '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":50,"container":"c"}},'
    '{"type":"Object","object":{"target":{"kind":"Ingress","name":"i","apiVersion":"networking.k8s.io/v1"},'
    '"metricName":"hits","targetValue":"2k"}}]'
)
BEHAVIOR = {
    "scaleDown": {"stabilizationWindowSeconds": 60, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}]}
}
BEHAVIOR_V1 = (
    '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,'
    '"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":'
    '{"StabilizationWindowSeconds":60,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":9}],'
    '"Tolerance":null}}'
)


def autoscaler(version: str, **spec: object) -> Obj:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target, **spec}
    return {"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}


@pytest.fixture
def api() -> Api:
    created = Api()
    created.create(V2, autoscaler("autoscaling/v2", metrics=[CPU, *OTHERS], behavior=BEHAVIOR))
    return created


def test_v1_has_one_percentage_and_the_rest_in_annotations(api: Api) -> None:
    shown = api.get(f"{V1}/h")
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 60
    assert {"metrics", "behavior"}.isdisjoint(shown["spec"])
    assert shown["metadata"]["annotations"] == {f"{PREFIX}metrics": OTHERS_V1, f"{PREFIX}behavior": BEHAVIOR_V1}
    assert "annotations" not in api.get(f"{V2}/h")["metadata"]


def test_fields_in_annotations_of_v1_survive_a_write_through_v1(api: Api) -> None:
    before = api.get(f"{V2}/h")["spec"]
    api.patch(f"{V1}/h", {"spec": {"maxReplicas": 7, "targetCPUUtilizationPercentage": 90}})
    after = api.get(f"{V2}/h")["spec"]
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 90}}}
    assert after == {**before, "maxReplicas": 7, "metrics": [*OTHERS, cpu]}


def test_removing_an_annotation_removes_its_fields(api: Api) -> None:
    api.patch(f"{V1}/h", {"metadata": {"annotations": {f"{PREFIX}metrics": None}}})
    assert api.get(f"{V2}/h")["spec"]["metrics"] == [CPU]


def test_conditions_and_measured_metrics_are_annotations_of_v1(api: Api) -> None:
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "r"}
    current = [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 50, "averageValue": "1"}}}
    ]
    status = {"currentReplicas": 2, "desiredReplicas": 3, "conditions": [condition], "currentMetrics": current}
    api.patch(f"{V2}/h/status", {"status": status})
    shown = api.get(f"{V1}/h")
    assert shown["status"] == {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 50}
    annotations = shown["metadata"]["annotations"]
    assert json.loads(annotations[f"{PREFIX}conditions"]) == [condition]
    assert annotations[f"{PREFIX}current-metrics"] == (
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":50,"currentAverageValue":"1"}}]'
    )


def test_invalid_annotations_are_dropped() -> None:
    api = Api()
    obj = autoscaler("autoscaling/v1")
    obj["metadata"]["annotations"] = {f"{PREFIX}{name}": "nonsense" for name in ("metrics", "behavior", "conditions")}
    created = api.create(V1, obj)
    assert "annotations" not in created["metadata"]
    assert created["spec"]["targetCPUUtilizationPercentage"] == 80
    assert "behavior" not in api.get(f"{V2}/h")["spec"]


def test_the_behavior_in_an_annotation_gets_its_defaults() -> None:
    api = Api()
    obj = autoscaler("autoscaling/v1")
    obj["metadata"]["annotations"] = {f"{PREFIX}behavior": '{"scaleUp":{"policies":[{"Type":"Pods","Value":4}]}}'}
    api.create(V1, obj)
    assert api.get(f"{V2}/h")["spec"]["behavior"]["scaleUp"] == {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4}],
    }


def test_a_row_of_v1_names_metrics_that_v1_has_in_annotations_and_hides_these(api: Api) -> None:
    api.patch(f"{V2}/h", {"spec": {"metrics": OTHERS[3:]}})
    row = api.get(f"{V1}/h", accept=TABLE)["rows"][0]
    assert row["cells"][2] == "cpu: <unknown>/50%, <unknown>/2k"
    assert "annotations" not in row["object"]["metadata"]


def test_a_whole_object_in_v1_replaces_what_it_does_not_say(api: Api) -> None:
    api.json("PUT", f"{V1}/h", autoscaler("autoscaling/v1", targetCPUUtilizationPercentage=40), status=200)
    spec = api.get(f"{V2}/h")["spec"]
    assert [metric["resource"]["target"]["averageUtilization"] for metric in spec["metrics"]] == [40]
    assert "behavior" not in spec
    assert api.ask("PATCH", f"{V1}/h", {}, content=MERGE).status == 200
