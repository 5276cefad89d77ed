"""How long a failed key waits before it is tried again.

Two limiters, and the one that takes the longer wait of both: each key backs off exponentially on its own, and a
bucket that all keys share keeps a thousand keys that fail together from being tried together.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class RateLimiter(Protocol[K_contra]):
    """Decides about delays, key by key."""

    def when(self, key: K_contra) -> float:
        """Seconds until this key may be tried again; counts as one more failure."""
        ...

    def forget(self, key: K_contra) -> None:
        """The key is fine again."""
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
    """``rate`` keys a second over all keys, after a ``burst``; whoever comes too early is told when its turn is."""

    def __init__(self, rate: float = 10.0, burst: int = 100, clock: Callable[[], float] | None = None) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._clock = clock
        self._last: float | None = None

    def when(self, key: K) -> float:  # noqa: ARG002  # the bucket is everybody's
        self._fill()
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)

    def take(self) -> bool:
        """Takes a token if there is one now, for those who would rather leave it than wait."""
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
        """Nothing: a bucket knows no keys."""

    def num_requeues(self, key: K) -> int:  # noqa: ARG002  # the bucket knows no keys
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
    """Client-go's default for controllers: 5 ms to 1,000 s for each key, 10 a second after a burst of 100 for all."""
    return Longest(ItemExponential(), TokenBucket())
