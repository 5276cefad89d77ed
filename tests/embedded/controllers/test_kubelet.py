"""Simulated kubelets: the status of pods and nodes, the effect of images, termination of pods."""

import pytest

from tests.embedded.infrastructure_kit import HEARTBEATS, Site, pod, ready
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of


def container(obj: Obj, index: int = 0) -> Obj:
    result: Obj = obj["status"]["containerStatuses"][index]
    return result


def test_a_bound_pod_runs_at_once_and_says_so_as_a_kubelet_does() -> None:
    site = Site()
    before = len(site.history)
    site.place("a")
    placed = site.pod("a")
    status = placed["status"]
    assert status["phase"] == "Running"
    assert status["observedGeneration"] == 1
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"] == site.node(site.node_of("a"))["status"]["addresses"][0]["address"]
    assert status["startTime"]
    types = [condition["type"] for condition in status["conditions"]]
    assert types == ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
    assert {condition["status"] for condition in status["conditions"]} == {"True"}
    assert [condition.get("observedGeneration") for condition in status["conditions"]] == [1, 1, 1, 1, None]
    assert container(placed)["ready"]
    assert container(placed)["state"].keys() == {"running"}
    writes = [entry for entry in site.history[before:] if entry[1] == "pods"]
    assert writes == [("ADDED", "pods", "a"), ("MODIFIED", "pods", "a"), ("MODIFIED", "pods", "a")]
    managers = {(entry["manager"], entry.get("subresource")) for entry in placed["metadata"]["managedFields"]}
    assert managers == {("test", None), ("kubelet", "status")}


def test_pods_have_addresses_of_their_own() -> None:
    site = Site()
    for i in range(20):
        site.create("pods", pod(f"p{i}"))
    site.run()
    assert len({obj["status"]["podIP"] for obj in site.access.list("pods")}) == 20


def test_a_pod_gets_ready_after_the_time_that_its_node_says() -> None:
    site = Site(nodes=1, ready_after=2)
    site.create("pods", pod("a"))
    site.run(1)
    assert (site.pod("a")["status"]["phase"], ready(site.pod("a"))) == ("Running", "False")
    condition = condition_of(site.pod("a")["status"], "Ready")
    assert condition["reason"] == "ContainersNotReady"
    assert condition["message"] == "containers with unready status: [c]"
    site.run(1.5)
    assert ready(site.pod("a")) == "True"
    assert "reason" not in condition_of(site.pod("a")["status"], "Ready")


@pytest.mark.parametrize(
    ("image", "policy", "phase", "state"),
    [
        ("fail:1", "Always", "Running", "CrashLoopBackOff"),
        ("registry.example.com/x/fail:2", "Always", "Running", "CrashLoopBackOff"),
        ("pullfail:1", "Always", "Pending", "ImagePullBackOff"),
        ("complete:1", "Never", "Succeeded", "Completed"),
        ("complete:1", "OnFailure", "Succeeded", "Completed"),
        ("complete:1", "Always", "Running", ""),
        ("exit1:1", "Never", "Failed", "Error"),
        ("exit1:1", "Always", "Running", ""),
        ("failing-name:1", "Always", "Running", ""),
    ],
)
def test_images_determine_what_containers_do(image: str, policy: str, phase: str, state: str) -> None:
    site = Site()
    site.place("a", image=image, restartPolicy=policy)
    result = site.pod("a")
    status = container(result)
    assert result["status"]["phase"] == phase
    message = status["state"].get("waiting") or status["state"].get("terminated") or {}
    assert message.get("reason", "") == state
    assert ready(result) == ("True" if not state else "False")
    if state == "CrashLoopBackOff":
        assert status["restartCount"] == 3
        assert status["lastState"]["terminated"]["exitCode"] == 1
    if state == "Error":
        assert message["exitCode"] == 1
        assert condition_of(result["status"], "Ready")["reason"] == "PodFailed"
    if state == "Completed":
        assert condition_of(result["status"], "Ready")["reason"] == "PodCompleted"
    assert site.writes(100) == []


