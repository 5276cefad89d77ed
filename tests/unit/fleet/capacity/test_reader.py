"""The reader of a member's capacity: hostile answers cost what they hide and nothing else."""

import asyncio
from itertools import pairwise
from typing import Any, Self

import msgspec
import pytest

from tests.support.capacity import node_object, pod_object
from tests.unit.kube.fakes import FakeTransport, Feed, status_answer, until
from uniteddeployment.fleet.capacity import reader as module
from uniteddeployment.fleet.capacity.reader import MISSING_RIGHT, CapacityReader
from uniteddeployment.fleet.capacity.sums import SubsetKey
from uniteddeployment.fleet.status import Verdict
from uniteddeployment.kube.client import Client

pytestmark = pytest.mark.looptime


def listed(*objects: object) -> Feed:
    """A streaming list."""
    return Feed().event("ADDED", *objects).bookmark(100, initial_end=True)


def nested(depth: int) -> msgspec.Raw:
    return msgspec.Raw(b"[" * depth + b"]" * depth)


class Reading:
    """A reader of a cluster with these nodes and pods."""

    def __init__(self, nodes: list[Any], pods: list[Any]) -> None:
        self.transport = FakeTransport()
        self.nodes, self.pods = listed(*nodes), listed(*pods)
        self.transport.feeds.extend([self.nodes, self.pods])
        self.changes = 0
        self.shown: list[tuple[SubsetKey, int]] = []
        self.reader = CapacityReader(
            "m",
            Client(self.transport, "m"),
            enabled=True,
            on_change=self._changed,
            on_shown=lambda *shown: self.shown.append(shown),
        )

    def _changed(self) -> None:
        self.changes += 1

    async def __aenter__(self) -> Self:
        self.task = asyncio.create_task(self.reader.run())
        await until(lambda: self.reader.state is not None)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    @property
    def capacity(self) -> dict[str, Any]:
        assert self.reader.published is not None
        found: dict[str, Any] = self.reader.published["capacity"]
        return found


async def test_odd_nodes_and_pods_are_left_out_and_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    """An odd node is not schedulable, an odd pod takes the place of a pod, and the rest is counted."""
    nodes = [node_object("good", {"cpu": "4"}), node_object("odd", {"cpu": "-5"}), {"metadata": {"name": 5}}]
    pods = [
        pod_object("good", {"cpu": "1"}, node="good"),
        pod_object("odd1", {"cpu": "many"}, node="good"),
        pod_object("odd2", {"memory": "9" * 100}, node="good"),
        {"metadata": {"name": "odd3", "namespace": "default"}, "spec": []},
        {"metadata": {"name": "deep", "namespace": "default"}, "spec": {"containers": nested(5000)}},
        pod_object("long label", {}, node="good", application="a" * 10_000),
    ]
    async with Reading(nodes, pods) as reading:
        assert reading.reader.nodes == (2, 2)
        assert reading.reader.sums.total().schedulable == 1
        assert reading.capacity["requested"] == {"cpu": "1", "memory": "0", "pods": "3"}
        assert reading.reader.state is not None
        assert reading.reader.state.message == (
            "the nodes and pods of the cluster are counted, apart from those whose resources cannot be read"
        )
        reading.pods.event("ADDED", pod_object("odd4", {"cpu": "x"}, node="good"))
        await until(lambda: reading.reader.sums.unknown_pods == 3)
        await asyncio.sleep(30)
    log = capsys.readouterr().out
    assert log.count("resources cannot be read") == 2
    assert "the amount of cpu is not a quantity, or is negative" in log
    assert "many" not in log


async def test_a_member_cannot_set_what_is_derived_from_nodes_and_pods() -> None:
    """Fields of the kept structs mean nothing in JSON, so texts of any length do not get into memory this way."""
    derived = {"ended": True, "waits": True, "amounts": [["cpu", 5]], "node_name": "x", "problem": "x", "subset": None}
    pod = pod_object("p", {"cpu": "1"}, node="n") | derived
    node = node_object("n", {"cpu": "4"}) | {"ready": False, "schedulable": False, "zone": "x", "problem": "x"}
    async with Reading([node], [pod]) as reading:
        assert reading.capacity["requested"] == {"cpu": "1", "memory": "0", "pods": "1"}
        assert reading.capacity["allocatable"]["cpu"] == "4"
        assert reading.reader.sums.unknown_pods == reading.reader.sums.unknown_nodes == 0


