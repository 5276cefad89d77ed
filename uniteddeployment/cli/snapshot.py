"""Plans on what live clusters show, with the controller's own observer and planner. Nothing is written."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from uniteddeployment.cli.where import Where, connected
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import Parser, Stored
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.planner import Planner
from uniteddeployment.controller.run import check
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.planning.observed import MemberView, Observed, Reach
from uniteddeployment.planning.plan import Plan, plan

SYNC_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The host and the members as they are now, as far as one namespace of applications goes."""

    client: Client
    host: Host
    fleet: Fleet

    def stored(self, wanted: Stored) -> Stored | None:
        """The object that ``wanted`` would change."""
        return self.host.get(wanted.key)

    async def plan(self, wanted: Stored) -> Plan:
        """What the controller would do if this object were applied now."""
        existing = self.stored(wanted)
        if existing is not None:
            annotations = {**existing.metadata.annotations, **wanted.metadata.annotations}
            generation = existing.metadata.generation + 1
            metadata = msgspec.structs.replace(existing.metadata, generation=generation, annotations=annotations)
            wanted = msgspec.structs.replace(wanted, metadata=metadata, status=existing.status)
        subject = Parser().subject(wanted)
        return await Planner(self.client, self.host, Observer(self.host, self.fleet, _now)).plan(subject)


@asynccontextmanager
async def taken(where: Where, namespace: str) -> AsyncIterator[Snapshot]:
    """Look at the clusters. Raises TimeoutError, KubeError, StartError, CredentialsError."""
    async with connected(where) as client:
        await check(client)
        host = Host(client, lambda _key, _by_user: None, namespace)
        fleet = Fleet(
            client,
            _connect,
            changed=lambda _cluster, _application: None,
            turned=lambda _cluster: None,
            namespace=namespace,
            now=_now,
            read_only=True,
        )
        tasks = [asyncio.create_task(one) for one in (host.deployments.run(), host.revisions.run(), fleet.run())]
        try:
            await _synced(client, host, fleet)
            yield Snapshot(client, host, fleet)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _synced(client: Client, host: Host, fleet: Fleet) -> None:
    try:
        async with asyncio.timeout(SYNC_SECONDS):
            await host.deployments.synced.wait()
            await host.revisions.synced.wait()
            await fleet.wait_synced()
    except TimeoutError:
        errors = [one.last_error for one in (host.deployments, host.revisions) if one.last_error]
        why = f": {errors[0]}" if errors else ""
        raise TimeoutError(f"{client.name} could not be read within {SYNC_SECONDS:g} s{why}") from None
    await fleet.wait_settled(SYNC_SECONDS)


def offline(wanted: Stored) -> Plan:
    """As if every cluster were there and empty."""
    subject = Parser().subject(wanted)
    app = subject.app
    clusters = {app.cluster_of(subset) for subset in app.subsets.values()} if app else set()
    members = {cluster: MemberView(cluster, Reach.READY) for cluster in clusters}
    return plan(subject, Observed(now=_now().isoformat(), members=members))


def _connect(connection: Connection) -> Client:
    return Client(AiohttpTransport(connection), connection.name)


def _now() -> datetime:
    return datetime.now(UTC)
