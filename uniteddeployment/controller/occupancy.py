"""The workloads of this host by cluster, for Clusters that are being deleted."""

import contextlib

import msgspec
import structlog

from uniteddeployment.controller import impersonation
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import Stored
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.departure import Left
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube.errors import KubeError, NotFound
from uniteddeployment.kube.requests import Propagation
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.stored import read_status
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)


class HostOccupancy:
    """Finds the workloads of the UnitedDeployments of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.fleet: Fleet | None = None

    def left(self, cluster: str, *, seen: bool) -> Left | None:
        """Return what a cluster has; if it is not ``seen`` now, what it may have. None if that is not known yet."""
        if not self._host.synced or self.fleet is None:
            return None
        member = self.fleet.member(cluster)
        running, empty = self._in_cache(member) if member is not None else ([], [])
        unseen = () if seen else self._named_by_status(cluster)
        return Left(tuple(running), len(empty), unseen)

    async def clear(self, cluster: str) -> None:
        """Delete the workloads without replicas. What the cluster refuses stays, and is logged."""
        member = self.fleet.member(cluster) if self.fleet is not None else None
        if self.fleet is None or member is None:
            return
        for application, workload in self._in_cache(member)[1]:
            meta = workload.metadata
            client = impersonation.acting(member.client, self.fleet.cluster(cluster), meta.namespace)
            try:
                with contextlib.suppress(NotFound):
                    await client.delete(
                        RESOURCES[workload.kind],
                        meta.name,
                        namespace=meta.namespace,
                        uid=meta.uid,
                        propagation=Propagation.BACKGROUND,
                    )
            except KubeError as error:
                _log.warning("empty workload not deleted", cluster=cluster, name=meta.name, error=str(error))
            member.cache.expect_deletion(application, workload.kind, meta.name, meta.uid)

    def _in_cache(self, member: Member) -> tuple[list[str], list[tuple[AppKey, Workload]]]:
        """The workloads that the cache shows: titles of those with replicas, and those without."""
        running: list[str] = []
        empty: list[tuple[AppKey, Workload]] = []
        for application in member.cache.applications():
            stored = self._stored(application)
            if stored is None:
                continue
            pods = member.cache.pods(application)
            for workload in member.cache.workloads(application):
                if workload.metadata.annotations.get(names.ANNOTATION_OWNER_UID) != stored.metadata.uid:
                    continue
                tally = pods.get(workload.subset)
                if workload.spec.replicas or workload.status.replicas or (tally is not None and tally.total):
                    running.append(_title(workload))
                elif stored.metadata.deletion_timestamp is not None:
                    running.append(_title(workload))  # the deletion of the application takes care of it
                elif workload.metadata.deletion_timestamp is None:
                    empty.append((application, workload))
        return running, empty

    def _stored(self, application: AppKey) -> Stored | None:
        key = self._host.key_of(*application)
        return self._host.get(key) if key is not None else None

    def _named_by_status(self, cluster: str) -> tuple[str, ...]:
        """The applications whose status has a workload in a cluster."""
        name = cluster.encode()
        return tuple(
            "/".join(stored.key)
            for stored in self._host.all()
            if name in bytes(stored.status) and cluster in _clusters(stored)
        )


def _clusters(stored: Stored) -> set[str]:
    status = read_status(msgspec.json.decode(stored.status))
    return {entry.cluster for entry in status.workloads if entry.workload}


def _title(workload: Workload) -> str:
    return f"{workload.kind} {workload.metadata.namespace}/{workload.metadata.name}"
