"""Carrying out a plan: what comes before what, and what a failure keeps from happening."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.controller.act import Actor
from uniteddeployment.controller.failures import Failure
from uniteddeployment.controller.flights import GRACE_SECONDS, Flight, Outcome
from uniteddeployment.controller.member_writes import Written
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import NotReplaceable
from uniteddeployment.kube import errors
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Refusal, WorkloadRef
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.steps import (
    AddFinalizer,
    Apply,
    Delete,
    DeletePod,
    DeleteRevision,
    Event,
    HostStep,
    MemberStep,
    RemoveFinalizer,
    Scale,
)
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime

SUBJECT = make.subject(make.application(make.manifest()))
BODY = {"metadata": {"annotations": {names.ANNOTATION_APPLIED: "digest"}}}
IMMUTABLE = errors.Invalid(
    422, "Invalid", "it is invalid", {"causes": [{"reason": "FieldValueForbidden", "field": "spec", "message": "no"}]}
)
REFUSED = errors.Invalid(422, "Invalid", "image: Required value")
TOLD = Event("Warning", "DriftRepaired", "put back")


def ref(subset: str, cluster: str = "near") -> WorkloadRef:
    return WorkloadRef(cluster, subset, "StatefulSet", f"web-{subset}")


def scale(cluster: str, subset: str, number: int = 1) -> Scale:
    return Scale(ref(subset, cluster), number, 1, "for the test")


def corrected(subset: str, *, create: bool = False) -> Apply:
    return Apply(ref(subset), BODY, "for the test", create=create)


def recreated(subset: str) -> Delete:
    return Delete(ref(subset), "uid", "for the test", orphan=True, successor=BODY)


class Member:
    """A member that notes when it is to be probed."""

    suspected = False

    def probe_soon(self) -> None:
        self.suspected = True


class Clusters:
    """A fleet; clusters that are not named are not connected."""

    def __init__(self, *known: str) -> None:
        self.known = {name: Member() for name in known}

    def member(self, cluster: str) -> Member | None:
        return self.known.get(cluster)

    def cluster(self, _name: str) -> None:
        return None


class Writers:
    """Stands for both writers: notes what is written in which order, and fails or delays chosen writes."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.fails: list[tuple[Any, errors.KubeError]] = []
        """Steps and how they fail. Lists, since bodies cannot be hashed."""
        self.takes: dict[str, float] = {}
        self.unchanged: list[MemberStep] = []
        self.repairs: list[MemberStep] = []

    async def write(self, subject: Any, *args: Any) -> Written:
        assert isinstance(subject, Subject)
        if len(args) == 1:
            (step,) = args
        else:
            member, step, memory = args
            assert isinstance(member, Member)
            assert isinstance(memory, Memory)
        await asyncio.sleep(self.takes.get(getattr(step, "cluster", "host"), 0.01))
        self.log.append(step)
        for known, error in self.fails:
            if known == step:
                raise error
        return Written(changed=step not in self.unchanged, events=(TOLD,) if step in self.repairs else ())


class Stage:
    """An actor with writers that only note what they are asked to do."""

    def __init__(self) -> None:
        self.clusters = Clusters("near", "far")
        self.writers = Writers()
        self.memory = Memory()
        self.late: list[Flight] = []
        self.actor = Actor(None, None, self.clusters, self.late.append, None)  # type: ignore[arg-type]  # stand-ins
        self.actor._hosts = self.actor._members = self.writers  # type: ignore[assignment]  # stand-ins

    @contextlib.asynccontextmanager
    async def set(self) -> AsyncIterator["Stage"]:
        running = asyncio.create_task(self.actor.flights.run())
        await asyncio.sleep(0)
        try:
            yield self
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    async def plays(self, plan: Plan) -> Outcome:
        async with self.set():
            return await self.actor.carry_out(SUBJECT, plan, self.memory)


def whole(
    *near: MemberStep, far: Sequence[MemberStep] = (), host: Sequence[HostStep] = (DeleteRevision("r", "old"),)
) -> Plan:
    """A plan with something of everything."""
    members = {name: tuple(steps) for name, steps in (("near", near), ("far", far)) if steps}
    return Plan(before=(AddFinalizer(),), members=members, host=tuple(host), after=(RemoveFinalizer(),))


A, B = scale("near", "a"), scale("near", "b")
A2, FAR = scale("near", "a", 2), scale("far", "c")


