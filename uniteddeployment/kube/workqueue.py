"""The work queue of a controller for coroutines, with the semantics of client-go's work queue.

It has three sets: ``queue`` has the keys in order, ``dirty`` has every key that needs processing, and ``processing``
has the keys that workers have now. A key that is added while it is dirty is not queued twice. A key that is added while
it is being processed only becomes dirty, and is queued again at ``done``. So no two workers have the same key at once
(I1), and a burst of events becomes one pass.

Unlike client-go's, it has priorities. A higher number goes first; within a priority, the first key goes first; and
adding a key again with a higher priority raises it. All times are the event loop's, so the queue runs in virtual time.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from uniteddeployment.kube.ratelimit import RateLimiter, default_rate_limiter

K = TypeVar("K", bound=Hashable)


SHORTEST_DELAY = 0.001
"""Seconds. Shorter delays may be below the resolution of the clock, and would make their caller spin."""


class ShutDown(Exception):  # noqa: N818  # the end of the work, not an error
    """The queue is shut down and empty: the worker can end."""


class QueueMetrics(Protocol):
    """Receives the events of a queue. Called often, so it must be fast."""

    def added(self) -> None:
        """A key became dirty."""

    def depth(self, waiting: int) -> None:
        """The number of keys that wait for a worker has changed to this."""

    def waited(self, seconds: float) -> None:
        """A key has waited in the queue for this long."""

    def worked(self, seconds: float) -> None:
        """A worker has processed a key for this long."""

    def retried(self) -> None:
        """A key was added with a delay."""


class _NoMetrics:
    """Discards all measurements."""

    def added(self) -> None:
        """Do nothing."""

    def depth(self, waiting: int) -> None:
        """Do nothing."""

    def waited(self, seconds: float) -> None:
        """Do nothing."""

    def worked(self, seconds: float) -> None:
        """Do nothing."""

    def retried(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class _Dirty:
    """A key that needs processing: its priority, and since when it waits."""

    priority: int
    since: float


@dataclass(slots=True)
class _Delayed:
    """A key that will be added later."""

    due: float
    priority: int
    timer: asyncio.TimerHandle


class WorkQueue(Generic[K]):
    """Gives keys to workers: ``key = await get()``, work, ``forget(key)`` after a success, and always ``done(key)``."""

    def __init__(self, *, limiter: RateLimiter[K] | None = None, metrics: QueueMetrics | None = None) -> None:
        self._limiter: RateLimiter[K] = limiter if limiter is not None else default_rate_limiter()
        self._metrics: QueueMetrics = metrics or _NoMetrics()
        self._lines: dict[int, OrderedDict[K, None]] = {}
        self._order: list[int] = []
        self._length = 0
        self._dirty: dict[K, _Dirty] = {}
        self._processing: dict[K, float] = {}
        self._delayed: dict[K, _Delayed] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._shut = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        """How many keys wait for a worker, without those being processed and those delayed."""
        return self._length

    @property
    def shutting_down(self) -> bool:
        """Whether new keys are refused."""
        return self._shut

    def processing(self) -> frozenset[K]:
        """The keys that workers have now."""
        return frozenset(self._processing)

    def is_dirty(self, key: K) -> bool:
        """Whether the key needs processing: if a worker has it now, another pass follows."""
        return key in self._dirty

    def delayed(self) -> int:
        """How many keys wait for their delay to end."""
        return len(self._delayed)

    def unfinished(self) -> float:
        """Seconds that all keys in progress have taken so far, in total. Safe to call in any thread."""
        now = self._now()
        return sum(now - since for since in list(self._processing.values()))

    def longest_running(self) -> float:
        """Seconds that the oldest key in progress has taken so far."""
        running = list(self._processing.values())
        return self._now() - min(running) if running else 0.0

    def add(self, key: K, priority: int = 0) -> None:
        """Mark a key as in need of processing."""
        if self._shut:
            return
        known = self._dirty.get(key)
        if known is not None:
            if priority > known.priority:
                self._raise(key, known, priority)
            return
        self._metrics.added()
        self._dirty[key] = _Dirty(priority, self._now())
        if key not in self._processing:
            self._push(key, priority)

    async def get(self) -> K:
        """Wait for the next key. Raises ``ShutDown`` once the queue is shut down and empty."""
        while not self._length:
            if self._shut:
                raise ShutDown
            await self._wait_for_key()
        key = self._pop()
        now = self._now()
        self._metrics.waited(now - self._dirty.pop(key).since)
        self._processing[key] = now
        return key

    def done(self, key: K) -> None:
        """The worker has finished with the key. If it became dirty meanwhile, queue it again."""
        started = self._processing.pop(key, None)
        if started is not None:
            self._metrics.worked(self._now() - started)
        known = self._dirty.get(key)
        if started is not None and known is not None:
            self._push(key, known.priority)
        if not self._processing:
            self._wake_idle()

    def add_after(self, key: K, delay: float, priority: int = 0) -> None:
        """Add the key after ``delay`` seconds. Of two delays for a key the shorter one counts, and the higher priority.

        A delay of 0 or less adds it at once; any other delay lasts at least a millisecond.
        """
        if self._shut:
            return
        self._metrics.retried()
        if delay <= 0:
            self.add(key, priority)
            return
        delay = max(delay, SHORTEST_DELAY)
        due = self._now() + delay
        waiting = self._delayed.get(key)
        if waiting is not None:
            waiting.priority = max(waiting.priority, priority)
            if waiting.due <= due:
                return
            waiting.timer.cancel()
            priority = waiting.priority
        timer = asyncio.get_running_loop().call_later(delay, self._due, key)
        self._delayed[key] = _Delayed(due, priority, timer)

    def add_rate_limited(self, key: K, priority: int = 0) -> None:
        """Add the key after the delay of the rate limiter, which grows with each call until ``forget``."""
        self.add_after(key, self._limiter.when(key), priority)

    def forget(self, key: K) -> None:
        """The key has succeeded: its next failure counts as the first. The key stays where it is queued."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """How often ``add_rate_limited`` was called for the key since the last ``forget``."""
        return self._limiter.num_requeues(key)

    def shut_down(self) -> None:
        """Refuse new keys and drop delayed ones. Workers get the queued keys and then ``ShutDown``."""
        self._shut = True
        for waiting in self._delayed.values():
            waiting.timer.cancel()
        self._delayed.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()

    async def shut_down_with_drain(self) -> None:
        """Shut down, and return when no worker has a key any more."""
        self.shut_down()
        while self._processing:
            idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle

    def _due(self, key: K) -> None:
        self.add(key, self._delayed.pop(key).priority)

    def _raise(self, key: K, known: _Dirty, priority: int) -> None:
        line = self._lines.get(known.priority)
        known.priority = priority
        if line is not None and key in line:
            del line[key]
            self._line(priority)[key] = None

    def _push(self, key: K, priority: int) -> None:
        self._line(priority)[key] = None
        self._length += 1
        self._metrics.depth(self._length)
        self._wake_getter()

    def _pop(self) -> K:
        for priority in self._order:
            line = self._lines[priority]
            if line:
                key, _ = line.popitem(last=False)
                self._length -= 1
                self._metrics.depth(self._length)
                return key
        raise LookupError("the queue is empty")

    def _line(self, priority: int) -> OrderedDict[K, None]:
        line = self._lines.get(priority)
        if line is None:
            line = self._lines[priority] = OrderedDict()
            self._order = sorted(self._lines, reverse=True)
        return line

    async def _wait_for_key(self) -> None:
        getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter.done() and not getter.cancelled():
                # Woken for a key and cancelled at the same moment: wake the next one, or nobody would take the key.
                if self._length:
                    self._wake_getter()
            elif getter in self._getters:  # not if a key came since: cancelled getters are then dropped
                self._getters.remove(getter)
            raise

    def _wake_getter(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _wake_idle(self) -> None:
        for idle in self._idle:
            if not idle.done():
                idle.set_result(None)
        self._idle.clear()

    def _now(self) -> float:
        """The loop's time. The loop is kept, since metrics may be collected in a thread without one."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop.time()
