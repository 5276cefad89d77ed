"""``ud clusters deregister``: drains a member, and removes it from the host and the account from the member."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from uniteddeployment.cli.arguments import CLUSTER
from uniteddeployment.cli.clusters import changes, facts
from uniteddeployment.cli.clusters.drain import Drain, raise_if_blocked
from uniteddeployment.cli.clusters.leaving import leave
from uniteddeployment.cli.clusters.objects import Document, Presence, applications, key, presences, read_cluster
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.connect import Target, connected, opened
from uniteddeployment.cli.errors import FAILED, USAGE, CommandError
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.wait.waiter import seconds
from uniteddeployment.controller import logs
from uniteddeployment.fleet import clusters
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.fleet.identity import UnidentifiedError, cluster_uid
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.client import REQUEST_SECONDS, Client
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.errors import KubeError, NotFound, Unreachable
from uniteddeployment_api import names

POLL_SECONDS = 0.2
LEAVING_SECONDS = 30.0
"""How long the removal of the account in the member may take."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command."""

    name: str
    timeout: str
    abandon: bool
    kubeconfig: Path | None
    """The kubeconfig of an administrator of the member."""
    context: str | None

    def __post_init__(self) -> None:
        if self.abandon and (self.kubeconfig or self.context):
            raise CommandError("--abandon does not connect to the member, so it needs no kubeconfig of it", USAGE)


def main(target: Target, request: Request) -> None:
    """Deregister a member. Raises CommandError, TimeoutError, KubeError."""
    limit = seconds(request.timeout)
    logs.configure("console", "error")
    asyncio.run(_abandon(target, request, limit) if request.abandon else _deregister(target, request, limit))


async def _deregister(target: Target, request: Request, limit: float) -> None:
    progress, name = Progress(), request.name
    began = asyncio.get_running_loop().time()
    async with connected(target) as client:
        document = await read_cluster(client, target.namespace, name)
        async with _member(client, document, request) as member:
            host_uid = await _check(client, member, document)
            if not document["metadata"].get("deletionTimestamp"):
                await changes.apply(client, target.namespace, name, changes.drain)
                left = await Drain(client, target, name, progress).finish(limit, request.timeout)
                raise_if_blocked(name, left)
                progress.done(f"{name} is drained")
            rest = max(1.0, limit - (asyncio.get_running_loop().time() - began))
            await _delete(client, document, rest, request.timeout)
            progress.done("the Cluster is deleted on the host")
            notes = await _leave(member, document, host_uid, administrator=_is_administrator(request))
        for note in [*notes, *await _naming(client, target, document)]:
            progress.warn(note)
    say(f"{CLUSTER.title}/{name} deregistered")


def _is_administrator(request: Request) -> bool:
    return request.kubeconfig is not None or request.context is not None


@asynccontextmanager
async def _member(host: Client, document: Document, request: Request) -> AsyncIterator[Client]:
    """A client for the member: with the kubeconfig of its administrator, or else with the credentials of the host."""
    async with opened(await _connection(host, document, request)) as client:
        yield client


async def _connection(host: Client, document: Document, request: Request) -> Connection:
    if _is_administrator(request):
        return kubeconfigs.load(request.kubeconfig, request.context, name=request.name)
    try:
        return await clusters.connection(msgspec.convert(document, ClusterObject), host)
    except CredentialsError as error:
        raise CommandError(f"{request.name}: {error}; {_WAYS_OUT}") from None


_WAYS_OUT = "use --member-kubeconfig if the member exists, or --abandon if it is lost"


async def _check(host: Client, member: Client, document: Document) -> str:
    """Return the uid of the host. Raises CommandError if the member does not answer, or is another cluster.

    Nothing has been changed until then.
    """
    host_uid = await facts.read_host_uid(host)
    name, known = document["metadata"]["name"], (document.get("status") or {}).get("clusterUID")
    try:
        uid = await cluster_uid(member, timeout=REQUEST_SECONDS)
    except Unreachable as error:
        raise CommandError(f"{name}: the member cannot be reached: {error.why}; {_WAYS_OUT}") from None
    except UnidentifiedError as error:
        raise CommandError(f"{name}: {error}; {_WAYS_OUT}") from None
    if known and uid != known:
        raise CommandError(f"{name}: another cluster answers (uid {uid}, not {known}); {_WAYS_OUT}")
    return host_uid


