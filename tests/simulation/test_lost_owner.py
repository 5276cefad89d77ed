"""A host whose state was lost and that was rebuilt: it takes its own workloads back, and no others."""

import asyncio
import copy

import pytest

from tests.support.kruise import ALL_KINDS, RESOURCES, world_for
from tests.support.planning import manifest
from tests.support.templates import entries, message, subset, uids
from tests.support.watchdog import Watchdog
from tests.support.world import UDS, simulate, world
from uniteddeployment_api import names

HELD = {"member-1": 2, "member-2": 1, "member-3": 2}
REVISIONS = "controllerrevisions.apps"


async def lose_host(w):
    """Lose every object of ours on the host but the Clusters. Return the uid of the UnitedDeployment that was lost."""
    await w.stop_controller()
    access, uid = w.host.access, w.ud()["metadata"]["uid"]
    for found in access.list(REVISIONS, "default"):
        access.delete(REVISIONS, "default", found["metadata"]["name"])
    access.update(UDS, {**w.ud(), "metadata": {**w.ud()["metadata"], "finalizers": []}}, manager="test")
    access.delete(UDS, "default", "web")
    assert w.ud() is None
    w.start_controller()
    return uid


def reclaiming(document, uid):
    document = copy.deepcopy(document)
    document["spec"]["topology"]["adopt"] = {"ownerUID": uid}
    return document


def owners(w, kind):
    """The owner uids of all workloads in members."""
    found = [one for member in w.members.values() for one in member.access.list(RESOURCES[kind], "default")]
    return {one["metadata"]["annotations"][names.ANNOTATION_OWNER_UID] for one in found}


def images(w):
    return {name: w.images(name) for name in w.members}


async def canary(w, kind):
    """Hold a canary. Return its manifest."""
    w.apply(manifest(kind=kind))
    await w.until(w.settled, what="creation")
    document = manifest(kind=kind, image="app:2", partitions=HELD)
    w.apply(document)
    await w.until(w.settled, what="the canary")
    return document


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_rebuilt_host_takes_its_canary_back_without_a_restart_and_finishes_it(kind):
    """I6, I7, I13: until it is told the old uid it changes nothing, and partitions hold all the time."""

    async def story():
        async with world_for(kind) as w:
            document = await canary(w, kind)
            before, held = uids(w), images(w)
            assert held["member-1"] == {"app:1": 2, "app:2": 2}
            dog = Watchdog(w)
            dog.allow("app:2", {"member-1": 2, "member-2": 1, "member-3": 0})
            lost = await lose_host(w)
            w.apply(document)
            await w.until(lambda: w.condition("Stalled") == "True", what="the refusal")
            assert f"belongs to the UnitedDeployment default/web (uid {lost})" in message(w, "Stalled")
            assert owners(w, kind) == {lost}
            w.apply(reclaiming(document, lost))
            await w.until(w.settled, what="taking it back")
            assert owners(w, kind) == {w.ud()["metadata"]["uid"]}
            assert (uids(w), images(w)) == (before, held)
            w.apply(document)
            await w.until(w.settled, what="removing the field")
            await asyncio.sleep(60)
            assert (uids(w), images(w)) == (before, held)
            assert not dog.broken
            w.apply(manifest(kind=kind, image="app:2"))
            await w.until(lambda: w.settled() and w.status()["currentRevision"] == w.status()["updatedRevision"])
            assert images(w) == {"member-1": {"app:2": 4}, "member-2": {"app:2": 2}, "member-3": {"app:2": 2}}
            w.delete()
            await w.until(lambda: w.ud() is None and not any(map(w.pods, w.members)), what="the deletion")

    simulate(story)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_held_pod_that_has_to_be_created_after_the_host_was_lost_stalls_and_is_not_created_at_the_new_revision(kind):
    """I6: nobody knows the template of the stable revision any more."""

    async def story():
        async with world_for(kind) as w:
            document = await canary(w, kind)
            lost = await lose_host(w)
            gone = [one["metadata"]["name"] for one in w.members["member-3"].access.list(RESOURCES[kind], "default")]
            for name in gone:
                w.members["member-3"].access.delete(RESOURCES[kind], "default", name)
            await w.until(lambda: not w.pods("member-3"), what="the loss of a member")
            w.apply(reclaiming(document, lost))
            await w.until(lambda: w.condition("Stalled") == "True", what="the refusal")
            assert "2 pods that the partition holds cannot be created" in entries(w)["member-3"]["reason"]
            assert "the host that knew the stable version was lost" in entries(w)["member-3"]["reason"]
            await asyncio.sleep(120)
            assert w.images("member-3") == {}
            assert w.images("member-1") == {"app:1": 2, "app:2": 2}
            w.apply(reclaiming(manifest(kind=kind, image="app:2"), lost))
            await w.until(w.settled, what="the end of the rollout")
            assert w.images("member-3") == {"app:2": 2}

    simulate(story)


