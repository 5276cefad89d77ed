"""The worker applies the result of each pass to the queue; one failing key harms no other."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from uniteddeployment.controller.host import Key
from uniteddeployment.controller.reconcile import Result
from uniteddeployment.controller.worker import Workers
from uniteddeployment.kube.ratelimit import ItemExponential
from uniteddeployment.kube.workqueue import WorkQueue

pytestmark = pytest.mark.looptime

KEY, OTHER = ("default", "web"), ("default", "other")


class Recipe:
    """A reconciler that returns prepared results, or raises, and notes when each pass was."""

    def __init__(self, *results: Result | Exception) -> None:
        self.results = list(results)
        self.passes: list[tuple[Key, float]] = []
        self.concluded: list[Key] = []
        self.failures: list[tuple[Key, str]] = []
        self.report_fails = False

    async def reconcile(self, key: Key) -> Result:
        self.passes.append((key, asyncio.get_running_loop().time()))
        result = self.results.pop(0) if self.results else Result(forget=True)
        if isinstance(result, Exception):
            raise result
        return result

    async def conclude(self, key: Key) -> None:
        self.concluded.append(key)

    async def report_failure(self, key: Key, error: str) -> None:
        self.failures.append((key, error))
        if self.report_fails:
            raise ValueError("a secret")


class Counted:
    """Metrics that keep what they are given."""

    queue = None

    def __init__(self) -> None:
        self.failures: list[str] = []

    def steps(self, done: Any) -> None:
        """Not of interest here."""

    def failed(self, kind: str) -> None:
        self.failures.append(kind)


class Bench:
    """A queue and workers around a recipe."""

    def __init__(self, *results: Result | Exception) -> None:
        self.queue: WorkQueue[Key] = WorkQueue(limiter=ItemExponential(base=1.0, cap=60.0))
        self.recipe = Recipe(*results)
        self.metrics = Counted()
        self.workers = Workers(self.queue, self.recipe, self.metrics, 2)  # type: ignore[arg-type]  # stand-ins

    async def work(self, *keys: Key, seconds: float = 30.0, before_end: Callable[[], None] = lambda: None) -> list[Any]:
        """Add keys and let the workers run for some seconds of virtual time; return the passes."""
        running = asyncio.create_task(self.workers.run())
        started = asyncio.get_running_loop().time()
        for key in keys:
            self.queue.add(key)
        await asyncio.sleep(seconds)
        before_end()
        await self.queue.shut_down_with_drain()
        await running
        return [(key, round(time - started, 3)) for key, time in self.recipe.passes]


async def test_an_empty_result_leaves_the_key_alone() -> None:
    """A watch event or an answered write brings the key back; until then there is nothing to do (I3)."""
    bench = Bench(Result())
    assert await bench.work(KEY) == [(KEY, 0.0)]
    assert bench.metrics.failures == []


async def test_a_key_is_reconciled_again_after_the_seconds_that_its_result_names() -> None:
    assert await Bench(Result(requeue_after=7.0)).work(KEY) == [(KEY, 0.0), (KEY, 7.0)]


async def test_pauses_grow_while_passes_ask_to_back_off_and_start_over_once_one_forgets() -> None:
    backing_off = Result(back_off=True, failed=True)
    bench = Bench(backing_off, backing_off, Result(forget=True, requeue_after=10.0), backing_off)
    assert await bench.work(KEY) == [(KEY, 0.0), (KEY, 1.0), (KEY, 3.0), (KEY, 13.0), (KEY, 14.0)]


async def test_only_failed_passes_are_counted_as_retries() -> None:
    """A pass that stores a decision before it acts also backs off, and nothing has failed."""
    bench = Bench(Result(back_off=True), Result(back_off=True, failed=True))
    await bench.work(KEY)
    assert bench.metrics.failures == ["retry"]


async def test_of_two_times_the_earlier_one_counts() -> None:
    assert await Bench(Result(requeue_after=7.0, back_off=True)).work(KEY) == [(KEY, 0.0), (KEY, 1.0)]


async def test_an_error_is_counted_reported_and_tried_again_and_other_keys_go_on() -> None:
    """I10, I16"""
    bench = Bench(KeyError("a secret"))
    with structlog.testing.capture_logs() as logs:
        passes = await bench.work(KEY, OTHER)
    assert passes == [(KEY, 0.0), (OTHER, 0.0), (KEY, 1.0)]
    assert bench.metrics.failures == ["internal"]
    assert bench.recipe.failures == [(KEY, "KeyError")]
    assert [(entry["event"], entry["name"]) for entry in logs] == [("reconcile failed", "web")]


async def test_an_error_that_cannot_be_reported_does_not_end_the_worker() -> None:
    """I16"""
    bench = Bench(KeyError("first"))
    bench.recipe.report_fails = True
    with structlog.testing.capture_logs() as logs:
        assert await bench.work(KEY) == [(KEY, 0.0), (KEY, 1.0)]
    assert [entry["event"] for entry in logs] == ["reconcile failed", "status not written"]


async def test_a_status_that_waits_is_written_at_the_end_if_the_queue_is_shut_down() -> None:
    """The next process starts from status (I9)."""
    bench = Bench()
    await bench.work()
    bench.workers.apply(KEY, Result(requeue_after=1.0, unreported=True))
    bench.workers.apply(OTHER, Result(forget=True))
    await bench.workers.conclude()
    assert bench.recipe.concluded == [KEY]


async def test_a_status_that_waits_when_the_queue_is_shut_down_is_written_at_the_end() -> None:
    """The delayed pass that would write it does not come any more (I9)."""
    bench = Bench(Result(requeue_after=1.0, unreported=True))
    assert await bench.work(KEY, seconds=0.5) == [(KEY, 0.0)]
    await bench.workers.conclude()
    assert bench.recipe.concluded == [KEY]


async def test_a_status_that_waits_is_left_to_the_next_pass_while_there_is_one() -> None:
    bench = Bench(Result(requeue_after=1.0, unreported=True))
    assert await bench.work(KEY) == [(KEY, 0.0), (KEY, 1.0)]
    await bench.workers.conclude()
    assert bench.recipe.concluded == []
