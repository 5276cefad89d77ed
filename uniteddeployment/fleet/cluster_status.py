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
    Reach.UNKNOWN: "Pending",
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

    async def note_uid(self, uid: str) -> None:
        """Write at once which cluster it stands for. Raises KubeError."""
        if self._stored.uid != uid:
            self.seen(await self._patch({"clusterUID": uid}))

    async def _write_once(self) -> bool:
        """Says whether there is nothing left to write."""
        stored = self._stored.status
        status = self._wanted(stored)
        if status is None or _undated(status) == _undated(stored):
            return True
        try:
            answer = await self._patch(status)
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

    async def _patch(self, status: Mapping[str, Any]) -> ClusterObject:
        meta = self._stored.metadata
        return await self._host.merge_patch(
            CLUSTERS,
            meta.name,
            {"metadata": {"uid": meta.uid}, "status": status},
            ClusterObject,
            namespace=meta.namespace,
            subresource="status",
            priority=Priority.BACKGROUND,
        )


def build(
    cluster: ClusterObject,
    stored: Mapping[str, Any],
    reach: Reach,
    *,
    detail: str,
    facts: Facts | None,
    now: datetime,
    uid: str = "",
    reason: str = "",
) -> dict[str, Any]:
    """The status of a Cluster that stands like this. ``uid`` is that of its cluster; ``reason`` is more than ``reach``.

    What the cluster has told about itself stays until it tells something else.
    """
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {Reach.READY: "True", Reach.OFFLINE: "Unknown"}.get(reach, "False")
    before = {one.get("type"): one for one in stored.get("conditions") or ()}.get("Ready") or {}
    since = before.get("lastTransitionTime") if before.get("status") == ready else time
    status: dict[str, Any] = {name: stored[name] for name in ("kubernetesVersion", "nodes") if name in stored}
    status |= {
        "phase": _PHASES[reach],
        "lastProbeTime": time,
        "conditions": [
            {
                "type": "Ready",
                "status": ready,
                "observedGeneration": cluster.metadata.generation,
                "lastTransitionTime": since,
                "reason": reason or _REASONS[reach],
                "message": detail or "the cluster answers",
            }
        ],
    }
    if uid:
        status["clusterUID"] = uid
    if facts is not None and facts.version:
        status["kubernetesVersion"] = facts.version
        status["nodes"] = facts.nodes
    return status


def _undated(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the time that changes with each write."""
    return {**status, "lastProbeTime": None}