def test_a_member_that_cannot_be_seen_after_the_host_was_lost_is_not_taken_for_updated():
    """I8: its pods may all be at the stable revision, so nothing is created beyond a partition elsewhere."""

    async def story():
        async with world(members=2) as w:
            shares = {"member-1": 2, "member-2": 2}
            w.apply(manifest(shares=shares, replicas=4))
            await w.until(w.settled, what="creation")
            held = {"member-2": 2}
            w.apply(manifest(shares=shares, replicas=4, image="app:2", partitions=held))
            await w.until(w.settled, what="the canary")
            w.members["member-2"].faults.set(cut_off=True)
            lost = await lose_host(w)
            held["member-1"] = 1
            w.apply(reclaiming(manifest(shares=shares, replicas=4, image="app:2", partitions=held), lost))
            await w.until(lambda: owned_in(w, "member-1") == w.ud()["metadata"]["uid"], what="taking it back")
            shares["member-1"] = 4
            held["member-1"] = 3
            w.apply(reclaiming(manifest(shares=shares, replicas=6, image="app:2", partitions=held), lost))
            await w.until(lambda: w.condition("Stalled") == "True", what="the refusal")
            assert w.images("member-1") == {"app:2": 2}
            w.members["member-2"].faults.clear()
            await w.until(lambda: owned_in(w, "member-2") == w.ud()["metadata"]["uid"], what="the other one")
            assert w.images("member-2") == {"app:1": 2}

    simulate(story)


def owned_in(w, member):
    (found,) = w.members[member].access.list("statefulsets.apps", "default")
    return found["metadata"]["annotations"][names.ANNOTATION_OWNER_UID]


def test_what_is_no_longer_asked_for_is_taken_back_too_and_goes():
    """I7, I13: a subset that the manifest does not have any more is removed as if the host had not been lost."""

    async def story():
        async with world() as w:
            w.apply(manifest())
            await w.until(w.settled, what="creation")
            lost = await lose_host(w)
            document = manifest(shares={"member-1": "50%", "member-2": None})
            w.apply(reclaiming(document, lost))
            await w.until(lambda: w.settled() and not w.pods("member-3"), what="the removal")
            assert [len(w.pods(name)) for name in w.members] == [4, 4, 0]
            assert owners(w, "statefulSetTemplate") == {w.ud()["metadata"]["uid"]}

    simulate(story)


def test_a_paused_application_takes_nothing_back():
    async def story():
        async with world() as w:
            w.apply(manifest())
            await w.until(w.settled, what="creation")
            lost = await lose_host(w)
            w.apply(reclaiming(manifest(paused=True), lost))
            await w.until(lambda: w.status().get("observedGeneration") == 1, what="the status")
            await asyncio.sleep(60)
            assert owners(w, "statefulSetTemplate") == {lost}

    simulate(story)


