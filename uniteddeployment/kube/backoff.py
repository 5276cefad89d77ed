"""Growing pauses with jitter, for loops that retry by themselves: reflectors, elections and probes."""

import asyncio
import random
from collections.abc import Callable


class Backoff:
    """Doubles the pause with each failure and starts over after a quiet time. ``chance`` gives numbers in [0, 1)."""

    def __init__(
        self, *, first: float = 0.8, longest: float = 30.0, chance: Callable[[], float] = random.random
    ) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance
        self._failures = 0
        self._last = 0.0

    def pause(self) -> float:
        """Seconds to wait now; counts as one more failure."""
        now = asyncio.get_running_loop().time()
        if now - self._last > 2 * self._longest:
            self._failures = 0
        self._last = now
        whole = min(self._first * 2.0 ** min(self._failures, 30), self._longest)
        self._failures += 1
        # Half to one and a half times the pause, so that clients that failed together do not retry together.
        return whole * (0.5 + self._chance())
