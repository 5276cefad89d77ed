"""The default roles and bindings of a real 1.36 with its default features.

``bootstrap.json`` defines them. Roles and bindings without a namespace are cluster-wide. The rules of aggregated roles
(admin, edit, view) are computed here, as the controller would.
"""

from functools import lru_cache
from importlib import resources as package
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth import rbac
from uniteddeployment.embedded.auth.aggregation import aggregated_rules
from uniteddeployment.embedded.storage.state import Core

LABEL: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
ANNOTATION: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}


class RoleData(msgspec.Struct, forbid_unknown_fields=True):
    """A role."""

    name: str
    rules: list[dict[str, list[str]]] | None
    namespace: str = ""
    labels: dict[str, str] = {}
    aggregationRule: dict[str, Any] | None = None  # noqa: N815  # as the API names it


class BindingData(msgspec.Struct, forbid_unknown_fields=True):
    """A binding. ``role`` is ``Kind/name``; a subject is a kind, a name and optionally a namespace."""

    name: str
    role: str
    subjects: list[list[str]]
    namespace: str = ""


class Bootstrap(msgspec.Struct, forbid_unknown_fields=True):
    """The content of ``bootstrap.json``."""

    roles: list[RoleData]
    bindings: list[BindingData]


@lru_cache(maxsize=1)
def _objects() -> tuple[tuple[str, Obj], ...]:
    """Resource key and object of each."""
    raw = package.files(__package__).joinpath("bootstrap.json").read_bytes()
    data = msgspec.json.decode(raw, type=Bootstrap)
    roles = [(rbac.ROLES if entry.namespace else rbac.CLUSTER_ROLES, _role(entry)) for entry in data.roles]
    _aggregate([role for key, role in roles if key == rbac.CLUSTER_ROLES])
    bindings = [
        (rbac.BINDINGS if entry.namespace else rbac.CLUSTER_BINDINGS, _binding(entry)) for entry in data.bindings
    ]
    return (*roles, *bindings)


def _aggregate(roles: list[Obj]) -> None:
    """Compute the rules of the aggregated roles, in the order of their dependencies."""
    waiting = [role for role in roles if "aggregationRule" in role]
    for _ in waiting:
        for role in waiting:
            role["rules"] = aggregated_rules(role, roles)


def _metadata(name: str, namespace: str, labels: dict[str, str]) -> Obj:
    metadata: Obj = {"name": name, "labels": {**LABEL, **labels}, "annotations": dict(ANNOTATION)}
    return {**metadata, "namespace": namespace} if namespace else metadata


def _role(data: RoleData) -> Obj:
    role: Obj = {"metadata": _metadata(data.name, data.namespace, data.labels), "rules": data.rules}
    return {**role, "aggregationRule": data.aggregationRule} if data.aggregationRule else role


def _binding(data: BindingData) -> Obj:
    kind, _, name = data.role.partition("/")
    binding: Obj = {
        "metadata": _metadata(data.name, data.namespace, {}),
        "roleRef": {"apiGroup": rbac.GROUP, "kind": kind, "name": name},
    }
    if data.subjects:
        binding["subjects"] = [_subject(*subject) for subject in data.subjects]
    return binding


def _subject(kind: str, name: str, namespace: str = "") -> Obj:
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"apiGroup": rbac.GROUP, "kind": kind, "name": name}


def create(core: Core) -> None:
    """Store all of them. Their namespaces must exist.

    Clusters share the objects, so that test clusters start faster.
    """
    created = meta.timestamp(core.clock.now())
    for key, original in _objects():
        resource = core.registry.main(key)
        metadata = {**original["metadata"], "uid": meta.new_uid(core.random), "creationTimestamp": created}
        obj = {**original, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        core.store.create(core.registry.table(resource), (metadata.get("namespace", ""), metadata["name"]), obj)
