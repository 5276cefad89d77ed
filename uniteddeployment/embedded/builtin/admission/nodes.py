"""New nodes: nothing is scheduled on them until it is known that they are ready."""

from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint(node: Obj) -> None:
    """Mark a node as not ready. The controller of nodes takes the taint away once the conditions allow it."""
    taints = node.setdefault("spec", {}).get("taints") or []
    if not any((one.get("key"), one.get("effect")) == tuple(_NOT_READY.values()) for one in taints):
        node["spec"]["taints"] = [*taints, dict(_NOT_READY)]
