"""``ud get``: applications as a tree, from a live cluster."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from uniteddeployment.cli import printing
from uniteddeployment.cli.errors import FAILED, USAGE, CommandError, fail_with
from uniteddeployment.cli.terminal import Lines, Screen, say
from uniteddeployment.cli.tree import View
from uniteddeployment.cli.where import Where, check, connected
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import names

REFRESH_SECONDS = 1.0
_FORMATS = ("wide", "json", "yaml", "name")


class Shown(Struct, rename="camel", frozen=True):
    """A UnitedDeployment with what is shown of it."""

    metadata: Metadata
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        meta = self.metadata
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.UNITED_DEPLOYMENT_KIND,
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "generation": meta.generation,
                "creationTimestamp": meta.creation_timestamp,
                **({"deletionTimestamp": meta.deletion_timestamp} if meta.deletion_timestamp else {}),
            },
            "spec": self.spec,
            "status": self.status,
        }


@dataclass(frozen=True, slots=True)
class Query:
    """Which applications: those with these names, or all that a label selector selects."""

    where: Where
    names: tuple[str, ...] = ()
    selector: str = ""

    def __post_init__(self) -> None:
        if self.names and self.where.namespace is None:
            raise CommandError("a name and --all-namespaces do not go together", USAGE)
        if self.names and self.selector:
            raise CommandError("names and --selector do not go together", USAGE)

    def includes(self, name: str) -> bool:
        return not self.names or name in self.names


def main(query: Query, *, watch: bool, output: str) -> None:
    """Show once, or until interrupted."""
    printing.check_output(output, _FORMATS)
    if watch and output not in ("", "wide"):
        raise CommandError(f"--watch shows a table; it does not go with --output {output}", USAGE)
    logs.configure("console", "error")
    asyncio.run(_watch(query, wide=output == "wide") if watch else _once(query, output))


async def _once(query: Query, output: str) -> None:
    async with connected(query.where) as client:
        found, missing = await _read(client, query)
    if found or not missing:
        _show(query, found, output)
    if missing:
        fail_with(missing, FAILED)


async def _read(client: Client, query: Query) -> tuple[list[dict[str, Any]], list[str]]:
    """The objects, and what is to be said of those that are not there."""
    namespace = query.where.namespace
    if not query.names:
        try:
            listed = await client.list_all(
                UNITED_DEPLOYMENTS, dict[str, Any], namespace=namespace, label_selector=query.selector or None
            )
        except NotFound:
            await check(client)
            raise
        return [_whole(one) for one in listed], []
    found, missing = [], []
    for name in query.names:
        try:
            found.append(_whole(await client.get(UNITED_DEPLOYMENTS, name, dict[str, Any], namespace=namespace)))
        except NotFound as error:
            await check(client)
            missing.append(f"{error.message} (namespace {namespace})")
    return found, missing


def _whole(document: dict[str, Any]) -> dict[str, Any]:
    """Without the book-keeping of apply; items of a list do not say what they are."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    kind = {"apiVersion": names.API_VERSION, "kind": names.UNITED_DEPLOYMENT_KIND}
    return {**kind, **document, "metadata": metadata}


def _show(query: Query, found: Sequence[dict[str, Any]], output: str) -> None:
    if output in ("json", "yaml"):
        one = len(query.names) == 1
        printing.dump(found[0] if one else {"apiVersion": "v1", "kind": "List", "items": list(found)}, output)
    elif output == "name":
        for document in found:
            say(f"{names.UNITED_DEPLOYMENT_PLURAL[:-1]}.{names.GROUP}/{document['metadata']['name']}")
    elif found:
        screen = Screen()
        screen.show(_lines(screen, query, found, wide=output == "wide"))
    elif not query.names:
        place = f"in namespace {query.where.namespace}" if query.where.namespace else "in any namespace"
        say(f"No UnitedDeployments {place}{' with these labels' if query.selector else ''}.", error=True)


def _lines(screen: Screen, query: Query, found: Sequence[dict[str, Any]], *, wide: bool) -> Lines:
    return View(screen.glyphs, screen.width, wide, query.where.namespace is None).lines(found)


async def _watch(query: Query, *, wide: bool) -> None:
    """Show what there is and each change."""
    changed = asyncio.Event()
    async with connected(query.where) as client:
        await _read(client, query)
        reflector = Reflector(
            client,
            UNITED_DEPLOYMENTS,
            Shown,
            Cache(lambda _old, _new: changed.set()),
            namespace=query.where.namespace,
            label_selector=query.selector or None,
            field_selector=f"metadata.name={query.names[0]}" if len(query.names) == 1 else None,
        )
        watching = asyncio.create_task(reflector.run())
        try:
            await reflector.synced.wait()
            await _redraw(reflector, changed, query, wide=wide)
        finally:
            watching.cancel()


async def _redraw(reflector: Reflector[Shown], changed: asyncio.Event, query: Query, *, wide: bool) -> None:
    """On a terminal in place, and once a second so that ages move; elsewhere a table for each change."""
    screen = Screen()

    def lines() -> Lines:
        keys = sorted(key for key in reflector.cache.objects if query.includes(key[1]))
        return _lines(screen, query, [reflector.cache.objects[key].as_dict() for key in keys], wide=wide)

    async with screen.live(lines) as redraw:
        while True:
            changed.clear()
            redraw()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), REFRESH_SECONDS if screen.redraws else None)
