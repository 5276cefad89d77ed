"""``ud adopt sts/NAME``: writes a UnitedDeployment that takes over a workload that already runs."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli.adopt import document
from uniteddeployment.cli.adopt.document import Candidate
from uniteddeployment.cli.adopt.store import create
from uniteddeployment.cli.arguments import application_name
from uniteddeployment.cli.connect import Target, connected, opened
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.controller import logs
from uniteddeployment.controller.served import check_served
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject, connection
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.resource import DEPLOYMENTS, STATEFULSETS, Resource
from uniteddeployment_api import InvalidObject, parse_united_deployment, validate_united_deployment

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
    """The workload to take over, and the UnitedDeployment to write."""

    workload: str
    """``sts/NAME`` or ``deploy/NAME``"""
    name: str
    clusters: tuple[str, ...] = ()
    """``[NAMESPACE/]NAME`` of each Cluster that runs such a workload; empty for the host."""
    subset: str = ""

    @property
    def resource(self) -> tuple[Resource, str]:
        """The resource and the name of the workload. Raises CommandError if the kind cannot be taken over."""
        return _resource(self.workload)


def _resource(workload: str) -> tuple[Resource, str]:
    word, _, name = workload.partition("/")
    resource = _WORDS.get(word.lower())
    if resource is None or not name:
        raise CommandError(
            f"{workload!r} cannot be adopted: name a StatefulSet (sts/NAME) or a Deployment (deploy/NAME). "
            "To take back the workloads of a UnitedDeployment after the loss of its host, use --owner-lost",
            USAGE,
        )
    return resource, name


def check_options(workload: str, *, name: str, owner_uid: str, file: object) -> None:
    """Raise CommandError for a missing option, and for options that only --owner-lost has."""
    if owner_uid or file:
        raise CommandError("--owner-uid and --filename need --owner-lost", USAGE)
    _resource(workload)
    if not name:
        raise CommandError("--name is required: the name of the UnitedDeployment to write", USAGE)
    application_name(name)


def main(target: Target, request: Request, output: str, *, apply: bool) -> None:
    """Print the UnitedDeployment, or create it with ``apply``."""
    check_output(output, ("yaml", "json"))
    logs.configure("console", "error")
    asyncio.run(_adopt(target, request, output or "yaml", apply=apply))


async def _adopt(target: Target, request: Request, output: str, *, apply: bool) -> None:
    async with connected(target) as host:
        candidates = [await _find(host, target.namespace, request, cluster) for cluster in request.clusters or ("",)]
        manifest = written(request, candidates)
        for candidate in candidates:
            for remark in document.remarks(candidate.live):
                say(f"note: {_title(candidate)}: {remark}", error=True)
        if apply:
            await create(host, target.namespace, manifest, "choose another --name")
        else:
            dump(manifest, output)


async def _find(host: Client, namespace: str, request: Request, cluster: str) -> Candidate:
    """The workload in a cluster. Raises CommandError if there is none."""
    resource, name = request.resource
    async with _cluster(host, namespace, cluster) as client:
        try:
            workload = await client.get(resource, name, dict[str, Any], namespace=namespace)
        except NotFound as error:
            raise CommandError(f"{error.message} (namespace {namespace} of {client.name})") from None
    place, _, short = cluster.rpartition("/")
    target = ({"namespace": place} if place else {}) | {"name": short}
    subset = request.subset or short.replace(".", "-") or "host"
    return Candidate({**workload, "kind": resource.kind}, subset, target if cluster else None)


def written(request: Request, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """The UnitedDeployment. Raises CommandError with the reason if a workload cannot be taken over."""
    if request.subset and len(candidates) > 1:
        raise CommandError(
            "--subset cannot be combined with several --cluster: subsets then have the names of their clusters", USAGE
        )
    for candidate in candidates:
        problem = document.refusal(candidate.live) or document.misfit(candidates[0], candidate)
        if problem:
            raise CommandError(f"{_title(candidate)} cannot be adopted: {problem}")
    manifest = document.manifest(request.name, candidates)
    try:
        errors = validate_united_deployment(parse_united_deployment(manifest))
    except InvalidObject as error:
        errors = error.errors
    if errors:
        raise CommandError(f"{_title(candidates[0])} cannot be adopted: {'; '.join(str(error) for error in errors)}")
    return manifest


def _title(candidate: Candidate) -> str:
    title = f"{candidate.live['kind']} {candidate.live['metadata']['name']}"
    return f"{title} in {candidate.target['name']}" if candidate.target else title


@asynccontextmanager
async def _cluster(host: Client, namespace: str, cluster: str) -> AsyncIterator[Client]:
    """A client for the cluster of a workload: the host, or the member that a Cluster describes."""
    if not cluster:
        yield host
        return
    place, _, name = cluster.rpartition("/")
    try:
        member = await host.get(CLUSTERS, name, ClusterObject, namespace=place or namespace)
    except NotFound as error:
        await check_served(host, namespace)
        raise CommandError(f"{error.message} (namespace {place or namespace})") from None
    async with opened(await connection(member, host)) as client:
        yield client
