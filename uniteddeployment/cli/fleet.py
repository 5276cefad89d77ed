"""A fleet of embedded clusters: a host with the CRDs, members that are registered with it, one kubeconfig for all."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uniteddeployment.cli import embedded
from uniteddeployment.cli.embedded import Options, Served
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, from_values
from uniteddeployment.kube.errors import NotFound, TooManyRequests
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import CUSTOMRESOURCEDEFINITIONS, SECRETS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions

NAMESPACE = "default"
POLL_SECONDS = 0.02
CONNECT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Running clusters."""

    host: Served
    members: tuple[Served, ...]
    kubeconfig: Path
    """A context for each cluster; the host's is the current one."""

    def connection(self) -> Connection:
        """To the host."""
        server = self.host.server
        return from_values(server.url, ca=server.ca, token=self.host.token, name="host")


@asynccontextmanager
async def running(folder: Path, members: int, *, ready_after: float = 0.5) -> AsyncIterator[Fleet]:
    """Start the clusters, install the CRDs and register the members; end everything with the block."""
    async with AsyncExitStack() as stack:
        options = [Options(name="host", nodes=1, zones=("z1",), ready_after=ready_after)]
        options += [Options(name=f"member-{number + 1}", ready_after=ready_after) for number in range(members)]
        served = []
        for one in options:
            served.append(await embedded.serve(one))
            stack.push_async_callback(served[-1].close)
        fleet = Fleet(served[0], tuple(served[1:]), folder / "kubeconfig")
        kubeconfig.write(fleet.kubeconfig, [one.context for one in served], current="host")
        client = Client(AiohttpTransport(fleet.connection()), "host", field_manager="playground")
        stack.push_async_callback(client.close)
        await install(client)
        for member in fleet.members:
            await register(client, member)
        yield fleet


async def install(client: Client) -> None:
    """Create the CRDs and wait until their kinds are served."""
    for definition in custom_resource_definitions():
        await client.create(CUSTOMRESOURCEDEFINITIONS, definition, PartialObject)
    while True:
        try:
            async for _ in client.list_pages(CLUSTERS, PartialObject, limit=1):
                return
        except (NotFound, TooManyRequests):
            await asyncio.sleep(POLL_SECONDS)


async def connected(client: Client) -> None:
    """Wait until the controller has reached every member. Raises TimeoutError that names those it has not."""
    waiting: list[str] = []
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            while True:
                found = await client.list_all(CLUSTERS, ClusterObject, namespace=NAMESPACE)
                waiting = [one.metadata.name for one in found if one.status.get("phase") != "Running"]
                if not waiting:
                    return
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise TimeoutError(f"not connected within {CONNECT_SECONDS:g} s: {', '.join(waiting)}") from None


async def register(client: Client, member: Served) -> None:
    """A Secret with the credentials, and the Cluster that names it."""
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
