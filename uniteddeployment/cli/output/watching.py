"""Output that follows changes, for ``--watch``."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import NoReturn

from uniteddeployment.cli.output.terminal import Lines, Screen

REFRESH_SECONDS = 1.0


async def redraw_on_changes(draw: Callable[[Screen], Lines], changed: asyncio.Event) -> NoReturn:
    """Draw after each change until cancelled.

    On a terminal, replace the lines, also once a second to update ages. Elsewhere, print them below the last ones if
    they differ.
    """
    screen = Screen()
    lines: Lines = ()
    async with screen.live(lambda: lines) as redraw:
        while True:
            changed.clear()
            last, lines = lines, draw(screen)
            if screen.redraws or _texts(lines) != _texts(last):
                redraw()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), REFRESH_SECONDS if screen.redraws else None)


def _texts(lines: Lines) -> list[str]:
    return [line.plain for line in lines]
