"""Delays before failed keys are tried again.

Each key backs off exponentially, and a token bucket that all keys share prevents a thousand keys that failed together
from being retried together. :class:`Longest` combines the two.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class RateLimiter(Protocol[K_contra]):
    """Decides how long each key is delayed."""

    def when(self, key: K_contra) -> float:
        """Seconds until this key may be tried again; counts as one more failure."""
        ...

    def forget(self, key: K_contra) -> None:
        """The key has succeeded: its next failure counts as the first."""
        ...

    def num_requeues(self, key: K_contra) -> int:
        """Failures since the key was last forgotten."""
        ...


class ItemExponential(Generic[K]):
    """Doubles the delay of a key with each failure: ``base``, 2 x ``base``, ... up to ``cap`` seconds."""

    def __init__(self, base: float = 0.005, cap: float = 1000.0) -> None:
        self._base = base
        self._cap = cap
        self._failures: dict[K, int] = {}

    def when(self, key: K) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # From 2**60 on every delay is the cap; a larger exponent would only overflow.
        return min(self._base * 2.0 ** min(failures, 60), self._cap)

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: K) -> int:
        return self._failures.get(key, 0)


class TokenBucket(Generic[K]):
    """``rate`` keys a second over all keys, after a ``burst``. A key beyond that gets the delay until its turn."""

    def __init__(self, rate: float = 10.0, burst: int = 100, clock: Callable[[], float] | None = None) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._clock = clock
        self._last: float | None = None

    def when(self, key: K) -> float:  # noqa: ARG002  # all keys share the bucket
        self._fill()
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)

    def take(self) -> bool:
        """Take a token if there is one, without waiting; return whether there was one."""
        self._fill()
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def _fill(self) -> None:
        now = (self._clock or asyncio.get_running_loop().time)()
        if self._last is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate)
        self._last = now

    def forget(self, key: K) -> None:
        """Do nothing: the bucket does not know keys."""

    def num_requeues(self, key: K) -> int:  # noqa: ARG002  # the bucket does not know keys
        return 0


class Longest(Generic[K]):
    """The longest delay that any of several limiters asks for."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        self._limiters = limiters

    def when(self, key: K) -> float:
        return max(limiter.when(key) for limiter in self._limiters)

    def forget(self, key: K) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        return max(limiter.num_requeues(key) for limiter in self._limiters)


def default_rate_limiter() -> Longest[K]:
    """The default of client-go: 5 ms to 1,000 s for each key, and 10 keys a second after a burst of 100 for all."""
    return Longest(ItemExponential(), TokenBucket())
