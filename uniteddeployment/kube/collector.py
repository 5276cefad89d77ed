"""Pauses Python's garbage collector while many objects are created at once.

Decoding a list creates tens of thousands of objects that all stay. The collector would examine them again and again,
which takes a third of the time of a large list.
"""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No garbage collection inside the block. It must not await, or a slow server could keep the collector paused."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
