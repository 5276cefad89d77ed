"""Clusters and applications as the commands read them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli.clusters import inputs
from uniteddeployment.cli.connect import Target
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.output.documents import complete
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.served import check_served
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden, NotFound
from uniteddeployment.planning.results import State
from uniteddeployment_api import names

Document = dict[str, Any]


async def read_cluster(client: Client, namespace: str, name: str) -> Document:
    """Get a Cluster. Raises CommandError with similar names if there is none."""
    try:
        found = await client.get(CLUSTERS, name, dict[str, Any], namespace=namespace)
        return complete(found, names.CLUSTER_KIND)
    except NotFound as error:
        if "name" not in error.details:  # it is not the object that is missing
            await check_served(client, namespace)
        known = [found["metadata"]["name"] for found in await client.list_all(CLUSTERS, Document, namespace=namespace)]
        hint = inputs.nearest(name, known) or "; ud clusters list -A shows all"
        raise CommandError(f"{error.message} (namespace {namespace}){hint}") from None


def key(cluster: Mapping[str, Any]) -> str:
    """``namespace/name``"""
    return f"{cluster['metadata']['namespace']}/{cluster['metadata']['name']}"


def condition(cluster: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """A condition of a Cluster; empty if there is none."""
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return next((found for found in conditions if found.get("type") == type_), {})


async def applications(client: Client, target: Target) -> list[Document]:
    """The UnitedDeployments of all namespaces, or of the target's if the user may not list the others."""
    try:
        return await client.list_all(UNITED_DEPLOYMENTS, Document)
    except Forbidden:
        return await client.list_all(UNITED_DEPLOYMENTS, Document, namespace=target.namespace)


@dataclass(frozen=True, slots=True)
class Presence:
    """A subset, or a workload that is left over, of an application in a cluster."""

    application: str
    """``namespace/name``"""
    subset: str
    state: str = ""
    replicas: int = 0
    """Pods that the subset is assigned; 0 for a leftover."""
    desired: int | None = None
    """Pods that it will have when the others are ready elsewhere; None if it keeps what it has."""
    observed: int = 0
    """Pods that exist."""
    ready: int = 0
    possibly_running: int = 0
    """Pods that the cluster may still run while it cannot be observed."""
    reason: str = ""
    observed_time: str | None = None
    """When the cluster was last observed; None while it is."""

    @property
    def pods(self) -> int:
        """Pods that are there, are to be there, or may be there."""
        return max(self.replicas, self.observed, self.possibly_running)


def presences(application: Mapping[str, Any], cluster: str) -> Iterator[Presence]:
    """What an application has in the cluster ``namespace/name``, as its status says."""
    metadata, status = application["metadata"], application.get("status") or {}
    title = f"{metadata['namespace']}/{metadata['name']}"
    for entry in status.get("subsetStatuses") or ():
        if entry.get("cluster") == cluster:
            yield Presence(
                title,
                entry.get("name", ""),
                entry.get("state", ""),
                entry.get("replicas", 0),
                entry.get("desiredReplicas"),
                entry.get("observedReplicas", 0),
                entry.get("readyReplicas", 0),
                entry.get("possiblyRunning", 0),
                entry.get("reason", ""),
                entry.get("lastObservedTime"),
            )
    for entry in status.get("leftovers") or ():
        if entry.get("cluster") == cluster:
            yield Presence(
                title,
                entry.get("subset", ""),
                State.PROGRESSING,
                observed=entry.get("observedReplicas", 0),
                ready=entry.get("readyReplicas", 0),
                reason=entry.get("reason", ""),
                observed_time=entry.get("lastObservedTime"),
            )
