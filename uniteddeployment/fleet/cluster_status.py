"""Writes the status of one Cluster object until the stored status is the wanted one."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from uniteddeployment.fleet import status
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import KubeError, NotFound
from uniteddeployment.kube.limiter import Priority

_log = structlog.get_logger(__name__)


class ClusterStatus:
    """Writes the status of one Cluster.

    ``stored`` returns the cached object, ``answered`` takes the answers to writes, and ``wanted`` returns the status to
    have, given the stored one; None if it is not known.
    """

    def __init__(
        self,
        host: Client,
        cluster: ClusterObject,
        *,
        stored: Callable[[], ClusterObject | None],
        answered: Callable[[ClusterObject], None],
        wanted: Callable[[Mapping[str, Any]], dict[str, Any] | None],
    ) -> None:
        self._host = host
        self._cluster = cluster.metadata
        self._stored = stored
        self._answered = answered
        self._wanted = wanted
        self._backoff = Backoff()
        self._due = False
        self._writing = False
        self._problem = ""

    async def write(self) -> None:
        """Write until the stored status is the wanted one. Return at once if a write is under way: it goes on to that.

        There is one write at a time, since of two at once the outdated one could be the last.
        """
        self._due = True
        if self._writing:
            return
        self._writing = True
        try:
            while self._due:
                self._due = False
                if not await self._write_once():
                    await asyncio.sleep(self._backoff.pause())
                    self._due = True
        finally:
            self._writing = False

    async def note_uid(self, uid: str) -> None:
        """Write at once the uid of the cluster for which it is used. Raises KubeError."""
        stored = self._stored()
        if stored is None or stored.recorded_uid != uid:
            await self._patch({"clusterUID": uid})

    async def _write_once(self) -> bool:
        """Return whether nothing is left to write."""
        stored = self._stored()
        if stored is None or stored.metadata.uid != self._cluster.uid:
            return True
        wanted = self._wanted(stored.status)
        if wanted is None or not status.differ(wanted, stored.status):
            return True
        try:
            await self._patch(status.patch(wanted, stored.status))
        except NotFound:
            return True
        except KubeError as error:
            if str(error) != self._problem:
                _log.warning("cluster status not written", cluster=stored.key, error=str(error))
            self._problem = str(error)
            return False
        self._problem = ""
        return True

    async def _patch(self, change: Mapping[str, Any]) -> None:
        answer = await self._host.merge_patch(
            CLUSTERS,
            self._cluster.name,
            {"metadata": {"uid": self._cluster.uid}, "status": change},
            ClusterObject,
            namespace=self._cluster.namespace,
            subresource="status",
            priority=Priority.BACKGROUND,
        )
        self._answered(answer)
