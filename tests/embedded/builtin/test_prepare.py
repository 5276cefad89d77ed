"""Fields that the server sets: status, generations, addresses, labels of jobs, tolerations of pods."""

from typing import Any

import pytest

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.builtin import strategy_for
from uniteddeployment.embedded.builtin.prepare.pods import quality_of_service
from uniteddeployment.embedded.builtin.strategy import BuiltinStrategy

Obj = dict[str, Any]
CONTAINER = {"name": "c", "image": "x"}


def made(strategy: BuiltinStrategy, obj: Obj) -> Obj:
    obj.setdefault("metadata", {"name": "a"})["uid"] = "u"
    strategy.conform(obj)
    strategy.default(obj)
    strategy.prepare_create(obj)
    return obj


def changed(strategy: BuiltinStrategy, old: Obj, change: Obj, subresource: str = "") -> Obj:
    new = clone(old)
    for path, value in change.items():
        at = new
        *steps, last = path.split("/")
        for step in steps:
            at = at.setdefault(step, {})
        at[last] = value
    strategy.conform(new)
    strategy.default(new)
    strategy.prepare_update(new, old, subresource)
    return new


def test_spec_and_status_are_written_apart() -> None:
    strategy = strategy_for("replicasets.apps")
    old = made(strategy, {"spec": {"replicas": 2}, "status": {"replicas": 7}})
    assert old["status"] == {"replicas": 0}
    assert old["metadata"]["generation"] == 1
    new = changed(strategy, old, {"spec/replicas": 3, "status": {"replicas": 9}})
    assert (new["spec"]["replicas"], new["status"]["replicas"], new["metadata"]["generation"]) == (3, 0, 2)
    seen = changed(strategy, new, {"spec/replicas": 5, "status": {"replicas": 9}}, "status")
    assert (seen["spec"]["replicas"], seen["status"]["replicas"], seen["metadata"]["generation"]) == (3, 9, 2)


def test_a_deployment_counts_its_annotations_too_and_a_service_counts_nothing() -> None:
    strategy = strategy_for("deployments.apps")
    old = made(strategy, {})
    assert changed(strategy, old, {"metadata/annotations": {"a": "b"}})["metadata"]["generation"] == 2
    assert changed(strategy, old, {"metadata/labels": {"a": "b"}})["metadata"]["generation"] == 1
    services = strategy_for("services")
    assert "generation" not in made(services, {"spec": {"ports": [{"port": 1}]}})["metadata"]


def test_a_node_keeps_the_status_that_it_came_with() -> None:
    node = made(strategy_for("nodes"), {"status": {"capacity": {"cpu": "8"}}})
    assert node["status"]["allocatable"] == {"cpu": "8"}


