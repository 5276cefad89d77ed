"""The scheduler: placement, messages, and no redundant writes."""

import pytest

from tests.embedded.infrastructure_kit import Site, pod, required_terms
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.kubelet.nodes import node_object
from uniteddeployment.embedded.controllers.scheduler.model import PodInfo
from uniteddeployment.embedded.controllers.scheduler.placement import Placement

CLASSES = "priorityclasses.scheduling.k8s.io"
CLAIMS = "no new claims to deallocate, preemption:"
ZONE = "topology.kubernetes.io/zone"


def near(app: str, *, away: bool = False, key: str = "kubernetes.io/hostname") -> Obj:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity" if away else "podAffinity": rules}}


def spread(skew: int = 1, **more: object) -> Obj:
    selector = {"matchLabels": {"app": "x"}}
    rule = {"maxSkew": skew, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [{**rule, **more}]}


def test_a_bound_pod_has_its_node_its_condition_the_labels_of_its_place_and_an_event() -> None:
    site = Site()
    assert site.place("a", nodeSelector={ZONE: "z2"}) == "n2"
    placed = site.pod("a")
    assert placed["metadata"]["labels"][ZONE] == "z2"
    assert placed["metadata"]["labels"]["topology.kubernetes.io/region"] == "region-1"
    assert placed["metadata"]["generation"] == 1
    condition = condition_of(placed["status"], "PodScheduled")
    assert condition.keys() == {"type", "status", "lastProbeTime", "lastTransitionTime"}
    assert ("Scheduled", "Successfully assigned ns/a to n2") in site.reasons("a")


def test_pods_of_one_controller_spread_over_zones() -> None:
    site = Site()
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    spec = {"replicas": 7, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    site.create("replicasets.apps", {"metadata": {"name": "w"}, "spec": spec})
    site.run()
    nodes = sorted(pod["spec"]["nodeName"] for pod in site.access.list("pods"))
    assert [nodes.count(name) for name in ("n1", "n2", "n3")] == [3, 2, 2]


def important(site: Site, **values: int) -> None:
    """Create priority classes."""
    for name, value in values.items():
        site.create(CLASSES, {"metadata": {"name": name}, "value": value}, namespaced=False)


def test_the_message_without_nodes_mentions_no_node() -> None:
    site = Site(nodes=0)
    assert site.place("a") == ""
    assert site.refusal("a") == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"nodeSelector": {"no": "such"}},
            (
                "3 node(s) didn't match Pod's node affinity/selector. {claims} 0/3 nodes are available: "
                "3 Preemption is not helpful for scheduling."
            ),
        ),
        (
            {"cpu": "9"},
            "3 Insufficient cpu. {claims} 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
        ),
        (
            {"cpu": "9", "memory": "40Gi"},
            (
                "3 Insufficient cpu, 3 Insufficient memory. {claims} 0/3 nodes are available: "
                "3 Preemption is not helpful for scheduling."
            ),
        ),
        (
            {"cpu": "6", "nodeSelector": {ZONE: "z1"}},
            (
                "1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector. {claims} 0/3 nodes are "
                "available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
            ),
        ),
        (
            {"cpu": "6", "nodeSelector": {ZONE: "z1"}, "priorityClassName": "patient"},
            (
                "1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector. {claims} not eligible due to "
                "preemptionPolicy=Never."
            ),
        ),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "absent"}}]},
            (
                'persistentvolumeclaim "absent" not found. {claims} 0/3 nodes are available: 3 Preemption is not '
                "helpful for scheduling."
            ),
        ),
        (
            required_terms({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}),
            (
                "3 node(s) didn't satisfy plugin(s) [NodeAffinity]. {claims} 0/3 nodes are available: 3 Preemption is "
                "not helpful for scheduling."
            ),
        ),
    ],
)
def test_the_reasons_are_those_of_the_real_scheduler(spec: Obj, message: str) -> None:
    site = Site()
    patient = {"metadata": {"name": "patient"}, "value": 10, "preemptionPolicy": "Never"}
    site.create(CLASSES, patient, namespaced=False)
    site.place("big", cpu="5", nodeSelector={ZONE: "z1"})
    assert site.place("a", **spec) == ""
    assert site.refusal("a") == "0/3 nodes are available: " + message.format(claims=CLAIMS)
    assert ("FailedScheduling", site.refusal("a")) in site.reasons("a")


