"""``ud demo``: canary rollouts on embedded clusters, for people to watch and for programs to check."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from uniteddeployment.cli.connect import opened
from uniteddeployment.cli.demo import fleet as fleets
from uniteddeployment.cli.demo import story
from uniteddeployment.cli.demo.story import Phase, Stage
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.get.tree import View
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import Lines, Screen, say
from uniteddeployment.cli.rollout import tree
from uniteddeployment.controller import logs

MEMBERS = 3
REFRESH_PER_SECOND = 5


def main(output: str, keep: Path | None) -> None:
    """Run the demo. Raises CommandError if the members do not run the expected pods after a phase."""
    check_output(output, ("text", "json"))
    logs.configure("console", "error")
    with tempfile.TemporaryDirectory(prefix="ud-demo-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        document = asyncio.run(_run(folder, _Silent() if output == "json" else _Screen()))
    if output == "json":
        dump(document, output)


class _Silent:
    """Shows nothing, for ``--output json``."""

    def say(self, text: str) -> None:
        """Show nothing."""

    def done(self, seconds: float) -> None:
        """Show nothing."""

    @asynccontextmanager
    async def phase(self, phase: Phase, stage: Stage) -> AsyncIterator[None]:  # noqa: ARG002  # same interface as _Screen
        yield


class _Screen:
    """Shows the application: live on a terminal, otherwise after each phase."""

    def __init__(self) -> None:
        self._screen = Screen()

    def say(self, text: str) -> None:
        say(text)

    @asynccontextmanager
    async def phase(self, phase: Phase, stage: Stage) -> AsyncIterator[None]:
        """Show the application during the block."""
        say("")
        say(f"{self._screen.glyphs.step} {phase.title}")
        if not self._screen.redraws:
            yield
            self._screen.show(self._lines(phase, stage))
            return
        async with self._screen.live(lambda: self._lines(phase, stage)) as redraw:
            drawing = asyncio.create_task(_every(1 / REFRESH_PER_SECOND, redraw))
            try:
                yield
            finally:
                drawing.cancel()
                redraw()

    def done(self, seconds: float) -> None:
        say("")
        say(f"{self._screen.glyphs.good} Done in {seconds} s: every pod of every member runs the new image.")

    def _lines(self, phase: Phase, stage: Stage) -> Lines:
        if phase.shows_rollout and stage.rollout is not None:
            return tree.View(self._screen.glyphs, self._screen.width).lines([stage.rollout])
        return View(self._screen.glyphs, self._screen.width).lines([stage.current] if stage.current else [])


async def _every(seconds: float, redraw: Callable[[], None]) -> None:
    while True:
        redraw()
        await asyncio.sleep(seconds)


async def _run(folder: Path, screen: _Silent | _Screen) -> dict[str, Any]:
    started = time.monotonic()
    screen.say(f"Starting a host and {MEMBERS} members as embedded clusters")
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(fleets.running(folder, MEMBERS))
        client = await stack.enter_async_context(opened(fleet.connection()))
        await stack.enter_async_context(fleets.controlled(fleet))
        stage = Stage(fleet, client)
        following = asyncio.create_task(stage.follow())
        stack.callback(following.cancel)
        results = []
        for phase in story.phases():
            phase_started = time.monotonic()
            async with screen.phase(phase, stage):
                await stage.play(phase)
            results.append(await _checked(phase, stage, time.monotonic() - phase_started))
        seconds = round(time.monotonic() - started, 2)
        screen.done(seconds)
        return {"seconds": seconds, "phases": results}


async def _checked(phase: Phase, stage: Stage, seconds: float) -> dict[str, Any]:
    """The state after a phase, with the pods as the members report them."""
    images = await stage.images()
    if images != phase.images:
        raise CommandError(f"after {phase.name!r} the members run {images}, expected {dict(phase.images)}")
    return {
        "name": phase.name,
        "what": phase.title,
        "seconds": round(seconds, 2),
        "images": images,
        "unitedDeployment": stage.current,
        "unitedRollout": {"status": stage.rollout_status} if stage.rollout is not None else None,
    }
