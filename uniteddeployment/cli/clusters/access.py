"""Which rights a user lacks in a cluster, asked by SelfSubjectAccessReviews."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from uniteddeployment.controller.rights import Rule
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.resource import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    NAMESPACES,
    SELFSUBJECTACCESSREVIEWS,
    SERVICEACCOUNTS,
    Resource,
)
from uniteddeployment_api import names


@dataclass(frozen=True, slots=True)
class Access:
    """One verb on a resource, or on an object of it."""

    verb: str
    group: str
    resource: str
    """``plural`` or ``plural/subresource``"""
    name: str = ""
    namespace: str = ""


class _Decision(Struct, frozen=True):
    allowed: bool = False


class _Review(Struct, frozen=True):
    status: _Decision = _Decision()


_VERBS = ("get", "list", "watch", "create", "patch", "delete")
_EVERYTHING = Access("*", "*", "*")


def to_register() -> list[Access]:
    """The rights that a registration needs in the member, beside those that it grants."""
    system = names.SYSTEM_NAMESPACE
    wanted = [*_on(NAMESPACES, "get patch delete", name=system), *_on(NAMESPACES, "create")]
    wanted += [*_on(SERVICEACCOUNTS, "patch delete", name=names.MEMBER_ACCOUNT, namespace=system)]
    wanted += [*_on(SERVICEACCOUNTS, "create", namespace=system)]
    wanted.append(Access("create", "", "serviceaccounts/token", names.MEMBER_ACCOUNT, system))
    for resource in (CLUSTERROLES, CLUSTERROLEBINDINGS):
        wanted += [*_on(resource, "create"), *_on(resource, "patch delete", name=names.MEMBER_ACCOUNT)]
    return wanted


def to_grant(rules: Iterable[Rule]) -> list[Access]:
    """The rights that a role with these rules grants. RBAC lets nobody grant rights that they do not have."""
    return [
        Access(verb, group, resource, name)
        for rule in rules
        for group, resource, verb in rule.rights()
        for name in rule.names or ("",)
    ]


def _on(resource: Resource, verbs: str, *, name: str = "", namespace: str = "") -> Iterable[Access]:
    return (Access(verb, resource.group, resource.plural, name, namespace) for verb in verbs.split())


async def missing(client: Client, rules: Sequence[Rule]) -> list[str]:
    """The rights that the user lacks to register a member and to grant these rules, as sentences. Raises KubeError."""
    if await _allowed(client, _EVERYTHING):
        return []
    lacking = await _denied(client, to_register())
    may_grant = [Access(verb, CLUSTERROLES.group, CLUSTERROLES.plural, names.MEMBER_ACCOUNT) for verb in _GRANTING]
    if await _denied(client, may_grant):
        lacking += [access for access in await _denied(client, to_grant(rules)) if access not in lacking]
    return described(lacking)


_GRANTING = ("escalate", "bind")
"""The verbs that allow a user to grant rights that they do not have."""


async def _denied(client: Client, wanted: Sequence[Access]) -> list[Access]:
    allowed = await asyncio.gather(*(_allowed(client, access) for access in wanted))
    return [access for access, yes in zip(wanted, allowed, strict=True) if not yes]


async def _allowed(client: Client, access: Access) -> bool:
    plural, _, subresource = access.resource.partition("/")
    asked = {
        "verb": access.verb,
        "group": access.group,
        "resource": plural,
        "subresource": subresource,
        "name": access.name,
        "namespace": access.namespace,
    }
    body = {
        "apiVersion": SELFSUBJECTACCESSREVIEWS.api_version,
        "kind": SELFSUBJECTACCESSREVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in asked.items() if value}},
    }
    return (await client.create(SELFSUBJECTACCESSREVIEWS, body, _Review)).status.allowed


def described(lacking: Iterable[Access]) -> list[str]:
    """Rights as text, with the verbs on the same resource together.

    >>> described([Access("get", "", "pods"), Access("list", "", "pods"), Access("get", "apps", "deployments")])
    ['get, list pods', 'get deployments.apps']
    """
    verbs: dict[str, list[str]] = {}
    for access in lacking:
        plural, slash, subresource = access.resource.partition("/")
        kind = f"{plural}{f'.{access.group}' if access.group else ''}{slash}{subresource}"
        known = verbs.setdefault(kind, [])
        if access.verb not in known:
            known.append(access.verb)
    return [f"{', '.join(sorted(listed, key=_VERBS.index))} {kind}" for kind, listed in verbs.items()]
