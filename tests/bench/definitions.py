"""Puts CustomResourceDefinitions into a cluster."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound, TooManyRequests
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import CUSTOMRESOURCEDEFINITIONS, Resource

START_SECONDS = 60.0
POLL_SECONDS = 0.02
"""Between two requests that ask whether a definition is served: no watch shows that."""


async def define(client: Client, definitions: Iterable[Mapping[str, Any]], *used: Resource) -> None:
    """Create the definitions, and wait until the server serves the resources that are used."""
    for definition in definitions:
        await client.create(CUSTOMRESOURCEDEFINITIONS, definition, PartialObject)
    async with asyncio.timeout(START_SECONDS):
        for resource in used:
            await _served(client, resource)


async def _served(client: Client, resource: Resource) -> None:
    while True:
        try:
            await client.list_all(resource, PartialObject)
        except (NotFound, TooManyRequests):
            await asyncio.sleep(POLL_SECONDS)
        else:
            return
