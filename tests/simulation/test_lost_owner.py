"""A host whose state was lost and that was rebuilt: it takes its own workloads back, and no others."""

import asyncio
import copy
from typing import Any

import pytest

from tests.support.kruise import RESOURCES, kinds
from tests.support.planning import manifest
from tests.support.templates import entries, message, subset, uids
from tests.support.watchdog import Watchdog
from tests.support.world import UDS, World
from uniteddeployment_api import names

HELD = {"member-1": 2, "member-2": 1, "member-3": 2}
REVISIONS = "controllerrevisions.apps"


async def lose_host(world: World) -> str:
    """Lose every object of ours on the host but the Clusters. Return the uid of the UnitedDeployment that was lost."""
    await world.stop_controller()
    access, uid = world.host.access, world.ud()["metadata"]["uid"]
    for found in access.list(REVISIONS, "default"):
        access.delete(REVISIONS, "default", found["metadata"]["name"])
    access.update(UDS, {**world.ud(), "metadata": {**world.ud()["metadata"], "finalizers": []}}, manager="test")
    access.delete(UDS, "default", "web")
    assert world.ud() is None
    world.start_controller()
    return str(uid)


def reclaiming(document: dict[str, Any], uid: str) -> dict[str, Any]:
    document = copy.deepcopy(document)
    document["spec"]["topology"]["adopt"] = {"ownerUID": uid}
    return document


def owners(world: World, kind: str) -> set[str]:
    """The owner uids of all workloads in members."""
    found = [one for member in world.members.values() for one in member.access.list(RESOURCES[kind], "default")]
    return {one["metadata"]["annotations"][names.ANNOTATION_OWNER_UID] for one in found}


def images(world: World) -> dict[str, Any]:
    return {name: world.images(name) for name in world.members}


async def canary(world: World, kind: str) -> dict[str, Any]:
    """Hold a canary. Return its manifest."""
    world.apply(manifest(kind=kind))
    await world.until(world.settled, what="creation")
    document = manifest(kind=kind, image="app:2", partitions=HELD)
    world.apply(document)
    await world.until(world.settled, what="the canary")
    return document


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "deploymentTemplate"))
async def test_a_rebuilt_host_takes_its_canary_back_without_a_restart_and_finishes_it(world: World, kind: str) -> None:
    """Until it is given the old uid it changes nothing, and partitions hold all the time (I6, I7, I13)."""
    document = await canary(world, kind)
    before, held = uids(world), images(world)
    assert held["member-1"] == {"app:1": 2, "app:2": 2}
    dog = Watchdog(world)
    dog.allow("app:2", {"member-1": 2, "member-2": 1, "member-3": 0})
    lost = await lose_host(world)
    world.apply(document)
    await world.until(lambda: world.condition("Stalled") == "True", what="the refusal")
    assert f"belongs to the UnitedDeployment default/web (uid {lost})" in message(world, "Stalled")
    assert owners(world, kind) == {lost}
    world.apply(reclaiming(document, lost))
    await world.until(world.settled, what="taking it back")
    assert owners(world, kind) == {world.ud()["metadata"]["uid"]}
    assert (uids(world), images(world)) == (before, held)
    world.apply(document)
    await world.until(world.settled, what="removing the field")
    await asyncio.sleep(60)
    assert (uids(world), images(world)) == (before, held)
    assert not dog.broken
    world.apply(manifest(kind=kind, image="app:2"))
    await world.until(
        lambda: world.settled() and world.status()["currentRevision"] == world.status()["updatedRevision"]
    )
    assert images(world) == {"member-1": {"app:2": 4}, "member-2": {"app:2": 2}, "member-3": {"app:2": 2}}
    world.delete()
    await world.until(lambda: world.ud() is None and not any(map(world.pods, world.members)), what="the deletion")


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_a_held_pod_that_has_to_be_created_after_the_host_was_lost_stalls_and_is_not_created_at_the_new_revision(
    world: World, kind: str
) -> None:
    """Nobody knows the template of the stable revision any more (I6)."""
    document = await canary(world, kind)
    lost = await lose_host(world)
    gone = [one["metadata"]["name"] for one in world.members["member-3"].access.list(RESOURCES[kind], "default")]
    for name in gone:
        world.members["member-3"].access.delete(RESOURCES[kind], "default", name)
    await world.until(lambda: not world.pods("member-3"), what="the loss of a member")
    world.apply(reclaiming(document, lost))
    await world.until(lambda: world.condition("Stalled") == "True", what="the refusal")
    assert "2 pods that the partition holds cannot be created" in entries(world)["member-3"]["reason"]
    assert "the host that knew the stable version was lost" in entries(world)["member-3"]["reason"]
    await asyncio.sleep(120)
    assert world.images("member-3") == {}
    assert world.images("member-1") == {"app:1": 2, "app:2": 2}
    world.apply(reclaiming(manifest(kind=kind, image="app:2"), lost))
    await world.until(world.settled, what="the end of the rollout")
    assert world.images("member-3") == {"app:2": 2}


