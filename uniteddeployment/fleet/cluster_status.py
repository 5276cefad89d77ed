"""Writes the status of one Cluster object until the stored status is the wanted one."""

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
        status = self._wanted(stored.status)
        if status is None or _undated(status) == _undated(stored.status):
            return True
        try:
            await self._patch(status)
        except NotFound:
            return True
        except KubeError as error:
            if str(error) != self._problem:
                _log.warning("cluster status not written", cluster=stored.key, error=str(error))
            self._problem = str(error)
            return False
        self._problem = ""
        return True

    async def _patch(self, status: Mapping[str, Any]) -> None:
        answer = await self._host.merge_patch(
            CLUSTERS,
            self._cluster.name,
            {"metadata": {"uid": self._cluster.uid}, "status": status},
            ClusterObject,
            namespace=self._cluster.namespace,
            subresource="status",
            priority=Priority.BACKGROUND,
        )
        self._answered(answer)


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
    """The status of a Cluster in this state.

    ``uid`` is that of its cluster. ``reason`` replaces the reason that follows from ``reach``. The version and the
    number of nodes stay as stored until the cluster reports others.
    """
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {Reach.READY: "True", Reach.OFFLINE: "Unknown"}.get(reach, "False")
    before = {condition.get("type"): condition for condition in stored.get("conditions") or ()}.get("Ready") or {}
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
    """A status without the time that differs in each write."""
    return {**status, "lastProbeTime": None}
