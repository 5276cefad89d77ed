"""Matching of PersistentVolumes, claims and nodes. Pure functions."""

from collections.abc import Iterable, Mapping
from typing import Final

from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.scheduler.amounts import amount
from uniteddeployment.embedded.controllers.scheduler.model import REGION, ZONE
from uniteddeployment.embedded.controllers.scheduler.selectors import matches_terms

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


def class_of(claim: Obj) -> str:
    """The StorageClass of a claim or a volume; empty for none."""
    return str(claim["spec"].get("storageClassName") or "")


def waits_for_pod(storage_class: Obj | None) -> bool:
    """Whether claims of this class are bound only when their first pod has a node."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def is_bound(claim: Obj) -> bool:
    """Whether a claim is bound."""
    annotations = claim["metadata"].get("annotations") or {}
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations


def refers_to(volume: Obj, claim: Obj) -> bool:
    """Whether a volume is reserved for or bound to this claim, and not to an earlier one of the same name."""
    reference = volume["spec"].get("claimRef")
    metadata = claim["metadata"]
    if not reference:
        return False
    same = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
    return same and reference.get("uid", metadata["uid"]) == metadata["uid"]


def suits(volume: Obj, claim: Obj) -> bool:
    """Whether a volume can be bound to a claim: free or reserved for it, of its class, and with the size and modes it
    needs.
    """
    wanted, offered = claim["spec"], volume["spec"]
    if volume["metadata"].get("deletionTimestamp"):
        return False
    if offered.get("claimRef") and not refers_to(volume, claim):
        return False
    if class_of(volume) != class_of(claim):
        return False
    if offered.get("volumeMode", "Filesystem") != wanted.get("volumeMode", "Filesystem"):
        return False
    if not set(wanted.get("accessModes") or ()) <= set(offered.get("accessModes") or ()):
        return False
    if wanted.get("selector") and not matches_labels(wanted["selector"], volume["metadata"].get("labels") or {}):
        return False
    return _size(offered.get("capacity")) >= _size((wanted.get("resources") or {}).get("requests"))


def _size(quantities: Obj | None) -> int:
    return amount("storage", str((quantities or {}).get("storage", "0")))


def best_volume(claim: Obj, volumes: Iterable[Obj]) -> Obj | None:
    """The volume to bind: the one reserved for the claim, else the smallest that suits."""
    suiting = [volume for volume in volumes if suits(volume, claim)]
    if not suiting:
        return None
    return min(
        suiting,
        key=lambda volume: (
            not volume["spec"].get("claimRef"),
            _size(volume["spec"].get("capacity")),
            volume["metadata"]["name"],
        ),
    )


def reachable(volume: Obj, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a volume's node affinity includes a node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or matches_terms(required.get("nodeSelectorTerms") or (), name, labels)


def in_zone(volume: Obj, labels: Mapping[str, str]) -> bool:
    """Whether the zone and region labels of a volume include those of a node; ``__`` separates several values."""
    own = volume["metadata"].get("labels") or {}
    return all(key not in own or labels.get(key) in own[key].split("__") for key in (ZONE, REGION))


def provisions_at(storage_class: Obj, labels: Mapping[str, str]) -> bool:
    """Whether a class provisions volumes for a node with these labels."""
    if storage_class.get("provisioner") == NO_PROVISIONER:
        return False
    topologies = storage_class.get("allowedTopologies") or ()
    if not topologies:
        return True
    return any(
        all(labels.get(rule["key"]) in rule["values"] for rule in term.get("matchLabelExpressions") or ())
        for term in topologies
    )
