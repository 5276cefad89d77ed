"""How long something waits between its tries, in virtual time."""

import asyncio
from collections.abc import Callable
from itertools import pairwise


async def pauses(tries: Callable[[], int], number: int) -> list[int]:
    """The seconds between the first tries."""
    now = asyncio.get_running_loop().time
    times: list[float] = []
    while len(times) < number:
        times += [now()] * (tries() - len(times))
        await asyncio.sleep(0.25)
    return [round(later - earlier) for earlier, later in pairwise(times)]
