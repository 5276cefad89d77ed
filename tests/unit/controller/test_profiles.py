"""The Clusters that are created and corrected for ClusterProfiles, and what is said if there is none."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.unit.controller.retries import pauses
from tests.unit.fleet.test_profiles import provider
from tests.unit.kube.fakes import FakeTransport, Feed, json_answer, running, status_answer, until
from uniteddeployment.controller.profiles import READING, Profiles
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject
from uniteddeployment.fleet.profiles import ClusterProfile, cluster_document
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden, NotFound
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer
from uniteddeployment.kube.watch import ADDED, MODIFIED, Change
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
NAME = "fleet/spoke"
PATH = "/apis/uniteddeployment.io/v1alpha1/namespaces/fleet/clusters/spoke"


DOCUMENT: dict[str, Any] = {
    "metadata": {"name": "spoke", "namespace": "fleet", "uid": "uid-1"},
    "status": {"accessProviders": [provider("secretreader")]},
}


def profile(*providers: Any, **meta: Any) -> ClusterProfile:
    given = list(providers) or [provider("secretreader")]
    body = {**DOCUMENT, "metadata": {**DOCUMENT["metadata"], **meta}, "status": {"accessProviders": given}}
    return msgspec.convert(body, ClusterProfile)


MARK = cluster_document(profile())["metadata"]["annotations"][names.ANNOTATION_CLUSTER_PROFILE]


def cluster(mark: str) -> ClusterObject:
    return ClusterObject(
        ClusterMetadata("spoke", "fleet", "uid-c", annotations={names.ANNOTATION_CLUSTER_PROFILE: mark})
    )


class Stage:
    """A host that serves ClusterProfiles, and the Clusters of a fleet."""

    def __init__(self, *profiles: ClusterProfile, present: ClusterObject | None = None, synced: bool = True) -> None:
        self.present = present
        self.refusal: Answer | None = None
        self.transport = FakeTransport(self._answer)
        self.changed: list[str] = []
        fleet: Any = SimpleNamespace(cluster={NAME: present}.get)
        self.profiles = Profiles(Client(self.transport, "host"), fleet, self.changed.append)
        self.profiles._cache.take([Change(ADDED, found) for found in profiles])
        if synced:
            self.profiles._profiles.synced.set()

    def _answer(self, _request: Request) -> Answer:
        return self.refusal or json_answer({"metadata": {"name": "spoke", "namespace": "fleet"}})

    async def said(self) -> str:
        """What is said of the Cluster once it was dealt with."""
        assert self.profiles.problem(NAME) == READING
        async with running(self.profiles._work()):
            await until(lambda: self.changed)
        return self.profiles.problem(NAME)

    @property
    def sent(self) -> Request:
        (request,) = self.transport.requests
        return request


async def test_a_cluster_is_created_unless_its_name_is_taken() -> None:
    stage = Stage(profile())
    assert await stage.said() == ""
    assert stage.changed == [NAME]
    assert (stage.sent.method, stage.sent.path) == ("PATCH", PATH)
    assert dict(stage.sent.query) == {"fieldManager": "uniteddeployment", "force": "false"}
    body = msgspec.json.decode(stage.sent.body)
    assert body["metadata"].pop("resourceVersion")
    assert body == cluster_document(profile())


async def test_a_cluster_that_was_changed_is_corrected_by_its_uid() -> None:
    stage = Stage(profile(), present=cluster("uid-1.old"))
    assert await stage.said() == ""
    assert (stage.sent.method, stage.sent.path) == ("PATCH", PATH)
    assert dict(stage.sent.query) == {"fieldManager": "uniteddeployment", "force": "true"}
    document = cluster_document(profile())
    document["metadata"]["uid"] = "uid-c"
    assert msgspec.json.decode(stage.sent.body) == document


async def test_a_cluster_that_is_as_wanted_is_not_written() -> None:
    stage = Stage(profile(), present=cluster(MARK))
    assert await stage.said() == ""
    assert not stage.transport.requests


@pytest.mark.parametrize("mark", ["", "uid-10.x", "uid-1", "other.uid-1."])
async def test_a_cluster_of_somebody_else_is_left_alone(mark: str) -> None:
    stage = Stage(profile(), present=cluster(mark))
    assert await stage.said() == (
        "the Cluster fleet/spoke does not belong to the ClusterProfile fleet/spoke: rename or delete the Cluster"
    )
    assert not stage.transport.requests


@pytest.mark.parametrize(
    ("stage", "why"),
    [
        (Stage, "there is no ClusterProfile fleet/spoke"),
        (
            lambda: Stage(profile(deletionTimestamp="2026-01-01T00:00:00Z")),
            "there is no ClusterProfile fleet/spoke",
        ),
        (
            lambda: Stage(profile(provider("secretreader", server=""))),
            "the ClusterProfile fleet/spoke cannot be used: its access provider secretreader has no server",
        ),
    ],
)
async def test_what_prevents_a_cluster_is_said(stage: Any, why: str) -> None:
    assert await stage().said() == why


async def test_a_name_that_is_taken_is_said() -> None:
    stage = Stage(profile())
    stage.refusal = status_answer(409, "Conflict")
    assert await stage.said() == "the Cluster fleet/spoke exists, and has not been read yet or is being deleted"


async def test_a_refused_write_is_said_and_tried_again() -> None:
    stage = Stage(profile())
    stage.refusal = status_answer(403, "Forbidden", "not allowed")
    stage.profiles.problem(NAME)
    async with running(stage.profiles._work()):
        await until(lambda: stage.changed)
        assert stage.profiles.problem(NAME) == (
            "the Cluster of the ClusterProfile fleet/spoke cannot be written: not allowed"
        )
        stage.refusal = None
        await until(lambda: not stage.profiles.problem(NAME))
    assert stage.changed == [NAME, NAME]


async def test_a_refused_write_is_tried_again_with_growing_pauses_of_at_most_a_minute() -> None:
    stage = Stage(profile())
    stage.refusal = status_answer(403, "Forbidden", "not allowed")
    stage.profiles.problem(NAME)
    async with running(stage.profiles._work()):
        assert await pauses(lambda: len(stage.transport.requests), 9) == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_an_unexpected_error_is_said_without_its_message_and_the_others_go_on() -> None:
    """I10, I12"""
    stage = Stage(profile())

    def broken(_name: str) -> Any:
        raise ZeroDivisionError("secret")

    fleet, stage.profiles._fleet = stage.profiles._fleet, SimpleNamespace(cluster=broken)  # type: ignore[assignment]
    stage.profiles.problem(NAME)
    async with running(stage.profiles._work()):
        await until(lambda: stage.changed)
        assert stage.profiles.problem(NAME) == "internal error: ZeroDivisionError; the controller's log says where"
        stage.profiles._fleet = fleet
        await until(lambda: not stage.profiles.problem(NAME))


@pytest.mark.parametrize(
    ("refusal", "last_error", "why"),
    [
        (NotFound(404), "", "the host does not serve ClusterProfile of {api}: install its CRD"),
        (Forbidden(403), "not allowed", f"{READING}: not allowed"),
        (None, "", READING),
    ],
)
async def test_profiles_that_cannot_be_read_are_said(refusal: Any, last_error: str, why: str) -> None:
    stage = Stage(synced=False)
    stage.profiles._profiles = SimpleNamespace(  # type: ignore[assignment]
        synced=stage.profiles._profiles.synced, refusal=refusal, last_error=last_error
    )
    api = f"{names.CLUSTER_PROFILE_GROUP}/{names.CLUSTER_PROFILE_VERSION}"
    assert await stage.profiles._keep(NAME) == why.format(api=api)


async def test_only_clusters_that_applications_ask_for_are_looked_at() -> None:
    stage = Stage(profile())
    stage.profiles.cluster_changed(NAME)
    async with running(stage.profiles._work()):
        stage.profiles._profile_changed(None, profile())
        stage.profiles._queue_all()
        assert len(stage.profiles._queue) == 0
        stage.profiles.problem(NAME)
        await until(lambda: stage.changed)
        stage.transport.requests.clear()
        changes: tuple[Callable[[], object], ...] = (
            lambda: stage.profiles.cluster_changed(NAME),
            lambda: stage.profiles._profile_changed(profile(), None),
            lambda: stage.profiles._cache.take([Change(MODIFIED, profile(resourceVersion="2"))]),
            stage.profiles._queue_all,
        )
        for change in changes:
            change()
            await until(lambda: stage.transport.requests)
            stage.transport.requests.clear()


async def test_profiles_are_read_once_an_application_asks_for_one() -> None:
    stage = Stage(synced=False)
    stage.transport.feeds.append(Feed().event("ADDED", DOCUMENT).bookmark(1, initial_end=True))
    async with running(stage.profiles.run()):
        await asyncio.sleep(60)
        assert not stage.transport.requests
        assert stage.profiles.problem(NAME) == READING
        await until(lambda: not stage.profiles.problem(NAME))
    assert [(request.verb, request.path) for request in stage.transport.requests][-1] == ("apply", PATH)


async def test_a_host_without_the_definition_of_profiles_is_not_asked_again_and_again() -> None:
    stage = Stage(synced=False)
    missing = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no"}
    stage.transport.feeds += [Feed(404, missing) for _ in range(9)]
    stage.refusal = status_answer(404, "NotFound")
    async with running(stage.profiles.run()):
        stage.profiles.problem(NAME)
        await until(lambda: "install its CRD" in stage.profiles.problem(NAME))
        tries = len(stage.transport.requests)
        await asyncio.sleep(60)
        assert len(stage.transport.requests) == tries
