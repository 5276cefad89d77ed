"""The objects that a registration creates in the member and on the host. Pure."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from uniteddeployment.controller.rights import MEMBER, Rule, token_storage
from uniteddeployment.fleet.account import Mark, token_data
from uniteddeployment_api import names

_RBAC = "rbac.authorization.k8s.io"
_ACCOUNT = names.MEMBER_ACCOUNT


def namespace(mark: Mark) -> dict[str, Any]:
    """The system namespace of a member."""
    metadata = {"name": names.SYSTEM_NAMESPACE, "annotations": mark.annotations()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def cluster_role() -> dict[str, Any]:
    """The role of the controller in a member."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": _ACCOUNT},
        "rules": [policy_rule(rule) for rule in MEMBER],
    }


def policy_rule(rule: Rule) -> dict[str, Any]:
    """A rule as RBAC writes it."""
    document = {"apiGroups": [rule.group], "resources": list(rule.resources), "verbs": list(rule.verbs)}
    return document | ({"resourceNames": list(rule.names)} if rule.names else {})


def service_account(role_uid: str) -> dict[str, Any]:
    """The account of the controller in a member. The garbage collector deletes it with the role."""
    metadata = {"name": _ACCOUNT, "namespace": names.SYSTEM_NAMESPACE, "ownerReferences": [_owned_by_role(role_uid)]}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def cluster_role_binding(role_uid: str) -> dict[str, Any]:
    """Grants the role to the account. The garbage collector deletes it with the role."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _ACCOUNT, "ownerReferences": [_owned_by_role(role_uid)]},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": _ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": names.SYSTEM_NAMESPACE}],
    }


def _owned_by_role(uid: str) -> dict[str, Any]:
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "name": _ACCOUNT, "uid": uid}


@dataclass(frozen=True, slots=True)
class Wish:
    """The Cluster that the user asks for. Fields that are None or empty stay as they are in an existing Cluster."""

    namespace: str
    name: str
    server: str
    ca: bytes | None = None
    insecure: bool = False
    labels: Mapping[str, str] | None = None
    allowed: Mapping[str, Any] | None = None
    controller: tuple[str, str] = (names.SYSTEM_NAMESPACE, names.CONTROLLER_ACCOUNT)
    """Namespace and name of the ServiceAccount of the controller on the host."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def secret(self) -> str:
        """The name of the Secret with the token, and of the Role that lets the controller replace the token."""
        return f"{self.name}-member-token"

    def cluster(self) -> dict[str, Any]:
        """The Cluster; as a merge patch, it keeps what the user did not ask for."""
        spec: dict[str, Any] = {
            "server": self.server,
            "caBundle": base64.b64encode(self.ca).decode() if self.ca else None,
            "insecureSkipTLSVerify": self.insecure,
            "credentials": {"secretRef": {"name": self.secret}},
        }
        if self.allowed is not None:
            spec["allowedNamespaces"] = dict(self.allowed)
        metadata = {"name": self.name, "namespace": self.namespace}
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.CLUSTER_KIND,
            "metadata": metadata | ({"labels": dict(self.labels)} if self.labels else {}),
            "spec": spec,
        }

    def token_secret(self, token: str, issued: datetime, owner: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The Secret with the token."""
        changes = token_data(token, issued)
        metadata = {"name": self.secret, "namespace": self.namespace, **changes["metadata"]}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata | ({"ownerReferences": [owner]} if owner else {}),
            "type": names.TOKEN_SECRET_TYPE,
            "data": changes["data"],
        }

    def storage_role(self, owner: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Lets the controller store new tokens in the Secret, and in no other."""
        return {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": self._metadata(owner),
            "rules": [policy_rule(token_storage(self.secret))],
        }

    def storage_role_binding(self, owner: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Grants the role to the controller."""
        namespace_, account = self.controller
        return {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": self._metadata(owner),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": self.secret},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace_}],
        }

    def _metadata(self, owner: Mapping[str, Any] | None) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": self.secret, "namespace": self.namespace}
        return metadata | ({"ownerReferences": [dict(owner)]} if owner else {})

    def owner(self, uid: str) -> dict[str, Any]:
        """The reference with which an object is deleted together with the Cluster."""
        return {"apiVersion": names.API_VERSION, "kind": names.CLUSTER_KIND, "name": self.name, "uid": uid}
