"""Waiting for something that cannot be waited for in another way."""

import time
from collections.abc import Callable

WAIT_SECONDS = 60.0
"""How long anything may take before a test gives up: real control planes on two cores are slow."""
POLL_SECONDS = 0.05


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until it holds. Raises AssertionError that names it."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {WAIT_SECONDS:g} s"
        time.sleep(POLL_SECONDS)