async def test_everything_has_its_place_in_the_order() -> None:
    """I9: the finalizer comes before anything is made, and goes when everything else is done."""
    stage = Stage()
    outcome = await stage.plays(whole(A, B, A2, far=[FAR]))
    log = stage.writers.log
    assert log[0] == AddFinalizer()
    assert log[-1] == RemoveFinalizer()
    assert [step for step in log if getattr(step, "cluster", "") == "near"] == [A, B, A2]
    assert {FAR, DeleteRevision("r", "old")} <= set(log[1:-1])
    assert not outcome.failed
    assert sorted(step.subset for step in outcome.done) == ["a", "a", "b", "c"]


async def test_nothing_is_written_in_members_when_what_has_to_come_before_failed() -> None:
    """I9: without the finalizer, what is made would not be found when the application is deleted."""
    stage = Stage()
    stage.writers.fails = [(AddFinalizer(), errors.Conflict(409, "Conflict", "somebody was faster"))]
    outcome = await stage.plays(whole(A, far=[FAR]))
    assert stage.writers.log == [AddFinalizer()]
    assert outcome.failed
    assert outcome.host_error == "somebody was faster"


@pytest.mark.parametrize("step", [A, FAR, DeleteRevision("r", "old")], ids=["near", "far", "host"])
async def test_the_finalizer_stays_after_any_failure(step: Any) -> None:
    """I9: what could not be deleted would be nobody's."""
    stage = Stage()
    stage.writers.fails = [(step, errors.ServerError(500, "InternalError", "no"))]
    outcome = await stage.plays(whole(A, far=[FAR]))
    assert outcome.failed
    assert RemoveFinalizer() not in stage.writers.log
    assert {A, FAR, DeleteRevision("r", "old")} <= set(stage.writers.log), "a failure stops nobody else"


async def test_the_finalizer_stays_while_a_write_is_under_way() -> None:
    """I9: it may still create something."""
    stage = Stage()
    stage.writers.takes["far"] = 10 * GRACE_SECONDS
    async with stage.set():
        outcome = await stage.actor.carry_out(SUBJECT, whole(A, far=[FAR]), stage.memory)
        assert (outcome.failed, outcome.done) == (False, [A])
        assert RemoveFinalizer() not in stage.writers.log
        await asyncio.sleep(20 * GRACE_SECONDS)
        assert [flight.outcome.done for flight in stage.late] == [[FAR]]
        assert RemoveFinalizer() not in stage.writers.log, "another plan decides about that"


async def test_the_finalizer_stays_while_an_earlier_write_is_under_way() -> None:
    """I9: one that another pass has left in flight."""
    stage = Stage()
    stage.writers.takes["far"] = 10 * GRACE_SECONDS
    async with stage.set():
        await stage.actor.carry_out(SUBJECT, Plan(members={"far": (FAR,)}), stage.memory)
        await stage.actor.carry_out(SUBJECT, Plan(after=(RemoveFinalizer(),)), stage.memory)
    assert RemoveFinalizer() not in stage.writers.log


async def test_a_failure_of_what_comes_last_is_a_failure() -> None:
    stage = Stage()
    stage.writers.fails = [(RemoveFinalizer(), errors.Conflict(409, "Conflict", "somebody was faster"))]
    outcome = await stage.plays(whole(A))
    assert (outcome.failed, outcome.host_error) == (True, "somebody was faster")


async def test_after_a_failed_write_its_subset_is_left_and_the_others_go_on() -> None:
    """I6: a later write of a subset may rely on the earlier one; I10: other subsets do not."""
    stage = Stage()
    stage.writers.fails = [(A, REFUSED)]
    outcome = await stage.plays(Plan(members={"near": (A, A2, B), "far": (FAR,)}))
    assert [step for step in stage.writers.log if step.cluster == "near"] == [A, B]
    assert outcome.failed
    assert {step.subset for step in outcome.done} == {"b", "c"}
    assert set(stage.memory.failures) == {"a"}
    assert stage.memory.failures["a"].stalled


async def test_a_success_ends_what_was_known_of_failures() -> None:
    stage = Stage()
    stage.memory.failures["a"] = Failure("refused", 1, 0.0, stalled=True)
    stage.memory.refused[ref("a").key] = Refusal("digest")
    await stage.plays(Plan(members={"near": (A,)}))
    assert stage.memory.failures == {}
    assert stage.memory.refused == {}


async def test_deleting_a_pod_does_not_end_the_refusal_of_a_change_to_its_workload() -> None:
    """The change is still refused: asking again would be one more refused write for each pod."""
    stage = Stage()
    stage.memory.refused[ref("a").key] = Refusal("digest")
    await stage.plays(Plan(members={"near": (DeletePod(ref("a"), "web-a-0", "uid", "for the test"),)}))
    assert stage.memory.refused == {ref("a").key: Refusal("digest")}