def test_init_containers_run_first_and_hold_back_the_others_if_they_fail() -> None:
    site = Site()
    site.place("a", initContainers=[{"name": "i", "image": "init:1"}])
    assert ready(site.pod("a")) == "True"
    assert site.pod("a")["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    site.place("b", initContainers=[{"name": "i", "image": "fail:1"}, {"name": "j", "image": "init:1"}])
    held = site.pod("b")
    assert held["status"]["phase"] == "Pending"
    assert condition_of(held["status"], "Initialized")["message"] == "containers with incomplete status: [i j]"
    assert container(held)["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_a_container_restarts_when_its_image_changes() -> None:
    site = Site(nodes=1, ready_after=1)
    site.place("a")
    site.run(2)
    site.patch("pods", "a", spec={"containers": [{**site.pod("a")["spec"]["containers"][0], "image": "app:2"}]})
    site.run(0.5)
    status = container(site.pod("a"))
    assert (status["image"], status["restartCount"], status["ready"]) == ("app:2", 1, False)
    assert status["lastState"]["terminated"]["exitCode"] == 143
    assert site.pod("a")["status"]["observedGeneration"] == 2
    site.run(1)
    assert ready(site.pod("a")) == "True"


def test_a_readiness_gate_waits_for_the_condition_that_somebody_else_sets() -> None:
    site = Site()
    site.place("a", readinessGates=[{"conditionType": "example.com/gate"}])
    condition = condition_of(site.pod("a")["status"], "Ready")
    assert condition["reason"] == "ReadinessGatesNotReady"
    assert condition_of(site.pod("a")["status"], "ContainersReady")["status"] == "True"
    status = site.pod("a")["status"]
    gate = {"type": "example.com/gate", "status": "True"}
    site.patch("pods", "a", subresource="status", status={"conditions": [*status["conditions"], gate]})
    site.run()
    assert ready(site.pod("a")) == "True"
    assert condition_of(site.pod("a")["status"], "example.com/gate")["status"] == "True"


def test_a_deleted_pod_goes_after_a_moment_but_never_later_than_its_grace_period() -> None:
    site = Site(nodes=1)
    annotations = {"embedded/agent": "running", "embedded/stop-after": "5"}
    site.patch("nodes", "n1", namespace="", metadata={"annotations": annotations})
    site.place("a", terminationGracePeriodSeconds=30)
    site.place("b", terminationGracePeriodSeconds=2)
    site.delete("pods", "a")
    site.delete("pods", "b")
    site.run(1)
    assert site.pod("a")["metadata"]["deletionGracePeriodSeconds"] == 30
    assert site.pod("b")["metadata"]["deletionTimestamp"]
    site.run(2)
    assert site.find("pods", "b") is None
    assert site.find("pods", "a") is not None
    site.run(3)
    assert site.find("pods", "a") is None


def test_a_deleted_pod_that_a_finalizer_holds_has_stopped() -> None:
    site = Site()
    site.create("pods", {**pod("a"), "metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
    site.run()
    site.delete("pods", "a")
    site.run()
    held = site.pod("a")
    assert held["status"]["phase"] == "Failed"
    assert container(held)["state"]["terminated"]["exitCode"] == 143
    assert site.writes(100) == []
    site.patch("pods", "a", metadata={"finalizers": []})
    assert site.find("pods", "a") is None


def test_a_pod_ends_when_its_active_deadline_is_over() -> None:
    site = Site()
    site.place("a", activeDeadlineSeconds=10)
    assert site.pod("a")["status"]["phase"] == "Running"
    site.run(10)
    assert site.pod("a")["status"]["phase"] == "Failed"
    assert site.pod("a")["status"]["reason"] == "DeadlineExceeded"


def test_pods_on_nodes_without_an_agent_stay_pending() -> None:
    site = Site(nodes=0)
    room = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok"}
    status = {"allocatable": room, "capacity": room, "conditions": [condition]}
    site.create("nodes", {"metadata": {"name": "bare"}, "status": status}, namespaced=False)
    assert site.place("a") == "bare"
    status = site.pod("a")["status"]
    assert status["phase"] == "Pending"
    assert "startTime" not in status
    site.delete("pods", "a")
    site.run(10)
    assert site.pod("a")["metadata"]["deletionTimestamp"]


def test_a_settled_cluster_writes_a_heartbeat_of_each_node_every_five_minutes_and_nothing_else() -> None:
    """A settled cluster writes nothing but heartbeats (I3)."""
    site = Site()
    site.place("a")
    assert site.writes(250) == []
    assert site.writes(300) == HEARTBEATS


def test_a_node_has_a_lease_that_its_agent_renews_and_that_goes_with_it() -> None:
    site = Site(nodes=1)
    place = ("leases.coordination.k8s.io", "n1", "kube-node-lease")
    first = site.get(*place)
    assert first["spec"]["holderIdentity"] == "n1"
    assert first["metadata"]["ownerReferences"][0]["uid"] == site.node("n1")["metadata"]["uid"]
    site.run(301)
    assert (
        site.get("leases.coordination.k8s.io", "n1", "kube-node-lease")["spec"]["renewTime"]
        > first["spec"]["renewTime"]
    )
    site.delete("nodes", "n1", "")
    site.run()
    assert site.find("leases.coordination.k8s.io", "n1", "kube-node-lease") is None


def test_a_node_that_is_made_with_an_agent_becomes_ready_by_itself() -> None:
    site = Site(nodes=0)
    site.create("nodes", {"metadata": {"name": "n", "annotations": {"embedded/agent": "running"}}}, namespaced=False)
    site.run()
    assert ready(site.node("n")) == "True"
    assert site.node("n")["status"]["allocatable"]["pods"] == "110"
    assert site.place("a") == "n"
    assert ready(site.pod("a")) == "True"


def test_a_pod_that_names_its_node_may_come_together_with_the_node() -> None:
    site = Site(nodes=0)
    site.create("nodes", {"metadata": {"name": "n", "annotations": {"embedded/agent": "running"}}}, namespaced=False)
    site.create("pods", pod("a", nodeName="n"))
    site.create("pods", pod("b", nodeName="n", hostNetwork=True))
    site.run()
    assert site.pod("a")["status"]["hostIP"] == site.pod("b")["status"]["podIP"]
    assert site.pod("a")["status"]["podIP"] != site.pod("b")["status"]["podIP"]
