"""``ud rollout get`` and ``ud rollout list``: rollouts, once or continuously."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import FAILED, USAGE, CommandError, fail_with
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.documents import as_list, check_output, dump
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Lines, Screen, say
from uniteddeployment.cli.output.watching import redraw_on_changes
from uniteddeployment.cli.rollout.objects import complete, message, phase, title
from uniteddeployment.cli.rollout.tree import PHASE_STYLES, View
from uniteddeployment.controller import logs
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout

_FORMATS = ("wide", "json", "yaml", "name")
_NAMESPACE = Column("NAMESPACE")
_COLUMNS = (
    Column("NAME"),
    Column("TARGET", drop=3),
    Column("PHASE"),
    Column("STEP"),
    Column("UPDATED", right=True),
    Column("READY", right=True, drop=1),
    Column("PODS", right=True, drop=2),
    Column("AGE", drop=4),
)
_WIDE = (Column("RUN"), Column("MESSAGE"))


@dataclass(frozen=True, slots=True)
class Query:
    """The rollouts to show: those with these names, or all that match a label selector."""

    target: Target
    names: tuple[str, ...] = ()
    selector: str = ""
    tree: bool = False
    """Show each rollout as a tree instead of a row of a table."""

    def __post_init__(self) -> None:
        if self.names and self.target.all_namespaces:
            raise CommandError("a name cannot be combined with --all-namespaces", USAGE)
        if self.names and self.selector:
            raise CommandError("a name cannot be combined with --selector", USAGE)

    def includes(self, rollout: StoredRollout) -> bool:
        return not self.names or rollout.metadata.name in self.names


def main(query: Query, *, watch: bool, output: str) -> None:
    """Show the rollouts once, or with ``watch`` until interrupted."""
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
                UNITED_ROLLOUTS,
                dict[str, Any],
                namespace=query.target.scope,
                label_selector=query.selector or None,
            )
        except NotFound:
            await check_served(client, query.target.scope)
            raise
        return [complete(document) for document in listed], []
    documents, missing = [], []
    for name in query.names:
        try:
            found = await client.get(UNITED_ROLLOUTS, name, dict[str, Any], namespace=query.target.namespace)
            documents.append(complete(found))
        except NotFound as error:
            if "name" not in error.details:
                await check_served(client, query.target.namespace)
            missing.append(f"{error.message} (namespace {query.target.namespace})")
    return documents, missing


def _show(query: Query, documents: Sequence[dict[str, Any]], output: str) -> None:
    if output in ("json", "yaml"):
        dump(documents[0] if len(query.names) == 1 else as_list(list(documents)), output)
    elif output == "name":
        for document in documents:
            say(title(document["metadata"]["name"]))
    elif documents:
        screen = Screen()
        rollouts = [msgspec.convert(document, StoredRollout) for document in documents]
        screen.show(_lines(screen, query, rollouts, wide=output == "wide"))
    elif not query.names:
        place = "in any namespace" if query.target.all_namespaces else f"in namespace {query.target.namespace}"
        say(f"No UnitedRollouts {place}{' with these labels' if query.selector else ''}.", error=True)


def _lines(screen: Screen, query: Query, rollouts: Sequence[StoredRollout], *, wide: bool) -> Lines:
    view = View(screen.glyphs, screen.width, wide, query.target.all_namespaces)
    return view.lines(rollouts) if query.tree else rows(view, rollouts)


def rows(view: View, rollouts: Sequence[StoredRollout]) -> Lines:
    """A table with one row for each rollout. What needs attention is explained below its row."""
    now = view.now or datetime.now(UTC)
    columns = ((_NAMESPACE,) if view.namespaces else ()) + _COLUMNS + (_WIDE if view.wide else ())
    return table(columns, [_row(view, rollout, now) for rollout in rollouts], None if view.wide else view.width)


def _row(view: View, rollout: StoredRollout, now: datetime) -> Row:
    meta, status, word = rollout.metadata, rollout.status, phase(rollout)
    style = PHASE_STYLES.get(word, "")
    cells: dict[str, Cell | str] = {
        "NAMESPACE": meta.namespace,
        "NAME": Cell(f"{view.icon(word)} {meta.name}", style),
        "TARGET": rollout.target[1],
        "PHASE": Cell(word, style),
        "STEP": f"{status['step']}/{status.get('steps', 0)}" if status.get("step") else "",
        "UPDATED": str(status.get("updatedReplicas", 0)),
        "READY": str(status.get("updatedReadyReplicas", 0)),
        "PODS": str(status.get("replicas", 0)),
        "AGE": age(meta.creation_timestamp, now),
        "RUN": str(status.get("runID", "")),
        "MESSAGE": message(rollout),
    }
    explained = not view.wide and word not in ("Healthy", "Pending")
    return Row(cells, (message(rollout),) if explained else (), "    ")


async def _watch(query: Query, *, wide: bool) -> None:
    """Show the rollouts, and show them again after each change."""
    changed = asyncio.Event()
    async with connected(query.target) as client:
        await _read(client, query)
        reflector = Reflector(
            client,
            UNITED_ROLLOUTS,
            StoredRollout,
            Cache(lambda _old, _new: changed.set()),
            namespace=query.target.scope,
            label_selector=query.selector or None,
            field_selector=f"metadata.name={query.names[0]}" if len(query.names) == 1 else None,
        )

        def draw(screen: Screen) -> Lines:
            objects = reflector.cache.objects
            shown = [objects[key] for key in sorted(objects) if query.includes(objects[key])]
            return _lines(screen, query, shown, wide=wide)

        watching = asyncio.create_task(reflector.run())
        try:
            await reflector.synced.wait()
            await redraw_on_changes(draw, changed)
        finally:
            watching.cancel()