@pytest.mark.parametrize(
    ("step", "error", "refusal"),
    [
        (corrected("a"), IMMUTABLE, Refusal("digest")),
        (corrected("a"), REFUSED, None),
        (corrected("a", create=True), IMMUTABLE, None),
        (recreated("a"), NotReplaceable("no volume"), Refusal("digest", final=True)),
        (recreated("a"), errors.Unreachable("near", "no answer"), None),
        (scale("near", "a"), IMMUTABLE, None),
    ],
)
async def test_only_a_refused_change_of_what_cannot_be_changed_is_noted_as_such(
    step: MemberStep, error: errors.KubeError, refusal: Refusal | None
) -> None:
    """I7: nothing is recreated for another reason."""
    stage = Stage()
    stage.writers.fails = [(step, error)]
    await stage.plays(Plan(members={"near": (step,)}))
    assert stage.memory.refused.get(ref("a").key) == refusal


@pytest.mark.parametrize(
    ("error", "suspected"),
    [
        (errors.Unreachable("near", "no answer"), True),
        (errors.Unauthorized(401), True),
        (errors.ServerError(500), False),
        (REFUSED, False),
    ],
)
async def test_a_member_that_gave_no_answer_is_looked_at(error: errors.KubeError, suspected: bool) -> None:
    """I8"""
    stage = Stage()
    stage.writers.fails = [(A, error)]
    await stage.plays(Plan(members={"near": (A,), "far": (FAR,)}))
    assert stage.clusters.known["near"].suspected is suspected
    assert not stage.clusters.known["far"].suspected


async def test_only_what_changed_something_is_told() -> None:
    """I3"""
    stage = Stage()
    stage.writers.unchanged = [A]
    stage.writers.repairs = [B]
    outcome = await stage.plays(Plan(members={"near": (A, B), "far": (FAR,)}))
    assert sorted(step.subset for step in outcome.done) == ["b", "c"]
    assert outcome.unmentioned == [FAR]
    assert outcome.events == [TOLD]


async def test_a_cluster_that_is_gone_is_a_failure_of_its_own() -> None:
    stage = Stage()
    outcome = await stage.plays(Plan(members={"gone": (scale("gone", "x"),), "near": (A,)}))
    assert outcome.failed
    assert stage.writers.log == [A]


async def test_a_cluster_that_keeps_too_many_waiting_is_written_to_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """I16: each application that waits takes memory."""
    monkeypatch.setattr("uniteddeployment.controller.flights.MOST_LATE", 1)
    stage = Stage()
    stage.writers.takes["far"] = 10 * GRACE_SECONDS
    other = replace(SUBJECT, name="other")
    plan = Plan(members={"near": (A,), "far": (FAR,)}, after=(RemoveFinalizer(),))
    async with stage.set():
        await stage.actor.carry_out(other, Plan(members={"far": (FAR,)}), stage.memory)
        outcome = await stage.actor.carry_out(SUBJECT, plan, stage.memory)
        assert (outcome.failed, stage.writers.log) == (True, [A]), "it is tried again, and others go on"
        await asyncio.sleep(20 * GRACE_SECONDS)
        outcome = await stage.actor.carry_out(SUBJECT, plan, stage.memory)
        assert not outcome.failed


async def test_what_is_obsolete_ends_after_the_write_that_is_under_way() -> None:
    """I9: the next plan says what is wanted now."""
    stage = Stage()
    stage.writers.takes["near"] = 10 * GRACE_SECONDS
    async with stage.set():
        await stage.actor.carry_out(SUBJECT, Plan(members={"near": (A, B)}), stage.memory)
        (flight,) = stage.actor.flights.of(("default", "web")).values()
        assert list(flight.remaining) == [A, B]
        flight.obsolete = True
        await asyncio.sleep(100 * GRACE_SECONDS)
    assert stage.writers.log == [A]
    assert stage.late == [flight]


async def test_what_remains_of_a_flight_is_what_has_not_been_answered() -> None:
    """I7: a deletion that was not answered may have happened."""
    stage = Stage()
    stage.writers.takes["near"] = 2 * GRACE_SECONDS
    async with stage.set():
        await stage.actor.carry_out(SUBJECT, Plan(members={"near": (A, B)}), stage.memory)
        await asyncio.sleep(2 * GRACE_SECONDS)
        assert stage.actor.flights.remaining(("default", "web")) == {"near": (B,)}
