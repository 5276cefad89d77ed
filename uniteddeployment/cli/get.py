"""``ud get``: applications as a tree, from a live cluster."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console
from rich.live import Live
from rich.table import Table

from uniteddeployment.cli import printing, tree
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.run import check
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import names

REFRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster, and which namespace of it (None for all)."""

    kubeconfig: Path | None
    context: str | None
    namespace: str | None


def located(kubeconfig: Path | None, context: str | None, namespace: str) -> Where:
    """One namespace: the one that is named, or that of the kubeconfig's context, as kubectl has it."""
    return Where(kubeconfig, context, namespace or kubeconfigs.namespace(kubeconfig, context))


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


def main(where: Where, name: str | None, *, watch: bool, output: str) -> None:
    """Show once, or until interrupted."""
    printing.check_output(output, ("wide", "json", "yaml"))
    if watch and output in ("json", "yaml"):
        raise CommandError("--watch shows a table; it does not go with --output json or yaml", USAGE)
    logs.configure("console", "error")
    asyncio.run(_watch(where, name, wide=output == "wide") if watch else _once(where, name, output))


@asynccontextmanager
async def connected(where: Where) -> AsyncIterator[Client]:
    """A client for the cluster that the options name."""
    connection = kubeconfigs.load(where.kubeconfig, where.context)
    client = Client(AiohttpTransport(connection), connection.name)
    try:
        yield client
    finally:
        await client.close()


async def _once(where: Where, name: str | None, output: str) -> None:
    async with connected(where) as client:
        found = await _read(client, where, name)
    if not found and output not in ("json", "yaml"):
        place = f"in namespace {where.namespace}" if where.namespace else "in any namespace"
        Console(stderr=True).print(f"No UnitedDeployments {place}.")
        return
    documents = [one.as_dict() for one in found]
    if output in ("json", "yaml"):
        document: dict[str, Any] = documents[0] if name else {"apiVersion": "v1", "kind": "List", "items": documents}
        printing.dump(document, output)
        return
    printing.console().print(tree.table(documents, wide=output == "wide"))


async def _read(client: Client, where: Where, name: str | None) -> list[Shown]:
    if name is not None and where.namespace is None:
        raise CommandError("a name and --all-namespaces do not go together", USAGE)
    try:
        if name is None:
            return await client.list_all(UNITED_DEPLOYMENTS, Shown, namespace=where.namespace)
        return [await client.get(UNITED_DEPLOYMENTS, name, Shown, namespace=where.namespace)]
    except NotFound as error:
        await check(client)
        raise CommandError(f"{error.message} (namespace {where.namespace})") from None


async def _watch(where: Where, name: str | None, *, wide: bool) -> None:
    """Show what there is and each change."""
    changed = asyncio.Event()
    async with connected(where) as client:
        await _read(client, where, name)
        reflector = Reflector(
            client,
            UNITED_DEPLOYMENTS,
            Shown,
            on_change=lambda _old, _new: changed.set(),
            namespace=where.namespace,
            field_selector=f"metadata.name={name}" if name else None,
        )
        watching = asyncio.create_task(reflector.run())
        try:
            await reflector.synced.wait()
            await _redraw(reflector, changed, wide=wide)
        finally:
            watching.cancel()


async def _redraw(reflector: Reflector[Shown], changed: asyncio.Event, *, wide: bool) -> None:
    """On a terminal in place, and once a second so that ages move; elsewhere a table for each change."""

    def drawing() -> Table:
        return tree.table([reflector.store[key].as_dict() for key in sorted(reflector.store)], wide=wide)

    console = printing.console()
    if not console.is_terminal:
        while True:
            changed.clear()
            console.print(drawing())
            await changed.wait()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            changed.clear()
            live.update(drawing(), refresh=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), REFRESH_SECONDS)
