"""Writes the UnitedDeployment of ``ud adopt --apply`` to the host."""

from collections.abc import Mapping
from typing import Any

from uniteddeployment.cli.arguments import TITLE
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import AlreadyExists, NotFound
from uniteddeployment.kube.meta import PartialObject


async def create(host: Client, namespace: str, document: Mapping[str, Any], hint: str) -> None:
    """Create the object and say so. Raises CommandError with ``hint`` if it exists."""
    title = f"{TITLE}/{document['metadata']['name']}"
    try:
        await host.create(UNITED_DEPLOYMENTS, document, PartialObject, namespace=namespace)
    except NotFound:
        await check_served(host, namespace)
        raise
    except AlreadyExists:
        raise CommandError(f"{title} exists already; {hint}") from None
    say(f"{title} created")
