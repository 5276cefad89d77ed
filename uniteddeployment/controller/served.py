"""Checks that the host serves the kinds of this project."""

from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.process import StartError


async def check_served(client: Client, namespace: str | None = None) -> None:
    """Raise StartError, with the command that helps, if the host does not serve our kinds.

    This needs the rights to list UnitedDeployments in ``namespace`` (in all namespaces if it is None) and Clusters in
    all namespaces.
    """
    for resource, scope in ((UNITED_DEPLOYMENTS, namespace), (CLUSTERS, None)):
        try:
            async for _ in client.list_pages(resource, PartialObject, namespace=scope, limit=1):
                break
        except NotFound:
            kind = f"{resource.plural}.{resource.group}"
            raise StartError(
                f"{client.name} does not know {kind}; install the CRDs first: ud crds | kubectl apply -f -"
            ) from None
