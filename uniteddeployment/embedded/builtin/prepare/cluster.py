"""Preparation of namespaces and volumes: their finalizers."""

from uniteddeployment.embedded.apimachinery.resources import Obj

_NAMESPACE_FINALIZER = "kubernetes"
_CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
_VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def prepare_namespace(namespace: Obj) -> None:
    finalizers = namespace.setdefault("spec", {}).setdefault("finalizers", [])
    if _NAMESPACE_FINALIZER not in finalizers:
        finalizers.append(_NAMESPACE_FINALIZER)
    namespace["status"] = {"phase": "Active"}


def prepare_namespace_update(new: Obj, old: Obj, subresource: str) -> None:
    """Only the finalize subresource changes ``spec.finalizers``."""
    if not subresource:
        finalizers = (old.get("spec") or {}).get("finalizers")
        if finalizers:
            new.setdefault("spec", {})["finalizers"] = finalizers
        else:
            new.get("spec", {}).pop("finalizers", None)


def prepare_node(node: Obj) -> None:
    """The first of a node's networks has a field of its own, which clients may give instead."""
    spec = node.get("spec") or {}
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def prepare_node_update(new: Obj, _old: Obj, _subresource: str) -> None:
    prepare_node(new)


def prepare_claim(claim: Obj) -> None:
    _hold(claim, _CLAIM_FINALIZER)


def prepare_volume(volume: Obj) -> None:
    _hold(volume, _VOLUME_FINALIZER)
    created = volume["metadata"].get("creationTimestamp")
    if created:
        volume["status"]["lastPhaseTransitionTime"] = created


def _hold(obj: Obj, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)
