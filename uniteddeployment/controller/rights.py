"""What the controller may do on the host and in members: the one list that the roles in ``config/`` are written from.

``make generate`` writes the roles. The tests compare this list with what the controller asks for, in both directions:
each of its requests needs a rule, and each rule needs a request.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.settings import LEASE, WEBHOOK
from uniteddeployment.controller.webhook_certificate import CONFIGURATIONS
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.fleet.identity import SYSTEM_NAMESPACE
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.kube.resource import (
    CONTROLLERREVISIONS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    Resource,
)
from uniteddeployment_api import names

Right = tuple[str, str, str]
"""API group, resource (``plural`` or ``plural/subresource``) and verb."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of one API group, and why they are needed. ``names`` are the only objects that it is for."""

    why: str
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def rights(self) -> Iterator[Right]:
        """Each verb on each resource."""
        return ((self.group, resource, verb) for resource in self.resources for verb in self.verbs)


def _rule(why: str, verbs: str, *resources: Resource, subresource: str = "", only: str = "") -> Rule:
    """``verbs`` with spaces between; the resources are of one API group."""
    suffix = f"/{subresource}" if subresource else ""
    plurals = tuple(f"{resource.plural}{suffix}" for resource in resources)
    return Rule(why, resources[0].group, plurals, tuple(verbs.split()), (only,) if only else ())


def _workloads() -> Iterator[Rule]:
    """The kinds of workloads, by API group: a new kind gets its rights by being declared."""
    for group, found in groupby(RESOURCES.values(), key=lambda resource: resource.group):
        kinds = list(found)
        yield _rule(f"Workloads of {group}.", "get list watch create patch delete", *kinds)
        yield _rule("Their replicas.", "patch", *kinds, subresource="scale")


_SUBSETS: tuple[Rule, ...] = (
    *_workloads(),
    _rule("Why pods are not ready; pods that keep a StatefulSet from going on.", "list watch delete", PODS),
    _rule("How many nodes there are.", "list", NODES),
)
"""Wherever subsets run: in members, and on the host if they have no target cluster."""

MEMBER: tuple[Rule, ...] = (
    *_SUBSETS,
    _rule("Which cluster it is: the uid of this namespace tells.", "get", NAMESPACES, only=SYSTEM_NAMESPACE),
    _rule("The namespace of an application, where it is missing.", "create", NAMESPACES),
)
"""In the whole of a member."""

HOST: tuple[Rule, ...] = (
    _rule("Applications: what is asked for, and the finalizer.", "get list watch patch", UNITED_DEPLOYMENTS),
    _rule("Members.", "list watch", CLUSTERS),
    _rule("Which cluster the host is; whether the namespace of a member is being deleted.", "get", NAMESPACES),
    _rule("How they are.", "patch", UNITED_DEPLOYMENTS, CLUSTERS, subresource="status"),
    _rule("The templates of past revisions.", "get list watch create patch delete", CONTROLLERREVISIONS),
    _rule("What happens to applications.", "create patch", EVENTS),
    _rule("The credentials that Cluster objects name. They are never listed.", "get", SECRETS),
    _rule("The authority that signed the webhooks' certificate.", "get patch", *CONFIGURATIONS, only=names.MANAGER),
    *_SUBSETS,
)
"""In the whole of the host."""

OWN_NAMESPACE: tuple[Rule, ...] = (
    _rule("Who leads. The name of what is created cannot be restricted.", "create", LEASES),
    _rule("Who leads.", "get patch", LEASES, only=LEASE),
    _rule("The certificate of the webhooks, which all replicas share.", "patch", SECRETS, only=WEBHOOK),
)
"""On the host, in the controller's own namespace."""


def rights(rules: Iterable[Rule]) -> set[Right]:
    """All rights of some rules."""
    return {right for rule in rules for right in rule.rights()}


ON_HOST = rights((*HOST, *OWN_NAMESPACE))
IN_MEMBER = rights(MEMBER)
