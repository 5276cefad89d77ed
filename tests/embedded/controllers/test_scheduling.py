"""The pure functions of the scheduler: amounts, selectors, tolerations, cluster state."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import merged
from uniteddeployment.embedded.controllers.node.eviction import tolerated_for
from uniteddeployment.embedded.controllers.node.lifecycle import wanted_taints
from uniteddeployment.embedded.controllers.scheduler.amounts import amount
from uniteddeployment.embedded.controllers.scheduler.model import pod_info, requests, signature
from uniteddeployment.embedded.controllers.scheduler.selectors import matches_terms, named_nodes, tolerates
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState
from uniteddeployment.embedded.controllers.scheduler.volumes import best_volume, in_zone


def container(cpu: str = "", **more: Any) -> Obj:
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    return {"name": "c", "image": "app:1", **resources, **more}


def assigned(name: str, node: str, *, cpu: str = "100m", owner: str = "o") -> Obj:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    metadata = {"namespace": "ns", "name": name, "uid": name, "ownerReferences": [reference]}
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [container(cpu)]}}


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [("cpu", "1500m", 1500), ("cpu", "2", 2000), ("cpu", "1n", 1), ("memory", "1Ki", 1024), ("pods", "nonsense", 0)],
)
def test_amounts_are_whole_numbers_rounded_up(resource: str, text: str, expected: int) -> None:
    assert amount(resource, text) == expected


def test_a_pod_needs_its_containers_together_or_its_largest_step_whichever_is_more() -> None:
    assert requests({"containers": [container("1"), container("500m")]}) == {"cpu": 1500}
    assert requests({"containers": [container("1")], "initContainers": [container("3"), container("2")]}) == {
        "cpu": 3000
    }
    sidecar = container("1", restartPolicy="Always")
    assert requests({"containers": [container("1")], "initContainers": [sidecar, container("3")]}) == {"cpu": 4000}
    assert requests({"containers": [container("1")], "initContainers": [container("1"), sidecar]}) == {"cpu": 2000}
    assert requests({"containers": [container("1")], "overhead": {"cpu": "10m"}}) == {"cpu": 1010}
    assert requests({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}}) == {"cpu": 4000}


def test_selectors_mean_what_kubernetes_means() -> None:
    labels = {"a": "1", "b": "x"}
    assert matches_labels({}, labels)
    assert not matches_labels(None, labels)
    assert matches_labels({"matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["1"]}]}, labels)
    assert not matches_labels({"matchExpressions": [{"key": "c", "operator": "In", "values": ["1"]}]}, labels)
    above = {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["0"]}]}
    assert matches_terms([above], "n", labels)
    assert not matches_terms([{"matchExpressions": [{"key": "b", "operator": "Lt", "values": ["5"]}]}], "n", labels)
    assert not matches_terms([{}], "n", labels)
    assert not matches_terms([], "n", labels)


def test_names_narrow_the_choice_only_if_every_alternative_has_them() -> None:
    def named(*values: str) -> Obj:
        return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(values)}]}

    assert named_nodes([named("a"), named("b", "c")]) == frozenset("abc")
    assert named_nodes([named("a"), {"matchExpressions": [{"key": "x", "operator": "Exists"}]}]) is None
    assert named_nodes([{"matchFields": named("a")["matchFields"] + named("b")["matchFields"]}]) == frozenset()


def test_tolerations_match_by_key_value_and_effect() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    assert tolerates([{"operator": "Exists"}], taint)
    assert tolerates([{"key": "k", "value": "v"}], taint)
    assert tolerates([{"key": "k", "operator": "Exists", "effect": "NoExecute"}], taint)
    assert (
        tolerates([{"key": "k", "value": "w"}, {"key": "k", "operator": "Exists", "effect": "NoSchedule"}], taint)
        is None
    )
    pod = {"spec": {"tolerations": [{"operator": "Exists", "tolerationSeconds": 5}]}}
    assert tolerated_for(pod, [taint]) == 5
    assert tolerated_for({"spec": {}}, [taint]) == 0
    assert tolerated_for({"spec": {"tolerations": [{"operator": "Exists"}]}}, [taint]) is None


def test_taints_of_others_stay_and_ours_follow_the_conditions() -> None:
    theirs = {"key": "lab", "effect": "NoSchedule"}
    stale = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "earlier"}
    kept = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "timeAdded": "earlier"}
    node = {"spec": {"taints": [theirs, stale, kept]}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert wanted_taints(node, "now") == [theirs, kept, {**kept, "effect": "NoExecute", "timeAdded": "now"}]


def test_a_condition_that_does_not_turn_keeps_its_time() -> None:
    before = [{"type": "A", "status": "True", "lastTransitionTime": "1"}]
    same = {"type": "A", "status": "True", "lastTransitionTime": "2", "reason": "New"}
    assert merged(before, [same]) == [{**same, "lastTransitionTime": "1"}]
    turned = {**same, "status": "False"}
    assert merged(before, [turned]) == [turned]


def test_pods_that_differ_only_in_name_have_one_signature() -> None:
    item, other = pod_info(assigned("a", "")), pod_info(assigned("b", ""))
    assert signature(item) == signature(other)
    assert signature(item) != signature(pod_info(assigned("a", "", cpu="2")))


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.sampled_from(["", "n1", "n2"]), st.sampled_from(["1", "2", "300m"])),
        max_size=30,
    )
)
def test_the_cluster_state_does_not_depend_on_the_order_of_changes(changes: list[tuple[str, str, str]]) -> None:
    """Usage that follows changes equals usage that is recomputed (I9)."""
    state, last = ClusterState(), {}
    for node in ("n1", "n2"):
        state.set_node({"metadata": {"name": node}})
    for name, node, cpu in changes:
        state.set_pod(assigned(name, node, cpu=cpu))
        last[name] = (node, amount("cpu", cpu))
    for info in state.nodes:
        expected = sum(cpu for where, cpu in last.values() if where == info.name)
        assert info.used.get("cpu", 0) == expected
        assert state.siblings("o").get(info.name, 0) == sum(where == info.name for where, _ in last.values())
    for name in last:
        state.drop_pod(("ns", name))
    assert all(not any(node.used.values()) and not node.pods for node in state.nodes)


def test_the_smallest_volume_that_suits_is_chosen_and_a_reserved_one_before_it() -> None:
    def volume(name: str, size: str, **spec: Any) -> Obj:
        offered = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}}
        return {"metadata": {"name": name}, "spec": {**offered, **spec}}

    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    claim = {"metadata": {"namespace": "ns", "name": "c", "uid": "u"}, "spec": wanted}
    small, right, large = volume("small", "1Gi"), volume("right", "2Gi"), volume("large", "9Gi")
    assert best_volume(claim, [large, small, right]) is right
    reserved = volume("reserved", "9Gi", claimRef={"namespace": "ns", "name": "c"})
    assert best_volume(claim, [right, reserved]) is reserved
    assert best_volume(claim, [volume("taken", "2Gi", claimRef={"namespace": "ns", "name": "d"})]) is None
    assert best_volume(claim, [volume("other", "2Gi", storageClassName="x"), small]) is None


def test_a_volume_may_be_in_several_zones() -> None:
    volume = {"metadata": {"labels": {"topology.kubernetes.io/zone": "z1__z2"}}}
    assert in_zone(volume, {"topology.kubernetes.io/zone": "z2"})
    assert not in_zone(volume, {"topology.kubernetes.io/zone": "z3"})
