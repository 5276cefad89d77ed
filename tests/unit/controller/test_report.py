"""Writing status: what a refusal means, and when it has to be tried again."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.flights import Outcome
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored
from uniteddeployment.controller.report import (
    ANSWER_SECONDS,
    LEFT_SECONDS,
    SHORTEST_PAUSE,
    STATUS_SECONDS,
    Reporter,
    Superseded,
)
from uniteddeployment.kube import errors
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.planning.observed import Metadata, WorkloadRef
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.steps import Delete, Event, MemberStep
from uniteddeployment.planning.stored import StoredStatus
from uniteddeployment_api import names


class Refusing:
    """A client whose server refuses each write."""

    def __init__(self, error: errors.KubeError) -> None:
        self._error = error

    def checked(self, _check: Callable[[], None]) -> "Refusing":
        return self

    async def merge_patch(self, *_: Any, **__: Any) -> Stored:
        raise self._error


class Knowing:
    """The host's cache, with one object in it or none."""

    def __init__(self, uid: str | None) -> None:
        self._uid = uid

    def get(self, key: tuple[str, str]) -> Stored | None:
        assert key == ("default", "web")
        return Stored(Metadata(name="web", namespace="default", uid=self._uid)) if self._uid else None


@pytest.mark.parametrize(
    ("error", "uid", "written"),
    [
        (errors.Conflict(409), "uid-web", False),
        (errors.Conflict(409), "uid-of-another", True),
        (errors.Conflict(409), None, True),
        (errors.NotFound(404), "uid-web", True),
        (errors.ServerError(500), "uid-web", False),
    ],
)
async def test_a_status_is_written_again_as_long_as_there_is_an_object_to_write_it_to(
    error: errors.KubeError, uid: str | None, written: bool
) -> None:
    """I9: a conflict may mean another object of that name, or only that somebody else wrote at the same time."""
    subject = make.subject(make.application(make.manifest()))
    reporter = Reporter(Refusing(error), Knowing(uid))  # type: ignore[arg-type]  # stands for both
    assert await reporter.status(subject, plan(subject, make.observed())) is written


class Accepting:
    """A client whose server takes each write."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self._check: Callable[[], None] = lambda: None

    def checked(self, check: Callable[[], None]) -> "Accepting":
        self._check = check
        return self

    async def merge_patch(self, resource: Any, name: str, patch: Any, type_: Any, **options: Any) -> Stored:
        assert (resource, name, type_) == (UNITED_DEPLOYMENTS, "web", Stored)
        self._check()
        assert options == {"namespace": "default", "subresource": "status", "priority": Priority.BACKGROUND}
        self.written.append(patch)
        return Stored(Metadata(name="web", namespace="default", uid="uid-web"))


class Keeping(Knowing):
    """The host's cache, which notes what answers it is given."""

    def __init__(self) -> None:
        super().__init__("uid-web")
        self.answers: list[str] = []

    def merge_answer(self, _answer: Stored, written: str) -> None:
        self.answers.append(written)


APP = make.application(make.manifest())
WANTED = plan(make.subject(APP), make.observed())
assert WANTED.status is not None
COUNTED = msgspec.structs.replace(WANTED.status, ready_replicas=3)
"""Nothing but counters differ."""
DELETION = Delete(WorkloadRef("default/m", "a", "StatefulSet", "web-a"), "uid", "why")
TURNED = msgspec.structs.replace(WANTED.status, observed_generation=0)


async def test_a_status_is_written_with_the_uid_and_its_answer_is_kept() -> None:
    """I13: another application with the same name is not written to."""
    client, host = Accepting(), Keeping()
    reporter = Reporter(client, host)  # type: ignore[arg-type]  # stands for both
    assert await reporter.status(make.subject(APP), WANTED)
    assert client.written == [{"metadata": {"uid": "uid-web"}, "status": make.status_of(WANTED)}]
    assert host.answers == ["status"]


