"""Event loops with virtual time: when nothing is left to do, the time jumps to the next timer.

Nothing comes from outside of the process, so there is nothing to wait for before time goes on. The loop counts its
rounds, in all and without time passing, so that a story that never ends fails within seconds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import looptime

MOST_ROUNDS = 500_000
"""A story takes a few thousand rounds of its loop, and the longest of all 100,000."""
MOST_ROUNDS_AT_ONCE = 20_000
"""As many callbacks in a row as no burst of work needs: somebody tries again without a pause."""
IDLE_SECONDS = 5.0
"""Real time after which a story in which nothing can happen any more is given up."""


class NeverEndsError(Exception):
    """A story whose loop goes round and round."""


class BoundedLoop(asyncio.SelectorEventLoop):
    """An event loop that gives up a story that goes round in circles. Raises NeverEndsError."""

    _moment = -1.0
    _rounds = _rounds_at_once = 0

    def _run_once(self) -> None:
        now = self.time()
        self._rounds_at_once = self._rounds_at_once + 1 if now == self._moment else 0
        self._moment = now
        self._rounds += 1
        if self._rounds_at_once > MOST_ROUNDS_AT_ONCE:
            self._give_up(f"{MOST_ROUNDS_AT_ONCE} rounds of the loop have passed at {now:.6f} s, and time stands still")
        if self._rounds > MOST_ROUNDS:
            self._give_up(f"{MOST_ROUNDS} rounds of the loop have passed until {now:.6f} s, more than any story needs")
        super()._run_once()  # type: ignore[misc]  # the one place through which every round goes

    def _give_up(self, why: str) -> None:
        self._rounds = self._rounds_at_once = 0  # what is cancelled now has to come to its end
        ready = "\n  ".join(str(handle) for handle in list(self._ready)[:5])  # type: ignore[attr-defined]  # for people only
        raise NeverEndsError(f"{why}; next would be:\n  {ready or 'a timer'}")


def loop_factory(kind: type[asyncio.SelectorEventLoop] = BoundedLoop) -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes loops of a kind with virtual time."""
    made = looptime.make_event_loop_class(kind)
    return partial(made, noop_cycles=0, idle_timeout=IDLE_SECONDS)


def simulate(story: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine under virtual time, where the test itself is not a coroutine."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(story())  # type: ignore[arg-type]
