"""The clock by which the age of a Lease is measured."""

import time


def since_boot() -> float:
    """Seconds on a monotonic clock that also counts while the machine is suspended, where the system has one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
