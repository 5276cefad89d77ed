"""``ud adopt``: a UnitedDeployment that takes over what runs already."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import typer

from uniteddeployment.cli import printing, takeover
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.get import Where, connected
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject, connection
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import AlreadyExists, NotFound
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import DEPLOYMENTS, STATEFULSETS, Resource
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import InvalidObject, names, parse_united_deployment, validate_united_deployment

_WORDS: Mapping[str, Resource] = {
    word: resource
    for resource, words in (
        (STATEFULSETS, ("sts", "statefulset", "statefulsets", "statefulset.apps", "statefulsets.apps")),
        (DEPLOYMENTS, ("deploy", "deployment", "deployments", "deployment.apps", "deployments.apps")),
    )
    for word in words
}


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be taken over, and as what."""

    workload: str
    """``sts/NAME`` or ``deploy/NAME``"""
    name: str
    cluster: str = ""
    """``[NAMESPACE/]NAME`` of a Cluster; the host itself if empty."""
    subset: str = ""

    @property
    def resource(self) -> tuple[Resource, str]:
        """Raises CommandError for what cannot be taken over."""
        word, _, name = self.workload.partition("/")
        resource = _WORDS.get(word.lower())
        if resource is None or not name:
            raise CommandError(
                f"{self.workload!r} cannot be adopted: name a StatefulSet (sts/NAME) or a Deployment (deploy/NAME)",
                USAGE,
            )
        return resource, name


def main(where: Where, request: Request, output: str, *, apply: bool) -> None:
    """Print the UnitedDeployment, or create it."""
    printing.check_output(output, ("yaml", "json"))
    asyncio.run(_adopt(where, request, output or "yaml", apply=apply))


async def _adopt(where: Where, request: Request, output: str, *, apply: bool) -> None:
    resource, name = request.resource
    namespace = where.namespace or "default"
    async with connected(where) as host:
        async with _cluster(host, namespace, request.cluster) as cluster:
            try:
                workload = await cluster.get(resource, name, dict[str, Any], namespace=namespace)
            except NotFound as error:
                raise CommandError(f"{error.message} (namespace {namespace} of {cluster.name})") from None
        document = written(request, {**workload, "kind": resource.kind})
        for remark in takeover.remarks(workload):
            typer.echo(f"note: {resource.kind} {name}: {remark}", err=True)
        if not apply:
            printing.dump(document, output)
            return
        title = f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}/{request.name}"
        try:
            await host.create(UNITED_DEPLOYMENTS, document, PartialObject, namespace=namespace)
        except AlreadyExists:
            raise CommandError(f"{title} exists already; choose another --name") from None
        typer.echo(f"{title} created")


def written(request: Request, workload: Mapping[str, Any]) -> dict[str, Any]:
    """The UnitedDeployment. Raises CommandError with the reason when the workload cannot be taken over."""
    title = f"{workload['kind']} {workload['metadata']['name']}"
    problem = takeover.refusal(workload)
    if problem:
        raise CommandError(f"{title} cannot be adopted: {problem}")
    place, _, cluster = request.cluster.rpartition("/")
    target = {"namespace": place, "name": cluster} if place else {"name": cluster}
    document = takeover.manifest(
        workload,
        name=request.name,
        subset=request.subset or cluster.replace(".", "-") or "host",
        target=target if cluster else None,
    )
    try:
        errors = validate_united_deployment(parse_united_deployment(document))
    except InvalidObject as error:
        errors = error.errors
    if errors:
        raise CommandError(f"{title} cannot be adopted: {'; '.join(str(error) for error in errors)}")
    return document


@asynccontextmanager
async def _cluster(host: Client, namespace: str, cluster: str) -> AsyncIterator[Client]:
    """The cluster that the workload is in: the host, or the member that a Cluster describes."""
    if not cluster:
        yield host
        return
    place, _, name = cluster.rpartition("/")
    try:
        found = await host.get(CLUSTERS, name, ClusterObject, namespace=place or namespace)
    except NotFound as error:
        raise CommandError(f"{error.message} (namespace {place or namespace})") from None
    client = Client(AiohttpTransport(await connection(found, host)), f"cluster {cluster}")
    try:
        yield client
    finally:
        await client.close()
