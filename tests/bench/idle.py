"""Waits until processes have finished their work, so that a measurement does not include the end of the one before."""

import asyncio

from tests.support.processes import Process

_WINDOW = 0.5
"""Seconds. A shorter window would have less CPU in it than the clock of processes counts."""
_LITTLE = 0.05
"""The part of a core that watches, probes and timers use."""


async def idle(*processes: Process, seconds: float = 60.0) -> None:
    """Wait until none of these processes uses more than a little CPU."""
    async with asyncio.timeout(seconds):
        while True:
            before = [process.cpu_seconds() for process in processes]
            await asyncio.sleep(_WINDOW)
            now = [process.cpu_seconds() for process in processes]
            if all(after - was <= _LITTLE * _WINDOW for was, after in zip(before, now, strict=True)):
                return