@pytest.mark.parametrize("stored", [WANTED.status, None])
async def test_a_status_that_is_stored_already_or_is_not_known_is_not_written(stored: StoredStatus | None) -> None:
    """I3"""
    client = Accepting()
    reporter = Reporter(client, Keeping())  # type: ignore[arg-type]  # stands for both
    wanted = replace(WANTED, status=stored)
    assert await reporter.status(make.subject(APP, status=WANTED.status), wanted)
    assert client.written == []
    assert reporter.pause(make.subject(APP, status=WANTED.status), wanted, unanswered=0.0) == 0.0


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("stored", "since_writing", "since_sending", "expected"),
    [
        (COUNTED, None, None, 0.0),
        (COUNTED, 0.1, None, STATUS_SECONDS - 0.1),
        (COUNTED, STATUS_SECONDS, None, 0.0),
        (COUNTED, STATUS_SECONDS - SHORTEST_PAUSE / 2, None, 0.0),
        (TURNED, 0.1, None, 0.0),
        (TURNED, 0.1, 0.5, ANSWER_SECONDS - 0.5),
        (COUNTED, 0.1, 0.5, ANSWER_SECONDS - 0.5),
        (COUNTED, 0.1, ANSWER_SECONDS, STATUS_SECONDS - 0.1),
        (TURNED, 0.1, ANSWER_SECONDS - 1e-9, 0.0),
    ],
)
async def test_counters_wait_a_little_and_everything_waits_a_moment_for_answers(
    stored: StoredStatus, since_writing: float | None, since_sending: float | None, expected: float
) -> None:
    """A pause is none, or long enough for a clock to notice."""
    reporter = Reporter(Accepting(), Keeping())  # type: ignore[arg-type]  # stands for both
    now = asyncio.get_running_loop().time
    await asyncio.sleep(10)
    if since_writing is not None:
        await reporter.status(make.subject(APP), WANTED)
        await asyncio.sleep(since_writing)
    unanswered = None if since_sending is None else now() - since_sending
    pause = reporter.pause(make.subject(APP, status=stored), WANTED, unanswered)
    assert pause == pytest.approx(expected)
    assert pause == 0.0 or pause >= SHORTEST_PAUSE


MOVED = msgspec.structs.replace(
    WANTED.status,
    subset_statuses=tuple(msgspec.structs.replace(one, replicas=7) for one in WANTED.status.subset_statuses or ()),
)
"""Other numbers were assigned."""


def _condition(kind: str, status: str) -> StoredStatus:
    """The wanted status with another condition."""
    assert WANTED.status is not None
    conditions = (
        msgspec.structs.replace(one, status=status) if one.type == kind else one
        for one in WANTED.status.conditions or ()
    )
    return msgspec.structs.replace(WANTED.status, conditions=tuple(conditions))


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("stored", "wanted", "expected"),
    [
        (TURNED, WANTED.status, STATUS_SECONDS - 0.1),
        (StoredStatus(), WANTED.status, STATUS_SECONDS - 0.1),
        (TURNED, _condition("Reconciling", "False"), 0.0),
        (TURNED, _condition("Stalled", "True"), 0.0),
        (MOVED, WANTED.status, 0.0),
    ],
    ids=["an edit", "a new application", "it has arrived", "somebody has to act", "replicas move"],
)
async def test_a_status_that_only_shows_progress_waits_a_little_after_a_write(
    stored: StoredStatus, wanted: StoredStatus, expected: float
) -> None:
    """More is known then, so one write does. What users wait for, and what plans start from, is not delayed."""
    reporter = Reporter(Accepting(), Keeping())  # type: ignore[arg-type]  # stands for both
    subject = make.subject(APP, status=stored)
    await asyncio.sleep(10)
    assert reporter.pause(subject, replace(WANTED, status=wanted)) == 0.0
    reporter.record_outcome(subject, Outcome(done=[DELETION]))
    await asyncio.sleep(0.1)
    reporter.record_outcome(subject, Outcome(failed=True))
    assert reporter.pause(subject, replace(WANTED, status=wanted)) == pytest.approx(expected)


