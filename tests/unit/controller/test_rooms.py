"""The room for the pods of each subset, and how long it is kept for those that are assigned."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import planning as make
from tests.support.capacity import decoded_node, decoded_pod, sums_of
from uniteddeployment.controller.rooms import Rooms, zones
from uniteddeployment.fleet.capacity.objects import ZONE
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import ClusterFacts, SharedRoom, Takers
from uniteddeployment.planning.plan import plan

ADAPTIVE = {"type": "Adaptive"}
MEMBER = "default/m"
NODES = [decoded_node(f"n{zone}", {"cpu": "4", "memory": "8Gi"}, zone=zone) for zone in "ab"]


def required(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def among(*values: str, key: str = ZONE, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, None),
        ({"nodeSelector": {"disk": "ssd"}}, None),
        ({"nodeSelector": {ZONE: "a"}}, {"a"}),
        (required([among("a", "b")]), {"a", "b"}),
        (required([among("a", "b"), among("b", "c")]), {"b"}),
        (required([among("a")], [among("b")]), {"a", "b"}),
        (required([among("a")], [among("x", key="disk")]), None),
        (required([among("a", operator="NotIn")]), None),
        ({"nodeSelector": {ZONE: "a"}, **required([among("b")])}, set()),
    ],
)
def test_zones_are_those_that_selectors_and_required_affinities_allow(
    spec: Mapping[str, Any], expected: set[str] | None
) -> None:
    assert zones(spec) == (None if expected is None else frozenset(expected))


class Cluster:
    """A member with a node of four cpus in each of two zones, and pods that a test adds."""

    def __init__(self) -> None:
        self.capacity = SimpleNamespace(sums=sums_of(NODES, []), current=True)
        self.now = 0.0
        self.rooms = Rooms(lambda: self.now)
        self.rooms.fleet = SimpleNamespace(member=lambda _: self)  # type: ignore[assignment]  # a fleet of one
        self.capacity.sums._on_shown = lambda subset, pods: self.rooms.shown(MEMBER, subset, pods)

    def facts(self, subject: Subject) -> Mapping[str, int]:
        """The rooms in the member for an application."""
        return self.all_facts(subject).rooms

    def all_facts(self, subject: Subject) -> ClusterFacts:
        return self.rooms.add(subject, {MEMBER: make.view("m")}, {MEMBER: ClusterFacts()})[MEMBER]


def application(name: str = "web", cpu: str = "1", replicas: int = 3, subsets: tuple[str, ...] = ("m",)) -> Subject:
    """An application whose subsets all run in the member."""
    shares = {subset: {"targetCluster": {"name": "m"}} for subset in subsets}
    manifest = make.manifest(shares=shares, replicas=replicas)
    manifest["metadata"]["name"] = name
    manifest["spec"]["topology"]["scheduleStrategy"] = ADAPTIVE
    template = manifest["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return make.subject(make.application(manifest, uid=name))


def assign(cluster: Cluster, subject: Subject) -> None:
    cluster.rooms.planned(subject, plan(subject, make.observed(members=("m",))))


def test_pods_that_another_application_was_assigned_take_room_until_they_are_shown() -> None:
    """Then their requests count. Its own pods are no reason to place them elsewhere."""
    cluster, web, shop = Cluster(), application(), application("shop", "2")
    assert (cluster.facts(web)["m"], cluster.facts(shop)["m"]) == (8, 4)
    assign(cluster, web)
    assert (cluster.facts(web)["m"], cluster.facts(shop)["m"]) == (8, 2)
    for number in range(3):
        shown = decoded_pod(f"web-{number}", {"cpu": "1"}, application="web", subset="m", node="na")
        cluster.capacity.sums.pod_changed(None, shown)
    assert (cluster.facts(web)["m"], cluster.facts(shop)["m"]) == (5, 2)


def test_subsets_in_one_cluster_compete_for_what_others_leave_of_its_room() -> None:
    cluster, web, shop = Cluster(), application(subsets=("x", "y")), application("shop", "2")
    assert cluster.all_facts(web) == ClusterFacts(
        rooms={"x": 8, "y": 8}, shared=(SharedRoom(8, (Takers(("x", "y")),)),)
    )
    assign(cluster, shop)
    found = cluster.all_facts(web)
    assert (found.rooms, found.shared[0].places) == ({"x": 2, "y": 2}, 2)
    assert cluster.all_facts(shop).shared == ()


def test_a_deleted_application_keeps_no_room() -> None:
    cluster, web, shop = Cluster(), application(), application("shop", "2")
    assign(cluster, web)
    cluster.rooms.forget(("default", "web"))
    assert cluster.facts(shop)["m"] == 4
    assert not cluster.rooms.waiting(MEMBER)


def test_only_applications_that_are_not_settled_wait_for_room() -> None:
    cluster, web = Cluster(), application()
    cluster.facts(web)
    assign(cluster, web)
    assert list(cluster.rooms.waiting(MEMBER)) == [("default", "web")]
    manifest = make.manifest(shares={"m": {}})
    manifest["metadata"]["name"] = "fixed"
    fixed = make.subject(make.application(manifest))
    assert cluster.facts(fixed) == {}
    assign(cluster, fixed)
    assert list(cluster.rooms.waiting(MEMBER)) == [("default", "web")]


def test_applications_wait_until_their_own_plans_are_settled_or_they_are_deleted() -> None:
    cluster, web, shop = Cluster(), application(), application("shop")
    for subject in (web, shop, web):
        cluster.facts(subject)
        assign(cluster, subject)
    assert sorted(cluster.rooms.waiting(MEMBER)) == [("default", "shop"), ("default", "web")]
    settled = plan(web, make.observed(members=("m",)))
    results = tuple(replace(result, settled=True) for result in settled.results)
    cluster.rooms.planned(web, replace(settled, results=results))
    assert list(cluster.rooms.waiting(MEMBER)) == [("default", "shop")]
    cluster.rooms.forget(("default", "shop"))
    assert not cluster.rooms.waiting(MEMBER)
    cluster.rooms.forget(("default", "shop"))


def test_without_a_known_capacity_there_is_no_room_to_tell() -> None:
    cluster = Cluster()
    cluster.capacity.current = False
    assert cluster.facts(application()) == {}
