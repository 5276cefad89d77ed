"""A snapshot of the host and its members, taken with the controller's own caches. Nothing is written."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from uniteddeployment.cli.connect import Target, client_of, connected
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.served import check_served
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube.client import Client

SYNC_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The host and the members as they are now, with the applications of one namespace."""

    client: Client
    host: Host
    fleet: Fleet


@asynccontextmanager
async def taken(target: Target, namespace: str) -> AsyncIterator[Snapshot]:
    """Take a snapshot. Raises TimeoutError, KubeError, StartError, CredentialsError."""
    async with connected(target) as client:
        await check_served(client, namespace)
        host = Host(client, lambda _key, _by_user: None, namespace)
        fleet = Fleet(
            client,
            client_of,
            on_change=lambda _cluster, _application: None,
            on_reach_changed=lambda _cluster: None,
            namespace=namespace,
            now=now,
            read_only=True,
        )
        tasks = [asyncio.create_task(loop) for loop in (host.deployments.run(), host.revisions.run(), fleet.run())]
        try:
            await _synced(client, host, fleet)
            yield Snapshot(client, host, fleet)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _synced(client: Client, host: Host, fleet: Fleet) -> None:
    """Wait until the host is read, and until each member is read or known to be unreachable."""
    try:
        async with asyncio.timeout(SYNC_SECONDS):
            await host.deployments.synced.wait()
            await host.revisions.synced.wait()
            await fleet.wait_synced()
    except TimeoutError:
        errors = [reflector.last_error for reflector in (host.deployments, host.revisions) if reflector.last_error]
        why = f": {errors[0]}" if errors else ""
        raise TimeoutError(f"{client.name} could not be read within {SYNC_SECONDS:g} s{why}") from None
    await fleet.wait_settled(SYNC_SECONDS)


def now() -> datetime:
    return datetime.now(UTC)
