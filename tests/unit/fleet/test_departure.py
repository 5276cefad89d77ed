"""A Cluster that is deleted may leave when nothing of this host is, or may be, left in it."""

import asyncio
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from uniteddeployment.fleet.clusters import CLUSTERS, ClusterMetadata, ClusterObject
from uniteddeployment.fleet.departure import (
    ABANDON,
    FIRST_WAIT,
    LONGEST_WAIT,
    MOST_NAMED,
    UNKNOWN,
    Decision,
    Departures,
    Left,
    _named,
    decide,
)
from uniteddeployment.fleet.entry import DUPLICATE, IS_HOST, REPLACED, Entry, Problem
from uniteddeployment.fleet.finalizer import TRIES, Finalizer
from uniteddeployment.kube.errors import Conflict, NotFound, Unreachable
from uniteddeployment.planning.observed import Reach
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
RUNNING = Left(running=("StatefulSet default/web-a",))
UNSEEN = Left(unseen=("default/web",))
GOES = Decision()


def cluster(name: str = "one", *, deleting: bool = True, **more: Any) -> ClusterObject:
    stamp = "2026-01-01T00:00:00Z" if deleting else None
    return ClusterObject(ClusterMetadata(name, "default", f"uid-{name}", "1", deletion_timestamp=stamp, **more))


def entry(name: str = "one", **more: Any) -> Entry:
    return Entry(cluster(name), held_uid="u", answering_uid="u", undecided=False, **more)


@pytest.mark.parametrize("left", [RUNNING, UNSEEN])
def test_what_is_left_is_named_with_the_way_out(left: Left) -> None:
    decision = decide(entry(), (), left)
    assert not decision.clears
    assert (*left.running, *left.unseen)[0] in decision.waits
    assert names.ANNOTATION_ABANDON in decision.waits


def test_a_long_list_is_cut() -> None:
    many = Left(running=tuple(f"StatefulSet default/web-{number}" for number in range(9)))
    assert "web-4 and 4 more" in decide(entry(), (), many).waits


def test_workloads_without_replicas_are_cleared_before() -> None:
    assert decide(entry(), (), Left(empty=2)) == Decision(clears=True)
    assert decide(entry(), (), Left(running=RUNNING.running, empty=2)).clears is False
    assert decide(entry(), (), Left()) == GOES


def test_nothing_is_decided_before_it_is_known_what_is_left() -> None:
    """I8"""
    undecided = entry()
    undecided.undecided = True
    assert decide(undecided, (), Left()) is UNKNOWN
    assert decide(entry(), (), None) is UNKNOWN


def test_an_abandoned_cluster_goes_whatever_is_left() -> None:
    abandoned = entry()
    abandoned.cluster = cluster(annotations={names.ANNOTATION_ABANDON: "true"})
    for left in (RUNNING, UNSEEN, None):
        assert decide(abandoned, (), left) == GOES
    abandoned.cluster = cluster(annotations={names.ANNOTATION_ABANDON: "false"})
    assert decide(abandoned, (), RUNNING) != GOES


@pytest.mark.parametrize(
    "problem",
    [
        Problem(Reach.PENDING, "", REPLACED),
        Problem(Reach.UNKNOWN, "", DUPLICATE, "default/two"),
        Problem(Reach.UNKNOWN, "", IS_HOST, ""),
        None,
    ],
)
def test_a_cluster_that_is_not_used_goes_at_once(problem: Problem | None) -> None:
    one = entry(problem=problem)
    if problem is None:
        one.held_uid = ""
    assert decide(one, (), UNSEEN) == GOES


def test_a_cluster_goes_when_another_one_takes_over_and_only_then() -> None:
    """A Cluster that is renamed keeps its pods (I14)."""
    one, two = entry(), entry("two")
    two.held_uid = ""
    assert decide(one, (one, two), RUNNING) != GOES, "the other is being deleted as well"
    two.cluster = cluster("two", deleting=False)
    assert decide(one, (one, two), RUNNING) == GOES
    two.answering_uid = "v"
    assert decide(one, (one, two), RUNNING) != GOES, "it stands for another cluster"


class Host:
    """An API server that answers a patch with an error, or stores it."""

    def __init__(self, stored: ClusterObject, *errors: Exception) -> None:
        self.stored: ClusterObject | None = stored
        self.errors = list(errors)
        self.patches: list[dict[str, Any]] = []

    async def merge_patch(self, resource: Any, name: str, patch: Any, type_: Any, *, namespace: str) -> ClusterObject:
        stored = cluster().metadata
        assert (resource, namespace, name, type_) == (CLUSTERS, stored.namespace, stored.name, ClusterObject)
        self.patches.append(patch["metadata"])
        if self.errors:
            raise self.errors.pop(0)
        assert self.stored is not None
        return self.stored

    def finalizer(self) -> Finalizer:
        return Finalizer(self, cluster(), stored=lambda: self.stored, answered=lambda _: None)  # type: ignore[arg-type]  # a stand-in


