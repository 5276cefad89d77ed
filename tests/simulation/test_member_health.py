"""The phase of a member under faults, with the default thresholds: reasons, taints, Events and writes.

The rules themselves are in ``tests/unit/fleet/test_health.py``.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support import rights
from tests.support.planning import manifest
from tests.support.world import MemberClock, World
from uniteddeployment_api import names

pytestmark = pytest.mark.fleet(members=2, health={})
CLUSTERS = f"clusters.{names.GROUP}"
FOUND_WITHIN = 30.0
NAME = "member-2"


def status(world: World) -> Any:
    return (world.host.access.get(CLUSTERS, "default", NAME) or {}).get("status") or {}


def condition(world: World, type_: str = "Ready") -> tuple[str, str]:
    found = next(one for one in status(world)["conditions"] if one["type"] == type_)
    return found["status"], found["reason"]


def taints(world: World) -> list[str]:
    return [f"{taint['key'].partition('/')[2]}:{taint['effect']}" for taint in status(world).get("taints", ())]


def events(world: World) -> list[tuple[str, str]]:
    """Type and reason of the Events on the member, in order."""
    listed = [one for one in world.host.access.list("events.events.k8s.io") if one["regarding"]["name"] == NAME]
    return [(one["type"], one["reason"]) for one in sorted(listed, key=lambda one: one["eventTime"])]


def writes(world: World) -> int:
    """How often this process has written the status of the member."""
    sent = world.transports["host"].sent
    return sum(one.method == "PATCH" and one.path.endswith(f"/clusters/{NAME}/status") for one in sent)


async def running(world: World) -> None:
    await world.until(lambda: [world.phase(name) for name in world.members] == ["Running"] * 2, 20, what="Running")
    await asyncio.sleep(60)


async def seconds_until(world: World, phase: str, most: float) -> float:
    begun = world.loop.time()
    await world.until(lambda: world.phase(NAME) == phase, most, what=phase)
    return world.loop.time() - begun


def revoke(world: World) -> None:
    world.members[NAME].tokens["other"] = world.members[NAME].tokens.pop(rights.TOKEN)


def admit(world: World) -> None:
    world.members[NAME].tokens[rights.TOKEN] = world.members[NAME].tokens.pop("other")


def faults(**settings: Any) -> Callable[[World], None]:
    return lambda world: world.members[NAME].faults.set(**settings)


def heal(world: World) -> None:
    world.members[NAME].faults.clear()


FAULTS = {
    "killed": (faults(cut_off=True), heal, "Unknown", "Unreachable", "unreachable:NoSchedule"),
    "frozen": (faults(black_hole=True), heal, "Unknown", "Unreachable", "unreachable:NoSchedule"),
    "slow beyond the time-out": (faults(latency=6.0), heal, "Unknown", "Unreachable", "unreachable:NoSchedule"),
    "unhealthy": (faults(error_rate=1.0, error_codes=(503,)), heal, "False", "NotHealthy", "not-ready:NoSchedule"),
    "refusing": (revoke, admit, "Unknown", "Unauthorized", "unreachable:NoSchedule"),
}


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_member_that_fails_is_offline_in_time_and_comes_back_in_time(
    world: World, fault: str, restarts: bool
) -> None:
    """Each fault has a reason of its own; a restart at any stage neither forgets nor changes anything."""
    break_it, repair, ready, reason, taint = FAULTS[fault]

    async def restart() -> None:
        if restarts:
            world.kill_controller()
            world.start_controller()

    await running(world)
    before = writes(world)
    break_it(world)
    await asyncio.sleep(10)
    assert world.phase(NAME) == "Running"
    await restart()
    # A process that has not seen the last good answer counts from its first failed probe.
    most = FOUND_WITHIN + 15 if restarts else FOUND_WITHIN
    await seconds_until(world, "Offline", most - 10)
    assert condition(world) == (ready, reason)
    assert condition(world, "Schedulable") == ("False", "Offline")
    assert (taints(world), status(world)["health"]["reason"]) == ([taint], reason)
    offline_since = status(world)["phaseTransitionTime"]
    await restart()
    await asyncio.sleep(120)
    assert (world.phase(NAME), status(world)["phaseTransitionTime"]) == ("Offline", offline_since)
    assert "lastContactTime" in status(world) or restarts
    repair(world)
    await world.until(lambda: condition(world)[1] == "Recovering", 20, what="an answer")
    assert (world.phase(NAME), taints(world)) == ("Offline", [taint])
    await asyncio.sleep(30)
    await restart()
    assert 25 <= await seconds_until(world, "Running", 50) <= 46
    assert (condition(world), taints(world)) == (("True", "ClusterReady"), [])
    assert status(world)["health"] == {"outages": 1}
    assert "lastContactTime" not in status(world)
    if not restarts:
        assert writes(world) - before <= 5, "failing, Offline, its watches are reopened, Recovering, Running"
        asked = [one for one in world.transports[NAME].sent if one.path == "/readyz"]
        assert len(asked) == (fault == "unhealthy"), "an unhealthy server is asked once for its failing checks"
    await asyncio.sleep(5)
    assert events(world) == [("Normal", "Connected"), ("Warning", reason), ("Normal", "Recovered")]


def agents(world: World, stopped: bool) -> None:
    """Stop the agents of all nodes, or start them again."""
    note = {"metadata": {"annotations": {"embedded/agent": "stopped" if stopped else "running"}}}
    for node in world.members[NAME].access.list("nodes"):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        world.request(world.members[NAME], "PATCH", path, note, content_type="application/merge-patch+json")


def ready_nodes(world: World) -> int:
    nodes = world.members[NAME].access.list("nodes")
    conditions = [one for node in nodes for one in node["status"]["conditions"]]
    return sum((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


@pytest.mark.fleet(capacity=True)
async def test_a_member_without_a_ready_node_is_offline_although_it_answers(world: World) -> None:
    """Emptiness has a reason of its own."""
    await running(world)
    before = world.requests()[NAME]
    agents(world, stopped=True)
    await world.until(lambda: not ready_nodes(world), 120, what="that no node is ready")
    await seconds_until(world, "Offline", 50)
    assert (condition(world), taints(world)) == (("False", "NoReadyNodes"), ["not-ready:NoSchedule"])
    assert world.controller is not None
    assert world.controller.fleet.view(f"default/{NAME}", ("default", "web")).reach == "Ready", (
        "it is managed as before"
    )
    agents(world, stopped=False)
    await world.until(lambda: ready_nodes(world) > 0, 60, what="a ready node")
    assert await seconds_until(world, "Running", 90) >= 55
    assert world.requests()[NAME] == before, "watches and probes show all of it (I3)"
    await asyncio.sleep(5)
    assert events(world)[1:] == [("Warning", "NoReadyNodes"), ("Normal", "Recovered")]


def change_nodes(world: World, spec: dict[str, Any]) -> None:
    for node in world.members[NAME].access.list("nodes"):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        world.request(world.members[NAME], "PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")


def tainted(key: str) -> dict[str, Any]:
    return {"taints": [{"key": key, "effect": "NoSchedule"}]}


@pytest.mark.fleet(capacity=True)
async def test_a_member_whose_nodes_take_no_pods_is_offline_until_one_does(world: World) -> None:
    """Cordoned nodes and those of a control plane are for no pods; those that are reserved are for some."""
    await running(world)
    change_nodes(world, tainted("virtual-kubelet.io/provider"))
    await asyncio.sleep(120)
    assert world.phase(NAME) == "Running"
    for spec in ({"taints": [], "unschedulable": True}, tainted("node-role.kubernetes.io/control-plane")):
        change_nodes(world, spec)
        await seconds_until(world, "Offline", 50)
        assert (condition(world), taints(world)) == (("False", "NoReadyNodes"), ["not-ready:NoSchedule"])
        change_nodes(world, {"taints": [], "unschedulable": False})
        await seconds_until(world, "Running", 150)
        assert taints(world) == []


@pytest.mark.fleet(capacity=True)
async def test_a_member_without_nodes_is_running(world: World) -> None:
    """Autoscaled to zero: a node comes when a pod waits for one."""
    await running(world)
    for node in world.members[NAME].access.list("nodes"):
        world.request(world.members[NAME], "DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
    await asyncio.sleep(120)
    assert status(world)["nodes"] == 0
    assert (world.phase(NAME), condition(world)[0]) == ("Running", "True")


@pytest.mark.fleet(capacity=False)
async def test_without_its_capacity_a_member_with_cordoned_nodes_is_running(world: World) -> None:
    """Its nodes are not known."""
    await running(world)
    change_nodes(world, {"unschedulable": True})
    await asyncio.sleep(120)
    assert world.phase(NAME) == "Running"


async def test_a_slow_member_and_a_wrong_clock_change_nothing(world: World) -> None:
    """Two seconds of latency are an answer, and the times of a member are never compared with ours."""
    member = world.members[NAME]
    assert isinstance(member.clock, MemberClock)
    member.clock.ahead = timedelta(hours=1)
    await running(world)
    before = world.requests()["host"]
    member.faults.set(latency=2.0)
    await asyncio.sleep(600)
    assert world.phase(NAME) == "Running"
    assert world.requests()["host"] == before, "nothing but times has changed (I3)"


async def test_a_member_that_comes_and_goes_is_offline_until_it_settles(world: World) -> None:
    """Every 20 s: it is used again when it has answered for a minute, and its status is rarely written."""
    await running(world)
    before = writes(world)
    for _ in range(10):
        world.members[NAME].faults.set(cut_off=True)
        await asyncio.sleep(20)
        world.members[NAME].faults.clear()
        await asyncio.sleep(20)
    assert world.phase(NAME) == "Offline"
    assert writes(world) - before <= 3 * 10 + 2, "it fails, answers while its watches are reopened, and recovers"
    await seconds_until(world, "Running", 60)
    await asyncio.sleep(5)
    assert events(world)[1:] == [("Warning", "Unreachable"), ("Normal", "Recovered")]


async def test_a_cordoned_member_takes_nothing_new_and_a_change_of_taints_reaches_the_applications(
    world: World,
) -> None:
    """``spec.unschedulable`` and taints of the spec are in status, each with the time when it was first seen."""
    await running(world)
    document = manifest(shares={"member-1": None, NAME: None}, replicas=4)
    world.apply(document)
    await world.until(world.settled, what="creation")
    path = f"{names.API_PATH}/namespaces/default/clusters/{NAME}"
    merge = {"content_type": "application/merge-patch+json"}
    dedicated = {"key": "dedicated", "value": "ml", "effect": "PreferNoSchedule"}
    cordoned = second(world)
    world.request(world.host, "PATCH", path, {"spec": {"unschedulable": True}}, **merge)
    await asyncio.sleep(60)
    tainted = second(world)
    world.request(world.host, "PATCH", path, {"spec": {"taints": [dedicated]}}, **merge)
    await asyncio.sleep(60)
    stored = status(world)
    assert stored["taints"] == [
        {**dedicated, "timeAdded": tainted},
        {"key": names.TAINT_CORDONED, "effect": "NoSchedule", "timeAdded": cordoned},
    ]
    assert (condition(world), condition(world, "Schedulable")) == (("True", "ClusterReady"), ("False", "Cordoned"))
    world.apply({**document, "spec": {**document["spec"], "replicas": 8}})
    await world.until(lambda: len(world.pods("member-1")) == 6, 60, what="the growth elsewhere")
    await world.stop_controller()
    world.start_controller()
    await asyncio.sleep(30)
    assert status(world) == stored
    world.request(world.host, "PATCH", path, {"spec": {"unschedulable": False, "taints": []}}, **merge)
    await world.until(lambda: len(world.pods(NAME)) == 4, 60, what="the way back")
    assert "taints" not in status(world)


def second(world: World) -> str:
    return world.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_the_last_contact_is_the_time_of_the_last_answer(world: World) -> None:
    await running(world)
    await world.until(lambda: world.probes()[NAME] % 2 == 0, 40, what="a probe")
    world.members[NAME].faults.set(cut_off=True)
    await seconds_until(world, "Offline", FOUND_WITHIN)
    contact = datetime.fromisoformat(status(world)["lastContactTime"])
    assert timedelta(0) <= world.clock.now() - contact <= timedelta(seconds=FOUND_WITHIN)
