"""How far a drain is, and what blocks it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from uniteddeployment.cli import application
from uniteddeployment.cli.clusters.objects import Presence, presences
from uniteddeployment.planning.observed.clusters import NO_EXECUTE, Taint
from uniteddeployment.planning.replicas.taints import tolerates
from uniteddeployment_api import Toleration, names

_TAINT = Taint(names.TAINT_DRAIN, effect=NO_EXECUTE)
_OTHERS = "see the reason, or remove the subset from spec.topology.subsets"


@dataclass(frozen=True, slots=True)
class Item:
    """One subset, or leftover, of an application that still has pods in the cluster."""

    presence: Presence
    moving: bool
    """Whether its pods are on the way: replacements are being started, or pods end."""
    way_out: str = ""
    """What a user can do, if nothing moves."""

    @property
    def title(self) -> str:
        return f"{self.presence.application} (subset {self.presence.subset})"

    @property
    def text(self) -> str:
        """How far it is, in one line."""
        presence = self.presence
        if not self.moving:
            return f"{self.title}: {_pods(presence.pods)} stay: {presence.reason or 'no reason is known'}"
        if not presence.replicas:
            return f"{self.title}: {_pods(presence.observed)} ending"
        if presence.desired is not None:
            return f"{self.title}: {presence.replicas} of its pods left, {presence.desired} to stay"
        return f"{self.title}: {_pods(presence.pods)} left"


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def items(applications: Iterable[Mapping[str, Any]], cluster: str) -> list[Item]:
    """What is left in the cluster ``namespace/name``."""
    return [_item(app, presence) for app in applications for presence in presences(app, cluster) if presence.pods]


def _item(app: Mapping[str, Any], presence: Presence) -> Item:
    if presence.observed_time:
        return Item(presence, False, "the cluster cannot be seen: if it is lost, use ud clusters deregister --abandon")
    leaves = not presence.replicas or (presence.desired is not None and presence.desired < presence.replicas)
    if leaves or app["metadata"].get("deletionTimestamp") or not application.observed(app):
        return Item(presence, True)
    return Item(presence, False, way_out(app, presence.subset))


def way_out(app: Mapping[str, Any], subset: str) -> str:
    """What a user can do about a subset that does not move."""
    spec = app.get("spec") or {}
    topology = spec.get("topology") or {}
    subsets: Sequence[Mapping[str, Any]] = topology.get("subsets") or ()
    own = next((entry for entry in subsets if entry.get("name") == subset), None)
    if own is None:
        return _OTHERS
    if _tolerated([*(own.get("clusterTolerations") or ()), *(topology.get("tolerations") or ())]):
        return f"it tolerates {_TAINT}: remove the toleration from clusterTolerations or spec.topology.tolerations"
    if spec.get("paused"):
        return "it is paused: set spec.paused to false"
    if own.get("replicas") is not None:
        return "it has a fixed share: remove spec.topology.subsets[].replicas, or set it to 0"
    if len(subsets) == 1:
        return "no other cluster can take its pods: add a subset to spec.topology.subsets"
    if _has_volumes(spec):
        return (
            "its volumes stay in the cluster: move the data to another subset, then remove the subset from "
            "spec.topology.subsets"
        )
    if own.get("minReplicas") is not None:
        return "it has a lower bound: remove spec.topology.subsets[].minReplicas"
    if any(entry.get("maxReplicas") is not None for entry in subsets if entry is not own):
        return "the other subsets are full: raise their maxReplicas, or add a subset"
    return _OTHERS


def _tolerated(tolerations: Iterable[Mapping[str, Any]]) -> bool:
    for document in tolerations:
        try:
            toleration = Toleration.model_validate(document)
        except ValidationError:
            continue
        if tolerates(toleration, _TAINT):
            return toleration.toleration_seconds is None
    return False


def _has_volumes(spec: Mapping[str, Any]) -> bool:
    template = spec.get("template") or {}
    return any(
        (kind or {}).get("spec", {}).get("volumeClaimTemplates") for kind in template.values() if isinstance(kind, dict)
    )


def in_effect(cluster: Mapping[str, Any]) -> bool:
    """Whether the controller has seen the taint of the drain, so that its plans follow from it."""
    taints = (cluster.get("status") or {}).get("taints") or ()
    return any(taint.get("key") == names.TAINT_DRAIN for taint in taints)


def as_dict(item: Item) -> dict[str, Any]:
    """For programs."""
    presence = item.presence
    return {
        "application": presence.application,
        "subset": presence.subset,
        "pods": presence.pods,
        "moving": item.moving,
        "reason": presence.reason,
        "wayOut": item.way_out,
    }
