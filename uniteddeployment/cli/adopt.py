"""``ud adopt``: a UnitedDeployment that takes over what runs already."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli import printing, takeover
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.takeover import Found
from uniteddeployment.cli.terminal import say
from uniteddeployment.cli.where import Where, connected
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.run import check
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
    clusters: tuple[str, ...] = ()
    """``[NAMESPACE/]NAME`` of each Cluster that has such a workload; none for the host itself."""
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
    logs.configure("console", "error")
    asyncio.run(_adopt(where, request, output or "yaml", apply=apply))


async def _adopt(where: Where, request: Request, output: str, *, apply: bool) -> None:
    namespace = where.namespace or "default"
    async with connected(where) as host:
        found = [await _find(host, namespace, request, cluster) for cluster in request.clusters or ("",)]
        document = written(request, found)
        for one in found:
            for remark in takeover.remarks(one.workload):
                say(f"note: {_title(one)}: {remark}", error=True)
        if not apply:
            printing.dump(document, output)
            return
        title = f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}/{request.name}"
        try:
            await host.create(UNITED_DEPLOYMENTS, document, PartialObject, namespace=namespace)
        except NotFound:
            await check(host)
            raise
        except AlreadyExists:
            raise CommandError(f"{title} exists already; choose another --name") from None
        say(f"{title} created")


async def _find(host: Client, namespace: str, request: Request, cluster: str) -> Found:
    resource, name = request.resource
    async with _cluster(host, namespace, cluster) as client:
        try:
            workload = await client.get(resource, name, dict[str, Any], namespace=namespace)
        except NotFound as error:
            raise CommandError(f"{error.message} (namespace {namespace} of {client.name})") from None
    place, _, short = cluster.rpartition("/")
    target = ({"namespace": place} if place else {}) | {"name": short}
    subset = request.subset or short.replace(".", "-") or "host"
    return Found({**workload, "kind": resource.kind}, subset, target if cluster else None)


def written(request: Request, found: Sequence[Found]) -> dict[str, Any]:
    """The UnitedDeployment. Raises CommandError with the reason when a workload cannot be taken over."""
    if request.subset and len(found) > 1:
        raise CommandError("--subset goes with one --cluster; with several, subsets have the names of theirs", USAGE)
    for one in found:
        problem = takeover.refusal(one.workload) or takeover.misfit(found[0], one)
        if problem:
            raise CommandError(f"{_title(one)} cannot be adopted: {problem}")
    document = takeover.manifest(request.name, found)
    try:
        errors = validate_united_deployment(parse_united_deployment(document))
    except InvalidObject as error:
        errors = error.errors
    if errors:
        raise CommandError(f"{_title(found[0])} cannot be adopted: {'; '.join(str(error) for error in errors)}")
    return document


def _title(found: Found) -> str:
    title = f"{found.workload['kind']} {found.workload['metadata']['name']}"
    return f"{title} in {found.target['name']}" if found.target else title


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
        await check(host)
        raise CommandError(f"{error.message} (namespace {place or namespace})") from None
    client = Client(AiohttpTransport(await connection(found, host)), f"cluster {cluster}")
    try:
        yield client
    finally:
        await client.close()