def refused(code: int, reason: str) -> Feed:
    return Feed(code, {"kind": "Status", "code": code, "reason": reason, "message": "not so"})


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("code", "reason", "verdict"),
    [
        (
            403,
            "Forbidden",
            Verdict("False", MISSING_RIGHT, "not so. `ud rbac member` prints the rights that are needed"),
        ),
        (500, "InternalError", Verdict("Unknown", "NotReadable", "not so")),
    ],
)
async def test_nodes_or_pods_that_cannot_be_read_are_the_reason_that_there_are_no_figures(
    which: int, code: int, reason: str, verdict: Verdict
) -> None:
    reading = Reading([node_object("n", {"cpu": "1"})], [])
    feeds = list(reading.transport.feeds)[:which] + [refused(code, reason) for _ in range(50)]
    reading.transport.feeds.clear()
    reading.transport.feeds.extend(feeds)
    reading.transport.answer = lambda _: status_answer(code, reason, "not so")
    async with reading:
        assert reading.reader.state == verdict
        assert reading.reader.published is None
        assert reading.reader.nodes is None


@pytest.mark.parametrize(("code", "reason", "kept"), [(403, "Forbidden", False), (500, "InternalError", True)])
async def test_the_last_figures_stay_while_a_watch_fails_and_go_with_the_right_to_them(
    code: int, reason: str, kept: bool
) -> None:
    """I8: a watch that breaks for a moment changes nothing."""
    async with Reading([node_object("n", {"cpu": "1"})], []) as reading:
        reading.transport.feeds.extend(refused(code, reason) for _ in range(50))
        reading.transport.answer = lambda _: status_answer(code, reason, "not so")
        reading.pods.end()
        await asyncio.sleep(module.GRACE_SECONDS * 0.9)
        assert reading.reader.state is not None
        assert reading.reader.state.status == "True"
        await until(lambda: reading.reader.state is not None and reading.reader.state.status != "True")
        assert (reading.reader.published is not None) is kept
        assert reading.reader.nodes is None


async def test_it_is_told_how_many_pods_of_a_subset_a_cluster_shows() -> None:
    """Until then, what it was assigned counts as taken."""
    pod = pod_object("p0", {}, application="web", subset="a")
    async with Reading([node_object("n", {"cpu": "1"})], [pod, pod_object("other", {})]) as reading:
        subset = ("default", "web", "a")
        assert reading.shown == [(subset, 1)]
        reading.pods.event("ADDED", pod_object("p1", {}, application="web", subset="a"))
        await until(lambda: len(reading.shown) > 1)
        reading.pods.event("DELETED", pod)
        await until(lambda: len(reading.shown) > 2)
        assert reading.shown == [(subset, 1), (subset, 2), (subset, 1)]


async def test_a_cluster_with_too_many_pods_has_an_unknown_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is bounded."""
    monkeypatch.setattr(module, "MOST_PODS", 3)
    pods = [pod_object(f"p{number}", {}) for number in range(4)]
    async with Reading([node_object("n", {"cpu": "1"})], pods) as reading:
        assert reading.reader.state is not None
        assert (reading.reader.state.status, reading.reader.state.reason) == ("Unknown", "TooMany")
        assert reading.reader.nodes is None


async def test_figures_are_published_at_most_every_ten_seconds() -> None:
    """The first ones at once, and the last ones in the end."""
    async with Reading([node_object("n", {"cpu": "100"})], []) as reading:
        clock, times = asyncio.get_running_loop().time, list[float]()
        reading.reader._on_change = lambda: times.append(clock())
        for number in range(50):
            reading.pods.event("ADDED", pod_object(f"p{number}", {"cpu": "1"}, node="n"))
            await asyncio.sleep(1)
        await asyncio.sleep(20)
        assert all(later - earlier >= 10 for earlier, later in pairwise(times))
        assert len(times) >= 4
        assert reading.capacity["requested"]["cpu"] == "50"


async def test_an_unexpected_error_is_reported_and_reading_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends neither the member nor the process."""

    def fail(_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(module, "figures", fail)
        async with Reading([], []) as reading:
            assert reading.reader.state is not None
            assert reading.reader.state.reason == "InternalError"
            broken.undo()
            reading.transport.feeds.extend([listed(), listed()])
            await asyncio.sleep(module.ERROR_PAUSE)
            await until(lambda: reading.reader.current)
            assert not reading.task.done()
