"""Time as the cluster sees it. Everything in the cluster that waits or looks at a clock does so through here.

Under a virtual-time event loop (``looptime``) the same class gives virtual time: it reads nothing but the loop.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Timer(Protocol):
    """A call that was asked for later and can be taken back."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for timestamps, monotonic seconds for durations, and calls in the future."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def call_soon(self, callback: Callable[[], None]) -> Timer: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer: ...


class LoopClock:
    """The clock of an asyncio event loop, real or virtual.

    ``epoch`` is the wall time at which this clock is made; simulations pass a fixed one so that every timestamp of two
    runs is the same.
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
