"""The controller with the rights that its roles give it, in clusters of this process."""

from functools import cache
from typing import Any

import yaml

from uniteddeployment.cli.install import rbac
from uniteddeployment.controller.rights import Right
from uniteddeployment.embedded.auth.audit import AuditEvent
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity

TOKEN = "controller-token"
NAMESPACE = rbac.NAMESPACE
CREATED = 201


def identity(where: str) -> Identity:
    """The ServiceAccount of the controller on the ``host``, or the one that it has in a ``member``."""
    name = rbac.HOST_ROLE if where == "host" else rbac.MEMBER_ROLE
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated")
    return Identity(f"system:serviceaccount:{NAMESPACE}:{name}", groups)


def cluster_wide(where: str) -> list[tuple[str, dict[str, Any]]]:
    """The role for everything in a cluster, as it is shipped, with its binding; and where each is created."""
    return [found for found in _with_paths(where) if "namespace" not in found[1]["metadata"]]


def of_namespace() -> list[tuple[str, dict[str, Any]]]:
    """The role for the controller's own namespace, which has to be there, with its binding."""
    return [found for found in _with_paths("host") if "namespace" in found[1]["metadata"]]


@cache
def _with_paths(where: str) -> list[tuple[str, dict[str, Any]]]:
    roles = list(yaml.safe_load_all(rbac.roles(where)))
    return [(_path(one), one) for role in roles for one in (role, _binding(role, identity(where).name))]


def _path(document: dict[str, Any]) -> str:
    namespace = document["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/rbac.authorization.k8s.io/v1{place}/{document['kind'].lower()}s"


def _binding(role: dict[str, Any], user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": role["apiVersion"],
        "kind": f"{role['kind']}Binding",
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": group, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


class Asked:
    """What the controller asked one cluster for, and what of it its roles do not allow."""

    def __init__(self, cluster: Cluster, where: str) -> None:
        self.rights: set[Right] = set()
        self.refused: set[Right] = set()
        self._user = identity(where).name
        cluster.audit.append(self._note)

    def _note(self, event: AuditEvent) -> None:
        if event.user != self._user or not event.attributes.resource:
            return
        right = (event.attributes.group, event.attributes.combined, event.attributes.verb)
        self.rights.add(right)
        if event.attributes.verb == "patch" and event.status == CREATED:  # an apply of something new needs both
            self.rights.add((event.attributes.group, event.attributes.combined, "create"))
        if event.decision == "forbid":
            self.refused.add(right)
