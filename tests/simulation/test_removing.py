"""Subsets that leave the topology while their cluster does not answer: what may still run there is not forgotten."""

import asyncio
from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.templates import PATH, applied, done, message
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment.embedded.access import Change
from uniteddeployment_api import names

KINDS = ["statefulSetTemplate", "deploymentTemplate"]
LEFT = {"member-1": 2}


def document(kind: str = "statefulSetTemplate", shares: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    shares = shares or {"member-1": 2, "member-2": 2}
    return manifest(kind=kind, shares=shares, replicas=sum(shares.values()), **more)


def leftovers(world: World) -> dict[tuple[str, str], Any]:
    return {(one["cluster"], one["subset"]): one for one in world.status().get("leftovers", ())}


async def removed_while_away(world: World, kind: str) -> None:
    """Two subsets, of which the second is removed while its cluster is cut off."""
    await done(world, document(kind))
    world.members["member-2"].faults.set(cut_off=True)
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the member is seen as lost")
    world.apply(document(kind, LEFT))
    await world.until(lambda: len(world.status()["subsetStatuses"]) == 1, what="the subset is removed")


def check_unknown(world: World, kind: str) -> None:
    assert world.condition("Ready") == "Unknown"
    assert "default/member-2" in message(world, "Ready")
    (entry,) = leftovers(world).values()
    assert (entry["cluster"], entry["subset"], entry["observedReplicas"]) == ("default/member-2", "member-2", 2)
    assert entry["workload"].startswith(kind.removesuffix("Template").replace("s", "S", 1).replace("d", "D", 1))
    assert entry["lastObservedTime"]
    assert "cut off" in entry["reason"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.fleet(members=2)
async def test_what_a_member_that_does_not_answer_may_run_is_shown_until_it_answers(
    world: World, kind: str, restart: bool
) -> None:
    """Nobody knows whether its pods run; also after a restart, when the cache is empty (I8)."""
    await removed_while_away(world, kind)
    check_unknown(world, kind)
    if restart:
        await world.stop_controller()
        world.start_controller()
    await asyncio.sleep(120)
    check_unknown(world, kind)
    world.members["member-2"].faults.clear()
    await world.until(lambda: world.settled() and not leftovers(world), what="its return")
    await world.until(lambda: not workloads(world, "member-2") and not world.pods("member-2"), what="the removal")
    assert world.condition("Ready") == "True"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=2)
async def test_it_is_also_known_to_a_controller_that_never_saw_the_member(world: World, kind: str) -> None:
    """It starts while the member is away, and only then the subset is removed (I8, I9)."""
    await done(world, document(kind))
    world.members["member-2"].faults.set(cut_off=True)
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the member is seen as lost")
    await world.stop_controller()
    world.apply(document(kind, LEFT))
    world.start_controller()
    await world.until(lambda: len(world.status()["subsetStatuses"]) == 1, what="the subset is removed")
    check_unknown(world, kind)


@pytest.mark.fleet(members=2)
async def test_a_deletion_waits_for_what_is_left_over(world: World) -> None:
    """The finalizer stays until the member has answered (I8)."""
    await removed_while_away(world, "statefulSetTemplate")
    await world.stop_controller()
    world.start_controller()
    world.delete()
    await asyncio.sleep(60)
    assert world.ud() is not None
    assert "default/member-2" in message(world, "Ready")
    world.members["member-2"].faults.clear()
    await world.until(lambda: world.ud() is None and not world.pods("member-2"), what="the deletion")


@pytest.mark.fleet(members=2)
async def test_abandoning_a_lost_cluster_gives_up_what_may_run_there(world: World) -> None:
    """As it does for an application that is deleted: otherwise a lost cluster would be waited for forever."""
    await removed_while_away(world, "statefulSetTemplate")
    path = f"{names.API_PATH}/namespaces/default/clusters/member-2"
    world.request(world.host, "DELETE", path)
    await asyncio.sleep(60)
    assert leftovers(world)
    patch = {"metadata": {"annotations": {names.ANNOTATION_ABANDON: "true"}}}
    world.request(world.host, "PATCH", path, patch, content_type="application/merge-patch+json")
    await world.until(lambda: world.settled() and not leftovers(world), what="giving up")


@pytest.mark.fleet(members=3)
async def test_a_subset_that_is_moved_away_from_a_lost_member_is_not_forgotten_there(world: World) -> None:
    """The same subset runs elsewhere, and twice as many pods as were asked for may run (I8)."""
    await done(world, document())
    world.members["member-2"].faults.set(cut_off=True)
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the member is seen as lost")
    doc = document()
    doc["spec"]["topology"]["subsets"][1]["targetCluster"] = {"name": "member-3"}
    world.apply(doc)
    await world.until(lambda: len(world.pods("member-3")) == 2, what="its pods elsewhere")
    await asyncio.sleep(10)
    assert world.condition("Ready") == "Unknown"
    assert leftovers(world)["default/member-2", "member-2"]["observedReplicas"] == 2
    world.members["member-2"].faults.clear()
    await world.until(lambda: world.settled() and not world.pods("member-2"), what="its return")
    assert leftovers(world) == {}


@pytest.mark.fleet(members=3)
async def test_a_subset_that_is_moved_to_a_lost_member_keeps_what_it_has(world: World) -> None:
    """Within the budget of maxUnavailable its pods could go, but nothing would replace them (I7)."""
    shares = {"member-1": 8, "member-2": 2}
    await done(world, document(shares=shares))
    world.members["member-3"].faults.set(cut_off=True)
    path = f"{names.API_PATH}/namespaces/default/clusters/member-3"
    await world.until(
        lambda: world.request(world.host, "GET", path)["status"]["phase"] == "Offline",
        what="the member is seen as lost",
    )
    doc = document(shares=shares)
    doc["spec"]["topology"]["subsets"][1]["targetCluster"] = {"name": "member-3"}
    world.apply(doc)
    await asyncio.sleep(120)
    assert len(world.pods("member-2")) == 2
    assert "until what replaces it is ready" in leftovers(world)["default/member-2", "member-2"]["reason"]
    world.members["member-3"].faults.clear()
    await world.until(lambda: world.settled() and not world.pods("member-2"), what="the move")
    assert len(world.pods("member-3")) == 2


@pytest.mark.parametrize("writes", range(1, 6))
@pytest.mark.fleet(members=2)
async def test_a_crash_between_any_two_writes_forgets_nothing(world: World, writes: int) -> None:
    """The subset leaves the list of subsets with the same write with which it enters the other list (I8, I9)."""
    await done(world, document())
    world.members["member-2"].faults.set(cut_off=True)
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the member is seen as lost")
    seen = []

    def note(_change: Change) -> None:
        rows = {one["name"] for one in world.status().get("subsetStatuses", ())}
        seen.append("member-2" in rows or ("default/member-2", "member-2") in leftovers(world))

    world.host.access.subscribe("uniteddeployments.uniteddeployment.io", note)
    sent = len(world.transports["host"].sent)
    # Removed and, before all is written, scaled: the controller writes more than once.
    world.apply(document(shares=LEFT))
    world.apply(document(shares={"member-1": 3}))

    def written() -> bool:
        new = world.transports["host"].sent[sent:]
        return sum(one.method != "GET" for one in new) >= writes or len(world.pods("member-1")) == 3

    await world.until(written, what="the writes", every=0.0005)
    world.kill_controller()
    await asyncio.sleep(1)
    world.start_controller()
    await world.until(lambda: len(world.status()["subsetStatuses"]) == 1, what="the removal")
    await asyncio.sleep(60)
    assert all(seen)
    check_unknown(world, "statefulSetTemplate")
    world.members["member-2"].faults.clear()
    await world.until(lambda: world.settled() and not world.pods("member-2"), what="its return")


@pytest.mark.fleet(members=2)
async def test_an_ordinary_removal_shows_what_is_left_over_and_then_nothing(world: World) -> None:
    """While the old waits for the new, status says so (I7)."""
    await applied(world, document())
    doc = document(shares={"renamed": 2, "member-1": 2})
    doc["spec"]["topology"]["subsets"][0]["targetCluster"] = {"name": "member-2"}
    doc["spec"]["topology"]["maxUnavailable"] = 0
    doc["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = "fail:1"
    doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
    world.apply(doc)
    await world.until(lambda: leftovers(world), what="the leftover")
    await asyncio.sleep(30)
    entry = leftovers(world)["default/member-2", "member-2"]
    assert (entry["readyReplicas"], entry["reason"]) == (2, "kept until what replaces it is ready")
    assert "lastObservedTime" not in entry
    world.apply(document())
    await world.until(lambda: world.settled() and not leftovers(world), what="the way back")
    assert world.status()["leftovers"] == []
    found = world.request(world.host, "GET", f"{PATH}/web")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
