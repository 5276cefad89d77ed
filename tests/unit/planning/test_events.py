"""Events tell once what the stored status does not say yet."""

from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.planning.events import build_events, changes
from uniteddeployment.planning.observed import HOST, Reach, WorkloadRef
from uniteddeployment.planning.replicas.brake import Brake, Level
from uniteddeployment.planning.replicas.divide import Division
from uniteddeployment.planning.replicas.moving import Move
from uniteddeployment.planning.results import Counts, SubsetResult
from uniteddeployment.planning.steps import Delete, Event
from uniteddeployment.planning.stored import StoredCondition

APP = make.application(make.manifest())
NOTHING: dict[str, Any] = {"replicas": {}, "reasons": {}}


def step(number: int, cluster: str = "default/m") -> Delete:
    return Delete(WorkloadRef(cluster, "a", "StatefulSet", f"web-{number}"), "uid", f"why {number}")


def test_changes_are_listed_up_to_ten() -> None:
    assert changes([]) == ()
    (event,) = changes([step(0), step(1, HOST)])
    assert (event.type, event.reason) == ("Normal", "Reconciled")
    assert event.message == "default/m: StatefulSet web-0: why 0; the host: StatefulSet web-1: why 1"
    assert changes([step(number) for number in range(10)])[0].message.endswith("web-9: why 9")
    (cut,) = changes([step(number) for number in range(12)])
    assert cut.message.endswith("StatefulSet web-9: why 9; and 2 more")


def result(name: str = "a", **fields: Any) -> SubsetResult:
    given: dict[str, Any] = {"reach": Reach.READY, "workload": "", "replicas": 4, "partition": 0, "revision": "r"}
    more = {"counts": Counts(), "settled": False, "message": f"why {name}", "desired": 4}
    return SubsetResult(name=name, cluster="default/m", **(given | more | fields))


def events(*results: SubsetResult, status: Any = None, current: str = "", **divided: Any) -> list[Event]:
    subject = make.subject(APP, status=status)
    return list(build_events(subject, results, Division(**(NOTHING | divided)), current))


def test_a_subset_that_needs_a_user_is_told_once() -> None:
    stalled = result(stalled=True)
    told = Event("Warning", "SubsetStalled", "a: why a")
    assert events(stalled, result("b")) == [told]
    known = {"name": "a", "state": "Stalled", "reason": "why a"}
    assert events(stalled, status={"subsetStatuses": [known]}) == []
    for other in ({"state": "Progressing"}, {"reason": "another"}):
        assert events(stalled, status={"subsetStatuses": [known | other]}) == [told]


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        ("False", None, [Event("Warning", "Unschedulable", "a: full")]),
        ("False", "True", [Event("Warning", "Unschedulable", "a: full")]),
        ("False", "False", []),
        ("True", "False", [Event("Normal", "Unschedulable", "a takes pods again")]),
        ("True", None, []),
    ],
)
def test_a_subset_that_takes_no_pods_and_one_that_does_again_are_told(
    now: str, before: str | None, expected: list[Event]
) -> None:
    other = StoredCondition("Served", "False", None, make.NOW, "KindNotServed", "x")
    found = result(conditions=(other, StoredCondition("Schedulable", now, None, make.NOW, "Unschedulable", "full")))
    stored = [{"type": "Schedulable", "status": before}] if before else []
    assert events(found, status={"subsetStatuses": [{"name": "a", "conditions": stored}]}) == expected


def test_moves_that_begin_are_listed_up_to_ten() -> None:
    move = Move("a", ("b",), 2, "a is Offline")
    assert events(begun=(move, move)) == [Event("Normal", "Moving", f"{move}; {move}")]
    (event,) = events(begun=(move,) * 13)
    assert event.message == f"{'; '.join([str(move)] * 10)}; and 3 more"


@pytest.mark.parametrize("level", [Level.SLOWED, Level.STOPPED])
def test_a_brake_is_told_when_it_begins_or_becomes_another(level: Level) -> None:
    brake = Brake(level, "3 of 3 clusters are Offline")
    told = [Event("Warning", f"Moves{level.value}", "3 of 3 clusters are Offline")]
    condition = {"type": "Moving", "status": "True"}
    assert events(brake=brake) == told
    assert events(brake=brake, status={"conditions": [{**condition, "reason": "Moving"}]}) == told
    assert events(brake=brake, status={"conditions": [{**condition, "reason": level.value}]}) == []
    assert events(brake=Brake()) == []


def test_replicas_without_a_place_are_told_unless_the_status_says_so() -> None:
    told = [Event("Warning", "Blocked", "2 of 6 replicas have no place: a is full")]
    unplaced: dict[str, Any] = {"unplaced": 2, "why_unplaced": "a is full"}
    stalled = {"type": "Stalled", "status": "True"}
    assert events(result(), **unplaced) == told
    assert events(result(), status={"conditions": [stalled], "unplacedReplicas": 2}, **unplaced) == []
    assert events(result(), status={"conditions": [stalled], "unplacedReplicas": 1}, **unplaced) == told
    not_stalled = {"conditions": [{**stalled, "status": "False"}], "unplacedReplicas": 2}
    assert events(result(), status=not_stalled, **unplaced) == told


def test_the_end_of_a_rollout_is_told_once() -> None:
    told = [Event("Normal", "RolloutCompleted", "every pod is ready at web-2")]
    assert events(current="web-2", status={"currentRevision": "web-1"}) == told
    assert events(current="web-2", status={"currentRevision": "web-2"}) == []
    assert events(current="", status={"currentRevision": "web-1"}) == []


def test_a_creation_costs_no_event_of_a_rollout() -> None:
    """The Event about the created workloads, and the condition Ready, tell it."""
    assert events(current="web-1") == []
    assert events(current="web-1", status={"currentRevision": ""}) == []
