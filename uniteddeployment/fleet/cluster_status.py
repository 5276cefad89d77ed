"""The status of one Cluster object, written until what is stored is what is known."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import structlog

from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.fleet.member import Facts
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import KubeError, NotFound
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.planning.observed import Reach

_log = structlog.get_logger(__name__)

_PHASES = {
    Reach.PENDING: "Pending",
    Reach.READY: "Running",
    Reach.OFFLINE: "Offline",
    Reach.SUSPENDED: "Pending",
}
_REASONS = {
    Reach.PENDING: "Connecting",
    Reach.READY: "ClusterReady",
    Reach.OFFLINE: "ClusterNotReachable",
    Reach.SUSPENDED: "Suspended",
}


class ClusterStatus:
    """Writes the status of one Cluster. ``wanted`` gives what it should be, from what is stored; None if nothing."""

    def __init__(
        self, host: Client, cluster: ClusterObject, wanted: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    ) -> None:
        self._host = host
        self._stored = cluster
        """As it was last seen, by a watch event or by the answer to a write of ours. Only its status counts."""
        self._wanted = wanted
        self._backoff = Backoff()
        self._due = False
        self._writing = False
        self._problem = ""

    def seen(self, cluster: ClusterObject) -> None:
        """A watch event; one that is older than the answer to our last write is not news."""
        if not self._stored.metadata.as_new_as(cluster.metadata):
            self._stored = cluster

    async def write(self) -> None:
        """Returns when what is stored is what is wanted, or at once if that is under way already.

        There is one write at a time: of two, the wrong one could be the last.
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

    async def _write_once(self) -> bool:
        """Says whether there is nothing left to write."""
        meta, stored = self._stored.metadata, self._stored.status
        status = self._wanted(stored)
        if status is None or _undated(status) == _undated(stored):
            return True
        try:
            answer = await self._host.merge_patch(
                CLUSTERS,
                meta.name,
                {"metadata": {"uid": meta.uid}, "status": status},
                ClusterObject,
                namespace=meta.namespace,
                subresource="status",
                priority=Priority.BACKGROUND,
            )
        except NotFound:
            return True
        except KubeError as error:
            if str(error) != self._problem:
                _log.warning("cluster status not written", cluster=self._stored.key, error=str(error))
            self._problem = str(error)
            return False
        self._problem = ""
        self.seen(answer)
        return True


def build(
    cluster: ClusterObject,
    stored: Mapping[str, Any],
    reach: Reach,
    *,
    detail: str,
    facts: Facts | None,
    now: datetime,
) -> dict[str, Any]:
    """The status of a Cluster that stands like this."""
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {Reach.READY: "True", Reach.OFFLINE: "Unknown"}.get(reach, "False")
    before = {one.get("type"): one for one in stored.get("conditions") or ()}.get("Ready") or {}
    since = before.get("lastTransitionTime") if before.get("status") == ready else time
    status: dict[str, Any] = {
        "phase": _PHASES[reach],
        "lastProbeTime": time,
        "conditions": [
            {
                "type": "Ready",
                "status": ready,
                "observedGeneration": cluster.metadata.generation,
                "lastTransitionTime": since,
                "reason": _REASONS[reach],
                "message": detail or "the cluster answers",
            }
        ],
    }
    if facts is not None and facts.version:
        status["kubernetesVersion"] = facts.version
        status["nodes"] = facts.nodes
    return status


def _undated(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the time that changes with each write."""
    return {**status, "lastProbeTime": None}
