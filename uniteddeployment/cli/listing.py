"""Objects of one kind, shown once or again after each change: ``ud get``, ``ud rollout list``, ``ud clusters list``."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import FAILED, USAGE, CommandError, fail_with
from uniteddeployment.cli.output.documents import as_list, check_output, complete, dump
from uniteddeployment.cli.output.terminal import Lines, Screen, say
from uniteddeployment.cli.output.watching import redraw_on_changes
from uniteddeployment.controller import logs
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.meta import HasMeta
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import Resource

Document = dict[str, Any]
T = TypeVar("T", bound=HasMeta)
U = TypeVar("U")
U_contra = TypeVar("U_contra", contravariant=True)

_FORMATS = ("wide", "json", "yaml", "name")


@dataclass(frozen=True, slots=True)
class Query:
    """The objects to show: those with these names, or all that match a label selector."""

    target: Target
    names: tuple[str, ...] = ()
    selector: str = ""

    def __post_init__(self) -> None:
        if self.names and self.target.all_namespaces:
            raise CommandError("a name cannot be combined with --all-namespaces", USAGE)
        if self.names and self.selector:
            raise CommandError("a name cannot be combined with --selector", USAGE)


class Draw(Protocol[U_contra]):
    """Draws objects."""

    def __call__(self, screen: Screen, query: Query, shown: Sequence[U_contra], /, *, wide: bool) -> Lines: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T, U]):
    """How the objects of one kind are read and drawn. They are drawn from ``U``."""

    kind: str
    resource: Resource
    cached: type[T]
    """The type that watches are decoded into."""
    get: Callable[[Client, str, str], Awaitable[Document]]
    """Reads one object by namespace and name. Raises CommandError if there is none."""
    of_document: Callable[[Document], U]
    of_cached: Callable[[T], U]
    draw: Draw[U]
    none: str = ""
    """What to do if there are no objects; begins with a semicolon."""


def main(listing: Listing[T, U], query: Query, *, watch: bool, output: str) -> None:
    """Show the objects once, or with ``watch`` until interrupted."""
    check_output(output, _FORMATS)
    if watch and output not in ("", "wide"):
        raise CommandError(f"--watch shows a table and cannot be combined with --output {output}", USAGE)
    logs.configure("console", "error")
    asyncio.run(follow(listing, query, wide=output == "wide") if watch else _once(listing, query, output))


async def follow(listing: Listing[T, U], query: Query, *, wide: bool) -> None:
    """Show the objects, and show them again after each change."""
    changed = asyncio.Event()
    async with connected(query.target) as client:
        await _read(listing, client, query)
        reflector = Reflector(
            client,
            listing.resource,
            listing.cached,
            Cache(lambda _old, _new: changed.set()),
            namespace=query.target.scope,
            label_selector=query.selector or None,
            field_selector=f"metadata.name={query.names[0]}" if len(query.names) == 1 else None,
        )

        def draw(screen: Screen) -> Lines:
            objects = reflector.cache.objects
            keys = sorted(key for key in objects if not query.names or key[1] in query.names)
            return listing.draw(screen, query, [listing.of_cached(objects[key]) for key in keys], wide=wide)

        watching = asyncio.create_task(reflector.run())
        try:
            await reflector.synced.wait()
            await redraw_on_changes(draw, changed)
        finally:
            watching.cancel()


async def _once(listing: Listing[T, U], query: Query, output: str) -> None:
    async with connected(query.target) as client:
        documents, missing = await _read(listing, client, query)
    if documents or not missing:
        _show(listing, query, documents, output)
    if missing:
        fail_with(missing, FAILED)


async def _read(listing: Listing[T, U], client: Client, query: Query) -> tuple[list[Document], list[str]]:
    """The objects, and a message for each name that does not exist."""
    if not query.names:
        try:
            listed = await client.list_all(
                listing.resource,
                dict[str, Any],
                namespace=query.target.scope,
                label_selector=query.selector or None,
            )
        except NotFound:
            await check_served(client, query.target.scope)
            raise
        return [complete(document, listing.kind) for document in listed], []
    documents, missing = [], []
    for name in query.names:
        try:
            documents.append(complete(await listing.get(client, query.target.namespace, name), listing.kind))
        except CommandError as error:
            missing.append(str(error))
    return documents, missing


def _show(listing: Listing[T, U], query: Query, documents: Sequence[Document], output: str) -> None:
    if output in ("json", "yaml"):
        dump(documents[0] if len(query.names) == 1 else as_list(list(documents)), output)
    elif output == "name":
        for document in documents:
            say(f"{listing.resource.plural[:-1]}.{listing.resource.group}/{document['metadata']['name']}")
    elif documents:
        screen = Screen()
        shown = [listing.of_document(document) for document in documents]
        screen.show(listing.draw(screen, query, shown, wide=output == "wide"))
    elif not query.names:
        place = "in any namespace" if query.target.all_namespaces else f"in namespace {query.target.namespace}"
        say(f"No {listing.kind}s {place}{' with these labels' if query.selector else ''}{listing.none}.", error=True)
