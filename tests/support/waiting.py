"""Waiting for something that cannot be waited for in another way."""

import time
from collections.abc import Callable

WAIT_SECONDS = 60.0
"""How long anything may take before a test gives up: real control planes on two cores are slow."""
FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 0.01, 0.15, 1.3
"""Pauses between two looks, in seconds: short ones at first, and few looks at what takes long."""


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until it holds. Raises AssertionError that names it."""
    deadline = time.monotonic() + WAIT_SECONDS
    pause = FIRST_PAUSE
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {WAIT_SECONDS:g} s"
        time.sleep(pause)
        pause = min(pause * GROWTH, LONGEST_PAUSE)