OTHERS = ("example.com/other",)
CONFLICT = Conflict(409, "Conflict", "somebody was faster")


async def test_the_finalizers_of_others_are_kept_and_the_version_is_named() -> None:
    """The write replaces the list, so it must not be based on an old one."""
    host = Host(cluster(deleting=False, finalizers=OTHERS), CONFLICT)
    await host.finalizer().add()
    wanted = {"finalizers": [*OTHERS, names.CLUSTER_FINALIZER], "resourceVersion": "1"}
    assert host.patches == [wanted, wanted]
    host = Host(cluster(finalizers=(*OTHERS, names.CLUSTER_FINALIZER)), CONFLICT, Unreachable("host", "reset"))
    await host.finalizer().remove()
    assert host.patches == [{"finalizers": list(OTHERS), "resourceVersion": "1"}] * 3


async def test_a_finalizer_is_neither_added_to_what_is_being_deleted_nor_removed_from_a_namesake() -> None:
    host = Host(cluster())
    await host.finalizer().add()
    host.stored = replace_uid(cluster(finalizers=(names.CLUSTER_FINALIZER,)))
    await host.finalizer().remove()
    host.stored = None
    await host.finalizer().remove()
    assert host.patches == []
    gone = Host(cluster(finalizers=(names.CLUSTER_FINALIZER,)), NotFound(404))
    await gone.finalizer().remove()
    assert len(gone.patches) == 1


async def test_an_object_that_changes_all_the_time_fails_the_connection_and_not_the_process() -> None:
    host = Host(cluster(deleting=False), *[CONFLICT] * TRIES)
    with pytest.raises(Conflict):
        await host.finalizer().add()


def replace_uid(stored: ClusterObject) -> ClusterObject:
    meta = stored.metadata
    return ClusterObject(ClusterMetadata(meta.name, meta.namespace, "another", "1", finalizers=meta.finalizers))


class Leaving:
    """What one Cluster has left, over time, and what happens to it."""

    def __init__(self, *left: Left | None) -> None:
        self.states = list(left)
        self.asked: list[tuple[str, bool]] = []
        self.told: list[tuple[str, bool]] = []
        self.log: list[str] = []
        self.entry = entry()
        self.departures = Departures(lambda: [self.entry], self, changed=self._changed, let_go=self._let_go)

    def left(self, cluster: str, *, seen: bool) -> Left | None:
        self.asked.append((cluster, seen))
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    async def clear(self, cluster: str) -> None:
        self.log.append(f"clear {cluster}")

    def _changed(self, changed: Entry) -> None:
        self.told.append((changed.leaving, changed.closing))

    def _let_go(self, gone: Entry) -> None:
        self.log.append(f"let go {gone.key}")


async def test_a_cluster_waits_is_cleared_and_is_let_go() -> None:
    stage = Leaving(None, Left(("Deployment a/b",)), Left(("Deployment a/b",)), Left((), 2), Left((), 2), Left())
    await stage.departures.follow(stage.entry)
    assert stage.told == [(f"waits until these are gone: Deployment a/b; {ABANDON}", False), ("", True)]
    key = stage.entry.key
    assert stage.log == [f"clear {key}", f"clear {key}", f"let go {key}"]
    assert len(stage.asked) == 6


async def test_a_cluster_is_looked_at_with_growing_pauses_that_start_over_when_something_changes() -> None:
    first = [Left(("Deployment a/b",))] * 12
    stage = Leaving(*first, Left(("Deployment a/c",)), Left())
    times: list[float] = []
    clock = asyncio.get_running_loop().time
    ask = stage.left

    def left(cluster: str, *, seen: bool) -> Left | None:
        times.append(clock())
        return ask(cluster, seen=seen)

    stage.left = left  # type: ignore[method-assign]
    await stage.departures.follow(stage.entry)
    pauses = [round(later - earlier, 3) for earlier, later in pairwise(times)]
    assert pauses[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert max(pauses) == LONGEST_WAIT
    assert pauses[-1] == FIRST_WAIT


@pytest.mark.parametrize(
    ("reach", "member", "seen"),
    [
        (Reach.READY, SimpleNamespace(unread={}), True),
        (Reach.READY, SimpleNamespace(unread={"CloneSet": "why"}), False),
        (Reach.OFFLINE, SimpleNamespace(unread={}), False),
        (Reach.READY, None, False),
    ],
)
def test_a_cluster_is_seen_if_every_kind_could_be_read(reach: Reach, member: Any, seen: bool) -> None:
    stage = Leaving(Left())
    stage.entry.reach, stage.entry.member = reach, member
    stage.departures._left(stage.entry)
    assert stage.asked == [(stage.entry.key, seen)]


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (MOST_NAMED, ""), (MOST_NAMED + 1, " and 1 more"), (MOST_NAMED + 3, " and 3 more")]
)
def test_a_list_of_titles_is_cut_only_if_it_is_too_long(count: int, more: str) -> None:
    titles = [f"t{number}" for number in range(count)]
    assert _named(titles) == ", ".join(titles[:MOST_NAMED]) + more
