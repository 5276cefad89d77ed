"""The work queue does what client-go's does, in the order of priorities."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import looptime
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.unit.kube.fakes import running, until
from uniteddeployment.kube.ratelimit import ItemExponential, Longest, TokenBucket
from uniteddeployment.kube.workqueue import SHORTEST_DELAY, ShutDown, WorkQueue

pytestmark = pytest.mark.looptime

KEYS = st.sampled_from("abcd")
PRIORITIES = st.integers(-1, 1)


class Measured:
    """Remembers what the queue reported."""

    def __init__(self) -> None:
        self.adds = 0
        self.retries = 0
        self.depths: list[int] = []
        self.waits: list[float] = []
        self.works: list[float] = []

    def added(self) -> None:
        self.adds += 1

    def depth(self, waiting: int) -> None:
        self.depths.append(waiting)

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)

    def worked(self, seconds: float) -> None:
        self.works.append(seconds)

    def retried(self) -> None:
        self.retries += 1


class QueueMachine(RuleBasedStateMachine):
    """The queue beside a model that is too simple to be wrong: lists, sets and a clock (I1)."""

    def __init__(self) -> None:
        super().__init__()
        loop = asyncio.new_event_loop()
        assert isinstance(loop, asyncio.BaseEventLoop)
        self.loop = looptime.patch_event_loop(loop)
        self.queue: WorkQueue[str] = WorkQueue(limiter=ItemExponential(base=1.0, cap=4.0))
        self.now = 0.0
        self.dirty: dict[str, int] = {}
        self.line: list[str] = []
        self.processing: set[str] = set()
        self.later: dict[str, tuple[float, int]] = {}
        self.failures: dict[str, int] = {}
        self.shut = False

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(coroutine)

    def call(self, function: Any, *arguments: Any) -> Any:
        async def inside() -> Any:
            return function(*arguments)

        return self.run(inside())

    def sleep(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))
        self.now += seconds
        for key, (due, priority) in sorted(self.later.items(), key=lambda item: item[1][0]):
            if due <= self.now:
                del self.later[key]
                self.model_add(key, priority)

    def teardown(self) -> None:
        self.call(self.queue.shut_down)
        self.loop.close()

    def model_add(self, key: str, priority: int) -> None:
        if self.shut:
            return
        if key in self.dirty:
            if priority > self.dirty[key]:
                self.dirty[key] = priority
                if key in self.line:
                    self.line.remove(key)
                    self.line.append(key)
            return
        self.dirty[key] = priority
        if key not in self.processing:
            self.line.append(key)

    def model_add_after(self, key: str, delay: float, priority: int) -> None:
        if self.shut:
            return
        if delay <= 0:
            self.model_add(key, priority)
            return
        self.sleep(0.001)  # no two keys are due at the same time, for their order then is nobody's promise
        due, known = self.later.get(key, (float("inf"), priority))
        self.later[key] = (min(due, self.now - 0.001 + delay), max(known, priority))

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.call(self.queue.add, key, priority)
        self.model_add(key, priority)

    @precondition(lambda self: self.line)
    @rule()
    def get(self) -> None:
        highest = max(self.dirty[key] for key in self.line)
        expected = next(key for key in self.line if self.dirty[key] == highest)
        assert self.run(self.queue.get()) == expected
        self.line.remove(expected)
        del self.dirty[expected]
        self.processing.add(expected)

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        """Also for a key that nobody has, which must do nothing."""
        self.call(self.queue.done, key)
        if key in self.processing:
            self.processing.remove(key)
            if key in self.dirty:
                self.line.append(key)

    @rule(key=KEYS, delay=st.integers(-1, 5), priority=PRIORITIES)
    def add_after(self, key: str, delay: int, priority: int) -> None:
        self.call(self.queue.add_after, key, delay, priority)
        self.model_add_after(key, delay, priority)

    @rule(key=KEYS)
    def add_rate_limited(self, key: str) -> None:
        self.call(self.queue.add_rate_limited, key)
        delay = min(2.0 ** self.failures.get(key, 0), 4.0)
        self.failures[key] = self.failures.get(key, 0) + 1
        self.model_add_after(key, delay, 0)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.call(self.queue.forget, key)
        self.failures.pop(key, None)

    @rule()
    def time_passes(self) -> None:
        """In odd steps, so that no timer is due at the very moment that is looked at."""
        self.sleep(0.5137)
        self.sleep(1.0071)

    @precondition(lambda self: len(self.processing) > 1)
    @rule()
    def shut_down(self) -> None:
        self.call(self.queue.shut_down)
        self.shut = True
        self.later.clear()

    @invariant()
    def same_as_the_model(self) -> None:
        assert len(self.queue) == len(self.line)
        assert self.queue.processing() == self.processing
        assert self.queue.delayed() == len(self.later)
        assert self.queue.shutting_down == self.shut
        for key in "abcd":
            assert self.queue.num_requeues(key) == self.failures.get(key, 0)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(stateful_step_count=40, deadline=None)


async def test_a_key_added_while_processed_is_queued_again_only_when_done() -> None:
    """I1: one key, one worker."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    assert not queue.is_dirty("a")
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    assert queue.is_dirty("a")
    queue.done("a")
    assert len(queue) == 1
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_a_users_edit_goes_before_a_resync_of_ten_thousand() -> None:
    queue: WorkQueue[int] = WorkQueue()
    for number in range(10_000):
        queue.add(number, priority=-1)
    queue.add(10_000)
    queue.add(7_000)
    assert [await queue.get() for _ in range(4)] == [10_000, 7_000, 0, 1]
    assert len(queue) == 9_997


