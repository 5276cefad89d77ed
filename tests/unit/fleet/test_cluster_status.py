"""Writing the status of one Cluster: one write at a time, until what is stored is what is known."""

import asyncio
from typing import Any

import pytest

from uniteddeployment.fleet.cluster_status import ClusterStatus
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterMetadata, ClusterObject
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.errors import Conflict, KubeError, NotFound, Unreachable
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.kube.watch import MODIFIED, Change

pytestmark = pytest.mark.looptime


def cluster(version: int, phase: str = "", uid: str = "uid-1") -> ClusterObject:
    meta = ClusterMetadata("member-1", "default", uid, str(version))
    return ClusterObject(meta, status={"phase": phase} if phase else {})


class Host:
    """An API server that takes a second for each write, and fails chosen ones."""

    def __init__(self, *fails: KubeError) -> None:
        self.fails = list(fails)
        self.written: list[str] = []
        self.at_once = self.most_at_once = 0
        self.version = 10

    async def merge_patch(self, resource: Any, name: str, patch: Any, type_: Any, **options: Any) -> ClusterObject:
        assert (resource, name, type_) == (CLUSTERS, "member-1", ClusterObject)
        assert options == {"namespace": "default", "subresource": "status", "priority": Priority.BACKGROUND}
        assert patch["metadata"] == {"uid": "uid-1"}
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(1)
        self.at_once -= 1
        if self.fails:
            raise self.fails.pop(0)
        self.written.append(patch["status"]["phase"])
        self.version += 1
        return cluster(self.version, patch["status"]["phase"])


class Known:
    """What is known of a cluster."""

    def __init__(self, phase: str | None) -> None:
        self.phase = phase

    def __call__(self, _stored: Any) -> dict[str, Any] | None:
        return {"phase": self.phase} if self.phase is not None else None


class Place:
    """A Cluster with its cache, and the writer of its status."""

    def __init__(self, host: Host, wanted: Known, *, phase: str = "") -> None:
        self.cache: Cache[ClusterObject] = Cache()
        self.sees(cluster(1, phase))
        self.writer = ClusterStatus(
            host,  # type: ignore[arg-type]  # a stand-in
            cluster(1, phase),
            stored=lambda: self.cache.get(("default", "member-1")),
            answered=lambda answer: self.answers.append(self.cache.merge(answer)),
            wanted=wanted,
        )
        self.answers: list[bool] = []

    def sees(self, state: ClusterObject) -> None:
        self.cache.take([Change(MODIFIED, state)])


async def test_there_is_one_write_at_a_time_and_the_last_state_is_the_last_one_written() -> None:
    """I9"""
    host, known = Host(), Known("Offline")
    status = Place(host, known).writer
    first = asyncio.create_task(status.write())
    await asyncio.sleep(0.5)
    known.phase = "Running"
    await asyncio.gather(first, status.write(), status.write())
    assert host.most_at_once == 1
    assert host.written == ["Offline", "Running"]


@pytest.mark.parametrize("error", [Unreachable("host", "reset"), Conflict(409, "Conflict", "somebody was faster")])
async def test_a_failed_write_is_tried_again(error: KubeError) -> None:
    host = Host(error, error)
    await Place(host, Known("Offline")).writer.write()
    assert host.written == ["Offline"]


async def test_what_is_gone_or_not_known_is_not_written() -> None:
    host = Host(NotFound(404))
    await Place(host, Known("Offline")).writer.write()
    await Place(host, Known(None)).writer.write()
    await Place(host, Known("Running"), phase="Running").writer.write()
    gone = Place(host, Known("Running"))
    gone.cache.discard(("default", "member-1"))
    await gone.writer.write()
    assert host.written == []


async def test_a_cluster_with_the_same_name_gets_a_status_of_its_own() -> None:
    """The write of the earlier one must not reach it."""
    host = Host()
    place = Place(host, Known("Running"))
    place.sees(cluster(2, uid="uid-2"))
    await place.writer.write()
    assert host.written == []


async def test_an_event_that_is_older_than_our_last_write_is_ignored() -> None:
    """I3"""
    host = Host()
    place = Place(host, Known("Running"))
    await place.writer.write()
    place.sees(cluster(5, "Offline"))
    await place.writer.write()
    assert host.written == ["Running"]
    place.sees(cluster(20, "Offline"))
    await place.writer.write()
    assert host.written == ["Running", "Running"]
    assert place.answers == [True, False], "the second answer has an earlier version than the event"
