"""I15: namespaces in members: created or required, with the Pod Security labels of the host."""

import asyncio
from typing import Any

import pytest

from tests.simulation.test_permission import MERGE, allow, ask, pods, stalled
from tests.support.world import World
from uniteddeployment_api import names

ENFORCE, WARN = "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/warn"
SHOP = "/api/v1/namespaces/shop"


def namespace(world: World, cluster: str = "member-1") -> Any:
    """The namespace shop in a cluster; None if it does not exist."""
    return world.clusters[cluster].access.get("namespaces", "", "shop")


def labels(world: World) -> dict[str, str]:
    """Pod Security labels of the namespace shop in member-1."""
    return {key: value for key, value in namespace(world)["metadata"]["labels"].items() if "pod-security" in key}


def label(world: World, cluster: str, **changes: str | None) -> None:
    """Change Pod Security labels of the namespace shop in a cluster."""
    change = {f"pod-security.kubernetes.io/{mode}": level for mode, level in changes.items()}
    world.request(world.clusters[cluster], "PATCH", SHOP, {"metadata": {"labels": change}}, **MERGE)


async def begin(world: World, **labels: str) -> None:
    """Run an application in the namespace shop, which has these Pod Security labels on the host."""
    world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    label(world, "host", **labels)
    allow(world, {"from": "All"})
    ask(world)
    await world.until(lambda: namespace(world) is not None, what="a namespace")


@pytest.mark.fleet(members=1)
async def test_a_namespace_has_the_pod_security_labels_of_the_host_and_follows_them(world: World) -> None:
    await begin(world, enforce="baseline")
    assert labels(world) == {ENFORCE: "baseline"}
    label(world, "host", enforce="privileged", warn="restricted")
    await world.until(lambda: labels(world) == {ENFORCE: "privileged", WARN: "restricted"}, what="new labels")
    label(world, "host", enforce=None)
    await world.until(lambda: labels(world) == {WARN: "restricted"}, what="the label to be removed")


@pytest.mark.fleet(members=1)
async def test_labels_that_somebody_set_in_the_member_stay(world: World) -> None:
    """The administrators of a member may be stricter than the host."""
    await begin(world, enforce="baseline")
    label(world, "member-1", enforce="restricted", audit="restricted")
    label(world, "host", enforce="privileged", warn="baseline")
    await world.until(lambda: WARN in labels(world), what="the other label")
    assert labels(world)[ENFORCE] == "restricted"
    assert labels(world)["pod-security.kubernetes.io/audit"] == "restricted"


@pytest.mark.fleet(members=1)
async def test_labels_that_changed_while_the_controller_was_away_are_applied_and_nothing_is_written_twice(
    world: World,
) -> None:
    """A start applies the labels that changed meanwhile, once (I3, I9)."""
    await begin(world, enforce="baseline")
    await world.until(lambda: pods(world) == 2, what="pods")
    await asyncio.sleep(30)
    await world.stop_controller()
    before = namespace(world)["metadata"]["resourceVersion"]
    world.start_controller()
    await asyncio.sleep(30)
    assert namespace(world)["metadata"]["resourceVersion"] == before
    await world.stop_controller()
    label(world, "host", enforce="restricted")
    world.start_controller()
    await world.until(lambda: labels(world) == {ENFORCE: "restricted"}, what="new labels")


@pytest.mark.fleet(members=1)
async def test_a_namespace_that_the_controller_did_not_create_is_left_alone(world: World) -> None:
    """A namespace of somebody else keeps its labels (I13)."""
    world.request(world.clusters["member-1"], "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await begin(world, enforce="baseline")
    await world.until(lambda: pods(world) == 2, what="pods")
    label(world, "host", enforce="restricted")
    await asyncio.sleep(30)
    assert labels(world) == {}


@pytest.mark.fleet(members=1)
async def test_where_namespaces_are_required_the_subset_waits_for_its_namespace(world: World) -> None:
    path = f"{names.API_PATH}/namespaces/default/{names.CLUSTER_PLURAL}/member-1"
    change = {"spec": {"namespaces": "Require", "allowedNamespaces": {"from": "All"}}}
    world.request(world.host, "PATCH", path, change, **MERGE)
    ask(world)
    await world.until(lambda: stalled(world), what="a message")
    assert "spec.namespaces of the Cluster default/member-1 is Require: create the namespace" in stalled(world)
    assert namespace(world) is None
    world.request(world.clusters["member-1"], "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")
