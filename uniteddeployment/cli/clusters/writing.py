"""Writes the objects of a registration, and deletes those that it created if the registration fails."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from uniteddeployment.kube.meta import ObjectMeta, PartialObject
from uniteddeployment.kube.resource import Resource

UNDO_SECONDS = 15.0
"""How long the deletion of what was created may take."""


class Writer:
    """Creates objects, or changes them if they exist, and remembers which of them it created."""

    def __init__(self) -> None:
        self._undo: list[tuple[str, Callable[[], Awaitable[object]]]] = []

    async def put(self, client: Client, resource: Resource, body: Mapping[str, Any]) -> tuple[ObjectMeta, bool]:
        """Create an object, or merge the body into the existing one. Return its metadata, and whether it is new.

        Raises KubeError.
        """
        name, namespace = body["metadata"]["name"], body["metadata"].get("namespace")
        try:
            made = await client.create(resource, body, PartialObject, namespace=namespace)
        except AlreadyExists:
            changed = await client.merge_patch(resource, name, body, PartialObject, namespace=namespace)
            if changed.metadata.owner_references:
                self._disown(client, resource, changed.metadata)
            return changed.metadata, False
        self.created(client, resource, made.metadata)
        return made.metadata, True

    def created(self, client: Client, resource: Resource, meta: ObjectMeta) -> None:
        """Delete this object if the registration fails."""

        async def delete() -> None:
            with suppress(NotFound, Conflict):
                await client.delete(resource, meta.name, namespace=meta.namespace or None, uid=meta.uid)

        self.undo(f"{resource.plural} {meta.name} ({client.name})", delete)

    def _disown(self, client: Client, resource: Resource, meta: ObjectMeta) -> None:
        """If the registration fails, keep this object, although an owner that was created for it is deleted."""
        patch = {"metadata": {"uid": meta.uid, "ownerReferences": None}}
        action = partial(
            client.merge_patch, resource, meta.name, patch, PartialObject, namespace=meta.namespace or None
        )
        self.undo(f"owner of {resource.plural} {meta.name} ({client.name})", action)

    def undo(self, what: str, action: Callable[[], Awaitable[object]]) -> None:
        """Call this if the registration fails."""
        self._undo.append((what, action))

    async def clean_up(self) -> list[str]:
        """Delete what was created, the last first. Return what could not be deleted."""
        left = []
        while self._undo:
            what, action = self._undo.pop()
            try:
                async with asyncio.timeout(UNDO_SECONDS):
                    await action()
            except KubeError as error:
                left.append(f"{what}: {error}")
            except TimeoutError:
                left.append(f"{what}: no answer within {UNDO_SECONDS:g} s")
        return left
