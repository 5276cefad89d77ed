"""``--cascade=orphan`` and ``spec.deletionPolicy: Orphan``: the application goes, and what runs in members stays.

The garbage collector of a real cluster removes the finalizer ``orphan`` within milliseconds, so the last state of the
object rarely shows what was asked for.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.support.kruise import ALL_KINDS, RESOURCES, world_for
from tests.support.planning import manifest
from tests.support.templates import PATH, done, uids
from tests.support.watchdog import workloads
from tests.support.world import simulate, world
from uniteddeployment.embedded.storage.store import HistoryLimits
from uniteddeployment.kube.transport import Stream
from uniteddeployment_api import names

REVISIONS = "controllerrevisions.apps"


def document(kind="statefulSetTemplate", **more):
    return manifest(kind=kind, shares={"member-1": 2, "member-2": 2}, replicas=4, **more)


def orphan(w):
    """What ``kubectl delete --cascade=orphan`` sends."""
    w.request(w.host, "DELETE", f"{PATH}/web", {"propagationPolicy": "Orphan"})


def delete(w):
    """What ``kubectl delete`` sends."""
    w.request(w.host, "DELETE", f"{PATH}/web", {"propagationPolicy": "Background"})


async def collected(w):
    """Until the garbage collector has done its part."""
    await w.until(lambda: "orphan" not in (w.ud() or {"metadata": {}})["metadata"].get("finalizers", ()), every=0.001)


def marks(w, member, kind="statefulSetTemplate"):
    """Our marks on the workloads of a member."""
    return [
        mark
        for one in w.members[member].access.list(RESOURCES[kind], "default")
        for mark in (*one["metadata"].get("labels", {}), *one["metadata"].get("annotations", {}))
        if mark.startswith(names.GROUP)
    ]


async def left_alone(w, before, kind="statefulSetTemplate"):
    """The application goes, every pod stays, and nothing says any more that it is ours."""
    await w.until(lambda: w.ud() is None, what="the deletion")
    await asyncio.sleep(60)
    assert uids(w) == before
    for member in w.members:
        assert len(w.members[member].access.list(RESOURCES[kind], "default")) >= 1
        assert marks(w, member, kind) == []
    assert not [one for one in w.host.access.list(REVISIONS, "default") if one["metadata"]["name"].startswith("web-")]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_workloads_stay_when_the_finalizer_is_gone_before_anybody_has_acted(kind):
    """I7, I9: both events come in one piece, and only the last state is planned for."""

    async def story():
        async with world_for(kind, members=2) as w:
            await done(w, document(kind))
            before = uids(w)
            w.host.faults.set(slow_watch=3.0)
            orphan(w)
            await collected(w)
            await left_alone(w, before, kind)

    simulate(story)


def test_workloads_stay_when_a_list_shows_the_last_state_only():
    """I7, I9: the watch was broken, its place is forgotten, and the object is listed as it was left."""

    async def story():
        async with world(members=2, history=HistoryLimits(events=50)) as w:
            await done(w, document())
            before = uids(w)
            w.host.faults.set(cut_off=True)
            await asyncio.sleep(1)
            orphan(w)
            await collected(w)
            for number in range(60):
                w.host.access.create(
                    "configmaps", {"metadata": {"name": f"c{number}", "namespace": "default"}}, manager="t"
                )
            w.host.faults.clear()
            await left_alone(w, before)
            assert w.controller.host.deployments.relists == 1

    simulate(story)


@pytest.mark.parametrize("limit", [0, 10])
def test_workloads_stay_when_the_controller_was_down(limit):
    """I7, I9: the revisions on the host have lost their owner, which only ``--cascade=orphan`` does."""

    async def story():
        async with world(members=2) as w:
            await done(w, document(revisionHistoryLimit=limit))
            before = uids(w)
            await w.stop_controller()
            orphan(w)
            await collected(w)
            assert w.ud()["metadata"]["finalizers"] == [names.FINALIZER]
            w.start_controller()
            await left_alone(w, before)

    simulate(story)


@pytest.mark.parametrize("policy", [False, True])
@pytest.mark.parametrize("writes", range(1, 7))
def test_workloads_stay_wherever_the_controller_dies(policy, writes):
    """I9: it dies after its n-th write since the deletion, and another one takes over."""

    async def story():
        async with world(members=2) as w:
            doc = document()
            if policy:
                doc["spec"]["deletionPolicy"] = "Orphan"
            await done(w, doc)
            before = uids(w)
            sent = {name: len(one.sent) for name, one in w.transports.items()}

            def written():
                new = [one for name, t in w.transports.items() for one in t.sent[sent[name] :]]
                return sum(one.method != "GET" for one in new) >= writes or w.ud() is None

            (delete if policy else orphan)(w)
            await w.until(written, what="the writes", every=0.0005)
            w.kill_controller()
            await asyncio.sleep(1)
            w.start_controller()
            await left_alone(w, before)

    simulate(story)


def test_a_deletion_that_turns_into_orphaning_keeps_what_is_left():
    """I7: one member is not reached by then; the second deletion says that its workloads stay."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            before = uids(w, "member-2")
            w.members["member-2"].faults.set(cut_off=True)
            delete(w)
            await w.until(lambda: not workloads(w, "member-1"), what="the workloads that were reached to go")
            orphan(w)
            await collected(w)
            w.members["member-2"].faults.clear()
            await w.until(lambda: w.ud() is None, what="the deletion")
            await asyncio.sleep(60)
            assert uids(w, "member-2") == before
            assert marks(w, "member-2") == []

    simulate(story)


