"""What a fleet does with changes of others: of a status, of the host's own workloads, and of what may be counted."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from tests.unit.fleet.test_registry import APPLICATION, ONE, TWO, Server, Stage
from tests.unit.kube.fakes import Feed, until
from uniteddeployment.fleet.departure import Left
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.kube.requests import Request
from uniteddeployment.planning.observed import HOST, FleetFacts, Reach
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with structlog.testing.capture_logs():
        yield


async def test_another_process_may_have_decided_for_which_cluster_an_object_is_used() -> None:
    """I14: a new leader reads that from the status, and uses no other one."""
    async with Stage().runs("one") as stage:
        stage.host.objects["one"]["status"] = {**stage.host.objects["one"]["status"], "clusterUID": "uid-of-another"}
        stage.host.put("one")
        await until(lambda: stage.reach(ONE) is not Reach.READY)
        await until(lambda: "and was uid-of-another" in stage.detail(ONE))
        stage.host.objects["one"]["status"] = {**stage.host.objects["one"]["status"], "clusterUID": "uid-1"}
        stage.host.put("one")
        await until(lambda: stage.reach(ONE) is Reach.READY)


async def test_the_host_is_followed_again_after_an_error() -> None:
    """I10"""
    stage = Stage()
    local: Any = stage.fleet._local
    run, errors = local.run, [ZeroDivisionError("secret")]

    async def flaky() -> None:
        if errors:
            raise errors.pop()
        await run()

    local.run = flaky
    async with stage.runs():
        assert stage.fleet.synced
        assert HOST in stage.reached


async def test_facts_are_those_of_cluster_objects() -> None:
    async with Stage().runs("one") as stage:
        assert stage.fleet.facts(HOST) is None
        assert stage.fleet.facts(TWO) is None
        await until(lambda: stage.fleet.fleet_facts() == FleetFacts(1, ()))
        stage.host.put("one", unschedulable=True)
        await until(lambda: stage.fleet.facts(ONE).taints)  # type: ignore[union-attr]
        assert [taint.effect for taint in stage.fleet.facts(ONE).taints] == ["NoSchedule"]  # type: ignore[union-attr]


@pytest.mark.parametrize(("read_only", "counts"), [(False, True), (True, False)])
async def test_capacity_is_counted_unless_it_is_disabled_or_the_fleet_only_reads(read_only: bool, counts: bool) -> None:
    async with Stage(read_only=read_only).runs("one") as stage:
        member = stage.fleet.member(ONE)
        assert member is not None
        asked: list[bool] = []
        member.capacity = SimpleNamespace(enable=asked.append, current=False, retry_now=lambda: None)  # type: ignore[assignment]
        stage.host.put("one", capacity="Disabled")
        await until(lambda: stage.fleet.cluster(ONE).spec.capacity == "Disabled")  # type: ignore[union-attr]
        assert asked == ([False] if counts else [])
        assert stage.fleet.member(ONE) is member, "the connection stays"


async def test_a_cluster_that_is_about_to_leave_shows_nothing_any_more() -> None:
    async with Stage().runs("one") as stage:
        stage.fleet._entries[ONE].closing = True
        view = stage.fleet.view(ONE, APPLICATION)
        assert (view.reach, view.detail) == (Reach.UNKNOWN, "the Cluster is being deleted")


class WithPod(Server):
    """A member with one pod of an application."""

    def feed(self, request: Request) -> Feed:
        if request.resource != "pods":
            return super().feed(request)
        labels = {names.LABEL_NAME: APPLICATION[1], names.LABEL_SUBSET: "a"}
        meta = {"name": "p", "namespace": APPLICATION[0], "uid": "u", "resourceVersion": "1", "labels": labels}
        return Feed().event("ADDED", {"metadata": meta}).bookmark(1, initial_end=True)


async def test_a_change_in_a_member_is_one_of_its_application_there() -> None:
    stage = Stage()
    stage.servers["one.test"] = WithPod("uid-1")
    async with stage.runs("one", "two"):
        await until(lambda: stage.changes)
        assert set(stage.changes) == {(ONE, APPLICATION)}
        assert [bool(stage.fleet.view(name, APPLICATION).pods) for name in (ONE, TWO)] == [True, False]


class Empty:
    """Nothing is left in any cluster."""

    def left(self, _cluster: str, *, seen: bool) -> Left | None:
        return Left() if seen else None

    async def clear(self, _cluster: str) -> None:
        raise AssertionError("there is nothing to clear")


async def test_a_cluster_that_is_being_deleted_leaves_and_its_finalizer_is_removed_as_often_as_it_comes_back() -> None:
    """An answer that was lost, or a backup that is restored, may bring it back."""
    stage = Stage(occupancy=Empty())
    async with stage.runs("one"):

        def finalizers() -> Any:
            return stage.host.objects["one"]["metadata"].get("finalizers")

        await until(lambda: finalizers() == [names.CLUSTER_FINALIZER])
        stage.host.change("one", deletionTimestamp="2026-01-01T00:00:00Z")
        await until(lambda: stage.fleet.cluster(ONE) is None)
        await until(lambda: not finalizers())
        stage.host.change("one", finalizers=[names.CLUSTER_FINALIZER])
        await until(lambda: not finalizers())
        stage.host.change("one", finalizers=["example.com/other"])
        await asyncio.sleep(10)
        assert finalizers() == ["example.com/other"]
        assert stage.fleet.cluster(ONE) is None


@pytest.mark.parametrize("stage", [Stage, lambda: Stage(occupancy=Empty(), read_only=True)], ids=["alone", "read-only"])
async def test_a_cluster_stays_if_this_process_does_not_let_clusters_go(stage: Callable[[], Stage]) -> None:
    made = stage()
    async with made.runs("one"):
        made.host.change("one", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[names.CLUSTER_FINALIZER])
        await asyncio.sleep(60)
        assert made.reach(ONE) is Reach.READY
        assert made.host.objects["one"]["metadata"]["finalizers"] == [names.CLUSTER_FINALIZER]


class Recorded:
    """Keeps Events: the Cluster, the type and the reason."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def event(self, about: ObjectReference, type_: str, reason: str, _note: str, *, action: str) -> None:
        assert (about.kind, about.namespace, action) == ("Cluster", "default", "CheckHealth")
        self.events.append((about.name, type_, reason))


