"""Applications that target ClusterProfiles of SIG Multicluster."""

import asyncio
from typing import Any

import pytest

from tests.support import profiles
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.world import World
from uniteddeployment_api import names

CLUSTERS = f"clusters.{names.GROUP}"
CLUSTER = f"{names.API_PATH}/namespaces/default/clusters/spoke"


def document(**registry: Any) -> Any:
    made = manifest(shares={"a": 2}, replicas=2)
    made["spec"]["topology"]["subsets"][0]["targetCluster"] = {"name": "spoke"}
    made["spec"]["topology"]["clusterRegistry"] = {"clusterType": profiles.CLUSTER_TYPE, **registry}
    return made


def reason(world: World) -> str:
    return str((world.status().get("subsetStatuses") or [{}])[0].get("reason", ""))


def cluster(world: World) -> Any:
    return world.host.access.get(CLUSTERS, "default", "spoke")


@pytest.mark.fleet(members=1)
async def test_an_application_runs_in_the_cluster_of_a_profile(world: World) -> None:
    """Each step that is missing is said; a change of the profile reaches the Cluster, and its deletion ends it."""
    world.request(world.host, "DELETE", CLUSTER.replace("spoke", "member-1"))
    world.apply(document(selector={"region": "eu"}))
    await world.until(lambda: "install its CRD" in reason(world), 20, what="that the CRD is missing")
    await profiles.install(world)
    profiles.create(world, "spoke")
    await world.until(lambda: "no access providers yet" in reason(world), 600, what="that access is missing")
    profiles.provide(world, "spoke", "member-1", "gcp-exec")
    await world.until(lambda: "need a program" in reason(world), 10, what="the refusal")
    assert cluster(world) is None
    profiles.provide(world, "spoke", "member-1")
    await world.until(world.settled, 30, what="the application")
    world.request(world.host, "PATCH", CLUSTER, {"spec": {"allowedNamespaces": {"from": "All"}}}, **profiles.MERGE)
    await asyncio.sleep(60)
    before = world.requests()["host"]
    await asyncio.sleep(600)
    assert world.requests()["host"] == before, "nothing is written without a change (I3)"
    path = f"{profiles.PROFILES}/spoke"
    world.request(world.host, "PATCH", path, {"metadata": {"labels": {"region": "us"}}}, **profiles.MERGE)
    await world.until(lambda: "does not have the labels" in reason(world), 10, what="the new label")
    assert cluster(world)["spec"]["allowedNamespaces"] == {"from": "All"}, "fields of administrators stay"
    world.delete()
    await world.until(lambda: world.ud() is None and not world.pods("member-1"), what="the deletion")
    world.request(world.host, "DELETE", path)
    await world.until(lambda: cluster(world) is None, 30, what="the end of the Cluster")


@pytest.mark.fleet(members=1)
async def test_a_cluster_of_the_same_name_is_not_taken_for_that_of_the_profile(world: World) -> None:
    """It may be another cluster, and is not changed (I14)."""
    await profiles.install(world)
    profiles.create(world, "spoke")
    profiles.provide(world, "spoke", "member-1")
    body = world.host.access.get(CLUSTERS, "default", "member-1")
    body = {**present(body), "metadata": {"name": "spoke"}, "status": {}}
    world.request(world.host, "POST", CLUSTER.rpartition("/")[0], body)
    stored = cluster(world)["spec"]
    world.apply(document())
    await world.until(lambda: "does not belong to the ClusterProfile" in reason(world), 20, what="the reason")
    await asyncio.sleep(60)
    assert cluster(world)["spec"] == stored
    assert world.pods("member-1") == []
