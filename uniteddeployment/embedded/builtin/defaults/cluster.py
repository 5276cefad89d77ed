"""Defaults of namespaces, nodes, secrets, limits, policies, roles and definitions."""

import base64
from collections.abc import Callable

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.defaults.pods import round_amounts

_NAME_LABEL = "kubernetes.io/metadata.name"
_RBAC = "rbac.authorization.k8s.io"


def _namespace(namespace: Obj) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        labels = metadata.get("labels")
        if labels is None:
            labels = metadata["labels"] = {}
        labels.setdefault(_NAME_LABEL, metadata["name"])


def _node_status(status: Obj) -> None:
    if status.get("capacity"):
        round_amounts(status["capacity"])
        if not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])
    if status.get("allocatable"):
        round_amounts(status["allocatable"])


def _secret(secret: Obj) -> None:
    """Merge ``stringData`` into ``data``; it is write-only."""
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode()).decode()


def _limit_range_item(item: Obj) -> None:
    for name in ("default", "defaultRequest", "max", "min", "maxLimitRequestRatio"):
        if item.get(name):
            round_amounts(item[name])
    if item.get("type") != "Container":
        return
    for weaker, stronger in (("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")):
        for resource, amount in (item.get(stronger) or {}).items():
            item.setdefault(weaker, {}).setdefault(resource, amount)


def _network_policy_spec(spec: Obj) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _subject(subject: Obj) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = _RBAC


def _custom_resource_names(names: Obj) -> None:
    kind = names.get("kind")
    if kind:
        if not names.get("singular"):
            names["singular"] = kind.lower()
        if not names.get("listKind"):
            names["listKind"] = f"{kind}List"


COMPUTED: dict[str, Callable[[Obj], None]] = {
    "apiextensions.v1.CustomResourceDefinitionNames": _custom_resource_names,
    "core.v1.LimitRangeItem": _limit_range_item,
    "core.v1.Namespace": _namespace,
    "core.v1.NodeStatus": _node_status,
    "core.v1.Secret": _secret,
    "networking.v1.NetworkPolicySpec": _network_policy_spec,
    "rbac.v1.Subject": _subject,
}
