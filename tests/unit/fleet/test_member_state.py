"""What a member shows before it has answered, while it fails, and what it watches."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from tests.support import planning as make
from tests.unit.fleet.test_registry import Server
from tests.unit.kube.fakes import Feed, running, status_answer, until
from uniteddeployment.fleet.health import NOT_HEALTHY, UNAUTHORIZED, Trouble
from uniteddeployment.fleet.member import CONNECTING, PROBE_INTERVAL, WATCH_GRACE_SECONDS, Member
from uniteddeployment.fleet.status import Facts
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer
from uniteddeployment.planning.observed import MemberView, Reach, tally
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
APPLICATION = ("default", "web")
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with structlog.testing.capture_logs():
        yield


class Scripted(Server):
    """An API server whose answers to some paths a test sets. It notes what it is asked.

    ``refused`` are the kinds that it does not list or watch, with the status.
    """

    def __init__(self) -> None:
        super().__init__("u")
        self.answers: dict[str, Answer] = {}
        self.feeds: dict[str, Feed] = {}
        self.refused: dict[str, int] = {}
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.answers.get(request.path.rpartition("/")[2], super().answer(request))

    def feed(self, request: Request) -> Feed:
        self.asked.append(request)
        kind = request.path.rpartition("/")[2]
        if kind in self.refused:
            reason = {403: "Forbidden", 404: "NotFound"}.get(self.refused[kind], "InternalError")
            status = {"kind": "Status", "code": self.refused[kind], "reason": reason, "message": f"no {kind}"}
            return Feed(self.refused[kind], status)
        return self.feeds.get(kind) or super().feed(request)


class Stage:
    """A member that is not running yet, and notes of what it reports."""

    def __init__(self, **options: Any) -> None:
        self.server = Scripted()
        self.changes: list[Any] = []
        self.probes: list[tuple[Trouble | None, datetime]] = []
        self.member = Member(
            "ns/m",
            Client(self.server, "ns/m"),
            on_change=lambda _: None,
            on_reach_changed=lambda member: self.changes.append((member.reach, member.detail)),
            on_probed=lambda _member, trouble, began: self.probes.append((trouble, began)),
            now=lambda: BEGUN + timedelta(seconds=asyncio.get_running_loop().time()),
            uid="u",
            **options,
        )

    async def ready(self) -> None:
        await until(lambda: self.member.reach is Reach.READY)


async def test_a_new_member_is_pending_and_knows_what_was_known_before() -> None:
    member = Stage(last_contact="before").member
    assert member.view(APPLICATION) == MemberView(
        "ns/m", Reach.PENDING, CONNECTING, "before", (), {}, {}, {}, undecided=True
    )
    assert (member.facts, member.undecided, member.namespaces) == (Facts(), True, None)
    assert not member.failing.is_set()
    assert not member.replaced.is_set()
    assert member.capacity.nodes is None


async def test_a_view_has_the_workloads_and_pods_of_the_application_without_kinds_that_are_not_served() -> None:
    member = Stage().member
    app = make.application(make.manifest())
    workload = make.stateful_set(app, "member-1", replicas=1)
    pods = make.pods(app, "member-1", [app.revision_of("member-1")])
    member.cache.merge("StatefulSet", workload)
    for pod in pods:
        member.cache.pod_cache.merge(pod)
    view = member.view(APPLICATION)
    assert view.workloads == (workload,)
    assert view.pods == {"member-1": tally(pods)}
    member.unserved = {"StatefulSet": "not here"}
    assert member.view(APPLICATION).workloads == ()
    member.unread = {"Deployment": "it cannot be read"}
    assert member.view(APPLICATION).unserved == {"StatefulSet": "not here"}
    assert member.view(APPLICATION).unread == {"Deployment": "it cannot be read"}
    assert member.view(("default", "other")).pods == {}


@pytest.mark.parametrize("namespace", [None, "shop"])
async def test_a_member_watches_our_workloads_and_pods_in_its_namespaces(namespace: str | None) -> None:
    stage = Stage(namespace=namespace)
    async with running(stage.member.run()):
        await stage.ready()
    scope = f"/namespaces/{namespace}" if namespace else ""
    watched = {
        request.path: dict(request.query).get("labelSelector")
        for request in stage.server.asked
        if request.verb in ("watch", "list") and "labelSelector" in dict(request.query)
    }
    paths = ("apps/v1", "statefulsets"), ("apps/v1", "deployments")
    kruise = ("apps.kruise.io/v1alpha1", "clonesets"), ("apps.kruise.io/v1beta1", "statefulsets")
    expected = {f"/apis/{group}{scope}/{plural}" for group, plural in (*paths, *kruise)} | {f"/api/v1{scope}/pods"}
    assert watched == dict.fromkeys(expected, names.LABEL_NAME)


async def test_a_ready_member_knows_when_it_was_seen_and_shows_no_time() -> None:
    stage = Stage(last_contact="before")
    async with running(stage.member.run()):
        await stage.ready()
        assert stage.member.detail == ""
        assert stage.member.facts.version == "v1.36.0"
        assert stage.member.last_contact is not None
        assert stage.member.last_contact.startswith("2026-01-01T00:00:")
        assert stage.member.view(APPLICATION).last_contact is None
        assert stage.changes[-1] == (Reach.READY, "")
        await until(lambda: stage.probes)
        assert stage.probes[0][0] is None


@pytest.mark.parametrize(
    ("status", "unserved", "unread"),
    [
        (404, "does not serve CloneSet apps.kruise.io/v1alpha1: install OpenKruise there", ""),
        (403, "", "its clonesets.apps.kruise.io cannot be read: no clonesets"),
    ],
)
async def test_a_kind_of_a_provider_that_cannot_be_read_is_named_and_the_member_is_ready(
    status: int, unserved: str, unread: str
) -> None:
    """I10: other kinds are not affected."""
    stage = Stage()
    stage.server.refused["clonesets"] = status
    async with running(stage.member.run()):
        await stage.ready()
        await until(lambda: stage.member.unserved or stage.member.unread)
        assert stage.member.reach is Reach.READY
        view = stage.member.view(APPLICATION)
        assert view.unserved == ({"CloneSet": unserved} if unserved else {})
        assert view.unread.keys() == ({"CloneSet"} if unread else set())
        assert view.unread.get("CloneSet", "").startswith(unread)


async def test_a_member_whose_pods_cannot_be_listed_is_pending_and_says_why() -> None:
    """I8: its pods are unknown, whatever else can be read."""
    stage = Stage()
    stage.server.refused["pods"] = 403
    async with running(stage.member.run()):
        await until(lambda: not stage.member.undecided)
        assert stage.member.reach is Reach.PENDING
        assert stage.member.detail.endswith("no pods")
        await until(lambda: stage.probes)
        trouble, _ = stage.probes[-1]
        assert trouble is not None
        assert (trouble.reason, trouble.detail.endswith("no pods")) == (UNAUTHORIZED, True)


@pytest.mark.parametrize("kind", ["pods", "statefulsets"])
async def test_a_member_whose_objects_cannot_be_watched_any_more_is_offline_after_a_grace_and_says_why(
    kind: str,
) -> None:
    """I3, I8: a watch that breaks and is opened again changes nothing."""
    stage = Stage()
    watch = stage.server.feeds[kind] = Feed().bookmark(1, initial_end=True)
    async with running(stage.member.run()):
        await stage.ready()
        stage.probes.clear()
        stage.server.refused[kind] = 500
        watch.end()
        await asyncio.sleep(WATCH_GRACE_SECONDS * 0.9)
        assert stage.member.reach is Reach.READY
        await until(lambda: stage.member.reach is Reach.OFFLINE)
        assert stage.member.detail.startswith("it answers, but its objects cannot be watched: ")
        await until(lambda: stage.probes and stage.probes[-1][0] is not None)
        del stage.server.refused[kind], stage.server.feeds[kind]
        await stage.ready()
        await until(lambda: stage.probes[-1][0] is None)


async def test_two_failed_probes_make_a_member_offline_and_the_first_answer_ready_again() -> None:
    stage = Stage()
    async with running(stage.member.run()):
        await stage.ready()
        stage.server.answers["kube-system"] = status_answer(500, "InternalError")
        stage.server.answers["readyz"] = Answer(500, {}, b"[-]etcd failed\n")
        stage.probes.clear()
        await until(lambda: stage.probes)
        assert stage.member.reach is Reach.READY, "one failed probe changes nothing"
        assert stage.member.failing.is_set()
        detail = "it answers 500 InternalError; failing checks: etcd"
        assert stage.probes[0][0] == Trouble(NOT_HEALTHY, detail)
        await until(lambda: stage.member.reach is Reach.OFFLINE)
        assert stage.changes[-1] == (Reach.OFFLINE, detail)
        assert stage.member.view(APPLICATION).last_contact is not None
        checks = [request for request in stage.server.asked if request.path == "/readyz"]
        assert len(checks) == 1, "a server that fails is not asked again and again"
        stage.server.answers.clear()
        await stage.ready()
        assert not stage.member.failing.is_set()


async def test_a_member_is_probed_at_fixed_intervals_and_when_asked() -> None:
    stage = Stage()
    async with running(stage.member.run()):
        await stage.ready()
        await asyncio.sleep(1)
        stage.probes.clear()
        await asyncio.sleep(PROBE_INTERVAL * 2)
        assert len(stage.probes) == 2
        (_, first), (_, second) = stage.probes
        assert (second - first).total_seconds() == PROBE_INTERVAL
        stage.member.probe_soon()
        await until(lambda: len(stage.probes) == 3)


async def test_another_cluster_at_the_address_is_noticed() -> None:
    """I14"""
    stage = Stage()
    stage.server.uid = "another"
    async with running(stage.member.run()):
        await until(stage.member.replaced.is_set)
        with pytest.raises(Exception, match="another cluster answers at its address"):
            await stage.member._identify()


@pytest.mark.parametrize(
    ("reach", "after", "known"),
    [
        (Reach.READY, Reach.OFFLINE, True),
        (Reach.OFFLINE, Reach.OFFLINE, True),
        (Reach.PENDING, Reach.PENDING, False),
    ],
)
async def test_a_member_that_is_no_longer_followed_keeps_what_it_showed(
    reach: Reach, after: Reach, known: bool
) -> None:
    member = Stage().member
    member.reach = reach
    assert member.disconnect("why") is known
    assert (member.reach, member.detail, member.undecided) == (after, "why", False)
