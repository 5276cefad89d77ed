"""``ud clusters list`` and ``ud clusters describe``."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from uniteddeployment.cli.clusters import tree
from uniteddeployment.cli.clusters.objects import applications, complete, key, presences, read_cluster
from uniteddeployment.cli.clusters.table import View
from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import as_list, check_output, dump
from uniteddeployment.cli.output.terminal import Lines, Screen, say
from uniteddeployment.cli.snapshot import now
from uniteddeployment.controller import logs
from uniteddeployment.controller.served import check_served
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterMetadata
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector

REFRESH_SECONDS = 1.0


class Shown(Struct, frozen=True):
    """The parts of a Cluster that the table shows."""

    metadata: ClusterMetadata
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        meta = self.metadata
        shown = {"name": meta.name, "namespace": meta.namespace, "creationTimestamp": meta.creation_timestamp}
        return {"metadata": {**shown, "labels": meta.labels}, "spec": self.spec, "status": self.status}


def main(target: Target, selector: str, output: str, *, watch: bool) -> None:
    """List the Clusters once, or with ``watch`` until interrupted."""
    check_output(output, ("wide", "json", "yaml", "name"))
    if watch and output not in ("", "wide"):
        raise CommandError(f"--watch shows a table and cannot be combined with --output {output}", USAGE)
    logs.configure("console", "error")
    wide = output == "wide"
    asyncio.run(_watch(target, selector, wide=wide) if watch else _once(target, selector, output))


def describe(target: Target, name: str, output: str) -> None:
    """Show one Cluster as a tree."""
    check_output(output, ("text", "json", "yaml"))
    logs.configure("console", "error")
    asyncio.run(_describe(target, name, output))


async def _describe(target: Target, name: str, output: str) -> None:
    async with connected(target) as client:
        cluster = await read_cluster(client, target.namespace, name)
        if output in ("json", "yaml"):
            dump(cluster, output)
            return
        found = [entry for app in await applications(client, target) for entry in presences(app, key(cluster))]
    screen = Screen()
    screen.show(tree.lines(cluster, found, screen.glyphs, now()))


async def _once(target: Target, selector: str, output: str) -> None:
    async with connected(target) as client:
        clusters = await _read(client, target, selector)
    if output in ("json", "yaml"):
        dump(as_list(clusters), output)
    elif output == "name":
        for cluster in clusters:
            say(f"{CLUSTERS.plural[:-1]}.{CLUSTERS.group}/{cluster['metadata']['name']}")
    elif clusters:
        screen = Screen()
        screen.show(_lines(screen, target, clusters, wide=output == "wide"))
    else:
        place = "in any namespace" if target.all_namespaces else f"in namespace {target.namespace}"
        labels = " with these labels" if selector else ""
        say(f"No Clusters {place}{labels}; ud clusters register NAME registers a member.", error=True)


async def _read(client: Client, target: Target, selector: str) -> list[dict[str, Any]]:
    try:
        listed = await client.list_all(
            CLUSTERS, dict[str, Any], namespace=target.scope, label_selector=selector or None
        )
    except NotFound:
        await check_served(client, target.scope)
        raise
    return [complete(document) for document in listed]


def _lines(screen: Screen, target: Target, clusters: Sequence[dict[str, Any]], *, wide: bool) -> Lines:
    return View(screen.glyphs, now(), screen.width, wide, target.all_namespaces).lines(clusters)


async def _watch(target: Target, selector: str, *, wide: bool) -> None:
    """Show the Clusters, and show them again after each change; on a terminal also once a second, for the ages."""
    changed = asyncio.Event()
    async with connected(target) as client:
        await _read(client, target, selector)
        reflector = Reflector(
            client,
            CLUSTERS,
            Shown,
            Cache(lambda _old, _new: changed.set()),
            namespace=target.scope,
            label_selector=selector or None,
        )
        watching = asyncio.create_task(reflector.run())
        screen = Screen()

        def lines() -> Lines:
            found = [reflector.cache.objects[known].as_dict() for known in sorted(reflector.cache.objects)]
            return _lines(screen, target, found, wide=wide)

        try:
            await reflector.synced.wait()
            async with screen.live(lines) as redraw:
                while True:
                    changed.clear()
                    redraw()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), REFRESH_SECONDS if screen.redraws else None)
        finally:
            watching.cancel()