@pytest.mark.fleet(members=2)
async def test_a_member_that_cannot_be_seen_after_the_host_was_lost_is_not_taken_for_updated(world: World) -> None:
    """Its pods may all be at the stable revision, so nothing is created beyond a partition elsewhere (I8)."""
    shares = {"member-1": 2, "member-2": 2}
    world.apply(manifest(shares=shares, replicas=4))
    await world.until(world.settled, what="creation")
    held = {"member-2": 2}
    world.apply(manifest(shares=shares, replicas=4, image="app:2", partitions=held))
    await world.until(world.settled, what="the canary")
    world.members["member-2"].faults.set(cut_off=True)
    lost = await lose_host(world)
    held["member-1"] = 1
    world.apply(reclaiming(manifest(shares=shares, replicas=4, image="app:2", partitions=held), lost))
    await world.until(lambda: owned_in(world, "member-1") == world.ud()["metadata"]["uid"], what="taking it back")
    shares["member-1"] = 4
    held["member-1"] = 3
    world.apply(reclaiming(manifest(shares=shares, replicas=6, image="app:2", partitions=held), lost))
    await world.until(lambda: world.condition("Stalled") == "True", what="the refusal")
    assert world.images("member-1") == {"app:2": 2}
    world.members["member-2"].faults.clear()
    await world.until(lambda: owned_in(world, "member-2") == world.ud()["metadata"]["uid"], what="the other one")
    assert world.images("member-2") == {"app:1": 2}


def owned_in(world: World, member: str) -> str:
    (found,) = world.members[member].access.list("statefulsets.apps", "default")
    return str(found["metadata"]["annotations"][names.ANNOTATION_OWNER_UID])


async def test_what_is_no_longer_asked_for_is_taken_back_too_and_goes(world: World) -> None:
    """A subset that the manifest does not have any more is removed as if the host had not been lost (I7, I13)."""
    world.apply(manifest())
    await world.until(world.settled, what="creation")
    lost = await lose_host(world)
    document = manifest(shares={"member-1": "50%", "member-2": None})
    world.apply(reclaiming(document, lost))
    await world.until(lambda: world.settled() and not world.pods("member-3"), what="the removal")
    assert [len(world.pods(name)) for name in world.members] == [4, 4, 0]
    assert owners(world, "statefulSetTemplate") == {world.ud()["metadata"]["uid"]}


async def test_a_paused_application_takes_nothing_back(world: World) -> None:
    world.apply(manifest())
    await world.until(world.settled, what="creation")
    lost = await lose_host(world)
    world.apply(reclaiming(manifest(paused=True), lost))
    await world.until(lambda: world.status().get("observedGeneration") == 1, what="the status")
    await asyncio.sleep(60)
    assert owners(world, "statefulSetTemplate") == {lost}


