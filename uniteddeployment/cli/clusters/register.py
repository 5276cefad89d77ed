"""``ud clusters register``: reads the options, registers the member, and prints the result."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uniteddeployment.cli.arguments import CLUSTER
from uniteddeployment.cli.clusters.documents import Wish
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.clusters.registration import FIELD_MANAGER, Registration
from uniteddeployment.cli.connect import Target, opened
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.controller import logs
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.credentials import Connection, CredentialsError


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command."""

    name: str
    kubeconfig: Path | None
    context: str | None
    server: str
    labels: dict[str, str]
    allowed: dict[str, Any] | None
    controller: tuple[str, str]
    owner_lost: bool


def main(host: Target, request: Request, output: str) -> None:
    """Register a member. Raises CommandError, KubeError, CredentialsError."""
    check_output(output, ("text", "json"))
    if request.kubeconfig is None and request.context is None:
        raise CommandError("select the member with --kubeconfig FILE, --context NAME, or both", USAGE)
    logs.configure("console", "error")
    connection = kubeconfigs.load(request.kubeconfig, request.context, name=request.name)
    check_connection(connection, request.server)
    result = asyncio.run(_register(host, request, connection, Progress(quiet=output == "json")))
    if output == "json":
        dump(result, output)
        return
    say(f"{CLUSTER.title}/{request.name} {'registered' if result['created'] else 'registered again'}")
    if request.allowed is None and result["created"]:
        say(
            f"Applications in the namespace {host.namespace} may use it. To open it to others, register it again with "
            "--allow-namespaces all or --allow-namespaces selector=KEY=VALUE."
        )


def check_connection(connection: Connection, server: str) -> None:
    """Raise CommandError for a connection that a Cluster cannot have."""
    for address in (connection.server, server):
        if address and not address.startswith("https://"):
            raise CommandError(
                f"the address of the API server must begin with https://, unlike {address}: without TLS, the token "
                "would be sent in clear text"
            )
    if server:
        try:
            Connection(server)
        except CredentialsError as error:
            raise CommandError(f"--server: {error}", USAGE) from None
    if connection.tls_server_name:
        raise CommandError(
            "the kubeconfig has 'tls-server-name', which a Cluster cannot have: use an address whose host is in the "
            "certificate of the API server"
        )


async def _register(host: Target, request: Request, connection: Connection, progress: Progress) -> dict[str, Any]:
    on_host = kubeconfigs.load(host.kubeconfig, host.context)
    wish = Wish(
        namespace=host.namespace,
        name=request.name,
        server=request.server or connection.server,
        ca=connection.ca,
        insecure=connection.insecure,
        labels=request.labels,
        allowed=request.allowed,
        controller=request.controller,
    )
    async with (
        opened(on_host, field_manager=FIELD_MANAGER) as host_client,
        opened(connection, field_manager=FIELD_MANAGER) as member_client,
    ):
        registration = Registration(
            host_client,
            member_client,
            wish,
            host_address=on_host.server,
            connection=connection,
            progress=progress,
        )
        return await registration.run(owner_lost=request.owner_lost)