@pytest.mark.looptime
async def test_a_status_is_left_to_the_next_pass_only_for_a_while() -> None:
    """An application that changes all the time has a status, too."""
    client = Accepting()
    reporter = Reporter(client, Keeping())  # type: ignore[arg-type]  # stands for both
    subject = make.subject(APP)
    for since in (0.0, LEFT_SECONDS - 0.1):
        await asyncio.sleep(since)
        with pytest.raises(Superseded):
            await reporter.status(subject, WANTED, lambda: True)
    assert client.written == []
    counters = make.subject(APP, status=COUNTED)
    assert reporter.pause(counters, WANTED) == 0.0, "nothing was written, so counters need not wait"
    await asyncio.sleep(0.1)
    assert await reporter.status(subject, WANTED, lambda: True)
    assert len(client.written) == 1
    with pytest.raises(Superseded):
        await reporter.status(subject, WANTED, lambda: True)
    assert await reporter.status(make.subject(APP, status=WANTED.status), WANTED, lambda: True)
    await asyncio.sleep(LEFT_SECONDS)
    with pytest.raises(Superseded):
        await reporter.status(subject, WANTED, lambda: True)


@pytest.mark.parametrize(("stored", "next_pass"), [(TURNED, False), (MOVED, True)])
async def test_a_status_is_written_if_no_pass_follows_or_other_numbers_were_assigned(
    stored: StoredStatus, next_pass: bool
) -> None:
    """I9: the next plan starts from the numbers in status."""
    client = Accepting()
    reporter = Reporter(client, Keeping())  # type: ignore[arg-type]  # stands for both
    assert await reporter.status(make.subject(APP, status=stored), WANTED, lambda: next_pass)
    assert len(client.written) == 1


class Recording:
    """A recorder that keeps what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []

    def event(self, *args: Any) -> None:
        self.given.append(args)


def test_events_are_about_the_application() -> None:
    """kubectl finds the Events of an object by all of these fields."""
    subject, recorder = make.subject(make.application(make.manifest())), Recording()
    reporter = Reporter(None, None, recorder)  # type: ignore[arg-type]  # only the recorder is used
    reporter.record_events(subject, [Event("Normal", "Created", "created it")])
    reference = ObjectReference(names.API_VERSION, "UnitedDeployment", "default", "web", "uid-web")
    assert recorder.given == [(reference, "Normal", "Created", "created it")]


class Counting:
    """Metrics that note what they are given."""

    queue = None

    def __init__(self) -> None:
        self.given: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return lambda value: self.given.append((name, value))


async def test_an_outcome_is_counted_and_told() -> None:
    metrics, recorder, subject = Counting(), Recording(), make.subject(APP)
    reporter = Reporter(None, None, recorder, metrics)  # type: ignore[arg-type]  # stand-ins
    done: list[MemberStep] = [
        Delete(WorkloadRef("default/m", "a", "StatefulSet", f"web-{name}"), "uid", "why") for name in "abc"
    ]
    outcome = Outcome(done=done[:2], unmentioned=done[:1], broken=done[2:], events=[Event("Warning", "Failed", "x")])
    reporter.record_outcome(subject, outcome)
    assert metrics.given == [("steps", done[:2]), ("steps_failed", done[2:])]
    assert [event[1:] for event in recorder.given] == [
        ("Normal", "Reconciled", "default/m: StatefulSet web-a: why"),
        ("Warning", "Failed", "x"),
    ]
    reporter.record_plan(subject, Plan(moved={"default/m": 2}, events=(Event("Normal", "Moving", "y"),)))
    assert metrics.given[2:] == [("moved", {"default/m": 2})]
    assert [event[1:] for event in recorder.given[2:]] == [("Normal", "Moving", "y")]
    Reporter(None, None).record_outcome(subject, outcome)  # type: ignore[arg-type]  # without a recorder
