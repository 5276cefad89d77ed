"""Admission of nodes: no pod is scheduled on a new node until it is known to be ready."""

from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint(node: Obj) -> None:
    """Taint a new node as not ready. The node controller removes the taint once the conditions allow it."""
    taints = node.setdefault("spec", {}).get("taints") or []
    if not any((existing.get("key"), existing.get("effect")) == tuple(_NOT_READY.values()) for existing in taints):
        node["spec"]["taints"] = [*taints, dict(_NOT_READY)]
