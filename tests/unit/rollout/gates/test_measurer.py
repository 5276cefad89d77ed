"""Measurements run beside each other, and what they return is kept until it is stored."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.unit.rollout.gates.servers import SUBJECT, probe
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment_api.v1alpha1.gates import RolloutGateStatus
from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutStatus
from uniteddeployment_rollout.gates import measurer as measurer_module
from uniteddeployment_rollout.gates.measurer import AT_ONCE, Measurer
from uniteddeployment_rollout.gates.measuring import CannotMeasure, Subject
from uniteddeployment_rollout.gates.probe import Measured, Probe, ProbeId
from uniteddeployment_rollout.loop.metrics import RolloutMetrics

KEY = ("default", "web")
PROBE = probe(webhook={"url": "http://hook"})
SUCCESS = Measured("Success")


class Provider:
    """Gives the answers of its list, in order; for None, it does not answer."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.running = 0
        self.started: list[ProbeId] = []
        self.discarded: list[ProbeId] = []

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        self.started.append(probe.id)
        self.running += 1
        try:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            if answer is None:
                await asyncio.Event().wait()
            found: Measured = answer
            return found
        finally:
            self.running -= 1

    async def discard(self, subject: Subject, probe: Probe) -> None:
        self.discarded.append(probe.id)


def numbered(number: int, subset: str = "a") -> Probe:
    return replace(PROBE, id=replace(PROBE.id, number=number, subset=subset))


def stored(
    successes: int = 0, *, subsets: list[str] | tuple[str, ...] = ("a",), attempt: int = 0, state: str = "Running"
) -> UnitedRolloutStatus:
    rows = tuple(
        RolloutGateStatus(name="errors", subset=subset, successes=successes, state=state) for subset in subsets
    )
    return UnitedRolloutStatus(run_id="new.1", step=1, gate_attempt=attempt, gates=rows)


@pytest.fixture
async def measuring() -> AsyncIterator[Callable[..., Any]]:
    """A function that makes a measurer; all are closed at the end."""
    made = []

    def make(provider: Provider, metrics: RolloutMetrics | None = None) -> tuple[Measurer, asyncio.Queue[Any]]:
        changed: asyncio.Queue[Any] = asyncio.Queue()
        made.append(Measurer({"webhook": provider}, changed.put_nowait, metrics))
        return made[-1], changed

    yield make
    for measurer in made:
        await measurer.close()


async def test_a_result_is_kept_until_it_is_recorded_and_measured_once(measuring: Callable[..., Any]) -> None:
    provider = Provider(SUCCESS)
    measurer, changed = measuring(provider)
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    assert await changed.get() == KEY
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    assert measurer.results(KEY) == {PROBE.id: SUCCESS}
    assert provider.started == [PROBE.id]
    measurer.follow(KEY, SUBJECT, stored(1, state="Passed"), recorded=[PROBE.id])
    assert measurer.results(KEY) == {}


async def test_a_measurement_that_hangs_delays_no_other_rollout_and_no_other_measurement(
    measuring: Callable[..., Any],
) -> None:
    provider = Provider(None, SUCCESS)
    measurer, changed = measuring(provider)
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    await asyncio.sleep(0)
    other = ("default", "api")
    measurer.follow(other, replace(SUBJECT, name="api"), stored(), probes=[PROBE])
    assert await changed.get() == other
    both = stored(subsets=("a", "b"))
    measurer.follow(KEY, SUBJECT, both, probes=[PROBE, numbered(0, "b")])
    assert await changed.get() == KEY
    assert list(measurer.results(KEY)) == [numbered(0, "b").id]


async def test_results_of_several_subsets_are_reported_together_and_none_waits_long_for_one_that_hangs(
    measuring: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurer_module, "GATHERING_SECONDS", 0.02)
    subsets = ("a", "b", "c")
    measurer, changed = measuring(Provider(SUCCESS))
    measurer.follow(KEY, SUBJECT, stored(subsets=subsets), probes=[numbered(0, subset) for subset in subsets])
    await changed.get()
    assert len(measurer.results(KEY)) == 3
    hanging, changed = measuring(Provider(SUCCESS, SUCCESS, None))
    hanging.follow(KEY, SUBJECT, stored(subsets=subsets), probes=[numbered(0, subset) for subset in subsets])
    await changed.get()
    assert len(hanging.results(KEY)) == 2
    assert changed.empty()


async def test_a_rollout_has_a_limited_number_of_measurements_at_the_same_time(measuring: Callable[..., Any]) -> None:
    provider = Provider(None)
    measurer, _ = measuring(provider)
    subsets = [f"s{number}" for number in range(3 * AT_ONCE)]
    measurer.follow(KEY, SUBJECT, stored(subsets=subsets), probes=[numbered(0, subset) for subset in subsets])
    for _ in range(5):
        await asyncio.sleep(0)
    assert provider.running == AT_ONCE


@pytest.mark.parametrize(
    "status",
    [
        stored(attempt=1),
        stored(1),
        stored(state="Failed"),
        stored(subsets=("b",)),
        UnitedRolloutStatus(),
    ],
    ids=["measured-again", "counted", "failed", "subset-is-gone", "run-is-over"],
)
async def test_a_measurement_that_nobody_waits_for_is_stopped_and_what_it_created_is_removed(
    measuring: Callable[..., Any], status: UnitedRolloutStatus
) -> None:
    provider = Provider(None)
    measurer, _ = measuring(provider)
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    await asyncio.sleep(0)
    measurer.follow(KEY, SUBJECT, status)
    for _ in range(3):
        await asyncio.sleep(0)
    assert provider.running == 0
    assert provider.discarded == [PROBE.id]
    assert measurer.results(KEY) == {}


async def test_a_process_that_stops_removes_nothing_because_the_next_one_goes_on(measuring: Callable[..., Any]) -> None:
    provider = Provider(None)
    measurer, _ = measuring(provider)
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    await asyncio.sleep(0)
    await measurer.close()
    assert (provider.running, provider.discarded) == (0, [])


async def test_a_rollout_of_the_same_name_gets_no_results_of_its_predecessor(measuring: Callable[..., Any]) -> None:
    measurer, changed = measuring(Provider(SUCCESS))
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    await changed.get()
    measurer.follow(KEY, replace(SUBJECT, uid="other"), stored())
    assert measurer.results(KEY) == {}


@pytest.mark.parametrize(
    ("error", "message", "permanent"),
    [
        (CannotMeasure("no answer"), "no answer", False),
        (CannotMeasure("bad query", permanent=True), "bad query", True),
        (Unreachable("host", "connection refused"), "host", False),
        (ZeroDivisionError("secret"), "internal error: ZeroDivisionError", False),
    ],
)
async def test_whatever_goes_wrong_is_an_error_of_this_measurement_alone(
    measuring: Callable[..., Any], error: CannotMeasure | Unreachable | ZeroDivisionError, message: str, permanent: bool
) -> None:
    registry = CollectorRegistry()
    measurer, changed = measuring(Provider(error), RolloutMetrics(registry))
    measurer.follow(KEY, SUBJECT, stored(), probes=[PROBE])
    await changed.get()
    (found,) = measurer.results(KEY).values()
    assert (found.outcome, found.permanent) == ("Error", permanent)
    assert message in found.message
    assert "secret" not in found.message
    labels = {"kind": "webhook", "outcome": "Error"}
    assert registry.get_sample_value("uniteddeployment_rollout_gate_measurements_total", labels) == 1
