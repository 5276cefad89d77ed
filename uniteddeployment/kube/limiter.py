"""Bounds how many requests are in flight to one API server, and lets urgent ones pass the others.

There is no client-side rate here: the number in flight is what protects a server, since a slow server is asked less
often by itself. Work for users goes first; status and events take what is left.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from enum import IntEnum


class Priority(IntEnum):
    """What goes first when not everything can go at once."""

    URGENT = 0
    BACKGROUND = 1


class Limiter:
    """A semaphore with two queues. First come, first served within a priority."""

    def __init__(self, limit: int = 64) -> None:
        if limit < 1:
            raise ValueError("at least one request must be allowed")
        self._free = limit
        self._waiting: tuple[deque[asyncio.Future[None]], ...] = tuple(deque() for _ in Priority)

    @property
    def free(self) -> int:
        """How many more could start now."""
        return self._free

    @contextlib.asynccontextmanager
    async def slot(self, priority: Priority = Priority.URGENT) -> AsyncIterator[None]:
        """Holds one of the slots for as long as the block runs."""
        await self.acquire(priority)
        try:
            yield
        finally:
            self.release()

    async def acquire(self, priority: Priority = Priority.URGENT) -> None:
        """Takes a slot, now or when it is this one's turn."""
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