async def test_a_worker_that_waits_is_woken_and_one_key_wakes_one_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    got: list[str] = []

    async def work() -> None:
        got.append(await queue.get())

    async with running(work()), running(work()):
        await asyncio.sleep(0)
        queue.add("a")
        await until(lambda: got)
        await asyncio.sleep(1)
        assert got == ["a"]
        queue.add("b")
        await until(lambda: got == ["a", "b"])


async def test_a_worker_cancelled_while_it_is_woken_passes_the_key_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    async with asyncio.timeout(60):
        assert await second == "a"
    assert first.cancelled() or (await asyncio.gather(first, return_exceptions=True))


async def test_a_waiting_worker_that_is_cancelled_leaves_no_trace() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiter = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    queue.add("a")
    assert await queue.get() == "a"


async def test_a_key_that_comes_while_waiting_workers_are_cancelled_goes_to_one_that_is_not() -> None:
    """Cancelled workers end as cancelled: an error of theirs would end all others."""
    queue: WorkQueue[str] = WorkQueue()
    cancelled = [asyncio.create_task(queue.get()) for _ in range(2)]
    last = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    for worker in cancelled:
        worker.cancel()
    queue.add("a")
    async with asyncio.timeout(60):
        assert await last == "a"
    results = await asyncio.gather(*cancelled, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 2


async def test_shut_down_hands_out_what_is_queued_and_then_sends_everybody_home() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add_after("later", 5)
    queue.shut_down()
    queue.add("b")
    assert await queue.get() == "a"
    with pytest.raises(ShutDown):
        await queue.get()
    await asyncio.sleep(10)
    assert len(queue) == 0


async def test_shut_down_wakes_workers_that_wait() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.shut_down()
    results = await asyncio.gather(*waiters, return_exceptions=True)
    assert [type(result) for result in results] == [ShutDown] * 3


async def test_draining_waits_for_the_keys_that_are_being_processed() -> None:
    """I9: a graceful end leaves no work half done."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.get()
    drained = asyncio.create_task(queue.shut_down_with_drain())
    await asyncio.sleep(60)
    assert not drained.done()
    queue.done(key)
    await drained


async def test_delays_keep_the_earlier_time_and_the_higher_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 10, priority=-1)
    queue.add_after("a", 30, priority=1)
    queue.add_after("b", 5)
    started = asyncio.get_running_loop().time()
    assert await queue.get() == "b"
    assert await queue.get() == "a"
    assert asyncio.get_running_loop().time() - started == pytest.approx(10)
    await asyncio.sleep(60)
    assert len(queue) == 0


async def test_a_failing_key_waits_longer_each_time_until_it_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(limiter=ItemExponential(base=1.0, cap=5.0))
    clock = asyncio.get_running_loop().time
    waits = []
    for _ in range(5):
        started = clock()
        queue.add_rate_limited("a")
        queue.done(await queue.get())
        waits.append(clock() - started)
    assert waits == pytest.approx([1, 2, 4, 5, 5])
    assert queue.num_requeues("a") == 5
    queue.forget("a")
    assert queue.num_requeues("a") == 0


async def test_keys_that_fail_together_are_not_tried_together() -> None:
    """The shared bucket: after its burst, the rate."""
    limiter: Longest[int] = Longest(ItemExponential(base=0.001), TokenBucket(rate=10, burst=100))
    delays = [limiter.when(key) for key in range(200)]
    assert max(delays[:100]) <= 0.001
    assert delays[-1] == pytest.approx(10.0)
    await asyncio.sleep(100)
    assert limiter.when(1000) == 0.001
    assert limiter.num_requeues(1000) == 1
    limiter.forget(1000)
    assert limiter.num_requeues(1000) == 0


async def test_the_backoff_of_a_key_never_overflows() -> None:
    limiter: ItemExponential[str] = ItemExponential()
    assert max(limiter.when("a") for _ in range(5000)) == 1000.0


async def test_metrics_are_client_gos() -> None:
    measured = Measured()
    queue: WorkQueue[str] = WorkQueue(metrics=measured)
    queue.add("a")
    queue.add("a")
    await asyncio.sleep(2)
    key = await queue.get()
    queue.add("a")
    await asyncio.sleep(3)
    assert queue.unfinished() == pytest.approx(3)
    assert queue.longest_running() == pytest.approx(3)
    queue.done(key)
    queue.add_rate_limited("b")
    assert measured.adds == 2
    assert measured.retries == 1
    assert measured.depths == [1, 0, 1]
    assert measured.waits == pytest.approx([2])
    assert measured.works == pytest.approx([3])
    assert queue.unfinished() == queue.longest_running() == 0.0


async def test_a_delay_that_the_clock_cannot_tell_from_none_takes_a_moment() -> None:
    """Whoever waits for the rest of a pause would else come back in the same instant, again and again."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(1000)
    queue: WorkQueue[str] = WorkQueue()
    began = loop.time()
    assert began + 7e-15 == began
    for _ in range(3):
        queue.add_after("a", 7e-15)
        assert await queue.get() == "a"
        queue.done("a")
    assert loop.time() >= began + 3 * SHORTEST_DELAY * 0.99
    queue.add_after("a", 0.0)
    assert len(queue) == 1
