"""A fleet of embedded clusters: a host with the CRDs, registered members, and one kubeconfig for all."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uniteddeployment.cli.connect import opened
from uniteddeployment.cli.demo import embedded
from uniteddeployment.cli.demo.embedded import Options, Served
from uniteddeployment.controller import run
from uniteddeployment.controller.settings import Settings
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.fleet.access import MemberAccess
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.errors import NotFound, TooManyRequests
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import CUSTOMRESOURCEDEFINITIONS, SECRETS
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions
from uniteddeployment_rollout.loop import run as rollouts
from uniteddeployment_rollout.loop.settings import Settings as RolloutSettings

NAMESPACE = "default"
POLL_SECONDS = 0.02
CONNECT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Running clusters."""

    host: Served
    members: tuple[Served, ...]
    kubeconfig: Path
    """It has a context for each cluster. The current context is that of the host."""

    def connection(self) -> Connection:
        """The connection to the host."""
        return self.host.connection()


@asynccontextmanager
async def running(folder: Path, members: int, *, ready_after: float = 0.5) -> AsyncIterator[Fleet]:
    """Start the clusters, install the CRDs and register the members. They are stopped at the end of the block."""
    async with AsyncExitStack() as stack:
        all_options = [Options(name="host", nodes=1, zones=("z1",), ready_after=ready_after)]
        all_options += [Options(name=f"member-{number + 1}", ready_after=ready_after) for number in range(members)]
        served = []
        for options in all_options:
            served.append(await embedded.serve(options))
            stack.push_async_callback(served[-1].close)
        fleet = Fleet(served[0], tuple(served[1:]), folder / "kubeconfig")
        kubeconfig.write(fleet.kubeconfig, [cluster.context for cluster in served], current="host")
        client = await stack.enter_async_context(opened(fleet.connection(), field_manager="playground"))
        await install(client)
        for member in fleet.members:
            await register(client, member)
        yield fleet


@asynccontextmanager
async def controlled(fleet: Fleet) -> AsyncIterator[asyncio.Task[None]]:
    """Run the controllers in this process during the block. The task ends earlier only with an error."""
    stop = asyncio.Event()
    task = asyncio.create_task(_control(fleet, stop))
    try:
        yield task
    finally:
        stop.set()
        await task


async def _control(fleet: Fleet, stop: asyncio.Event) -> None:
    """Run the controller and the rollout controller until ``stop`` is set."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run.serve(fleet.connection(), Settings(leader_election=False), stop))
        tasks.create_task(
            rollouts.serve(fleet.connection(), RolloutSettings(leader_election=False), stop, MemberAccess)
        )


async def install(client: Client) -> None:
    """Create the CRDs, and wait until their kinds are served."""
    for definition in custom_resource_definitions():
        await client.create(CUSTOMRESOURCEDEFINITIONS, definition, PartialObject)
    while True:
        try:
            async for _ in client.list_pages(CLUSTERS, PartialObject, limit=1):
                return
        except (NotFound, TooManyRequests):
            await asyncio.sleep(POLL_SECONDS)


async def wait_connected(client: Client) -> None:
    """Wait until the controller is connected to every member. Raises TimeoutError with the names of the others."""
    waiting: list[str] = []
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            while True:
                clusters = await client.list_all(CLUSTERS, ClusterObject, namespace=NAMESPACE)
                waiting = [cluster.metadata.name for cluster in clusters if cluster.status.get("phase") != "Running"]
                if not waiting:
                    return
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise TimeoutError(f"not connected after {CONNECT_SECONDS:g} s: {', '.join(waiting)}") from None


async def register(client: Client, member: Served) -> None:
    """Create a Secret with the credentials of a member, and the Cluster that refers to it."""
    name = member.cluster.name
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{name}-credentials"},
        "stringData": {"token": member.token},
    }
    await client.create(SECRETS, secret, PartialObject, namespace=NAMESPACE)
    cluster: dict[str, Any] = {
        "apiVersion": names.API_VERSION,
        "kind": names.CLUSTER_KIND,
        "metadata": {"name": name},
        "spec": {
            "server": member.server.url,
            "caBundle": base64.b64encode(member.server.ca).decode(),
            "credentials": {"secretRef": {"name": f"{name}-credentials"}},
        },
    }
    await client.create(CLUSTERS, cluster, PartialObject, namespace=NAMESPACE)