@pytest.mark.parametrize(
    "annotations",
    [
        {names.ANNOTATION_OWNER: "prod/web"},
        {names.ANNOTATION_OWNER: "default/other"},
        {names.ANNOTATION_OWNER_UID: "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11"},
    ],
    ids=["namespace", "name", "uid"],
)
def test_what_belongs_to_somebody_else_is_not_taken_back(annotations):
    """I13: the uid in the spec is not enough."""

    async def story():
        async with world(members=1) as w:
            document = manifest(shares={"member-1": 2}, replicas=2)
            w.apply(document)
            await w.until(w.settled, what="creation")
            lost = await lose_host(w)
            access = w.members["member-1"].access
            (found,) = access.list("statefulsets.apps", "default")
            marks = {**found["metadata"]["annotations"], **annotations}
            access.update(
                "statefulsets.apps",
                {**found, "metadata": {**found["metadata"], "annotations": marks}},
                manager="somebody",
            )
            w.apply(reclaiming(document, lost))
            await w.until(lambda: w.condition("Stalled") == "True", what="the refusal")
            assert f"(uid {marks[names.ANNOTATION_OWNER_UID]}) and is left alone" in message(w, "Stalled")
            await asyncio.sleep(60)
            assert access.list("statefulsets.apps", "default")[0]["metadata"]["annotations"] == marks
            w.delete()
            await w.until(lambda: w.ud() is None, what="the deletion")
            await asyncio.sleep(10)
            assert len(w.pods("member-1")) == 2

    simulate(story)


@pytest.mark.parametrize("orphan", [False, True])
def test_a_deletion_before_anything_is_taken_back_works_on_the_old_workloads(orphan):
    """I13: they are its own; with the policy Orphan they stay and belong to nobody."""

    async def story():
        async with world(members=1) as w:
            more = {"deletionPolicy": "Orphan"} if orphan else {}
            document = manifest(shares={"member-1": 2}, replicas=2, paused=True, **more)
            w.apply({**document, "spec": {**document["spec"], "paused": False}})
            await w.until(w.settled, what="creation")
            lost = await lose_host(w)
            w.apply(reclaiming(document, lost))
            await w.until(lambda: "finalizers" in w.ud()["metadata"], what="the finalizer")
            w.delete()
            await w.until(lambda: w.ud() is None, what="the deletion")
            await asyncio.sleep(10)
            left = w.members["member-1"].access.list("statefulsets.apps", "default")
            assert [names.ANNOTATION_OWNER_UID in one["metadata"].get("annotations", {}) for one in left] == (
                [False] if orphan else []
            )

    simulate(story)


def test_a_workload_that_was_adopted_before_the_host_was_lost_is_taken_back():
    """I6, I13: its pods carry no revision, and the partition holds all the same."""

    async def story():
        async with world(members=1) as w:
            spec = copy.deepcopy(manifest()["spec"]["template"]["statefulSetTemplate"]["spec"])
            spec |= {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}
            path = "/apis/apps/v1/namespaces/default/statefulsets"
            w.request(w.members["member-1"], "POST", path, {"metadata": {"name": "legacy"}, "spec": spec})

            def adopting(**more):
                document = manifest(shares={"member-1": 3}, replicas=3, **more)
                subset(document, "member-1")["adopt"] = {"name": "legacy"}
                return document

            w.apply(adopting())
            await w.until(w.settled, what="the adoption")
            document = adopting(image="app:2", partitions={"member-1": 2})
            w.apply(document)
            await w.until(w.settled, what="the canary")
            before = uids(w)
            lost = await lose_host(w)
            w.apply(reclaiming(document, lost))
            await w.until(w.settled, what="taking it back")
            await asyncio.sleep(60)
            assert uids(w) == before
            assert w.images("member-1") == {"app:1": 2, "app:2": 1}
            assert owned_in(w, "member-1") == w.ud()["metadata"]["uid"]
            document = adopting(image="app:2", partitions={"member-1": 3})
            document["spec"] |= {"replicas": 4}
            subset(document, "member-1")["replicas"] = 4
            w.apply(reclaiming(document, lost))
            await w.until(lambda: w.condition("Stalled") == "True", what="the refusal")
            assert "the host that knew the stable version was lost" in entries(w)["member-1"]["reason"]
            assert w.images("member-1") == {"app:1": 2, "app:2": 1}

    simulate(story)
