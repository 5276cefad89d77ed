"""``ud clusters list`` and ``ud clusters describe``."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from uniteddeployment.cli.clusters import tree
from uniteddeployment.cli.clusters.objects import applications, key, presences, read_cluster
from uniteddeployment.cli.clusters.table import View
from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.listing import Listing, Query
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import Lines, Screen
from uniteddeployment.cli.snapshot import now
from uniteddeployment.controller import logs
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterMetadata
from uniteddeployment_api import names


class Shown(Struct, frozen=True):
    """The parts of a Cluster that the table shows."""

    metadata: ClusterMetadata
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        meta = self.metadata
        shown = {"name": meta.name, "namespace": meta.namespace, "creationTimestamp": meta.creation_timestamp}
        return {"metadata": {**shown, "labels": meta.labels}, "spec": self.spec, "status": self.status}


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


def _draw(screen: Screen, query: Query, shown: Sequence[Mapping[str, Any]], /, *, wide: bool) -> Lines:
    return View(screen.glyphs, now(), screen.width, wide, query.target.all_namespaces).lines(shown)


MEMBERS = Listing(
    kind=names.CLUSTER_KIND,
    resource=CLUSTERS,
    cached=Shown,
    get=read_cluster,
    of_document=lambda document: document,
    of_cached=Shown.as_dict,
    draw=_draw,
    none="; ud clusters register NAME registers a member",
)
