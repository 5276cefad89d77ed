"""A clock for clusters that tests advance by hand, without an event loop."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class _Call:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class HandClock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._calls: list[tuple[float, int, _Call]] = []
        self._count = 0

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def call_soon(self, callback: Callable[[], None]) -> _Call:
        return self.call_later(0, callback)

    def call_later(self, delay: float, callback: Callable[[], None]) -> _Call:
        call = _Call(callback)
        self._count += 1
        heapq.heappush(self._calls, (self.seconds + delay, self._count, call))
        return call

    def advance(self, seconds: float) -> None:
        """Advance the time and run the calls that are due."""
        end = self.seconds + seconds
        while self._calls and self._calls[0][0] <= end:
            self.seconds, _, call = heapq.heappop(self._calls)
            if call.callback is not None:
                call.callback()
        self.seconds = end
