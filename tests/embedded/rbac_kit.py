"""Roles, bindings and ServiceAccounts for tests, and requests by their users."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.embedded.cluster_kit import Api
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.http import Response

GROUP = "rbac.authorization.k8s.io"
CLUSTER = f"/apis/{GROUP}/v1"
DEFAULT = f"{CLUSTER}/namespaces/default"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def rule(verbs: str, resources: str, group: str = "", names: Sequence[str] = ()) -> Obj:
    """A rule from words: ``rule("get list", "pods pods/log")``."""
    created: Obj = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**created, "resourceNames": list(names)} if names else created


def role(name: str, *rules: Obj, **more: Any) -> Obj:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, role_name: str, *subjects: Obj, kind: str = "Role") -> Obj:
    reference = {"apiGroup": GROUP, "kind": kind, "name": role_name}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": list(subjects)}


def user(name: str) -> Obj:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def account(name: str, namespace: str = "default") -> Obj:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def give(api: Api, name: str, *rules: Obj) -> None:
    """Grant a user permissions in the namespace default, by a Role and a RoleBinding named after the user."""
    api.create(f"{DEFAULT}/roles", role(name, *rules))
    api.create(f"{DEFAULT}/rolebindings", binding(name, name, user(name)))


def give_everywhere(api: Api, name: str, *rules: Obj) -> None:
    """Grant a user permissions in the whole cluster."""
    api.create(f"{CLUSTER}/clusterroles", role(name, *rules))
    api.create(f"{CLUSTER}/clusterrolebindings", binding(name, name, user(name), kind="ClusterRole"))


def ask_as(api: Api, name: str, method: str, url: str, body: Any = None, **how: Any) -> Response:
    """Ask as the administrator who impersonates a user."""
    headers: Mapping[str, str] = {"impersonate-user": name, **how.pop("headers", {})}
    return api.ask(method, url, body, headers=headers, **how)


def token_of(api: Api, name: str, namespace: str = "default", **spec: Any) -> str:
    """A token of an existing ServiceAccount."""
    url = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    return str(api.json("POST", url, {"spec": spec}, status=201)["status"]["token"])
