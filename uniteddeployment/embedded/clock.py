"""The cluster's clock. Everything in the cluster that waits or reads the time uses it.

Under a virtual-time event loop (``looptime``) the same class yields virtual time, because it reads only the loop.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for timestamps, monotonic seconds for durations, and scheduled calls."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def call_soon(self, callback: Callable[[], None]) -> Timer: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer: ...


class LoopClock:
    """The clock of an asyncio event loop, real or virtual.

    ``epoch`` is the wall time at which the clock starts; simulations pass a fixed one so that two runs have the same
    timestamps.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, epoch: datetime | None = None) -> None:
        self._loop = loop
        self._start = loop.time()
        self._epoch = epoch or datetime.now(UTC)

    def now(self) -> datetime:
        return self._epoch + timedelta(seconds=self._loop.time() - self._start)

    def monotonic(self) -> float:
        return self._loop.time()

    def call_soon(self, callback: Callable[[], None]) -> Timer:
        return self._loop.call_soon(callback)

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return self._loop.call_later(delay, callback)
