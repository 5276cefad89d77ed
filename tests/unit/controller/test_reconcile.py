"""One pass over one key: which step comes after which, and what the key needs afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.flights import Outcome
from uniteddeployment.controller.objects import Stored
from uniteddeployment.controller.reconcile import Reconciler, Result
from uniteddeployment.controller.report import Superseded
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Metadata
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.steps import AddFinalizer, Event
from uniteddeployment.planning.stored import StoredStatus

KEY = ("default", "web")
STORED = Stored(
    Metadata(name="web", namespace="default", uid="uid-web", generation=1),
    spec=msgspec.Raw(msgspec.json.encode(make.manifest()["spec"])),
)
SETTLED = Plan(status=StoredStatus(ready_replicas=8))
WRITING = Plan(before=(AddFinalizer(),), status=StoredStatus(ready_replicas=0))
EVENT = Event("Normal", "Tested", "for the test")


class Stage:
    """Stands for everything that a pass calls; ``log`` has the calls in order."""

    def __init__(self, *plans: Plan) -> None:
        self.plans = list(plans)
        self.log: list[str] = []
        self.objects: dict[tuple[str, str], Stored] = {KEY: STORED}
        self.outcome = Outcome()
        self.deleted_while_acting = False
        self.pause_seconds = 0.0
        self.written = True
        self.dirty: set[tuple[str, str]] = set()
        self.in_flight: dict[str, Any] = {}
        self.statuses: list[StoredStatus | None] = []
        self.flights = self
        self.reconciler = Reconciler(
            host=self,  # type: ignore[arg-type]  # stand-ins
            observer=SimpleNamespace(forget=self.forget, memory=lambda _subject: "memory"),  # type: ignore[arg-type]
            planner=self,  # type: ignore[arg-type]
            actor=self,  # type: ignore[arg-type]
            reporter=self,  # type: ignore[arg-type]
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            is_dirty=lambda key: key in self.dirty,
        )

    async def passes(self) -> Result:
        return await self.reconciler.reconcile(KEY)

    # the host
    def get(self, key: tuple[str, str]) -> Stored | None:
        return self.objects.get(key)

    def orphaning(self, _uid: str) -> bool:
        return False

    # the observer
    def forget(self, key: tuple[str, str]) -> None:
        self.log.append(f"forget {key[1]}")

    # the planner
    async def plan(self, _subject: Subject) -> Plan:
        self.log.append("plan")
        return self.plans.pop(0)

    # the actor and its flights
    async def carry_out(self, _subject: Subject, _plan: Plan, memory: Any) -> Outcome:
        assert memory == "memory"
        self.log.append("act")
        if self.deleted_while_acting:
            self.objects.clear()
        return self.outcome

    def supersede(self, _subject: Subject) -> None:
        self.log.append("supersede")

    def of(self, key: tuple[str, str]) -> Mapping[str, Any]:
        assert key == KEY
        return self.in_flight

    # the reporter
    def record_outcome(self, _subject: Subject, outcome: Outcome) -> None:
        assert outcome is self.outcome
        self.log.append("record outcome")

    def record_plan(self, _subject: Subject, plan: Plan) -> None:
        self.log += [f"event {event.reason}" for event in plan.events]

    def pause(self, _subject: Subject, _plan: Plan, unanswered: float | None) -> float:
        assert unanswered == max((flight.started_at for flight in self.in_flight.values()), default=None)
        return self.pause_seconds

    async def status(self, _subject: Subject, plan: Plan, superseded: Callable[[], bool] = lambda: False) -> bool:
        if superseded():
            raise Superseded
        self.log.append("status")
        self.statuses.append(plan.status)
        return self.written


async def test_a_pass_acts_observes_again_and_reports() -> None:
    """Status shows what came of the writes, not what was planned before them."""
    stage = Stage(WRITING, replace(SETTLED, events=(EVENT,)))
    assert await stage.passes() == Result(forget=True)
    assert stage.log == ["supersede", "plan", "act", "record outcome", "plan", "status", "event Tested"]
    assert stage.statuses == [SETTLED.status]


async def test_a_pass_with_nothing_to_write_plans_once() -> None:
    """I3"""
    stage = Stage(SETTLED)
    assert await stage.passes() == Result(forget=True)
    assert stage.log == ["supersede", "plan", "status"]


async def test_a_status_is_left_to_the_pass_that_follows_with_the_events_that_it_shows() -> None:
    """The next pass compares with the same stored status, and would record the same Events again."""
    stage = Stage(replace(SETTLED, events=(EVENT,)))
    stage.dirty.add(KEY)
    assert await stage.passes() == Result(forget=True, unreported=True)
    assert stage.log == ["supersede", "plan"]


async def test_a_decision_that_is_stored_first_is_not_left_to_the_next_pass() -> None:
    """I9"""
    stage = Stage(replace(WRITING, persist_first=True))
    stage.dirty.add(KEY)
    assert await stage.passes() == Result(back_off=True)
    assert stage.log == ["supersede", "plan", "status"]


async def test_a_key_without_an_object_is_forgotten() -> None:
    stage = Stage()
    stage.objects.clear()
    assert await stage.passes() == Result(forget=True)
    assert stage.log == ["forget web"]


async def test_a_decision_that_cannot_be_derived_again_is_stored_before_anything_is_done() -> None:
    """I9: the pass ends there, and the next one acts on what status has."""
    stage = Stage(replace(WRITING, persist_first=True, events=(EVENT,)))
    assert await stage.passes() == Result(back_off=True)
    assert stage.log == ["supersede", "plan", "event Tested", "status"]


async def test_such_a_decision_waits_until_all_clusters_have_been_observed() -> None:
    """I8"""
    stage = Stage(replace(WRITING, persist_first=True, early=True))
    assert await stage.passes() == Result()
    assert stage.log == ["supersede", "plan"]


async def test_a_start_writes_and_does_not_report_before_all_clusters_have_been_observed() -> None:
    """I3"""
    stage = Stage(replace(WRITING, early=True), replace(SETTLED, early=True, events=(EVENT,)))
    assert await stage.passes() == Result(forget=True)
    assert stage.log == ["supersede", "plan", "act", "record outcome", "plan"]


async def test_an_object_that_is_deleted_while_it_is_written_for_is_left_to_its_watch_event() -> None:
    stage = Stage(WRITING)
    stage.deleted_while_acting = True
    assert await stage.passes() == Result()
    assert "status" not in stage.log


@pytest.mark.parametrize(
    ("left", "failed", "written"),
    [(SETTLED, True, True), (WRITING, False, True), (SETTLED, False, False)],
    ids=["a write failed", "more to write", "status not written"],
)
async def test_a_pass_that_is_not_finished_backs_off(left: Plan, failed: bool, written: bool) -> None:
    stage = Stage(WRITING, left)
    stage.outcome.failed, stage.written = failed, written
    assert await stage.passes() == Result(back_off=True, failed=True)


async def test_a_key_with_writes_in_flight_is_not_forgotten() -> None:
    """Their answers may still be failures, which count in a row with those before."""
    stage = Stage(SETTLED)
    stage.in_flight = {
        "default/member-1": SimpleNamespace(started_at=3.0),
        "default/member-2": SimpleNamespace(started_at=2.0),
    }
    assert await stage.passes() == Result()


@pytest.mark.parametrize(("planned", "expected"), [(0.2, 1.0), (30.0, 30.0)])
async def test_a_plan_that_will_change_with_time_is_made_again_then_but_not_within_a_second(
    planned: float, expected: float
) -> None:
    """Plans compare whole seconds."""
    assert await Stage(replace(SETTLED, requeue_after=planned)).passes() == Result(forget=True, requeue_after=expected)


@pytest.mark.parametrize(("planned", "expected"), [(None, 0.25), (30.0, 0.25)])
async def test_a_status_that_waits_is_left_to_a_pass_after_the_pause(planned: float | None, expected: float) -> None:
    stage = Stage(replace(SETTLED, requeue_after=planned, events=(EVENT,)))
    stage.pause_seconds = 0.25
    assert await stage.passes() == Result(forget=True, requeue_after=expected, unreported=True)
    assert stage.log == ["supersede", "plan"]


async def test_the_end_writes_a_status_without_acting() -> None:
    stage = Stage(replace(WRITING, events=(EVENT,)))
    await stage.reconciler.conclude(KEY)
    assert stage.log == ["plan", "status", "event Tested"], "the next process has the status, and no reason for Events"


async def test_the_end_writes_no_status_of_clusters_that_have_not_been_observed() -> None:
    stage = Stage(replace(SETTLED, early=True))
    await stage.reconciler.conclude(KEY)
    assert stage.log == ["plan"]


async def test_an_internal_error_becomes_a_condition_that_names_its_type() -> None:
    """I11, I12: the text of the error may quote anything, so status has only its type."""
    stage = Stage()
    await stage.reconciler.report_failure(KEY, "KeyError")
    (status,) = stage.statuses
    assert status is not None
    stalled = status.condition("Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "InternalError")
    assert datetime.fromisoformat(stalled.last_transition_time or "").tzinfo is not None
    assert "KeyError" in stalled.message


async def test_neither_the_end_nor_an_error_needs_an_object_that_is_gone() -> None:
    stage = Stage()
    stage.objects.clear()
    await stage.reconciler.conclude(KEY)
    await stage.reconciler.report_failure(KEY, "KeyError")
    assert stage.log == []
