"""Nodes that a client creates: no pod is scheduled there before they are ready."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import MERGE, Api
from uniteddeployment.embedded.apimachinery.resources import Obj

NODES = "/api/v1/nodes"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def node(**spec: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "taints"),
    [
        ([], [NOT_READY]),
        ([{"key": "a", "effect": "NoSchedule"}], [{"key": "a", "effect": "NoSchedule"}, NOT_READY]),
        ([NOT_READY], [NOT_READY]),
        ([{**NOT_READY, "effect": "NoExecute"}], [{**NOT_READY, "effect": "NoExecute"}, NOT_READY]),
    ],
)
def test_a_new_node_is_tainted_as_not_ready(given: list[Obj], taints: list[Obj]) -> None:
    created = Api().create(NODES, node(taints=given))
    assert created["spec"]["taints"] == taints
    owned = [field for entry in created["metadata"].get("managedFields", ()) for field in entry["fieldsV1"]["f:spec"]]
    assert owned == (["f:taints"] if given else [])


def test_the_taint_goes_when_the_node_is_ready() -> None:
    api = Api(controllers=True)
    api.create(NODES, node())
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}]
    api.patch(f"{NODES}/n/status", {"status": {"conditions": conditions}})
    api.clock.advance(5)
    assert "taints" not in api.get(f"{NODES}/n")["spec"]


def test_a_taint_that_is_there_twice_is_named() -> None:
    refused = Api().json("POST", NODES, node(taints=[{"key": "a", "effect": "NoSchedule"}] * 2), status=422)
    assert refused["message"] == (
        'Node "n" is invalid: metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule",'
        '"TimeAdded":null}: taints must be unique by key and effect pair'
    )


def test_the_network_of_a_node_is_the_first_of_its_networks() -> None:
    api = Api()
    created = api.create(NODES, node(podCIDR="10.1.0.0/24"))
    assert created["spec"]["podCIDRs"] == ["10.1.0.0/24"]
    change = {"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}}
    refused = api.json("PATCH", f"{NODES}/n", change, content=MERGE, status=422)
    assert 'node updates may not change podCIDR except from "" to valid' in refused["message"]
