"""Single requests to members on behalf of a namespace, for programs that do not follow the fleet.

They get no more than the applications of the namespace do: the Cluster must allow the namespace, and writes are made as
the ServiceAccount that it names (I15). They reach no other cluster than the one that the Cluster was used for (I14).
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from msgspec import Struct

from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject, connection
from uniteddeployment.fleet.identity import cluster_uid
from uniteddeployment.fleet.permission import needs_labels, refusal
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.errors import ApiError, NotFound
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.kube.web import RequestFailed

IDENTIFYING_SECONDS = 5.0
_RUNNING = "Running"


class _NamespaceMetadata(Struct, frozen=True):
    labels: dict[str, str] = {}


class _Namespace(Struct, frozen=True):
    metadata: _NamespaceMetadata


class MemberAccess:
    """Connects to members, once for each use. ``connect`` creates the client of a member."""

    def __init__(self, host: Client, connect: Callable[[Connection], Client]) -> None:
        self._host = host
        self._connect = connect

    @contextlib.asynccontextmanager
    async def client(self, cluster: str, namespace: str) -> AsyncIterator[Client]:
        """A client of a Cluster (``namespace/name``) for a namespace. Raises RequestFailed and KubeError."""
        found = await self._cluster(cluster)
        if why := refusal(found, namespace, await self._labels(found, namespace)):
            raise RequestFailed(f"Cluster {cluster}: {why}")
        if found.spec.suspended or found.status.get("phase") != _RUNNING or not found.recorded_uid:
            raise RequestFailed(f"Cluster {cluster} is not {_RUNNING}")
        try:
            client = self._connect(await connection(found, self._host))
        except CredentialsError as error:
            raise RequestFailed(str(error)) from None
        try:
            if await cluster_uid(client, timeout=IDENTIFYING_SECONDS) != found.recorded_uid:
                raise RequestFailed(f"another cluster answers at the address of Cluster {cluster}")
            account = found.spec.impersonate
            user = f"system:serviceaccount:{namespace}:{account.service_account}" if account is not None else ""
            yield client.acting_as(user) if user else client
        finally:
            await client.close()

    async def _cluster(self, cluster: str) -> ClusterObject:
        namespace, _, name = cluster.partition("/")
        try:
            return await self._host.get(CLUSTERS, name, ClusterObject, namespace=namespace)
        except NotFound:
            raise RequestFailed(f"there is no Cluster {cluster}") from None
        except ApiError as error:
            raise RequestFailed(f"Cluster {cluster} cannot be read: {error.reason}") from None

    async def _labels(self, cluster: ClusterObject, namespace: str) -> Mapping[str, str] | None:
        """The labels of a namespace of the host, if the Cluster selects by them; None if they are not known."""
        if not needs_labels(cluster, namespace):
            return None
        try:
            return (await self._host.get(NAMESPACES, namespace, _Namespace)).metadata.labels
        except ApiError:
            return None
