"""A circuit breaker for one API server, so that requests to a dead server fail at once instead of timing out (I10).

While it is closed, everything passes. After several failures in a row it opens: everything fails at once, for a time
that grows with each opening. Then one request passes as a probe. Its success closes the circuit; its failure opens it
for longer.
"""

import asyncio
from collections.abc import Callable

from uniteddeployment.kube.errors import Unreachable


class Circuit:
    """Decides whether a request is worth trying. ``clock`` is monotonic; by default the running loop's."""

    def __init__(
        self,
        server: str,
        *,
        failures: int = 3,
        first: float = 1.0,
        longest: float = 30.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._server = server
        self._allowed = failures
        self._first = first
        self._longest = longest
        self._clock = clock
        self._failures = 0
        self._openings = 0
        self._until = 0.0
        self._probing = False
        self._why = ""

    @property
    def open(self) -> bool:
        """Whether requests are refused, except for a probe."""
        return self._openings > 0

    def check(self) -> None:
        """Let a request pass, or raise ``Unreachable`` with the last failure. The outcome has to be reported."""
        if not self._openings:
            return
        left = self._until - self._now()
        if left > 0 or self._probing:
            raise Unreachable(self._server, self._why, retry_in=max(left, 0.0))
        self._probing = True

    def succeeded(self) -> None:
        """There was an answer of any status."""
        self._failures = self._openings = 0
        self._probing = False

    def failed(self, why: str) -> None:
        """There was no answer."""
        self._failures += 1
        self._why = why
        if self._openings and not self._probing:
            return  # it began before the circuit opened
        if self._probing or self._failures >= self._allowed:
            self._probing = False
            self._openings += 1
            self._until = self._now() + min(self._first * 2 ** min(self._openings - 1, 30), self._longest)

    def gave_up(self) -> None:
        """The request was cancelled. Nothing is known of the server, and the next request may be the probe."""
        self._probing = False

    def _now(self) -> float:
        return (self._clock or asyncio.get_running_loop().time)()