async def test_each_change_of_a_phase_is_an_event_and_no_other_change_is() -> None:
    recorder: Any = Recorded()
    async with Stage(recorder=recorder).runs("one") as stage:
        await until(lambda: recorder.events)
        stage.host.put("one", unschedulable=True)
        await until(lambda: stage.fleet.facts(ONE).taints)  # type: ignore[union-attr]
        stage.host.put("one", suspended=True)
        await until(lambda: len(recorder.events) > 1)
        await asyncio.sleep(60)
        assert recorder.events == [("one", "Normal", "Connected"), ("one", "Normal", "Suspended")]


async def test_a_cluster_that_is_being_deleted_without_our_finalizer_is_gone() -> None:
    """Somebody has removed it to let the object go."""
    stage = Stage()
    async with stage.runs("one", "two"):
        stage.host.change("one", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.com/other"])
        await until(lambda: stage.fleet.cluster(ONE) is None)
        assert stage.fleet.cluster(TWO) is not None


async def test_only_the_members_of_present_connections_are_listened_to() -> None:
    async with Stage().runs("one") as stage:
        fleet: Any = stage.fleet
        former: Any = SimpleNamespace(name=ONE, reach=Reach.OFFLINE, detail="x", undecided=False)
        stage.reached.clear()
        fleet._member_reach_changed(former)
        fleet._capacity_changed(former)
        fleet._probed(former, None, None)
        assert stage.reached == []
        assert stage.reach(ONE) is Reach.READY
