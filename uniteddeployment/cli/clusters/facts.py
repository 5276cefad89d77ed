"""Reads what a registration depends on, in the member and on the host. Nothing is written."""

from dataclasses import dataclass
from itertools import groupby

from msgspec import Struct

from uniteddeployment.cli.clusters import access
from uniteddeployment.cli.clusters.decision import Facts, Known
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.controller.rights import MEMBER
from uniteddeployment.fleet.account import Mark, read_mark
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.fleet.identity import UnidentifiedError, cluster_uid
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.kube.client import REQUEST_SECONDS, Client
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.kube.errors import Forbidden, NotFound, Unauthorized, Unreachable
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.text import shortened
from uniteddeployment_api import names

_LONGEST_VERSION = 64


class _Version(Struct, rename="camel", frozen=True):
    git_version: str = ""


class _Served(Struct, frozen=True):
    name: str = ""


class _ResourceList(Struct, frozen=True):
    resources: tuple[_Served, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """What is known of a member."""

    uid: str = ""
    version: str = ""
    kinds: tuple[str, ...] = ()
    """The kinds of workloads that it serves."""
    unserved: tuple[str, ...] = ()
    """The kinds that it should serve and does not."""
    missing: tuple[str, ...] = ()
    """The rights that the user lacks there."""
    mark: Mark | None = None
    namespace: PartialObject | None = None
    """The system namespace; None if it does not exist."""


async def read_member(client: Client) -> Member:
    """Read the member. Raises CommandError, KubeError."""
    try:
        version = await _version(client)
        missing = await access.missing(client, MEMBER)
        if missing:
            return Member(version=version, missing=tuple(missing))
        uid = await cluster_uid(client, timeout=REQUEST_SECONDS)
        kinds = await _served(client)
        namespace = await system_namespace(client)
    except Unauthorized:
        raise CommandError(f"{client.name}: the member refuses the credentials of the kubeconfig (401)") from None
    except Unreachable as error:
        raise CommandError(f"{client.name}: the member cannot be reached: {error.why}") from None
    except (UnidentifiedError, DecodingError) as error:
        raise CommandError(f"{client.name}: {error}") from None
    unserved = tuple(kind.kind for kind in KINDS if not kind.provider and kind.name not in kinds)
    if namespace is not None and namespace.metadata.deletion_timestamp:
        raise CommandError(
            f"{client.name}: the namespace {names.SYSTEM_NAMESPACE} is being deleted there: try again when it is gone"
        )
    mark = read_mark(namespace.metadata.annotations) if namespace is not None else None
    shown = tuple(dict.fromkeys(kind.kind for kind in KINDS if kind.name in kinds))
    return Member(uid, version, shown, unserved, (), mark, namespace)


async def system_namespace(client: Client) -> PartialObject | None:
    """The system namespace of a member; None if it does not exist. Raises KubeError."""
    try:
        return await client.get(NAMESPACES, names.SYSTEM_NAMESPACE, PartialObject)
    except NotFound:
        return None


async def _version(client: Client) -> str:
    answer = await client.send(Request("GET", "/version", verb="get", resource="version"))
    return shortened(decode(answer.body, _Version).git_version, _LONGEST_VERSION)


async def _served(client: Client) -> list[str]:
    """The names of the kinds of workloads that a member serves."""
    served: list[str] = []
    ordered = sorted(RESOURCES.items(), key=lambda item: item[1].api_version)
    for api_version, kinds in groupby(ordered, key=lambda item: item[1].api_version):
        try:
            answer = await client.send(Request("GET", f"/apis/{api_version}", verb="get", resource="discovery"))
        except NotFound:
            continue
        plurals = {resource.name for resource in decode(answer.body, _ResourceList).resources}
        served += [name for name, resource in kinds if resource.plural in plurals]
    return served


async def read_host_uid(client: Client) -> str:
    """The uid of the host. Raises CommandError, KubeError."""
    try:
        return await cluster_uid(client, timeout=REQUEST_SECONDS)
    except UnidentifiedError as error:
        raise CommandError(f"the host {client.name}: {error}") from None


async def read_clusters(client: Client, namespace: str) -> list[ClusterObject]:
    """The Clusters of all namespaces, or of this one if the user may not list the others. Raises KubeError."""
    try:
        return await client.list_all(CLUSTERS, ClusterObject)
    except Forbidden:
        return await client.list_all(CLUSTERS, ClusterObject, namespace=namespace)


def gathered(
    key: str, host_uid: str, member: Member, clusters: list[ClusterObject], *, owner_lost: bool = False
) -> Facts:
    """The facts for the decision."""
    return Facts(
        key=key,
        host_uid=host_uid,
        member_uid=member.uid,
        version=member.version,
        unserved=member.unserved,
        missing=member.missing,
        mark=member.mark,
        clusters=[
            Known(cluster.key, cluster.recorded_uid, cluster.metadata.deletion_timestamp is not None)
            for cluster in clusters
        ],
        owner_lost=owner_lost,
    )
