"""Bounds how many requests are in flight to one API server, and lets urgent ones pass the others.

There is no client-side rate here: the number in flight is what protects a server, since a slow server is asked less
often by itself. Work for users goes first; status and events take what is left.
"""

import asyncio
from collections import deque
from enum import IntEnum


class Priority(IntEnum):
    """What goes first when not everything can go at once."""

    VITAL = 0
    """Renewing a lease: late is lost."""
    URGENT = 1
    """What users wait for."""
    BACKGROUND = 2
    """Status, events, and whatever else may come a little later."""


class Limiter:
    """A semaphore with two queues. First come, first served within a priority."""

    def __init__(self, limit: int = 32) -> None:
        if limit < 1:
            raise ValueError("at least one request must be allowed")
        self._free = limit
        self._waiting: tuple[deque[asyncio.Future[None]], ...] = tuple(deque() for _ in Priority)

    @property
    def free(self) -> int:
        """How many more could start now."""
        return self._free

    async def acquire(self, priority: Priority = Priority.URGENT) -> None:
        """Takes a slot, now or when it is this one's turn. Whoever has one must ``release`` it."""
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[priority].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slot was handed over and the taker was cancelled in the same moment: it goes to the next.
                self.release()
            else:
                self._waiting[priority].remove(turn)
            raise

    def release(self) -> None:
        """Gives the slot back: straight to the first in line, so that nobody who comes now can slip in between."""
        for line in self._waiting:
            while line:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1
