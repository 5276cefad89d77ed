"""Our finalizer on a Cluster: it keeps the object while workloads of this host are in the cluster."""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Conflict, KubeError, NotFound
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

TRIES = 5
"""How often the finalizer is added before that counts as a failure, while others change the object."""
PAUSE = 0.2
"""Seconds until the watch shows what somebody else has changed."""


class Finalizer:
    """Adds and removes the finalizer of one Cluster.

    ``stored`` returns the cached object, and ``answered`` takes the answers to writes. Each write names the version of
    the object, since it replaces the finalizers of others as well.
    """

    def __init__(
        self,
        host: Client,
        cluster: ClusterObject,
        *,
        stored: Callable[[], ClusterObject | None],
        answered: Callable[[ClusterObject], None],
    ) -> None:
        self._host = host
        self._uid = cluster.metadata.uid
        self._stored = stored
        self._answered = answered

    async def add(self) -> None:
        """Add it, unless the Cluster is being deleted. Raises KubeError."""
        for attempt in range(TRIES):
            stored = self._present()
            if stored is None or stored.metadata.deletion_timestamp or names.CLUSTER_FINALIZER in _finalizers(stored):
                return
            try:
                self._answered(await self._write(stored, [*_finalizers(stored), names.CLUSTER_FINALIZER]))
            except Conflict:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(PAUSE)
            else:
                return

    async def remove(self) -> None:
        """Remove it, however long that takes."""
        backoff = Backoff()
        while True:
            stored = self._present()
            if stored is None or names.CLUSTER_FINALIZER not in _finalizers(stored):
                return
            try:
                await self._write(stored, [name for name in _finalizers(stored) if name != names.CLUSTER_FINALIZER])
            except NotFound:
                return
            except KubeError as error:
                _log.warning("finalizer not removed", cluster=stored.key, error=str(error))
                await asyncio.sleep(backoff.pause())
            else:
                return

    def _present(self) -> ClusterObject | None:
        stored = self._stored()
        return stored if stored is not None and stored.metadata.uid == self._uid else None

    async def _write(self, stored: ClusterObject, finalizers: list[str]) -> ClusterObject:
        meta = stored.metadata
        patch: dict[str, Any] = {"finalizers": finalizers or None, "resourceVersion": meta.resource_version}
        return await self._host.merge_patch(
            CLUSTERS, meta.name, {"metadata": patch}, ClusterObject, namespace=meta.namespace
        )


def _finalizers(cluster: ClusterObject) -> tuple[str, ...]:
    return cluster.metadata.finalizers
