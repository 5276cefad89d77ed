"""The cluster and the namespace that a command works on, and the clients for them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from uniteddeployment.cli.arguments import namespace_name
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.transport import AiohttpTransport

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A cluster, and a namespace of it or all of them."""

    kubeconfig: Path | None
    context: str | None
    named: str = ""
    """The namespace that the user named."""
    all_namespaces: bool = False

    @cached_property
    def namespace(self) -> str:
        """The named namespace, or that of the context as in kubectl. Raises CredentialsError for a bad kubeconfig."""
        return self.named or kubeconfigs.namespace(self.kubeconfig, self.context)

    @property
    def scope(self) -> str | None:
        """The namespace to list; None for all."""
        return None if self.all_namespaces else self.namespace


def target(kubeconfig: Path | None, context: str | None, namespace: str, *, all_namespaces: bool = False) -> Target:
    """The target that the options of a command name. Raises CommandError for an invalid namespace.

    The kubeconfig is not read yet: errors in the other options are reported first.
    """
    return Target(kubeconfig, context, namespace_name(namespace), all_namespaces)


def client_of(connection: Connection, *, field_manager: str | None = None) -> Client:
    """A client for a cluster. The caller closes it."""
    return Client(AiohttpTransport(connection), connection.name, field_manager=field_manager)


@asynccontextmanager
async def opened(connection: Connection, *, field_manager: str | None = None) -> AsyncIterator[Client]:
    """A client for a cluster, which is closed at the end of the block."""
    client = client_of(connection, field_manager=field_manager)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def connected(to: Target) -> AsyncIterator[Client]:
    """A client for the target's cluster. Raises CredentialsError if the kubeconfig cannot be used."""
    async with opened(kubeconfigs.load(to.kubeconfig, to.context)) as client:
        yield client


async def read_application(client: Client, namespace: str, name: str, type_: type[T]) -> T:
    """Get a UnitedDeployment. Raises CommandError if there is none, and StartError if its kind is not served."""
    try:
        return await client.get(UNITED_DEPLOYMENTS, name, type_, namespace=namespace)
    except NotFound as error:
        if "name" not in error.details:  # it is not the object that is missing
            await check_served(client, namespace)
        raise CommandError(f"{error.message} (namespace {namespace})") from None
