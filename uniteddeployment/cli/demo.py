"""``ud demo``: the main job on a fleet of embedded clusters, for people to watch and for programs to check."""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from uniteddeployment.cli import fleet as fleets
from uniteddeployment.cli import phases
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.fleet import Fleet
from uniteddeployment.cli.phases import Phase, Stage
from uniteddeployment.cli.terminal import Lines, Screen, program, say
from uniteddeployment.cli.tree import View
from uniteddeployment.controller import logs, run
from uniteddeployment.controller.settings import Settings
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.transport import AiohttpTransport

MEMBERS = 3
REFRESH_PER_SECOND = 5


def main(output: str, keep: Path | None) -> None:
    """Run the story; raises CommandError when it does not come out as told."""
    if output not in ("text", "json"):
        raise CommandError(f"--output must be text or json, not {output!r}", USAGE)
    logs.configure("console", "error")
    with tempfile.TemporaryDirectory(prefix="ud-demo-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        document = asyncio.run(_run(folder, _Silent() if output == "json" else _Screen()))
    if output == "json":
        program(json.dumps(document, indent=2))


class _Silent:
    """Shows nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def done(self, seconds: float) -> None:
        """Nothing."""

    @asynccontextmanager
    async def phase(self, phase: Phase, stage: Stage) -> AsyncIterator[None]:  # noqa: ARG002  # the shape of _Screen
        yield


class _Screen:
    """Shows a live tree on a terminal, and the state after each phase elsewhere."""

    def __init__(self) -> None:
        self._screen = Screen()

    def say(self, text: str) -> None:
        say(text)

    @asynccontextmanager
    async def phase(self, phase: Phase, stage: Stage) -> AsyncIterator[None]:
        """Draw while the block runs."""
        say("")
        say(f"{self._screen.glyphs.step} {phase.what}")
        if not self._screen.redraws:
            yield
            self._screen.show(self._lines(stage))
            return
        async with self._screen.live(lambda: self._lines(stage)) as redraw:
            drawing = asyncio.create_task(_every(1 / REFRESH_PER_SECOND, redraw))
            try:
                yield
            finally:
                drawing.cancel()
                redraw()

    def done(self, seconds: float) -> None:
        say("")
        say(f"{self._screen.glyphs.good} Done in {seconds} s: every pod of every member runs the new image.")

    def _lines(self, stage: Stage) -> Lines:
        return View(self._screen.glyphs, self._screen.width).lines([stage.current] if stage.current else [])


async def _every(seconds: float, redraw: Callable[[], None]) -> None:
    while True:
        redraw()
        await asyncio.sleep(seconds)


async def _run(folder: Path, screen: "_Silent | _Screen") -> dict[str, Any]:
    started = time.monotonic()
    screen.say(f"Starting a host and {MEMBERS} members as embedded clusters")
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(fleets.running(folder, MEMBERS))
        client = Client(AiohttpTransport(fleet.connection()), "host")
        stack.push_async_callback(client.close)
        await stack.enter_async_context(controller(fleet))
        stage = Stage(fleet, client)
        following = asyncio.create_task(stage.follow())
        stack.callback(following.cancel)
        results = []
        for phase in phases.story():
            begun = time.monotonic()
            async with screen.phase(phase, stage):
                await stage.play(phase)
            results.append(await _checked(phase, stage, time.monotonic() - begun))
        seconds = round(time.monotonic() - started, 2)
        screen.done(seconds)
        return {"seconds": seconds, "phases": results}


@asynccontextmanager
async def controller(fleet: Fleet) -> AsyncIterator[asyncio.Task[None]]:
    """The controller, in this process, for as long as the block runs. The task ends before that only with an error."""
    stop = asyncio.Event()
    settings = Settings(leader_election=False)
    task = asyncio.create_task(run.serve(fleet.connection(), settings, stop))
    try:
        yield task
    finally:
        stop.set()
        await task


async def _checked(phase: Phase, stage: Stage, seconds: float) -> dict[str, Any]:
    """The state after a phase, as the members themselves tell it."""
    images = await stage.images()
    if images != phase.images:
        raise CommandError(f"after {phase.name!r} the members run {images}, not {dict(phase.images)}")
    return {
        "name": phase.name,
        "what": phase.what,
        "seconds": round(seconds, 2),
        "images": images,
        "unitedDeployment": stage.current,
    }
