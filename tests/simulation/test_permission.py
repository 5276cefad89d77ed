"""I15: a namespace of the host uses a cluster only if the Cluster object allows it."""

import asyncio
from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.world import World
from uniteddeployment_api import names

MERGE = {"content_type": "application/merge-patch+json"}
SELECTOR = {"from": "Selector", "selector": {"matchLabels": {"tier": "gold"}}}


def allow(world: World, allowed: dict[str, Any] | None) -> None:
    """Set allowedNamespaces of member-1."""
    path = f"{names.API_PATH}/namespaces/default/{names.CLUSTER_PLURAL}/member-1"
    world.request(world.host, "PATCH", path, {"spec": {"allowedNamespaces": allowed}}, **MERGE)


def label(world: World, labels: dict[str, str | None]) -> None:
    """Set labels of the namespace shop on the host."""
    world.request(world.host, "PATCH", "/api/v1/namespaces/shop", {"metadata": {"labels": labels}}, **MERGE)


def ask(world: World, replicas: int = 2) -> None:
    """Ask for an application in the namespace shop that runs in member-1."""
    if world.host.access.get("namespaces", "", "shop") is None:
        world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    document = manifest(replicas=replicas, shares={"member-1": None})
    document["metadata"]["namespace"] = "shop"
    document["spec"]["topology"]["subsets"][0]["targetCluster"]["namespace"] = "default"
    world.apply(document)


def stalled(world: World) -> str:
    """The message of the condition Stalled; empty if it is not True."""
    conditions = ((world.ud("web", "shop") or {}).get("status") or {}).get("conditions", ())
    return next((one["message"] for one in conditions if one["type"] == "Stalled" and one["status"] == "True"), "")


def pods(world: World) -> int:
    return len(world.pods("member-1", "shop"))


@pytest.mark.fleet(members=1)
async def test_an_application_of_another_namespace_is_refused_until_the_cluster_allows_it(world: World) -> None:
    """By default, a Cluster is only for its own namespace; the message names the Cluster and the field."""
    ask(world)
    await world.until(lambda: stalled(world), what="a refusal")
    for part in ("default/member-1", "namespace shop", "spec.allowedNamespaces"):
        assert part in stalled(world)
    assert world.members["member-1"].access.get("namespaces", "", "shop") is None
    allow(world, {"from": "All"})
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")


@pytest.mark.fleet(members=1)
async def test_labels_of_the_namespace_decide_if_the_cluster_selects_by_them(world: World) -> None:
    allow(world, SELECTOR)
    ask(world)
    await world.until(lambda: stalled(world), what="a refusal")
    assert "labels" in stalled(world)
    assert pods(world) == 0
    label(world, {"tier": "gold"})
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")


@pytest.mark.fleet(members=1)
@pytest.mark.parametrize("how", ["labels", "field"])
async def test_what_runs_stays_as_it_is_when_the_permission_is_withdrawn(world: World, how: str) -> None:
    """Nothing is deleted or changed; deleting the application still removes it (I7)."""
    world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop", "labels": {"tier": "gold"}}})
    allow(world, SELECTOR)
    ask(world)
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")
    if how == "labels":
        label(world, {"tier": None})
    else:
        allow(world, None)
    await world.until(lambda: stalled(world), what="a refusal")
    assert "left as it is" in stalled(world)
    member = world.members["member-1"].access
    (before,) = member.list("statefulsets.apps", "shop")
    ask(world, replicas=5)
    generation = world.ud("web", "shop")["metadata"]["generation"]
    await world.until(lambda: world.ud("web", "shop")["status"]["observedGeneration"] == generation, what="a status")
    assert member.list("statefulsets.apps", "shop") == [before]
    world.delete("web", "shop")
    await world.until(lambda: world.ud("web", "shop") is None and not pods(world), what="deletion")


@pytest.mark.fleet(members=1)
async def test_a_restart_does_not_report_a_refusal_before_it_knows_the_labels(world: World) -> None:
    """A restart writes nothing (I3)."""
    world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop", "labels": {"tier": "gold"}}})
    allow(world, SELECTOR)
    ask(world)
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")
    await asyncio.sleep(30)
    await world.stop_controller()
    before = world.ud("web", "shop")["metadata"]["resourceVersion"]
    world.start_controller()
    await asyncio.sleep(30)
    assert world.controller is not None
    assert world.controller.synced.is_set()
    assert world.ud("web", "shop")["metadata"]["resourceVersion"] == before
