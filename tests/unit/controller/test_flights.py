"""Writes that go on by themselves: who waits for them, how long, and what becomes of them (I1, I10)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import structlog

from tests.support import planning as make
from uniteddeployment.controller.flights import GRACE_SECONDS, Flight, Flights, Outcome
from uniteddeployment.controller.observe import Memory
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import WorkloadRef
from uniteddeployment.planning.steps import DeletePod, Event
from uniteddeployment.planning.stored import StoredStatus

pytestmark = pytest.mark.looptime

SUBJECT = make.subject(make.application(make.manifest()))
OTHER = replace(SUBJECT, name="other")
KEY = (SUBJECT.namespace, SUBJECT.name)
STEPS = tuple(
    DeletePod(WorkloadRef("near", "a", "StatefulSet", "web"), f"web-{number}", "uid", "for the test")
    for number in range(3)
)


class Sky:
    """Flights whose writes take as long as their cluster says, in seconds."""

    def __init__(self, **clusters: float) -> None:
        self.clusters = clusters
        self.late: list[str] = []
        self.carried: list[str] = []
        self.flights = Flights(self._carry_out, lambda flight: self.late.append(flight.cluster))

    async def _carry_out(self, flight: Flight) -> None:
        await asyncio.sleep(self.clusters[flight.cluster])
        if flight.cluster == "broken":
            raise ValueError("a mistake of ours")
        flight.outcome.done += flight.steps
        self.carried.append(flight.cluster)

    async def write(self, *clusters: str, subject: Subject = SUBJECT) -> list[str]:
        """As a pass does: the clusters that are finished within the grace."""
        with self.flights.started(subject, Memory(), dict.fromkeys(clusters, STEPS)) as flights:
            return [flight.cluster for flight in await self.flights.wait(flights)]


@contextlib.asynccontextmanager
async def flying(sky: Sky) -> AsyncIterator[Callable[[], float]]:
    """Hold the flights of a sky; gives how much time has passed."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    running = asyncio.create_task(sky.flights.run())
    await asyncio.sleep(0)
    try:
        yield lambda: loop.time() - begun
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def test_what_is_answered_in_time_is_part_of_the_pass() -> None:
    sky = Sky(near=0.1, host=0.2)
    async with flying(sky) as passed:
        assert await sky.write("near", "host") == ["near", "host"]
        assert passed() == pytest.approx(0.2)
        await asyncio.sleep(10)
    assert sky.late == []
    assert sky.flights.of(KEY) == {}


async def test_a_pass_does_not_wait_for_a_slow_cluster_and_hears_of_it_later() -> None:
    """I10"""
    sky = Sky(near=0.1, far=20.0)
    async with flying(sky) as passed:
        assert await sky.write("near", "far") == ["near"]
        assert passed() == pytest.approx(GRACE_SECONDS)
        assert set(sky.flights.of(KEY)) == {"far"}
        assert sky.flights.remaining(KEY) == {"far": STEPS}
        await asyncio.sleep(30)
        assert sky.late == ["far"]
        assert sky.flights.of(KEY) == {}


async def test_a_cluster_that_lets_others_wait_is_not_waited_for_again_until_it_has_answered() -> None:
    """I10: ten thousand applications do not wait one after the other."""
    sky = Sky(near=0.1, far=20.0)
    async with flying(sky) as passed:
        await sky.write("far")
        before = passed()
        assert await sky.write("far", subject=OTHER) == []
        assert passed() == before
        assert await sky.write("near", subject=replace(OTHER, name="third")) == ["near"], "others are waited for"
        await asyncio.sleep(30)
        assert sorted(sky.late) == ["far", "far"]
        sky.clusters["far"] = 0.1
        assert await sky.write("far") == ["far"]


async def test_there_are_no_two_flights_of_an_application_to_a_cluster() -> None:
    """I1"""
    sky = Sky(far=20.0)
    async with flying(sky):
        await sky.write("far")
        with pytest.raises(RuntimeError, match="default/web already has writes to far in flight"):
            await sky.write("far")
        assert await sky.write("far", subject=OTHER) == []


async def test_a_mistake_of_ours_in_one_flight_fails_that_one_alone() -> None:
    """I16"""
    sky = Sky(broken=0.1, near=0.2)
    with structlog.testing.capture_logs() as logs:
        async with flying(sky):
            with sky.flights.started(SUBJECT, Memory(), dict.fromkeys(("broken", "near"), STEPS)) as flights:
                finished = await sky.flights.wait(flights)
    assert [flight.outcome.failed for flight in finished] == [True, False]
    assert [(entry["cluster"], entry["log_level"]) for entry in logs] == [("broken", "error")]


async def test_a_pass_that_is_cancelled_leaves_its_writes_to_themselves() -> None:
    """I9: they are known, and the key is planned again when they are finished."""
    sky = Sky(near=0.2)
    async with flying(sky):
        task = asyncio.create_task(sky.write("near"))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(1)
        assert (sky.carried, sky.late) == (["near"], ["near"])


EDITS: dict[str, dict[str, object]] = {
    "another generation": {"generation": 2},
    "deletion": {"deleting": True},
    "orphaning": {"orphan": True},
    "annotations": {"annotations": {"a": "b"}},
    "created again": {"uid": "uid-next"},
}


@pytest.mark.parametrize("edit", EDITS)
async def test_what_was_planned_for_something_else_is_obsolete(edit: str) -> None:
    """I9"""
    sky = Sky(far=20.0)
    async with flying(sky):
        await sky.write("far")
        (flight,) = sky.flights.of(KEY).values()
        sky.flights.supersede(replace(SUBJECT, status=StoredStatus(replicas=3), finalizers=()))
        assert not flight.obsolete, "what we write ourselves changes nothing"
        sky.flights.supersede(replace(SUBJECT, **EDITS[edit]))  # type: ignore[arg-type]  # of several types
        assert flight.obsolete


async def test_only_flights_of_the_application_are_obsolete() -> None:
    sky = Sky(far=20.0)
    async with flying(sky):
        await sky.write("far")
        (flight,) = sky.flights.of(KEY).values()
        sky.flights.supersede(replace(OTHER, generation=2))
        assert not flight.obsolete


async def test_draining_waits_for_all_flights_and_those_that_begin_meanwhile() -> None:
    """I9: a stop finishes what was sent."""
    sky = Sky(far=5.0, further=8.0)
    async with flying(sky) as passed:
        await sky.write("far")
        draining = asyncio.create_task(sky.flights.drain())
        await sky.write("further", subject=OTHER)
        await draining
        assert passed() == pytest.approx(GRACE_SECONDS + 8.0)
        assert sky.carried == ["far", "further"]


async def test_no_flight_outlives_the_task_that_holds_it() -> None:
    sky = Sky(far=5.0)
    async with flying(sky):
        await sky.write("far")
    await asyncio.sleep(30)
    assert sky.carried == []
    assert sky.flights.of(KEY) == {}


async def test_nothing_begins_without_the_task_that_holds_it() -> None:
    with pytest.raises(RuntimeError, match="is not running"):
        await Sky(near=0.1).write("near")


def test_the_outcome_of_several_flights_is_that_of_all_their_writes() -> None:
    one, two, three = STEPS
    event = Event("Normal", "Scaled", "for the test")
    outcome = Outcome(failed=True, done=[one], unmentioned=[one], broken=[two], events=[event])
    outcome.add(Outcome(done=[three], unmentioned=[three], broken=[one], events=[event, event]))
    assert outcome == Outcome(True, [one, three], [one, three], [two, one], "", [event] * 3)
    outcome.add(Outcome())
    assert outcome.failed
