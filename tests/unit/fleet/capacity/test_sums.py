"""Sums that follow each change are those of a recount, in whatever order the changes come."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.capacity import decoded_node, decoded_pod, sums_of
from uniteddeployment.fleet.capacity import sums as module
from uniteddeployment.fleet.capacity.demand import Amounts
from uniteddeployment.fleet.capacity.objects import Node, Pod
from uniteddeployment.fleet.capacity.sums import Sums

NODES, PODS = ("n1", "n2", "n3"), ("p1", "p2", "p3", "p4", "p5")
NODE_CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"ready": False},
    {"cordoned": True},
    {"taint": "NoExecute"},
    {"taint": "PreferNoSchedule"},
)
POD_CHANGES: tuple[dict[str, Any], ...] = ({}, {}, {"phase": "Failed"}, {"waits": True})
NODE_STATES = [
    decoded_node(name, {"cpu": cpu, "memory": "4Gi"} | more, zone=zone, **state)
    for name, cpu, more, zone, state in product(
        NODES,
        ("1", "2", "odd"),
        ({}, {"example.com/gpu": "2"}, {"pods": "1"}),
        ("", "a", "b"),
        NODE_CHANGES,
    )
]
REQUESTS: tuple[dict[str, str], ...] = (
    {},
    {"cpu": "700m"},
    {"cpu": "1", "memory": "3Gi"},
    {"example.com/gpu": "1"},
    {"cpu": "odd"},
)
POD_STATES = [
    decoded_pod(name, requests, node=node, application=application, subset="s", **state)
    for name, requests, node, application, state in product(
        PODS, REQUESTS, ("", "", *NODES), ("", "web", "db"), POD_CHANGES
    )
]
changes = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.sampled_from(NODE_STATES)),
        st.tuples(st.just("pod"), st.sampled_from(POD_STATES)),
        st.tuples(st.just("no node"), st.sampled_from(NODES)),
        st.tuples(st.just("no pod"), st.sampled_from(PODS)),
        st.tuples(
            st.just("ask"), st.sampled_from([(), (("cpu", 500),), (("example.com/gpu", 1), ("memory", 1 << 30))])
        ),
    ),
    min_size=10,
    max_size=60,
)


@dataclass
class Recount:
    """All sums, counted naively from the objects."""

    zones: dict[str, dict[str, Any]] = field(default_factory=dict)
    fits: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(nodes: Iterable[Node], pods: Iterable[Pod], wanted: Amounts) -> "Recount":
        recount, living = Recount(), [pod for pod in pods if not pod.ended]
        for node in nodes:
            zone = recount.zones.setdefault(
                node.zone,
                {"nodes": 0, "ready": 0, "schedulable": 0, "has": Counter(), "asked": Counter(), "free": Counter()},
            )
            zone["nodes"] += 1
            zone["ready"] += node.ready
            if not node.schedulable:
                continue
            zone["schedulable"] += 1
            has, asked = Counter(dict(node.allocatable)), Counter[str]()
            for pod in living:
                if pod.node_name == node.metadata.name:
                    asked.update(dict(pod.amounts or ()) | {"pods": 1})
            free = Counter({name: max(0, amount - asked[name]) for name, amount in has.items()})
            for name, part in (("has", has), ("asked", asked), ("free", free)):
                zone[name].update(part)
            recount.fits[node.zone] += min([free["pods"], *(free[name] // amount for name, amount in wanted)])
        return recount


def shown(sums: Sums) -> dict[str, dict[str, Any]]:
    def named(vector: list[int]) -> Counter[str]:
        return +Counter(dict(zip(sums.places.names, vector, strict=False)))

    return {
        name: {
            "nodes": zone.nodes,
            "ready": zone.ready,
            "schedulable": zone.schedulable,
            "has": named(zone.allocatable),
            "asked": named(zone.requested),
            "free": named(zone.available),
        }
        for name, zone in sums.zones.items()
    }


def cleaned(zones: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: +value if isinstance(value, Counter) else value for key, value in zone.items()}
        for name, zone in zones.items()
    }


def fits(sums: Sums, wanted: Amounts) -> Counter[str]:
    return +Counter(dict(sums.fits(sums.places.of(wanted)))) if sums.places.known(wanted) else Counter()


@settings(max_examples=200, deadline=None)
@given(changes)
def test_sums_agree_with_a_recount_after_any_changes(history: list[tuple[str, Any]]) -> None:
    """Nodes and pods come, change and go in any order; counts that were asked for earlier are brought up to date."""
    sums, nodes, pods = Sums(), dict[str, Node](), dict[str, Pod]()
    asked: set[Amounts] = {(("cpu", 700),)}
    for kind, what in history:
        if kind == "node":
            sums.node_changed(nodes.get(what.metadata.name), what)
            nodes[what.metadata.name] = what
        elif kind == "pod":
            sums.pod_changed(pods.get(what.metadata.name), what)
            pods[what.metadata.name] = what
        elif kind == "no node":
            sums.node_changed(nodes.pop(what, None), None)
        elif kind == "no pod":
            sums.pod_changed(pods.pop(what, None), None)
        else:
            asked.add(what)
            fits(sums, what)
    for wanted in asked:
        recount = Recount.of(nodes.values(), pods.values(), wanted)
        assert fits(sums, wanted) == +recount.fits
    assert shown(sums) == cleaned(recount.zones)
    living = [pod for pod in pods.values() if not pod.ended]
    unplaced = [pod for pod in living if not pod.node_name]
    assert sums.unschedulable_pods == sum(pod.waits for pod in unplaced)
    assert sums.pending_pods == sum(not pod.waits for pod in unplaced) == sum(sums.pending.values())
    assert sums.unknown_pods == sum(pod.amounts is None for pod in living)
    assert sums.unknown_nodes == sum(bool(node.problem) for node in nodes.values())
    assert (sums.existing_nodes, sums.usable_nodes) == (len(nodes), sum(node.usable for node in nodes.values()))
    assert sums.shown == Counter(pod.subset for pod in living if pod.subset)
    assert set(sums.nodes) == set(nodes) | {pod.node_name for pod in living if pod.node_name}


@pytest.mark.parametrize(
    ("state", "schedulable", "usable"),
    [
        ({}, True, True),
        ({"ready": False}, False, False),
        ({"cordoned": True}, False, False),
        ({"taint": "NoSchedule", "taint_key": "node-role.kubernetes.io/control-plane"}, False, False),
        ({"taint": "NoExecute", "taint_key": "node.kubernetes.io/out-of-service"}, False, False),
        ({"taint": "PreferNoSchedule", "taint_key": "node.kubernetes.io/x"}, True, True),
        ({"taint": "NoSchedule", "taint_key": "virtual-kubelet.io/provider"}, False, True),
        ({"taint": "NoSchedule", "taint_key": "dedicated"}, False, True),
        ({"taint": "NoSchedule", "taint_key": "example-kubernetes.io/x"}, False, True),
        ({"ready": False, "taint": "NoSchedule", "taint_key": "dedicated"}, False, False),
    ],
)
def test_nodes_with_taints_of_users_are_for_pods_that_tolerate_them(
    state: dict[str, Any], schedulable: bool, usable: bool
) -> None:
    """An ordinary pod finds no place there. Nodes with taints of Kubernetes itself, and cordoned ones, are for none."""
    node = decoded_node("n", {"cpu": "1"}, **state)
    assert (node.schedulable, node.usable) == (schedulable, usable)


def test_pods_on_a_cordoned_node_do_not_reduce_what_schedulable_nodes_have() -> None:
    nodes = [decoded_node("n1", {"cpu": "2"}), decoded_node("n2", {"cpu": "2"}, cordoned=True)]
    sums = sums_of(nodes, [decoded_pod("p", {"cpu": "2"}, node="n2")])
    assert (sums.total().nodes, sums.total().schedulable) == (2, 1)
    assert sums.total().available[0] == sums.total().allocatable[0] == 2000


def test_a_node_that_is_overcommitted_does_not_reduce_what_others_have_free() -> None:
    nodes = [decoded_node("n1", {"cpu": "1"}), decoded_node("n2", {"cpu": "1"})]
    sums = sums_of(nodes, [decoded_pod("p", {"cpu": "5"}, node="n1")])
    assert sums.total().available[0] == 1000


def test_only_changes_that_matter_are_reported() -> None:
    """A heartbeat of a node and a new status of a pod change no sum."""
    reports: list[None] = []
    sums = Sums(lambda: reports.append(None))
    node, pod = decoded_node("n", {"cpu": "1"}), decoded_pod("p", {"cpu": "1"}, node="n")
    sums.node_changed(None, node)
    sums.pod_changed(None, pod)
    assert len(reports) == 2
    sums.node_changed(node, decoded_node("n", {"cpu": "1"}, version=2))
    sums.pod_changed(pod, decoded_pod("p", {"cpu": "1"}, node="n", version=2))
    assert len(reports) == 2


def test_the_pods_of_our_subsets_are_counted_and_reported() -> None:
    counts: list[tuple[Any, int]] = []
    sums = Sums(on_shown=lambda subset, pods: counts.append((subset, pods)))
    pod = decoded_pod("p", {}, application="web", subset="a")
    sums.pod_changed(None, pod)
    sums.pod_changed(pod, decoded_pod("p", {}, application="web", subset="a", phase="Failed"))
    assert counts == [(("default", "web", "a"), 1), (("default", "web", "a"), 0)]


def test_the_number_of_resources_is_bounded() -> None:
    """A cluster that names very many resources costs little, and the room for pods that want the rest is unknown."""
    sums = sums_of([decoded_node(f"n{i}", {f"example.com/r{i}": "1"}) for i in range(40)], [])
    assert len(sums.places.names) == 35
    assert sums.places.left_out
    assert not sums.places.known((("example.com/r39", 1),))


def test_the_number_of_zones_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes of more zones count as nodes without a zone."""
    monkeypatch.setattr(module, "MOST_ZONES", 2)
    sums = sums_of([decoded_node(f"n{i}", {"cpu": "1"}, zone=f"z{i}") for i in range(5)], [])
    assert {name: zone.nodes for name, zone in sums.zones.items()} == {"z0": 1, "z1": 1, "": 3}