@pytest.mark.parametrize("when", ["before", "while deleting"])
def test_the_deletion_policy_keeps_workloads_with_the_controller_down(when):
    """I7: spec.deletionPolicy is for certainty; it can still be set while a deletion waits."""

    async def story():
        async with world(members=2) as w:
            doc = document()
            if when == "before":
                doc["spec"]["deletionPolicy"] = "Orphan"
            await done(w, doc)
            before = uids(w)
            await w.stop_controller()
            delete(w)
            if when == "while deleting":
                patch = {"spec": {"deletionPolicy": "Orphan"}}
                w.request(w.host, "PATCH", f"{PATH}/web", patch, content_type="application/merge-patch+json")
            w.start_controller()
            await left_alone(w, before)

    simulate(story)


@pytest.mark.parametrize("policy", [None, "Delete"])
def test_an_ordinary_deletion_deletes(policy):
    """What is not asked to stay goes, also after a restart in the middle."""

    async def story():
        async with world(members=2) as w:
            doc = document()
            if policy:
                doc["spec"]["deletionPolicy"] = policy
            await done(w, doc)
            w.members["member-2"].faults.set(cut_off=True)
            delete(w)
            await w.until(lambda: not workloads(w, "member-1"), what="the first")
            await w.stop_controller()
            w.members["member-2"].faults.clear()
            w.start_controller()
            await w.until(lambda: w.ud() is None and not uids(w), what="the deletion")

    simulate(story)


def test_a_revision_without_owner_gets_it_back_so_that_a_later_deletion_deletes():
    """Its missing owner would be taken for ``--cascade=orphan``; a restored backup has such revisions."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())

            def revisions():
                found = w.host.access.list(REVISIONS, "default")
                return [one for one in found if one["metadata"]["name"].startswith("web-")]

            (one,) = revisions()
            bare = {**one, "metadata": {**one["metadata"], "ownerReferences": []}}
            w.host.access.update(REVISIONS, bare, manager="test")
            await w.until(
                lambda: revisions()[0]["metadata"].get("ownerReferences") == one["metadata"]["ownerReferences"],
                seconds=5,
                what="the owner",
            )
            delete(w)
            await w.until(lambda: w.ud() is None and not uids(w), what="the deletion")

    simulate(story)


def test_a_revision_that_loses_its_owner_before_the_deletion_is_seen_does_not_get_it_back():
    """I9: the watch of the revisions may be ahead of that of the UnitedDeployments."""

    async def story():
        async with world(members=2, controller=False) as w:
            w.start_controller()
            gate = held_back(w.transports["host"], "uniteddeployments")
            await done(w, document())
            before = uids(w)
            gate.clear()
            references = []

            def note(change):
                if change.obj["metadata"]["name"].startswith("web-"):
                    references.append(bool(change.obj["metadata"].get("ownerReferences")))

            w.host.access.subscribe(REVISIONS, note)
            orphan(w)
            await collected(w)
            await asyncio.sleep(2)
            assert not any(references)
            w.kill_controller()
            w.start_controller()
            await left_alone(w, before)

    simulate(story)


def held_back(transport, resource):
    """An Event that lets the watch of one resource through as long as it is set."""
    opened, gate = transport.stream, asyncio.Event()
    gate.set()

    async def through(chunks):
        async for chunk in chunks:
            await gate.wait()
            yield chunk

    @asynccontextmanager
    async def stream(request, *, timeout):  # noqa: ASYNC109  # part of the protocol
        async with opened(request, timeout=timeout) as found:
            late = request.resource == resource
            yield Stream(found.status, found.headers, through(found.chunks)) if late else found

    transport.stream = stream
    return gate
