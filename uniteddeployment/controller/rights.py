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
from uniteddeployment.fleet.profiles import PROFILES
from uniteddeployment.kube.resource import (
    CLUSTERROLES,
    CONTROLLERREVISIONS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SERVICEACCOUNTS,
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
        """Yield each verb on each resource."""
        return ((self.group, resource, verb) for resource in self.resources for verb in self.verbs)


def _rule(why: str, verbs: str, *resources: Resource, subresource: str = "", only: str = "") -> Rule:
    """Return a rule. ``verbs`` are separated by spaces; all resources belong to one API group."""
    suffix = f"/{subresource}" if subresource else ""
    plurals = tuple(f"{resource.plural}{suffix}" for resource in resources)
    return Rule(why, resources[0].group, plurals, tuple(verbs.split()), (only,) if only else ())


def _workloads() -> Iterator[Rule]:
    """Yield rules for all declared kinds of workloads, by API group."""
    for group, found in groupby(RESOURCES.values(), key=lambda resource: resource.group):
        kinds = list(found)
        yield _rule(f"Manage the workloads of {group}.", "get list watch create patch delete", *kinds)
        yield _rule("Scale them.", "patch", *kinds, subresource="scale")


_SUBSETS: tuple[Rule, ...] = (
    *_workloads(),
    _rule(
        "Read why pods are not ready; delete pods that block the update of a StatefulSet.", "list watch delete", PODS
    ),
    _rule("Count the nodes.", "list", NODES),
)
"""Rules for each cluster that runs subsets: members, and the host for subsets without a target cluster."""

MEMBER: tuple[Rule, ...] = (
    *_SUBSETS,
    _rule("Follow the capacity of the nodes, unless spec.capacity of the Cluster is Disabled.", "watch", NODES),
    _rule("Identify the cluster by the uid of this namespace.", "get", NAMESPACES, only=SYSTEM_NAMESPACE),
    _rule(
        "Read which host the member is registered with, from annotations of this namespace.",
        "get",
        NAMESPACES,
        only=names.SYSTEM_NAMESPACE,
    ),
    _rule(
        "Replace its own token before it expires.",
        "create",
        SERVICEACCOUNTS,
        subresource="token",
        only=names.MEMBER_ACCOUNT,
    ),
    _rule(
        "Remove its own account when the member is deregistered: the binding and the account belong to this role.",
        "delete",
        CLUSTERROLES,
        only=names.MEMBER_ACCOUNT,
    ),
    _rule(
        "Create the namespace of an application if it does not exist, and set its labels.", "create patch", NAMESPACES
    ),
    _rule("Keep the Pod Security labels of namespaces like those on the host.", "list watch", NAMESPACES),
)
"""Rules for all namespaces of a member."""


def impersonation(service_account: str) -> Rule:
    """Return the rule that a member needs in addition if its Cluster has ``spec.impersonate``."""
    why = "Write the workloads of applications as this ServiceAccount of their namespaces."
    return Rule(why, "", ("serviceaccounts",), ("impersonate",), (service_account,))


def token_storage(secret: str) -> Rule:
    """Return the rule on the host for one Secret with a token that the controller replaces.

    ``ud clusters register`` creates a Role with it for each member. Therefore the controller needs no right to write
    any other Secret.
    """
    return Rule("Store new tokens for the member.", "", (SECRETS.plural,), ("patch",), (secret,))


HOST: tuple[Rule, ...] = (
    _rule("Read applications, and set the finalizer and annotations.", "get list watch patch", UNITED_DEPLOYMENTS),
    _rule("Read the members.", "list watch", CLUSTERS),
    _rule("Read the ClusterProfiles that applications ask for.", "list watch", PROFILES),
    _rule("Create the Clusters of ClusterProfiles.", "create", CLUSTERS),
    _rule(
        "Keep members with a finalizer while workloads are left in them; correct those of ClusterProfiles.",
        "patch",
        CLUSTERS,
    ),
    _rule("Identify the host; read whether the namespace of a Cluster object is being deleted.", "get", NAMESPACES),
    _rule("Read the labels of namespaces, by which Cluster objects allow their use.", "list watch", NAMESPACES),
    _rule("Write the status of applications and members.", "patch", UNITED_DEPLOYMENTS, CLUSTERS, subresource="status"),
    _rule("Store revisions of templates.", "get list watch create patch delete", CONTROLLERREVISIONS),
    _rule("Send Events about applications.", "create patch", EVENTS),
    _rule("Read the credentials that Cluster objects refer to. Secrets are never listed.", "get", SECRETS),
    _rule("Set the certificate authorities of the webhooks.", "get patch", *CONFIGURATIONS, only=names.MANAGER),
    *_SUBSETS,
)
"""Rules for all namespaces of the host."""

OWN_NAMESPACE: tuple[Rule, ...] = (
    _rule("Create the Lease of the leader election. RBAC cannot restrict the name of a new object.", "create", LEASES),
    _rule("Hold the Lease of the leader election.", "get patch", LEASES, only=LEASE),
    _rule("Store the certificate of the webhooks, which all replicas share.", "patch", SECRETS, only=WEBHOOK),
)
"""Rules for the namespace of the controller on the host."""


def rights(rules: Iterable[Rule]) -> set[Right]:
    """Return all rights that the rules grant."""
    return {right for rule in rules for right in rule.rights()}


ON_HOST = rights((*HOST, *OWN_NAMESPACE))
IN_MEMBER = rights(MEMBER)