@pytest.mark.parametrize(
    "annotations",
    [
        {names.ANNOTATION_OWNER: "prod/web"},
        {names.ANNOTATION_OWNER: "default/other"},
        {names.ANNOTATION_OWNER_UID: "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11"},
    ],
    ids=["namespace", "name", "uid"],
)
@pytest.mark.fleet(members=1)
async def test_what_belongs_to_somebody_else_is_not_taken_back(world: World, annotations: dict[str, str]) -> None:
    """The uid in the spec is not enough (I13)."""
    document = manifest(shares={"member-1": 2}, replicas=2)
    world.apply(document)
    await world.until(world.settled, what="creation")
    lost = await lose_host(world)
    access = world.members["member-1"].access
    (found,) = access.list("statefulsets.apps", "default")
    marks = {**found["metadata"]["annotations"], **annotations}
    access.update(
        "statefulsets.apps",
        {**found, "metadata": {**found["metadata"], "annotations": marks}},
        manager="somebody",
    )
    world.apply(reclaiming(document, lost))
    await world.until(lambda: world.condition("Stalled") == "True", what="the refusal")
    assert f"(uid {marks[names.ANNOTATION_OWNER_UID]}) and is left alone" in message(world, "Stalled")
    await asyncio.sleep(60)
    assert access.list("statefulsets.apps", "default")[0]["metadata"]["annotations"] == marks
    world.delete()
    await world.until(lambda: world.ud() is None, what="the deletion")
    await asyncio.sleep(10)
    assert len(world.pods("member-1")) == 2


@pytest.mark.parametrize("orphan", [False, True])
@pytest.mark.fleet(members=1)
async def test_a_deletion_before_anything_is_taken_back_works_on_the_old_workloads(world: World, orphan: bool) -> None:
    """They are its own; with the policy Orphan they stay and belong to nobody (I13)."""
    more: dict[str, Any] = {"deletionPolicy": "Orphan"} if orphan else {}
    document = manifest(shares={"member-1": 2}, replicas=2, paused=True, **more)
    world.apply({**document, "spec": {**document["spec"], "paused": False}})
    await world.until(world.settled, what="creation")
    lost = await lose_host(world)
    world.apply(reclaiming(document, lost))
    await world.until(lambda: "finalizers" in world.ud()["metadata"], what="the finalizer")
    world.delete()
    await world.until(lambda: world.ud() is None, what="the deletion")
    await asyncio.sleep(10)
    left = world.members["member-1"].access.list("statefulsets.apps", "default")
    assert [names.ANNOTATION_OWNER_UID in one["metadata"].get("annotations", {}) for one in left] == (
        [False] if orphan else []
    )


@pytest.mark.fleet(members=1)
async def test_a_workload_that_was_adopted_before_the_host_was_lost_is_taken_back(world: World) -> None:
    """Its pods carry no revision, and the partition holds all the same (I6, I13)."""
    spec = copy.deepcopy(manifest()["spec"]["template"]["statefulSetTemplate"]["spec"])
    spec |= {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    world.request(world.members["member-1"], "POST", path, {"metadata": {"name": "legacy"}, "spec": spec})

    def adopting(**more: Any) -> dict[str, Any]:
        document = manifest(shares={"member-1": 3}, replicas=3, **more)
        subset(document, "member-1")["adopt"] = {"name": "legacy"}
        return document

    world.apply(adopting())
    await world.until(world.settled, what="the adoption")
    document = adopting(image="app:2", partitions={"member-1": 2})
    world.apply(document)
    await world.until(world.settled, what="the canary")
    before = uids(world)
    lost = await lose_host(world)
    world.apply(reclaiming(document, lost))
    await world.until(world.settled, what="taking it back")
    await asyncio.sleep(60)
    assert uids(world) == before
    assert world.images("member-1") == {"app:1": 2, "app:2": 1}
    assert owned_in(world, "member-1") == world.ud()["metadata"]["uid"]
    document = adopting(image="app:2", partitions={"member-1": 3})
    document["spec"] |= {"replicas": 4}
    subset(document, "member-1")["replicas"] = 4
    world.apply(reclaiming(document, lost))
    await world.until(lambda: world.condition("Stalled") == "True", what="the refusal")
    assert "the host that knew the stable version was lost" in entries(world)["member-1"]["reason"]
    assert world.images("member-1") == {"app:1": 2, "app:2": 1}
