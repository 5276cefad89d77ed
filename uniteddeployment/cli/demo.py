"""``ud demo``: the main job on a fleet of embedded clusters, for people to watch and for programs to check."""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from uniteddeployment.cli import fleet as fleets
from uniteddeployment.cli import phases, tree
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.fleet import Fleet
from uniteddeployment.cli.phases import Phase, Stage
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
        print(json.dumps(document, indent=2))  # noqa: T201  # for programs


class _Silent:
    """Shows nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    @asynccontextmanager
    async def phase(self, phase: Phase, stage: Stage) -> AsyncIterator[None]:  # noqa: ARG002  # the shape of _Screen
        yield


class _Screen:
    """Shows a live tree on a terminal, and the state after each phase elsewhere."""

    def __init__(self) -> None:
        console = Console()
        self._console = console if console.is_terminal else Console(width=160, soft_wrap=True)

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False)

    @asynccontextmanager
    async def phase(self, phase: Phase, stage: Stage) -> AsyncIterator[None]:
        """Draw while the block runs."""
        self.say(f"\n▶ {phase.what}")
        if not self._console.is_terminal:
            yield
            self._console.print(self._drawing(stage))
            return
        with Live(console=self._console, auto_refresh=False) as live:
            drawing = asyncio.create_task(self._draw(live, stage))
            try:
                yield
            finally:
                drawing.cancel()
                live.update(self._drawing(stage), refresh=True)

    async def _draw(self, live: Live, stage: Stage) -> None:
        while True:
            live.update(self._drawing(stage), refresh=True)
            await asyncio.sleep(1 / REFRESH_PER_SECOND)

    def _drawing(self, stage: Stage) -> Group:
        return Group(tree.table([stage.current]) if stage.current else Text("…"))


async def _run(folder: Path, screen: "_Silent | _Screen") -> dict[str, Any]:
    started = time.monotonic()
    screen.say(f"Starting a host and {MEMBERS} members as embedded clusters …")
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
        screen.say(f"\n✔ Done in {seconds} s: every pod of every member runs the new image.")
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
