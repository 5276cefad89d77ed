"""Removes what a registration created in a member."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct

from uniteddeployment.cli.clusters.facts import system_namespace
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.fleet.account import NO_MARK, Mark, read_mark
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.kube.errors import ApiError, KubeError, NotFound
from uniteddeployment.kube.meta import ObjectMeta, PartialObject
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import CLUSTERROLES, NAMESPACES, Resource
from uniteddeployment_api import names

_OWN = {
    ("serviceaccounts", names.MEMBER_ACCOUNT),
    ("serviceaccounts", "default"),
    ("secrets", names.MEMBER_ACCOUNT),
    *(("configmaps", name) for name in ("kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert")),
}
"""What a namespace contains that nobody else uses: our account, and what clusters put into each namespace."""
T = TypeVar("T")
_IGNORED = frozenset({"events"})


class _Served(Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()


class _ResourceList(Struct, frozen=True):
    resources: tuple[_Served, ...] = ()


class _Version(Struct, rename="camel", frozen=True):
    group_version: str = ""


class _Group(Struct, rename="camel", frozen=True):
    preferred_version: _Version = _Version()


class _Groups(Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


async def leave(member: Client, key: str, host_uid: str, *, administrator: bool) -> list[str]:
    """Remove the mark of the host, the account and its role; and the namespace, if the registration created it.

    ``administrator`` is whether the client has the rights of an administrator: the account itself may not delete the
    namespace, nor find out whether others use it. Return notes for people about what stays. Raises CommandError if the
    member belongs to another host, and KubeError.
    """
    namespace = await system_namespace(member)
    mark = read_mark(namespace.metadata.annotations) if namespace is not None else None
    if namespace is None or mark is None:
        return ["the account in the member is not from a registration, and stays there"]
    if mark.host_uid != host_uid:
        raise CommandError(
            f"{key}: the member belongs to another host by now: {mark.host} (uid {mark.host_uid}), as the Cluster "
            f"{mark.cluster}"
        )
    notes = await _leave_namespace(member, namespace.metadata, mark, administrator=administrator)
    with suppress(NotFound):
        # The binding and the account belong to the role. The garbage collector of the member deletes them.
        await member.delete(CLUSTERROLES, names.MEMBER_ACCOUNT)
    return notes


async def _leave_namespace(member: Client, namespace: ObjectMeta, mark: Mark, *, administrator: bool) -> list[str]:
    notes = []
    if mark.created and administrator:
        others = await _others(member)
        if not others:
            await member.delete(NAMESPACES, names.SYSTEM_NAMESPACE, uid=namespace.uid)
            return []
        notes = [f"the namespace {names.SYSTEM_NAMESPACE} stays in the member, because it contains {', '.join(others)}"]
    elif mark.created:
        who = "only an administrator of the member may delete it (--member-kubeconfig)"
        notes = [f"the namespace {names.SYSTEM_NAMESPACE} stays in the member: {who}"]
    patch = {"metadata": {"uid": namespace.uid, "annotations": NO_MARK}}
    await member.merge_patch(NAMESPACES, names.SYSTEM_NAMESPACE, patch, PartialObject)
    return notes


async def _others(member: Client) -> list[str]:
    """Objects of others in the system namespace, as ``plural/name``; what cannot be listed counts as one."""
    found: list[str] = []
    for resource in await _resources(member):
        try:
            listed = await member.list_all(resource, PartialObject, namespace=names.SYSTEM_NAMESPACE)
        except NotFound:
            continue
        except ApiError as error:
            found.append(f"{resource.plural} that cannot be listed ({error.reason})")
            continue
        found += [
            f"{resource.plural}/{one.metadata.name}"
            for one in listed
            if (resource.plural, one.metadata.name) not in _OWN
        ]
    return found


async def _resources(member: Client) -> Iterable[Resource]:
    """All kinds of objects that a namespace can contain."""
    groups = await _discover(member, "/apis", _Groups)
    versions = ["v1", *(group.preferred_version.group_version for group in (groups.groups if groups else ()))]
    resources: list[Resource] = []
    for version in versions:
        listed = await _discover(member, f"/apis/{version}" if "/" in version else f"/api/{version}", _ResourceList)
        group, _, name = version.rpartition("/")
        resources += [
            Resource(group, name, served.name, served.kind)
            for served in (listed.resources if listed else ())
            if served.namespaced and {"list", "create"} <= set(served.verbs) and served.name not in _IGNORED
        ]
    return resources


async def _discover(member: Client, path: str, type_: type[T]) -> T | None:
    """One document of the discovery; None if the API server does not have it. Raises KubeError."""
    try:
        answer = await member.send(Request("GET", path, verb="get", resource="discovery"))
        return decode(answer.body, type_)
    except NotFound:
        return None
    except DecodingError as error:
        raise KubeError(f"{member.name}: {path}: {error}") from None
