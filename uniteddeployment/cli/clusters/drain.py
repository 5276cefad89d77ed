"""``ud clusters drain``: moves all applications to other clusters, and follows that."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from uniteddeployment.cli.application import Shown
from uniteddeployment.cli.arguments import CLUSTER
from uniteddeployment.cli.clusters import changes, draining
from uniteddeployment.cli.clusters.draining import Item
from uniteddeployment.cli.clusters.objects import Document
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import BLOCKED, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.snapshot import now
from uniteddeployment.cli.wait.waiter import seconds
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.fleet.account import parsed_time
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden
from uniteddeployment.kube.reflector import Reflector

POLL_SECONDS = 1.0
BLOCKED_SECONDS = 5.0
"""How long nothing has to move until a drain counts as blocked. The controller plans within a second."""


def main(target: Target, name: str, timeout: str, output: str) -> None:
    """Drain a Cluster. Raises TimeoutError, and CommandError with the code 4 if it is blocked."""
    check_output(output, ("text", "json"))
    limit = seconds(timeout)
    logs.configure("console", "error")
    left = asyncio.run(_drain(target, name, limit, timeout, Progress(quiet=output == "json")))
    if output == "json":
        dump({"name": name, "drained": not left, "blocked": [draining.as_dict(item) for item in left]}, output)
    elif not left:
        say(f"{CLUSTER.title}/{name} drained")
    raise_if_blocked(name, left)


def raise_if_blocked(name: str, left: list[Item]) -> None:
    """Raise CommandError, which names what blocks a drain and the way out, if anything does."""
    if not left:
        return
    for item in left:
        say(f"{item.text}. {item.way_out[:1].upper()}{item.way_out[1:]}", error=True)
    titles = ", ".join(item.title for item in left)
    raise CommandError(f"{name} is not drained: nothing moves for {titles}. The cluster stays cordoned", BLOCKED)


async def _drain(target: Target, name: str, limit: float, timeout: str, progress: Progress) -> list[Item]:  # noqa: ASYNC109  # for the message
    async with connected(target) as client:
        await changes.apply(client, target.namespace, name, changes.drain)
        drain = Drain(client, target, name, progress)
        return await drain.finish(limit, timeout)


class Drain:
    """Follows the drain of a Cluster that has the taint already."""

    def __init__(self, client: Client, target: Target, name: str, progress: Progress) -> None:
        self._client = client
        self._target = target
        self._name = name
        self._progress = progress
        self._said: dict[str, str] = {}

    async def finish(self, limit: float, timeout: str) -> list[Item]:  # noqa: ASYNC109  # for the message
        """Wait until nothing is left, or until nothing of what is left moves; return that.

        Raises TimeoutError. After that, or after an interruption, the drain goes on.
        """
        left: list[Item] = []

        def note(items: list[Item]) -> None:
            left[:] = items
            self._report(items)

        try:
            async with asyncio.timeout(limit):
                return await self._moved(note, await self._seen())
        except TimeoutError:
            rest = "; ".join(item.text for item in left) or "no controller has seen the taint: is it running?"
            raise TimeoutError(
                f"{self._name} was not drained within {timeout}, and the drain goes on: {rest}"
            ) from None
        except asyncio.CancelledError:
            self._progress.note(
                f"interrupted: the drain goes on. 'ud clusters drain {self._name}' shows it again, and 'ud clusters "
                f"uncordon {self._name}' ends it"
            )
            raise

    async def _seen(self) -> datetime:
        """Wait until the controller has seen the taint. Return the time when it first did."""
        while True:
            cluster = await self._client.get(CLUSTERS, self._name, Document, namespace=self._target.namespace)
            since = draining.in_effect(cluster)
            if since is not None:
                return parsed_time(since) or now()
            await asyncio.sleep(POLL_SECONDS / 4)

    async def _moved(self, note: Callable[[list[Item]], None], since: datetime) -> list[Item]:
        """Follow the applications."""
        changed = asyncio.Event()
        reflector = Reflector(
            self._client,
            UNITED_DEPLOYMENTS,
            Shown,
            Cache[Shown](lambda _old, _new: changed.set()),
            namespace=await self._scope(),
        )
        watching = asyncio.create_task(reflector.run())
        clock, cluster = asyncio.get_running_loop().time, f"{self._target.namespace}/{self._name}"
        still: tuple[object, float] = (None, clock())
        try:
            await reflector.synced.wait()
            while True:
                changed.clear()
                objects = [reflector.cache.objects[known].as_dict() for known in sorted(reflector.cache.objects)]
                items = draining.items(objects, cluster, (now() - since).total_seconds())
                note(items)
                if not items:
                    return []
                if still[0] != items:
                    still = (items, clock())
                if not any(item.moving for item in items) and clock() - still[1] >= BLOCKED_SECONDS:
                    return items
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await changed.wait()
        finally:
            watching.cancel()

    async def _scope(self) -> str | None:
        """The namespace whose applications can be followed; None for all."""
        try:
            async for _ in self._client.list_pages(UNITED_DEPLOYMENTS, dict[str, Any], limit=1):
                return None
        except Forbidden:
            self._progress.note(f"only the applications in namespace {self._target.namespace} can be seen")
        return self._target.namespace

    def _report(self, items: list[Item]) -> None:
        """Print a line for each application whose progress has changed."""
        present = {item.title: item for item in items}
        for title, item in present.items():
            if self._said.get(title) != item.text:
                self._said[title] = item.text
                self._progress.note(item.text)
        for title in [title for title in self._said if title not in present]:
            del self._said[title]
            self._progress.done(f"{title}: nothing is left")
