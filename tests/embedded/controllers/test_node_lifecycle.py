"""Lost nodes: detection, taints, unready pods, eviction, recovery."""

from tests.embedded.infrastructure_kit import Site, pod, ready
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.kubelet.nodes import set_agent

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
ZONE = "topology.kubernetes.io/zone"


def taints(node: Obj) -> set[tuple[str, str]]:
    return {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints") or ()}


def lose(site: Site, name: str = "n1") -> None:
    set_agent(site.access, name, running=False)


def stays(seconds: int | None = None, key: str = UNREACHABLE) -> list[Obj]:
    toleration: Obj = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return [toleration | ({} if seconds is None else {"tolerationSeconds": seconds})]


def test_a_node_that_falls_silent_is_lost_after_its_grace_and_its_pods_stop_counting() -> None:
    """The state of a silent node is Unknown (I8)."""
    site = Site()
    site.place("a", nodeSelector={ZONE: "z1"}, tolerations=stays())
    lose(site)
    site.run(49)
    assert ready(site.node("n1")) == "True"
    assert ready(site.pod("a")) == "True"
    site.run(2)
    node = site.node("n1")
    assert condition_of(node["status"], "Ready")["reason"] == "NodeStatusUnknown"
    assert condition_of(node["status"], "MemoryPressure")["status"] == "Unknown"
    assert taints(node) == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert all(taint["timeAdded"] for taint in node["spec"]["taints"])
    assert ready(site.pod("a")) == "False"
    assert ("NodeNotReady", "Node is not ready") in site.reasons("a")
    assert ("NodeNotReady", "Node n1 status is now: NodeNotReady") in site.reasons("n1")
    assert site.place("b", nodeSelector={ZONE: "z1"}) == ""


def test_pods_leave_a_lost_node_when_the_time_that_they_tolerate_is_over() -> None:
    site = Site()
    for name, tolerations in (("quick", stays(0)), ("later", stays(100)), ("never", stays())):
        site.create("pods", pod(name, nodeSelector={ZONE: "z1"}, tolerations=tolerations))
    site.run()
    lose(site)
    site.run(60)
    assert site.pod("quick")["metadata"]["deletionTimestamp"]
    target = condition_of(site.pod("quick")["status"], "DisruptionTarget")
    assert target["reason"] == "DeletionByTaintManager"
    assert target["message"] == "Taint manager: deleting due to NoExecute taint"
    assert ("TaintManagerEviction", "Marking for deletion Pod ns/quick") in site.reasons("quick")
    assert "deletionTimestamp" not in site.pod("later")["metadata"]
    site.run(100)
    assert site.pod("later")["metadata"]["deletionTimestamp"]
    site.run(10_000)
    assert "deletionTimestamp" not in site.pod("never")["metadata"]


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    site = Site()
    site.place("a", nodeSelector={ZONE: "z1"}, tolerations=stays(100))
    uid = site.pod("a")["metadata"]["uid"]
    lose(site)
    site.run(100)
    set_agent(site.access, "n1", running=True)
    site.run()
    assert ready(site.node("n1")) == "True"
    assert taints(site.node("n1")) == set()
    assert ready(site.pod("a")) == "True"
    assert ("TaintManagerEviction", "Cancelling deletion of Pod ns/a") in site.reasons("a")
    site.run(500)
    assert site.pod("a")["metadata"]["uid"] == uid
    assert site.pod("a")["status"]["containerStatuses"][0]["restartCount"] == 0


def test_pods_deleted_on_a_lost_node_are_removed_when_the_node_recovers() -> None:
    site = Site()
    site.place("a", nodeSelector={ZONE: "z1"})
    lose(site)
    site.delete("pods", "a")
    site.run(30)
    assert site.find("pods", "a") is not None
    set_agent(site.access, "n1", running=True)
    site.run()
    assert site.find("pods", "a") is None


def test_a_node_that_says_that_it_is_not_ready_gets_the_other_taints() -> None:
    site = Site(nodes=0)
    room = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok"}
    status = {"allocatable": room, "capacity": room, "conditions": [condition]}
    spec = {"taints": [{"key": "lab", "effect": "NoSchedule"}]}
    site.create("nodes", {"metadata": {"name": "bare"}, "spec": spec, "status": status}, namespaced=False)
    lab = {"key": "lab", "operator": "Exists"}
    site.place("keeps", tolerations=[lab, *stays(300, NOT_READY)])
    site.place("leaves", tolerations=[lab, *stays(0, NOT_READY)], terminationGracePeriodSeconds=0)
    assert taints(site.node("bare")) == {("lab", "NoSchedule")}
    site.patch(
        "nodes", "bare", namespace="", subresource="status", status={"conditions": [{**condition, "status": "False"}]}
    )
    site.run()
    assert taints(site.node("bare")) == {("lab", "NoSchedule"), (NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")}
    assert [obj["metadata"]["name"] for obj in site.access.list("pods")] == ["keeps"]


def test_a_node_of_somebody_else_has_to_report_itself() -> None:
    site = Site(nodes=0)
    site.create("nodes", {"metadata": {"name": "bare"}}, namespaced=False)
    site.run(30)
    assert ready(site.node("bare")) == ""
    site.run(40)
    assert condition_of(site.node("bare")["status"], "Ready")["reason"] == "NodeStatusNeverUpdated"
    lease = {"metadata": {"name": "bare", "namespace": "kube-node-lease"}, "spec": {"holderIdentity": "bare"}}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok"}
    site.patch("nodes", "bare", namespace="", subresource="status", status={"conditions": [condition]})
    for i in range(10):
        site.run(20)
        assert ready(site.node("bare")) == "True"
        if i == 0:
            site.create("leases.coordination.k8s.io", lease, namespaced=False)
        else:
            spec = {"holderIdentity": "bare", "leaseDurationSeconds": 40 + i}
            site.patch("leases.coordination.k8s.io", "bare", namespace="kube-node-lease", spec=spec)
    site.run(60)
    assert ready(site.node("bare")) == "Unknown"


def test_pods_of_a_node_that_is_gone_are_removed() -> None:
    site = Site()
    site.place("a", nodeSelector={ZONE: "z1"})
    site.delete("nodes", "n1", "")
    site.run(30)
    assert site.find("pods", "a") is not None
    site.run(20)
    assert site.find("pods", "a") is None


def test_the_rest_of_the_cluster_does_not_suffer_from_a_lost_node() -> None:
    """A workload gets its pods on other nodes, and no ready pod is disturbed (I10, within one cluster)."""
    site = Site()
    template = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {"containers": [{"name": "c", "image": "app:1"}], "tolerations": stays(60)},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    site.create("replicasets.apps", {"metadata": {"name": "w"}, "spec": spec})
    site.run()
    before = {obj["metadata"]["uid"] for obj in site.access.list("pods") if obj["spec"]["nodeName"] != "n1"}
    lose(site)
    site.run(200)
    pods = [obj for obj in site.access.list("pods") if ready(obj) == "True"]
    assert len(pods) == 3
    assert before <= {obj["metadata"]["uid"] for obj in pods}
    assert {obj["spec"]["nodeName"] for obj in pods} == {"n2", "n3"}
