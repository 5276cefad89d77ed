"""``ud get``: lists applications, once or continuously."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli.application import Shown
from uniteddeployment.cli.connect import Target, connected, read_application
from uniteddeployment.cli.errors import FAILED, USAGE, CommandError, fail_with
from uniteddeployment.cli.get.tree import View
from uniteddeployment.cli.output.documents import as_list, check_output, dump
from uniteddeployment.cli.output.terminal import Lines, Screen, say
from uniteddeployment.cli.output.watching import redraw_on_changes
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment_api import names

_FORMATS = ("wide", "json", "yaml", "name")


@dataclass(frozen=True, slots=True)
class Query:
    """The applications to show: those with these names, or all that match a label selector."""

    target: Target
    names: tuple[str, ...] = ()
    selector: str = ""

    def __post_init__(self) -> None:
        if self.names and self.target.all_namespaces:
            raise CommandError("a name cannot be combined with --all-namespaces", USAGE)
        if self.names and self.selector:
            raise CommandError("a name cannot be combined with --selector", USAGE)

    def includes(self, name: str) -> bool:
        return not self.names or name in self.names


def main(query: Query, *, watch: bool, output: str) -> None:
    """Show the applications once, or with ``watch`` until interrupted."""
    check_output(output, _FORMATS)
    if watch and output not in ("", "wide"):
        raise CommandError(f"--watch shows a table and cannot be combined with --output {output}", USAGE)
    logs.configure("console", "error")
    asyncio.run(_watch(query, wide=output == "wide") if watch else _once(query, output))


async def _once(query: Query, output: str) -> None:
    async with connected(query.target) as client:
        documents, missing = await _read(client, query)
    if documents or not missing:
        _show(query, documents, output)
    if missing:
        fail_with(missing, FAILED)


async def _read(client: Client, query: Query) -> tuple[list[dict[str, Any]], list[str]]:
    """The objects, and a message for each name that does not exist."""
    if not query.names:
        try:
            listed = await client.list_all(
                UNITED_DEPLOYMENTS,
                dict[str, Any],
                namespace=query.target.scope,
                label_selector=query.selector or None,
            )
        except NotFound:
            await check_served(client, query.target.scope)
            raise
        return [_complete(document) for document in listed], []
    documents, missing = [], []
    for name in query.names:
        try:
            documents.append(_complete(await read_application(client, query.target.namespace, name, dict[str, Any])))
        except CommandError as error:
            missing.append(str(error))
    return documents, missing


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    """The object without managedFields, and with its kind, which items of a list lack."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    kind = {"apiVersion": names.API_VERSION, "kind": names.UNITED_DEPLOYMENT_KIND}
    return {**kind, **document, "metadata": metadata}


def _show(query: Query, documents: Sequence[dict[str, Any]], output: str) -> None:
    if output in ("json", "yaml"):
        dump(documents[0] if len(query.names) == 1 else as_list(list(documents)), output)
    elif output == "name":
        for document in documents:
            say(f"{names.UNITED_DEPLOYMENT_PLURAL[:-1]}.{names.GROUP}/{document['metadata']['name']}")
    elif documents:
        screen = Screen()
        screen.show(_lines(screen, query, documents, wide=output == "wide"))
    elif not query.names:
        place = "in any namespace" if query.target.all_namespaces else f"in namespace {query.target.namespace}"
        say(f"No UnitedDeployments {place}{' with these labels' if query.selector else ''}.", error=True)


def _lines(screen: Screen, query: Query, documents: Sequence[dict[str, Any]], *, wide: bool) -> Lines:
    return View(screen.glyphs, screen.width, wide, query.target.all_namespaces).lines(documents)


async def _watch(query: Query, *, wide: bool) -> None:
    """Show the applications, and show them again after each change."""
    changed = asyncio.Event()
    async with connected(query.target) as client:
        await _read(client, query)
        reflector = Reflector(
            client,
            UNITED_DEPLOYMENTS,
            Shown,
            Cache(lambda _old, _new: changed.set()),
            namespace=query.target.scope,
            label_selector=query.selector or None,
            field_selector=f"metadata.name={query.names[0]}" if len(query.names) == 1 else None,
        )
        watching = asyncio.create_task(reflector.run())
        try:
            await reflector.synced.wait()
            await redraw_on_changes(lambda screen: _cached(screen, reflector.cache, query, wide=wide), changed)
        finally:
            watching.cancel()


def _cached(screen: Screen, cache: Cache[Shown], query: Query, *, wide: bool) -> Lines:
    keys = sorted(key for key in cache.objects if query.includes(key[1]))
    return _lines(screen, query, [cache.objects[key].as_dict() for key in keys], wide=wide)