def test_taints_and_unschedulable_nodes_keep_pods_away_that_do_not_tolerate_them() -> None:
    site = Site()
    site.patch("nodes", "n1", namespace="", spec={"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})
    site.patch("nodes", "n2", namespace="", spec={"unschedulable": True})
    site.run()
    assert {taint["key"] for taint in site.node("n2")["spec"]["taints"]} == {"node.kubernetes.io/unschedulable"}
    assert site.place("a") == site.place("b") == "n3"
    tolerant = [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}]
    assert site.place("c", tolerations=tolerant, nodeSelector={ZONE: "z1"}) == "n1"
    assert site.place("d", nodeSelector={ZONE: "z1"}) == ""
    assert "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable" in site.refusal("d")


def test_match_fields_and_preferences_choose_nodes() -> None:
    site = Site()
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n3"]}]}
    assert [site.place(f"a{i}", **required_terms(named)) for i in range(3)] == ["n3"] * 3
    weighted = {"weight": 10, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z3"]}]}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    assert site.place("b", affinity={"nodeAffinity": preferred}) == "n3"


def test_init_containers_sidecars_overhead_and_the_number_of_pods_count() -> None:
    site = Site(nodes=0)
    site.access.create("nodes", node_object("n1", cpu="2", pods="2"), manager="test")
    step = {"name": "i", "image": "app:1", "resources": {"requests": {"cpu": "2500m"}}}
    side = {"name": "s", "image": "app:1", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1500m"}}}
    assert site.place("a", initContainers=[step]) == ""
    assert "Insufficient cpu" in site.refusal("a")
    assert site.place("b", initContainers=[side], cpu="1") == ""
    assert site.place("c", cpu="1", overhead={"cpu": "1500m"}) == ""
    assert (site.place("d"), site.place("e"), site.place("f")) == ("n1", "n1", "")
    assert "1 Too many pods" in site.refusal("f")


def test_a_pod_that_did_not_fit_is_placed_when_room_is_made() -> None:
    site = Site(nodes=1, cpu="2")
    site.place("a", cpu="1500m")
    assert site.place("b", cpu="1") == ""
    site.delete("pods", "a")
    site.run()
    assert site.node_of("b") == "n1"
    assert site.place("c", cpu="1500m") == ""
    site.access.create("nodes", node_object("n2"), manager="test")
    site.run()
    assert site.node_of("c") == "n2"


def test_an_unschedulable_pod_is_reported_once() -> None:
    """A settled cluster writes nothing (I3)."""
    site = Site()
    site.place("a", cpu="9")
    site.place("b", cpu="9")
    assert site.writes(100) == []


def test_pods_stay_away_from_each_other_and_come_near_each_other() -> None:
    site = Site()
    apart = near("x", away=True)
    assert {site.place(f"a{i}", **apart) for i in range(3)} == {"n1", "n2", "n3"}
    assert site.place("a3", **apart) == ""
    assert "3 node(s) didn't match pod anti-affinity rules." in site.refusal("a3")
    assert site.place("b", labels={"app": "x"}) == ""
    assert "3 node(s) didn't satisfy existing pods anti-affinity rules." in site.refusal("b")
    assert site.place("q", labels={"app": "q"}, nodeSelector={ZONE: "z2"}) == "n2"
    assert site.place("r", labels={"app": "r"}, **near("q", key=ZONE)) == "n2"
    assert site.place("s", labels={"app": "s"}, **near("absent", key=ZONE)) == ""
    assert "3 node(s) didn't match pod affinity rules." in site.refusal("s")


def test_the_first_of_a_group_that_wants_to_be_together_goes_anywhere() -> None:
    site = Site()
    first = site.place("a", labels={"app": "g"}, **near("g", key=ZONE))
    assert first
    assert site.place("b", labels={"app": "g"}, **near("g", key=ZONE)) == first


def test_spread_constraints_hold_and_name_what_broke_them() -> None:
    site = Site()
    assert {site.place(f"a{i}", **spread()) for i in range(3)} == {"n1", "n2", "n3"}
    pinned = {"nodeSelector": {ZONE: "z1"}, **spread(nodeAffinityPolicy="Ignore")}
    assert site.place("b", **pinned) == "n1"
    assert site.place("c", **pinned) == ""
    assert "1 node(s) didn't match pod topology spread constraints, 2 node(s)" in site.refusal("c")
    unlabelled = {**spread()["topologySpreadConstraints"][0], "topologyKey": "rack"}
    assert site.place("d", topologySpreadConstraints=[unlabelled]) == ""
    assert "3 node(s) didn't match pod topology spread constraints (missing required label)" in site.refusal("d")


def test_a_spread_that_is_only_wished_for_chooses_but_does_not_refuse() -> None:
    site = Site()
    site.patch("nodes", "n2", namespace="", spec={"unschedulable": True})
    wish = spread(whenUnsatisfiable="ScheduleAnyway")
    nodes = [site.place(f"a{i}", **wish) for i in range(4)]
    assert sorted(nodes) == ["n1", "n1", "n3", "n3"]


def test_a_more_important_pod_makes_the_least_important_ones_leave() -> None:
    site = Site(nodes=1, cpu="2")
    important(site, some=5, much=1000)
    site.place("low", cpu="900m")
    site.place("mid", cpu="900m", priorityClassName="some")
    assert site.place("high", cpu="1", priorityClassName="much") == "n1"
    assert site.find("pods", "low") is None
    assert site.find("pods", "mid") is not None
    assert site.find("pods", "high")["status"].get("nominatedNodeName") is None  # type: ignore[index]  # it is there
    preempted = [message for reason, message in site.reasons("low") if reason == "Preempted"]
    assert preempted == [f"Preempted by pod {site.pod('high')['metadata']['uid']} on node n1"]


def test_the_room_of_preempted_pods_is_reserved() -> None:
    site = Site(nodes=1, cpu="2")
    site.patch(
        "nodes", "n1", namespace="", metadata={"annotations": {"embedded/agent": "running", "embedded/stop-after": "9"}}
    )
    important(site, much=1000)
    site.place("low", cpu="1500m")
    assert site.place("high", cpu="1500m", priorityClassName="much") == ""
    high, low = site.pod("high"), site.pod("low")
    assert high["status"]["nominatedNodeName"] == "n1"
    assert condition_of(low["status"], "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    assert low["metadata"]["deletionTimestamp"]
    assert site.place("another", cpu="1") == ""
    site.run(20)
    assert site.node_of("high") == "n1"
    assert site.node_of("another") == ""


def test_pods_of_other_schedulers_and_gated_pods_are_left_alone() -> None:
    site = Site()
    assert site.place("a", schedulerName="mine") == ""
    assert condition_of(site.pod("a")["status"], "PodScheduled") == {}
    assert site.place("b", schedulingGates=[{"name": "example.com/g"}]) == ""
    assert condition_of(site.pod("b")["status"], "PodScheduled")["reason"] == "SchedulingGated"


def test_a_thousand_pods_that_fit_nowhere_cost_one_attempt_each_time_something_changes() -> None:
    site = Site()
    for i in range(300):
        site.create("pods", pod(f"p{i}", cpu="9"))
    site.run()
    scheduler = site.controller("scheduler")
    attempts = []
    place = scheduler._placer.place  # type: ignore[attr-defined]  # the test looks inside

    def counted(info: PodInfo) -> Placement:
        attempts.append(info)
        found: Placement = place(info)
        return found

    scheduler._placer.place = counted  # type: ignore[attr-defined]  # as above
    site.place("small")
    site.delete("pods", "small")
    site.run()
    assert len(attempts) <= 3


def test_two_pods_cannot_have_one_port_of_a_node() -> None:
    site = Site(nodes=1)
    port = {"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}
    first = pod("a")
    first["spec"]["containers"][0]["ports"] = [port]
    site.create("pods", first)
    site.run()
    assert site.node_of("a") == "n1"
    second = pod("b")
    second["spec"]["containers"][0]["ports"] = [port]
    site.create("pods", second)
    site.run()
    assert "1 node(s) didn't have free ports for the requested pod ports." in site.refusal("b")


def test_a_taint_that_only_asks_is_avoided_where_there_is_another_node() -> None:
    site = Site(nodes=2)
    site.patch("nodes", "n1", namespace="", spec={"taints": [{"key": "k", "effect": "PreferNoSchedule"}]})
    site.run()
    assert [site.place(f"a{i}") for i in range(3)] == ["n2"] * 3
    site.patch("nodes", "n2", namespace="", spec={"unschedulable": True})
    site.run()
    assert site.place("b") == "n1"


def test_a_spread_over_more_domains_than_there_are_fills_none_of_them_further() -> None:
    site = Site(nodes=2)
    wide = spread(minDomains=3)
    assert {site.place(f"a{i}", **wide) for i in range(2)} == {"n1", "n2"}
    assert site.place("b", **wide) == ""
    site.access.create("nodes", node_object("n3", zone="z3"), manager="test")
    site.run()
    assert site.node_of("b") == "n3"


def test_spreading_by_label_keys_counts_each_revision_for_itself() -> None:
    site = Site(nodes=2)
    by_revision = spread(matchLabelKeys=["revision"])
    for revision in ("1", "2"):
        labels = {"app": "x", "revision": revision}
        assert {site.place(f"r{revision}-{i}", labels=labels, **by_revision) for i in range(2)} == {"n1", "n2"}
