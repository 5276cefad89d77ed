"""The clock by which the age of a Lease is measured."""

import time


def since_boot() -> float:
    """Seconds of a monotonic clock that also runs while the machine is suspended, if the system has one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