def test_a_namespace_is_held_until_it_is_empty_and_only_finalize_lets_go() -> None:
    strategy = strategy_for("namespaces")
    old = made(strategy, {"spec": {"finalizers": ["example.com/mine"]}})
    assert old["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]
    assert old["status"] == {"phase": "Active"}
    assert changed(strategy, old, {"spec": {}})["spec"] == old["spec"]
    assert changed(strategy, old, {"spec": {"finalizers": []}}, "finalize")["spec"] == {}


def test_services_get_addresses_in_order_and_avoid_those_that_were_asked_for() -> None:
    strategy = strategy_for("services")
    requested = made(strategy, {"spec": {"clusterIP": "10.96.0.2", "ports": [{"port": 1}]}})
    given = made(strategy, {"spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30000}, {"port": 2}]}})
    assert requested["spec"]["clusterIPs"] == ["10.96.0.2"]
    assert given["spec"]["clusterIP"] == "10.96.0.3"
    assert [port["nodePort"] for port in given["spec"]["ports"]] == [30000, 30001]
    assert given["spec"]["ipFamilyPolicy"] == "SingleStack"


def test_a_service_drops_what_its_new_type_has_not_and_keeps_the_rest() -> None:
    strategy = strategy_for("services")
    old = made(strategy, {"spec": {"type": "NodePort", "ports": [{"port": 80}]}})
    inside = changed(strategy, old, {"spec/type": "ClusterIP"})
    assert inside["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert "nodePort" not in inside["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in inside["spec"]
    outside = changed(strategy, inside, {"spec/type": "ExternalName", "spec/externalName": "a.example.com"})
    assert outside["spec"].keys() == {"externalName", "ports", "sessionAffinity", "type"}


def test_an_update_that_leaves_addresses_unsaid_keeps_them() -> None:
    strategy = strategy_for("services")
    old = made(strategy, {"spec": {"type": "NodePort", "ports": [{"port": 80}]}})
    new = clone(old)
    new["spec"] = {"type": "NodePort", "ports": [{"port": 80}]}
    strategy.conform(new)
    strategy.default(new)
    strategy.prepare_update(new, old, "")
    assert new == old


def test_a_job_selects_the_pods_that_it_makes_by_its_uid() -> None:
    job = made(strategy_for("jobs.batch"), {"spec": {"template": {"spec": {"containers": [CONTAINER]}}}})
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["job-name"] == "a"
    assert job["metadata"]["labels"] == labels
    by_hand = made(
        strategy_for("jobs.batch"), {"spec": {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}}
    )
    assert by_hand["spec"]["selector"] == {"matchLabels": {"a": "b"}}


def test_a_daemon_set_counts_the_versions_of_its_template() -> None:
    strategy = strategy_for("daemonsets.apps")
    old = made(strategy, {})
    key = "deprecated.daemonset.template.generation"
    assert old["metadata"]["annotations"] == {key: "1"}
    new = changed(strategy, old, {"spec/template/metadata/labels": {"a": "b"}})
    assert new["metadata"]["annotations"] == {key: "2"}


def test_a_pod_starts_pending_and_tolerates_lost_nodes_for_a_while() -> None:
    strategy = strategy_for("pods")
    pod = made(strategy, {"spec": {"containers": [CONTAINER], "tolerations": [{"operator": "Exists"}]}})
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
    other = made(strategy, {"spec": {"containers": [CONTAINER], "schedulingGates": [{"name": "g"}]}})
    assert [item["tolerationSeconds"] for item in other["spec"]["tolerations"]] == [300, 300]
    assert other["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert (other["spec"]["priority"], other["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")


def test_a_put_that_leaves_admissions_work_unsaid_keeps_it() -> None:
    strategy = strategy_for("pods")
    old = made(strategy, {"spec": {"containers": [CONTAINER]}})
    new = clone(old)
    for key in ("priority", "preemptionPolicy", "tolerations"):
        del new["spec"][key]
    strategy.prepare_update(new, old, "")
    assert new == old


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"ephemeral-storage": "1G"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}], "Guaranteed"),
        ([{"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}, {}], "Burstable"),
        ([{"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "2", "memory": "1"}}], "Burstable"),
    ],
)
def test_promises_decide_the_quality_of_service(resources: list[Obj], message: str) -> None:
    assert quality_of_service({"containers": [{"resources": item} for item in resources]}) == message


def test_a_port_of_two_protocols_has_one_node_port() -> None:
    ports = [{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}, {"name": "c", "port": 80}]
    given = made(strategy_for("services"), {"spec": {"type": "NodePort", "ports": ports}})
    assert [port["nodePort"] for port in given["spec"]["ports"]] == [30000, 30000, 30001]


def test_a_load_balancer_with_local_traffic_has_a_port_for_health_checks_as_long_as_it_needs_one() -> None:
    strategy = strategy_for("services")
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    old = made(strategy, {"spec": spec})
    assert old["spec"]["healthCheckNodePort"] == 30001
    same = changed(strategy, old, {"spec/healthCheckNodePort": 0})
    assert same["spec"]["healthCheckNodePort"] == 30001
    assert "healthCheckNodePort" not in changed(strategy, old, {"spec/externalTrafficPolicy": "Cluster"})["spec"]
