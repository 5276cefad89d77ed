"""Keeps a Cluster for each ClusterProfile that an application asks for.

ClusterProfiles are read once an application asks for one, if their CRD is installed. The Cluster has the name and the
namespace of its ClusterProfile, and belongs to it, so the garbage collector deletes it together with it. Fields that
the ClusterProfile does not define, such as ``allowedNamespaces``, are left to administrators.
"""

import asyncio
from collections.abc import Callable

import structlog

from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.fleet.profiles import PROFILES, ClusterProfile, ProfileError, cluster_document
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.ratelimit import ItemExponential
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.workqueue import WorkQueue
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

RETRY_CAP_SECONDS = 60.0
READING = "the ClusterProfiles have not been read yet"


class Profiles:
    """Keeps the Clusters of ClusterProfiles. ``changed`` is called with a Cluster whose problem has changed."""

    def __init__(self, client: Client, fleet: Fleet, changed: Callable[[str], None]) -> None:
        self._client = client
        self._fleet = fleet
        self._changed = changed
        self._asked: dict[str, str] = {}
        """Cluster -> why it does not represent its ClusterProfile; empty if it does."""
        self._wanted = asyncio.Event()
        self._queue: WorkQueue[str] = WorkQueue(limiter=ItemExponential(base=1.0, cap=RETRY_CAP_SECONDS))
        self._cache: Cache[ClusterProfile] = Cache(self._profile_changed)
        self._profiles = Reflector(
            client, PROFILES, ClusterProfile, self._cache, on_synced=self._queue_all, optional=True
        )

    def problem(self, cluster: str) -> str:
        """Ask for the Cluster of a ClusterProfile. Return why there is none yet; empty if there is."""
        if cluster not in self._asked:
            self._asked[cluster] = READING
            self._wanted.set()
            self._queue.add(cluster)
        return self._asked[cluster]

    def cluster_changed(self, cluster: str) -> None:
        """A Cluster was added, changed or removed."""
        if cluster in self._asked:
            self._queue.add(cluster)

    async def run(self) -> None:
        """Read ClusterProfiles once they are asked for, and keep their Clusters, until cancelled."""
        await self._wanted.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._profiles.run())
            tasks.create_task(self._work())

    def _queue_all(self) -> None:
        for cluster in self._asked:
            self._queue.add(cluster)

    def _profile_changed(self, old: ClusterProfile | None, new: ClusterProfile | None) -> None:
        profile = new or old
        if profile is not None:
            self.cluster_changed(f"{profile.metadata.namespace}/{profile.metadata.name}")

    async def _work(self) -> None:
        while True:
            cluster = await self._queue.get()
            try:
                self._note(cluster, await self._keep(cluster))
            except errors.KubeError as error:
                self._note(cluster, f"the Cluster of the ClusterProfile {cluster} cannot be written: {error}")
                self._queue.add_rate_limited(cluster)
            except Exception as error:  # noqa: BLE001  # an error about one must not end the work on the others
                _log.exception("cluster of a profile not kept", cluster=cluster)
                self._note(cluster, f"internal error: {type(error).__name__}; the controller's log says where")
                self._queue.add_rate_limited(cluster)
            else:
                self._queue.forget(cluster)
            finally:
                self._queue.done(cluster)

    def _note(self, cluster: str, problem: str) -> None:
        if self._asked.get(cluster) != problem:
            self._asked[cluster] = problem
            self._changed(cluster)

    async def _keep(self, cluster: str) -> str:
        """Create or correct the Cluster of a ClusterProfile; return why there is none. Raises KubeError."""
        if not self._profiles.synced.is_set():
            if isinstance(self._profiles.refusal, errors.NotFound):
                return f"the host does not serve {PROFILES.kind} of {PROFILES.api_version}: install its CRD"
            return f"{READING}: {self._profiles.last_error}" if self._profiles.last_error else READING
        namespace, _, name = cluster.partition("/")
        profile = self._cache.get((namespace, name))
        if profile is None or profile.metadata.deletion_timestamp is not None:
            return f"there is no ClusterProfile {cluster}"
        try:
            document = cluster_document(profile)
        except ProfileError as error:
            return f"the ClusterProfile {cluster} cannot be used: {error}"
        mark = document["metadata"]["annotations"][names.ANNOTATION_CLUSTER_PROFILE]
        present = self._fleet.cluster(cluster)
        if present is None:
            try:
                await self._client.apply_new(
                    CLUSTERS, name, document, ClusterObject, field_manager=names.FIELD_MANAGER, namespace=namespace
                )
            except errors.Conflict:
                return f"the Cluster {cluster} exists, and has not been read yet or is being deleted"
            return ""
        marked = present.metadata.annotations.get(names.ANNOTATION_CLUSTER_PROFILE, "")
        if not marked.startswith(f"{profile.metadata.uid}."):
            return (
                f"the Cluster {cluster} does not belong to the ClusterProfile {cluster}: rename or delete the Cluster"
            )
        if marked != mark:
            document["metadata"]["uid"] = present.metadata.uid
            await self._client.apply(
                CLUSTERS,
                name,
                document,
                ClusterObject,
                field_manager=names.FIELD_MANAGER,
                force=True,
                namespace=namespace,
            )
        return ""
