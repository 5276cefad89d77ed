"""Defaults that depend on other fields."""

from typing import Any

import pytest

from uniteddeployment.embedded.builtin import strategy_for
from uniteddeployment.embedded.builtin.defaults.pods import pull_policy


def filled(key: str, obj: dict[str, Any]) -> dict[str, Any]:
    strategy = strategy_for(key)
    obj.setdefault("metadata", {"name": "a"})
    strategy.conform(obj)
    strategy.default(obj)
    return obj


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("reg:5000/nginx", "Always"),
        ("reg:5000/nginx:1", "IfNotPresent"),
        ("x@sha256:0123", "IfNotPresent"),
        ("", "Always"),
    ],
)
def test_an_image_that_may_change_under_its_name_is_always_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_limits_imply_requests_in_pods_but_not_in_templates() -> None:
    def container() -> dict[str, Any]:
        return {"name": "c", "image": "x", "resources": {"limits": {"cpu": "2"}}}

    pod = filled("pods", {"spec": {"containers": [container()]}})
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    workload = filled("replicasets.apps", {"spec": {"template": {"spec": {"containers": [container()]}}}})
    template = workload["spec"]["template"]["spec"]
    assert "requests" not in template["containers"][0]["resources"]
    assert "enableServiceLinks" not in template


def test_update_strategies_get_numbers_only_where_they_roll() -> None:
    assert filled("deployments.apps", {})["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    }
    recreate = filled("deployments.apps", {"spec": {"strategy": {"type": "Recreate"}}})
    assert recreate["spec"]["strategy"] == {"type": "Recreate"}
    by_hand = filled("statefulsets.apps", {"spec": {"updateStrategy": {"type": "OnDelete"}}})
    assert by_hand["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert filled("statefulsets.apps", {})["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}


def test_a_job_runs_once_unless_it_says_how_often_or_how_many_at_a_time() -> None:
    assert filled("jobs.batch", {})["spec"]["completions"] == 1
    assert "completions" not in filled("jobs.batch", {"spec": {"parallelism": 3}})["spec"]
    assert filled("jobs.batch", {"spec": {"backoffLimitPerIndex": 1}})["spec"]["backoffLimit"] == 2**31 - 1
    assert "backoffLimit" not in filled("cronjobs.batch", {})["spec"]["jobTemplate"]["spec"]


def test_text_of_a_secret_becomes_data_and_is_not_kept() -> None:
    secret = filled("secrets", {"data": {"a": "YQ=="}, "stringData": {"a": "b", "c": "d"}})
    assert secret["data"] == {"a": "Yg==", "c": "ZA=="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


def test_a_port_leads_to_itself_and_an_affinity_has_an_end() -> None:
    spec = filled("services", {"spec": {"ports": [{"port": 80}], "sessionAffinity": "ClientIP"}})["spec"]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


def test_a_limit_range_completes_what_it_implies() -> None:
    item = {"type": "Container", "max": {"cpu": "4"}, "min": {"memory": "1Mi"}, "default": {"cpu": "1"}}
    (completed,) = filled("limitranges", {"spec": {"limits": [item]}})["spec"]["limits"]
    assert completed["default"] == {"cpu": "1"}
    assert completed["defaultRequest"] == {"cpu": "1", "memory": "1Mi"}


def test_an_autoscaler_measures_cpu_and_completes_its_behavior() -> None:
    spec = filled("horizontalpodautoscalers.autoscaling", {"spec": {"behavior": {"scaleDown": {}}}})["spec"]
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    assert spec["behavior"]["scaleUp"]["selectPolicy"] == "Max"
    assert spec["behavior"]["scaleDown"]["policies"] == [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    assert "stabilizationWindowSeconds" not in spec["behavior"]["scaleDown"]


def test_a_namespace_is_labelled_with_its_name() -> None:
    assert filled("namespaces", {})["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}


def test_filling_twice_changes_nothing() -> None:
    spec = {"containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 1}]}], "volumes": [{"name": "v"}]}
    pod = filled("pods", {"spec": spec})
    first = repr(pod)
    strategy_for("pods").default(pod)
    assert repr(pod) == first


def test_a_replication_controller_selects_what_its_template_makes() -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    controller: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"template": template}}
    strategy = strategy_for("replicationcontrollers")
    strategy.conform(controller)
    strategy.default(controller)
    assert controller["spec"]["selector"] == {"app": "x"}
    assert controller["spec"]["replicas"] == 1
    assert not strategy.validate_create(controller)
    controller["spec"]["selector"] = {"app": "y"}
    (cause,) = strategy.validate_create(controller)
    assert cause.field == "spec.template.metadata.labels"
