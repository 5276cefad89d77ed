"""Writing the status of one Cluster: one write at a time, until what is stored is what is known."""

import asyncio
from typing import Any

import pytest

from uniteddeployment.fleet.cluster_status import ClusterStatus
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.kube.errors import Conflict, KubeError, NotFound, Unreachable
from uniteddeployment.planning.observed import Metadata

pytestmark = pytest.mark.looptime


def cluster(version: int, phase: str = "") -> ClusterObject:
    meta = Metadata("member-1", "default", "uid-1", str(version))
    return ClusterObject(meta, status={"phase": phase} if phase else {})


class Host:
    """An API server that takes a second for each write, and fails those that it is told to."""

    def __init__(self, *fails: KubeError) -> None:
        self.fails = list(fails)
        self.written: list[str] = []
        self.at_once = self.most_at_once = 0
        self.version = 10

    async def merge_patch(self, _resource: Any, _name: str, patch: Any, *_: Any, **__: Any) -> ClusterObject:
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


async def test_there_is_one_write_at_a_time_and_the_last_state_is_the_last_one_written() -> None:
    """I9"""
    host, known = Host(), Known("Offline")
    status = ClusterStatus(host, cluster(1), known)  # type: ignore[arg-type]  # a stand-in
    first = asyncio.create_task(status.write())
    await asyncio.sleep(0.5)
    known.phase = "Running"
    await asyncio.gather(first, status.write(), status.write())
    assert host.most_at_once == 1
    assert host.written == ["Offline", "Running"]


@pytest.mark.parametrize("error", [Unreachable("host", "reset"), Conflict(409, "Conflict", "somebody was faster")])
async def test_a_failed_write_is_tried_again(error: KubeError) -> None:
    host = Host(error, error)
    await ClusterStatus(host, cluster(1), Known("Offline")).write()  # type: ignore[arg-type]  # a stand-in
    assert host.written == ["Offline"]


async def test_what_is_gone_or_not_known_is_not_written() -> None:
    host = Host(NotFound(404))
    await ClusterStatus(host, cluster(1), Known("Offline")).write()  # type: ignore[arg-type]  # a stand-in
    await ClusterStatus(host, cluster(1), Known(None)).write()  # type: ignore[arg-type]  # a stand-in
    await ClusterStatus(host, cluster(1, "Running"), Known("Running")).write()  # type: ignore[arg-type]  # a stand-in
    assert host.written == []


async def test_an_event_that_is_older_than_our_last_write_says_nothing() -> None:
    """I3"""
    host = Host()
    status = ClusterStatus(host, cluster(1), Known("Running"))  # type: ignore[arg-type]  # a stand-in
    await status.write()
    status.seen(cluster(5, "Offline"))
    await status.write()
    assert host.written == ["Running"]
    status.seen(cluster(20, "Offline"))
    await status.write()
    assert host.written == ["Running", "Running"]
