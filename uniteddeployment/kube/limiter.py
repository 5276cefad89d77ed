"""Limits how many requests to one API server are in flight. Requests with a higher priority go first.

There is no limit of the rate: a limit of the number in flight protects a server by itself, since a slow server then
gets fewer requests. Work for users goes first; status and Events take the rest.
"""

import asyncio
from collections import deque
from enum import IntEnum


class Priority(IntEnum):
    """The order of requests that wait."""

    VITAL = 0
    """Renewal of a Lease, which has a deadline."""
    URGENT = 1
    """Work that users wait for."""
    BACKGROUND = 2
    """Status, Events and other work that may wait a little."""


class Limiter:
    """A semaphore with one queue per priority. Within a priority, the first request goes first."""

    def __init__(self, limit: int = 32) -> None:
        if limit < 1:
            raise ValueError("at least one request must be allowed")
        self._free = limit
        self._waiting: tuple[deque[asyncio.Future[None]], ...] = tuple(deque() for _ in Priority)

    @property
    def free(self) -> int:
        """How many more requests could start now."""
        return self._free

    async def acquire(self, priority: Priority = Priority.URGENT) -> None:
        """Take a slot as soon as there is one. The caller must ``release`` it."""
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[priority].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slot was given to a task that was cancelled at the same moment: pass it on.
                self.release()
            else:
                self._waiting[priority].remove(turn)
            raise

    def release(self) -> None:
        """Return the slot. It goes straight to the first task that waits, so that no later one can take it."""
        for line in self._waiting:
            while line:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1
