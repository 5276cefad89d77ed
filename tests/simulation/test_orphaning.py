"""``--cascade=orphan`` and ``spec.deletionPolicy: Orphan``: the application goes, and what runs in members stays.

The garbage collector of a real cluster removes the finalizer ``orphan`` within milliseconds, so the last state of the
object rarely shows what was asked for.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest

from tests.support.inprocess import InProcessTransport
from tests.support.kruise import RESOURCES, kinds
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.templates import PATH, done, uids
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.storage.store import HistoryLimits
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Stream
from uniteddeployment_api import names

REVISIONS = "controllerrevisions.apps"


def document(kind: str = "statefulSetTemplate", **more: Any) -> dict[str, Any]:
    return manifest(kind=kind, shares={"member-1": 2, "member-2": 2}, replicas=4, **more)


def orphan(world: World) -> None:
    """What ``kubectl delete --cascade=orphan`` sends."""
    world.request(world.host, "DELETE", f"{PATH}/web", {"propagationPolicy": "Orphan"})


def delete(world: World) -> None:
    """What ``kubectl delete`` sends."""
    world.request(world.host, "DELETE", f"{PATH}/web", {"propagationPolicy": "Background"})


async def collected(world: World) -> None:
    """Until the garbage collector has done its part."""
    await world.until(
        lambda: "orphan" not in (world.ud() or {"metadata": {}})["metadata"].get("finalizers", ()), every=0.001
    )


def marks(world: World, member: str, kind: str = "statefulSetTemplate") -> list[str]:
    """Our marks on the workloads of a member."""
    return [
        mark
        for one in world.members[member].access.list(RESOURCES[kind], "default")
        for mark in (*one["metadata"].get("labels", {}), *one["metadata"].get("annotations", {}))
        if mark.startswith(names.GROUP)
    ]


async def left_alone(world: World, before: set[str], kind: str = "statefulSetTemplate") -> None:
    """The application goes, every pod stays, and nothing says any more that it is ours."""
    await world.until(lambda: world.ud() is None, what="the deletion")
    await asyncio.sleep(60)
    assert uids(world) == before
    for member in world.members:
        assert len(world.members[member].access.list(RESOURCES[kind], "default")) >= 1
        assert marks(world, member, kind) == []
    assert not [
        one for one in world.host.access.list(REVISIONS, "default") if one["metadata"]["name"].startswith("web-")
    ]


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "advancedStatefulSetTemplate"))
@pytest.mark.fleet(members=2)
async def test_workloads_stay_when_the_finalizer_is_gone_before_anybody_has_acted(world: World, kind: str) -> None:
    """Both events come in one piece, and only the last state is planned for (I7, I9)."""
    await done(world, document(kind))
    before = uids(world)
    world.host.faults.set(slow_watch=3.0)
    orphan(world)
    await collected(world)
    await left_alone(world, before, kind)


@pytest.mark.fleet(members=2, history=HistoryLimits(events=50))
async def test_workloads_stay_when_a_list_shows_the_last_state_only(world: World) -> None:
    """The watch was broken, its place is forgotten, and the object is listed as it was left (I7, I9)."""
    await done(world, document())
    before = uids(world)
    world.host.faults.set(cut_off=True)
    await asyncio.sleep(1)
    orphan(world)
    await collected(world)
    for number in range(60):
        world.host.access.create(
            "configmaps", {"metadata": {"name": f"c{number}", "namespace": "default"}}, manager="t"
        )
    world.host.faults.clear()
    await left_alone(world, before)
    assert present(world.controller).host.deployments.relists == 1


@pytest.mark.parametrize("limit", [0, 10])
@pytest.mark.fleet(members=2)
async def test_workloads_stay_when_the_controller_was_down(world: World, limit: int) -> None:
    """The revisions on the host have lost their owner, which only ``--cascade=orphan`` does (I7, I9)."""
    await done(world, document(revisionHistoryLimit=limit))
    before = uids(world)
    await world.stop_controller()
    orphan(world)
    await collected(world)
    assert world.ud()["metadata"]["finalizers"] == [names.FINALIZER]
    world.start_controller()
    await left_alone(world, before)


@pytest.mark.parametrize(
    ("writes", "policy"),
    some(list(product(range(1, 7), [False, True])), [(writes, writes % 2 == 0) for writes in range(1, 7)]),
)
@pytest.mark.fleet(members=2)
async def test_workloads_stay_wherever_the_controller_dies(world: World, policy: bool, writes: int) -> None:
    """It dies after its n-th write since the deletion, and another one takes over (I9)."""
    doc = document()
    if policy:
        doc["spec"]["deletionPolicy"] = "Orphan"
    await done(world, doc)
    before = uids(world)
    sent = {name: len(one.sent) for name, one in world.transports.items()}

    def written() -> bool:
        new = [one for name, t in world.transports.items() for one in t.sent[sent[name] :]]
        return sum(one.method != "GET" for one in new) >= writes or world.ud() is None

    (delete if policy else orphan)(world)
    await world.until(written, what="the writes", every=0.0005)
    world.kill_controller()
    await asyncio.sleep(1)
    world.start_controller()
    await left_alone(world, before)


@pytest.mark.fleet(members=2)
async def test_workloads_stay_when_the_revisions_that_show_it_are_lost_after_it_was_seen(world: World) -> None:
    """The application itself says so from the first write on: a deletion can wait for days for a member (I7, I9)."""
    await done(world, document())
    before = uids(world, "member-2")
    world.members["member-2"].faults.set(cut_off=True)
    orphan(world)
    await world.until(lambda: not marks(world, "member-1"), what="the release of the member that answers")
    await world.stop_controller()
    for one in list(world.host.access.list(REVISIONS, "default")):
        world.host.access.delete(REVISIONS, "default", one["metadata"]["name"])
    world.members["member-2"].faults.clear()
    world.start_controller()
    await world.until(lambda: world.ud() is None, what="the deletion")
    await asyncio.sleep(60)
    assert uids(world, "member-2") == before
    assert marks(world, "member-2") == []


@pytest.mark.fleet(members=2)
async def test_a_deletion_that_turns_into_orphaning_keeps_what_is_left(world: World) -> None:
    """One member is not reached by then; the second deletion says that its workloads stay (I7)."""
    await done(world, document())
    before = uids(world, "member-2")
    world.members["member-2"].faults.set(cut_off=True)
    delete(world)
    await world.until(lambda: not workloads(world, "member-1"), what="the workloads that were reached to go")
    orphan(world)
    await collected(world)
    world.members["member-2"].faults.clear()
    await world.until(lambda: world.ud() is None, what="the deletion")
    await asyncio.sleep(60)
    assert uids(world, "member-2") == before
    assert marks(world, "member-2") == []


@pytest.mark.parametrize("when", ["before", "while deleting"])
@pytest.mark.fleet(members=2)
async def test_the_deletion_policy_keeps_workloads_with_the_controller_down(world: World, when: str) -> None:
    """Spec.deletionPolicy is for certainty; it can still be set while a deletion waits (I7)."""
    doc = document()
    if when == "before":
        doc["spec"]["deletionPolicy"] = "Orphan"
    await done(world, doc)
    before = uids(world)
    await world.stop_controller()
    delete(world)
    if when == "while deleting":
        patch = {"spec": {"deletionPolicy": "Orphan"}}
        world.request(world.host, "PATCH", f"{PATH}/web", patch, content_type="application/merge-patch+json")
    world.start_controller()
    await left_alone(world, before)


@pytest.mark.parametrize("policy", [None, "Delete"])
@pytest.mark.fleet(members=2)
async def test_an_ordinary_deletion_deletes(world: World, policy: str | None) -> None:
    """What is not asked to stay goes, also after a restart in the middle."""
    doc = document()
    if policy:
        doc["spec"]["deletionPolicy"] = policy
    await done(world, doc)
    world.members["member-2"].faults.set(cut_off=True)
    delete(world)
    await world.until(lambda: not workloads(world, "member-1"), what="the first")
    await world.stop_controller()
    world.members["member-2"].faults.clear()
    world.start_controller()
    await world.until(lambda: world.ud() is None and not uids(world), what="the deletion")


@pytest.mark.fleet(members=2)
async def test_a_revision_without_owner_gets_it_back_so_that_a_later_deletion_deletes(world: World) -> None:
    """Its missing owner would be taken for ``--cascade=orphan``; a restored backup has such revisions."""
    await done(world, document())

    def revisions() -> list[dict[str, Any]]:
        found = world.host.access.list(REVISIONS, "default")
        return [one for one in found if one["metadata"]["name"].startswith("web-")]

    (one,) = revisions()
    bare = {**one, "metadata": {**one["metadata"], "ownerReferences": []}}
    world.host.access.update(REVISIONS, bare, manager="test")
    await world.until(
        lambda: revisions()[0]["metadata"].get("ownerReferences") == one["metadata"]["ownerReferences"],
        seconds=5,
        what="the owner",
    )
    delete(world)
    await world.until(lambda: world.ud() is None and not uids(world), what="the deletion")


@pytest.mark.fleet(members=2, controller=False)
async def test_a_revision_that_loses_its_owner_before_the_deletion_is_seen_does_not_get_it_back(world: World) -> None:
    """The watch of the revisions may be ahead of that of the UnitedDeployments (I9)."""
    world.start_controller()
    gate = held_back(world.transports["host"], "uniteddeployments")
    await done(world, document())
    before = uids(world)
    gate.clear()
    references = []

    def note(change: Change) -> None:
        if change.obj["metadata"]["name"].startswith("web-"):
            references.append(bool(change.obj["metadata"].get("ownerReferences")))

    world.host.access.subscribe(REVISIONS, note)
    orphan(world)
    await collected(world)
    await asyncio.sleep(2)
    assert not any(references)
    world.kill_controller()
    world.start_controller()
    await left_alone(world, before)


def held_back(transport: InProcessTransport, resource: str) -> asyncio.Event:
    """An Event that lets the watch of one resource through as long as it is set."""
    opened, gate = transport.stream, asyncio.Event()
    gate.set()

    async def through(chunks: Any) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            await gate.wait()
            yield chunk

    @asynccontextmanager
    async def stream(request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # part of the protocol
        async with opened(request, timeout=timeout) as found:
            late = request.resource == resource
            yield Stream(found.status, found.headers, through(found.chunks)) if late else found

    transport.stream = stream  # type: ignore[method-assign]  # only in this test
    return gate
