"""Members that are registered in a simulation as ``ud clusters register`` does it."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.cluster_images import TOKEN
from tests.support.inprocess import InProcessTransport
from tests.support.narrowing import present
from tests.support.world import World
from uniteddeployment.cli.clusters.documents import Wish
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.clusters.registration import Registration
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, StaticToken
from uniteddeployment_api import names

NAMESPACE = "default"


def administrator(cluster: Cluster) -> Client:
    return Client(InProcessTransport(cluster, TOKEN, cluster.name), cluster.name, field_manager="ud")


async def register(world: World, name: str) -> dict[str, Any]:
    """Register a member."""
    member = world.members[name]

    @asynccontextmanager
    async def opened(connection: Connection) -> AsyncIterator[Client]:
        assert connection.tokens is not None
        yield Client(InProcessTransport(member, connection.tokens, name), name)

    server = f"https://{name}.test:6443"
    registration = Registration(
        administrator(world.host),
        administrator(member),
        Wish(NAMESPACE, name, server),
        host_address="https://host.test:6443",
        connection=Connection(server, tokens=StaticToken(TOKEN), name=name),
        progress=Progress(quiet=True),
        open_=opened,
        now=world.clock.now,
    )
    return await registration.run()


def token(world: World, name: str) -> str:
    """The token in the Secret of a registered member."""
    secret = present(world.host.access.get("secrets", NAMESPACE, f"{name}-member-token"))
    return base64.b64decode(secret["data"]["token"]).decode()


def account_user() -> str:
    """The user that a registered member knows the controller as."""
    return f"system:serviceaccount:{names.SYSTEM_NAMESPACE}:{names.MEMBER_ACCOUNT}"
