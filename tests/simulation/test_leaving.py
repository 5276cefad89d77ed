"""A Cluster that is deleted leaves when nothing of this host is left in it, and never waits for a dead one forever."""

import asyncio
from typing import Any

import pytest

from tests.support import rights
from tests.support.planning import manifest
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment_api import names

CLUSTERS = f"clusters.{names.GROUP}"
MERGE = {"content_type": "application/merge-patch+json"}


def path(name: str) -> str:
    return f"{names.API_PATH}/namespaces/default/clusters/{name}"


def cluster(world: World, name: str = "member-2", namespace: str = "default") -> Any:
    return world.host.access.get(CLUSTERS, namespace, name)


def ready(world: World, name: str = "member-2") -> tuple[str, str, str]:
    condition = next(one for one in cluster(world, name)["status"]["conditions"] if one["type"] == "Ready")
    return condition["status"], condition["reason"], condition["message"]


def delete(world: World, name: str = "member-2") -> None:
    world.request(world.host, "DELETE", path(name))


async def created(world: World, **shares: int) -> None:
    world.apply(manifest(shares=shares, replicas=sum(shares.values())))
    await world.until(world.settled, what="creation")
    await asyncio.sleep(5)


def shares(**numbers: int) -> dict[str, int]:
    return {name.replace("_", "-"): number for name, number in numbers.items()}


@pytest.mark.fleet(members=2)
async def test_a_deleted_cluster_stays_until_its_workloads_are_gone(world: World) -> None:
    """Also over a restart; its condition says what it waits for, and what to do."""
    await created(world, **{"member-1": 2, "member-2": 2})
    assert cluster(world)["metadata"]["finalizers"] == [names.CLUSTER_FINALIZER]
    delete(world)
    await world.until(lambda: world.phase("member-2") == "Terminated", 5, what="the phase")
    assert [taint["key"] for taint in cluster(world)["status"]["taints"]] == [names.TAINT_TERMINATING]
    await world.until(lambda: "StatefulSet default/web-member-2" in ready(world)[2], 5, what="the message")
    assert ready(world)[:2] == ("False", "Terminating")
    assert names.ANNOTATION_ABANDON in ready(world)[2]
    stored = cluster(world)
    await world.stop_controller()
    world.start_controller()
    await asyncio.sleep(120)
    assert cluster(world) == stored, "nothing new is written, and nothing is forgotten (I3)"
    assert workloads(world, "member-2")
    world.apply(manifest(shares={"member-1": 2}, replicas=2))
    await world.until(lambda: cluster(world) is None, what="the departure")
    assert not workloads(world, "member-2")
    await world.until(world.settled, what="the application")


@pytest.mark.fleet(members=2)
async def test_workloads_without_replicas_are_deleted_and_keep_nothing(world: World) -> None:
    """A drained subset leaves nothing behind, although the application still names it."""
    await created(world, **{"member-1": 2, "member-2": 0})
    assert workloads(world, "member-2")
    delete(world)
    await world.until(lambda: cluster(world) is None, 10, what="the departure")
    assert not workloads(world, "member-2")


@pytest.mark.fleet(members=2)
async def test_a_dead_cluster_goes_when_it_is_abandoned(world: World) -> None:
    """It may still run something, so it is not given up without being asked to (I8)."""
    await created(world, **{"member-1": 2, "member-2": 2})
    world.members["member-2"].faults.set(black_hole=True)
    await world.until(lambda: world.phase("member-2") == "Offline", 30, what="the loss")
    delete(world)
    await world.stop_controller()
    world.start_controller()
    await world.until(lambda: "default/web" in ready(world)[2], 60, what="the reason")
    assert "cannot be seen" in ready(world)[2]
    world.request(
        world.host,
        "PATCH",
        path("member-2"),
        {"metadata": {"annotations": {names.ANNOTATION_ABANDON: "true"}}},
        **MERGE,
    )
    await world.until(lambda: cluster(world) is None, 10, what="the departure")
    world.members["member-2"].faults.clear()
    await asyncio.sleep(30)
    assert workloads(world, "member-2"), "what runs there is left alone"


@pytest.mark.fleet(members=2)
async def test_a_cluster_that_holds_nothing_goes_at_once(world: World) -> None:
    """Empty, suspended, or never connected."""
    await created(world, **{"member-1": 2})
    delete(world)
    await world.until(lambda: cluster(world) is None, 5, what="the departure of an empty one")
    world.members["member-1"].faults.set(cut_off=True)
    body = {**cluster(world, "member-1"), "metadata": {"name": "new"}, "status": {}}
    body["spec"] = {**body["spec"], "server": "https://nowhere.test:6443", "credentials": {"secretRef": {"name": "no"}}}
    world.request(world.host, "POST", path("").rstrip("/"), body)
    await asyncio.sleep(5)
    delete(world, "new")
    await world.until(lambda: cluster(world, "new") is None, 5, what="the departure of one that was never connected")


@pytest.mark.fleet(members=2, controller=False)
async def test_the_deletion_of_a_namespace_deletes_the_workloads_in_its_members(world: World) -> None:
    """The Clusters, their Secrets and the applications go at once, and nothing is left anywhere."""
    for name in world.members:
        delete(world, name)
    world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    for name in world.members:
        secret = {"metadata": {"name": name}, "stringData": {"token": rights.TOKEN}}
        world.request(world.host, "POST", "/api/v1/namespaces/team/secrets", secret)
        body = {
            "apiVersion": names.API_VERSION,
            "kind": "Cluster",
            "metadata": {"name": name},
            "spec": {"server": f"https://{name}.test:6443", "credentials": {"secretRef": {"name": name}}},
        }
        world.request(world.host, "POST", f"{names.API_PATH}/namespaces/team/clusters", body)
    world.start_controller()
    document = manifest(shares={"member-1": 2, "member-2": 2}, replicas=4)
    document["metadata"]["namespace"] = "team"
    world.apply(document)

    def sets() -> list[Any]:
        return [one for member in world.members.values() for one in member.access.list("statefulsets.apps", "team")]

    await world.until(lambda: sum(one["status"].get("readyReplicas", 0) for one in sets()) == 4, what="creation")
    world.request(world.host, "DELETE", "/api/v1/namespaces/team")
    await world.until(lambda: world.host.access.get("namespaces", "", "team") is None, 120, what="the deletion")
    assert sets() == []
