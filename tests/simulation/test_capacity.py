"""The capacity of members in the status of their Cluster objects, under virtual time."""

import asyncio
from typing import Any

import pytest

from tests.support.narrowing import present
from tests.support.world import World
from uniteddeployment.cli.install import rbac
from uniteddeployment.fleet.capacity.quantity import parse
from uniteddeployment_api import names

MERGE = {"content_type": "application/merge-patch+json"}
CLUSTERS = f"{names.API_PATH}/namespaces/default/clusters"
PODS = "/api/v1/namespaces/default/pods"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{rbac.MEMBER_ROLE}"


def status(world: World) -> dict[str, Any]:
    found: dict[str, Any] = (
        present(world.host.access.get(f"clusters.{names.GROUP}", "default", "member-1")).get("status") or {}
    )
    return found


def condition(world: World, name: str = "Capacity") -> tuple[str, str]:
    found = (one for one in status(world).get("conditions", ()) if one["type"] == name)
    return next(((one["status"], one["reason"]) for one in found), ("", ""))


def cpu(world: World, what: str = "requested") -> int:
    return parse("cpu", status(world)["capacity"][what]["cpu"])


def pod(name: str, request: str) -> dict[str, Any]:
    container = {"name": "c", "image": "other:1", "resources": {"requests": {"cpu": request}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def writes(world: World) -> int:
    """How often the controller wrote the status of a Cluster."""
    return sum(one.path.endswith("/clusters/member-1/status") for one in world.transports["host"].sent)


async def counted(world: World) -> None:
    await world.until(lambda: condition(world) == ("True", "Counted"), seconds=30, what="the capacity")


@pytest.mark.fleet(members=1, capacity=True)
async def test_status_has_the_sums_over_nodes_and_all_pods(world: World) -> None:
    """Pods of others count as well, and pods on a cordoned node do not."""
    await counted(world)
    nodes = world.members["member-1"].access.list("nodes")
    before = status(world)
    assert before["nodes"] == before["readyNodes"] == before["schedulableNodes"] == len(nodes)
    assert cpu(world, "allocatable") == sum(parse("cpu", one["status"]["allocatable"]["cpu"]) for one in nodes)
    world.request(world.members["member-1"], "POST", PODS, pod("other", "1500m"))
    await world.until(lambda: cpu(world) == 1500, seconds=30, what="the request")
    assert cpu(world, "available") == cpu(world, "allocatable") - 1500
    place = world.pods("member-1")[0]["spec"]["nodeName"]
    path = f"/api/v1/nodes/{place}"
    world.request(world.members["member-1"], "PATCH", path, {"spec": {"unschedulable": True}}, **MERGE)
    await world.until(lambda: cpu(world) == 0, seconds=30, what="the cordon")
    assert status(world)["schedulableNodes"] == len(nodes) - 1
    assert {zone["name"]: zone["nodes"] for zone in status(world)["capacity"]["zones"]}


@pytest.mark.fleet(members=1, capacity=True)
async def test_status_is_written_at_most_every_ten_seconds_and_only_for_changes_of_one_percent(world: World) -> None:
    """However many pods come and go in between."""
    await counted(world)
    member = world.members["member-1"]
    await asyncio.sleep(30)
    before = writes(world)
    for number in range(60):
        world.request(member, "POST", PODS, pod(f"p{number}", "100m"))
        await asyncio.sleep(1)
    assert 4 <= writes(world) - before <= 8
    await asyncio.sleep(30)
    assert cpu(world) == 6000
    before, node = writes(world), member.access.list("nodes")[0]
    for allocatable, written in (("7950m", 0), ("7000m", 1)):
        body = {"status": {"allocatable": {**node["status"]["allocatable"], "cpu": allocatable}}}
        world.request(member, "PATCH", f"/api/v1/nodes/{node['metadata']['name']}/status", body, **MERGE)
        await asyncio.sleep(30)
        assert writes(world) - before == written


@pytest.mark.fleet(members=1, capacity=True)
async def test_capacity_can_be_turned_off_and_on_without_a_new_connection(world: World) -> None:
    """Turned off, nothing is watched and the figures go; turned on, they come back."""
    await counted(world)
    contact = present(world.controller).fleet.member("default/member-1")
    world.request(world.host, "PATCH", f"{CLUSTERS}/member-1", {"spec": {"capacity": "Disabled"}}, **MERGE)
    await world.until(lambda: condition(world) == ("False", "Disabled"), seconds=30, what="the end")
    assert not {"capacity", "readyNodes", "schedulableNodes"} & status(world).keys()
    assert condition(world, "Ready")[0] == "True"
    world.request(world.host, "PATCH", f"{CLUSTERS}/member-1", {"spec": {"capacity": "Enabled"}}, **MERGE)
    await counted(world)
    assert cpu(world, "allocatable")
    assert present(world.controller).fleet.member("default/member-1") is contact


@pytest.mark.fleet(members=1, controller=False, capacity=True)
async def test_without_the_right_the_capacity_is_unknown_and_the_member_is_ready(world: World) -> None:
    """The condition says which right is missing. Once it is granted, the capacity is counted."""
    member = world.members["member-1"]
    role = world.request(member, "GET", ROLE)
    rules = [rule for rule in role["rules"] if rule["resources"] != ["nodes"]]
    world.request(member, "PUT", ROLE, {**role, "rules": rules})
    world.start_controller()
    await world.until(lambda: condition(world) == ("False", "MissingRight"), seconds=60, what="the refusal")
    assert condition(world, "Ready")[0] == "True"
    message = next(one["message"] for one in status(world)["conditions"] if one["type"] == "Capacity")
    assert "nodes" in message
    assert "ud rbac member" in message
    await asyncio.sleep(60)
    before = writes(world)
    await asyncio.sleep(600)
    assert writes(world) == before
    present = world.request(member, "GET", ROLE)
    world.request(member, "PUT", ROLE, {**present, "rules": role["rules"]})
    await world.until(lambda: condition(world) == ("True", "Counted"), seconds=900, what="the right")
    world.asked["member-1"].refused.clear()


@pytest.mark.fleet(members=1, capacity=True)
async def test_figures_stay_with_their_time_while_a_member_does_not_answer(world: World) -> None:
    """They are as of the last contact, and the condition is Unknown. A return writes what has changed."""
    await counted(world)
    await asyncio.sleep(15)
    before = status(world)["capacity"]
    world.members["member-1"].faults.set(cut_off=True)
    await world.until(lambda: condition(world)[0] == "Unknown", seconds=60, what="the loss")
    await asyncio.sleep(60)
    assert status(world)["capacity"] == before
    world.members["member-1"].faults.clear()
    await counted(world)
    assert status(world)["capacity"] == before