async def _delete(host: Client, document: Document, limit: float, timeout: str) -> None:  # noqa: ASYNC109  # for the message
    """Delete the Cluster, and wait until it is gone. The Secret and the Role of a registration belong to it."""
    meta = document["metadata"]
    with suppress(NotFound):
        await host.delete(CLUSTERS, meta["name"], namespace=meta["namespace"], uid=meta["uid"])
    message = ""
    try:
        async with asyncio.timeout(limit):
            while True:
                found = await host.get(CLUSTERS, meta["name"], Document, namespace=meta["namespace"])
                if found["metadata"]["uid"] != meta["uid"]:
                    return
                conditions = (found.get("status") or {}).get("conditions") or ()
                message = next((one["message"] for one in conditions if one["type"] == "Ready"), "")
                await asyncio.sleep(POLL_SECONDS)
    except NotFound:
        return
    except TimeoutError:
        why = message or "is the controller running?"
        raise TimeoutError(f"{meta['name']} is being deleted, and still exists after {timeout}: {why}") from None


async def _leave(member: Client, document: Document, host_uid: str, *, administrator: bool) -> list[str]:
    """Remove the account from the member. The Cluster is gone by now, so an interruption must not leave it."""
    name = document["metadata"]["name"]
    leaving = asyncio.create_task(leave(member, key(document), host_uid, administrator=administrator))
    try:
        async with asyncio.timeout(LEAVING_SECONDS):
            return await asyncio.shield(leaving)
    except asyncio.CancelledError:
        await leaving
        raise
    except (KubeError, TimeoutError) as error:
        why = str(error) or f"no answer within {LEAVING_SECONDS:g} s"
        raise CommandError(
            f"{name} is deregistered, but its account stays in the member: {why}. Delete it there: kubectl delete "
            f"clusterrole {names.MEMBER_ACCOUNT}",
            FAILED,
        ) from None


async def _naming(client: Client, target: Target, document: Document) -> list[str]:
    """A note if applications still name the Cluster."""
    cluster = key(document)
    found = sorted(
        {
            f"{app['metadata']['namespace']}/{app['metadata']['name']}"
            for app in await applications(client, target)
            for _ in presences(app, cluster)
        }
    )
    return (
        [f"these applications have a subset there: {', '.join(found)}: remove it from their topology"] if found else []
    )


async def _abandon(target: Target, request: Request, limit: float) -> None:
    """Forget a member that does not answer any more."""
    async with connected(target) as client:
        document = await read_cluster(client, target.namespace, request.name)
        found = [entry for app in await applications(client, target) for entry in presences(app, key(document))]
        mark = {
            "metadata": {"uid": document["metadata"]["uid"], "annotations": {names.ANNOTATION_ABANDON: names.ABANDON}}
        }
        await client.merge_patch(CLUSTERS, request.name, mark, Document, namespace=target.namespace)
        await _delete(client, document, limit, request.timeout)
    say(f"{CLUSTER.title}/{request.name} abandoned")
    for line in may_run(found):
        say(line)


def may_run(found: list[Presence]) -> list[str]:
    """What may still run in a cluster that was abandoned."""
    lines = [
        f"  {entry.application} (subset {entry.subset}): {entry.pods} {'pod' if entry.pods == 1 else 'pods'}"
        for entry in found
        if entry.pods
    ]
    account = f"the account {names.SYSTEM_NAMESPACE}/{names.MEMBER_ACCOUNT}"
    if not lines:
        return [f"If the cluster comes back, {account} is still there."]
    return ["These pods may still run there:", *lines, f"If the cluster comes back, delete them, and {account}."]
