"""How far a drain is, and what blocks it. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from uniteddeployment.cli import application
from uniteddeployment.cli.clusters.objects import Presence, presences
from uniteddeployment.planning.observed.clusters import NO_EXECUTE, Taint
from uniteddeployment.planning.replicas.brake import Level
from uniteddeployment.planning.replicas.taints import tolerates
from uniteddeployment.planning.status import MOVING
from uniteddeployment_api import Toleration, names

_TAINT = Taint(names.TAINT_DRAIN, effect=NO_EXECUTE)
_UNSEEN = (
    "the cluster cannot be seen: if it is suspended, use ud clusters resume; if it is lost, use ud clusters deregister "
    "--abandon"
)
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
            stay = "stays" if presence.pods == 1 else "stay"
            return f"{self.title}: {_pods(presence.pods)} {stay}: {presence.reason or 'no reason is known'}"
        if not presence.replicas:
            return f"{self.title}: {_pods(presence.observed)} ending"
        if presence.desired is not None:
            return f"{self.title}: {presence.replicas} of its pods left, {presence.desired} to stay"
        return f"{self.title}: {_pods(presence.pods)} left"


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def items(applications: Iterable[Mapping[str, Any]], cluster: str, seconds: float = 0.0) -> list[Item]:
    """What is left in the cluster ``namespace/name``, so many seconds after the taint of the drain was added."""
    return [
        _item(app, presence, seconds) for app in applications for presence in presences(app, cluster) if presence.pods
    ]


def _item(app: Mapping[str, Any], presence: Presence, seconds: float) -> Item:
    if presence.observed_time:
        return Item(presence, False, _UNSEEN)
    leaves = not presence.replicas or (presence.desired is not None and presence.desired < presence.replicas)
    if leaves or app["metadata"].get("deletionTimestamp") or not application.observed(app):
        return Item(presence, True)
    conditions = {found["type"]: found for found in (app.get("status") or {}).get("conditions") or ()}
    brake = conditions.get(MOVING, {}).get("reason")
    if brake == Level.STOPPED.value:
        return Item(presence, False, "too many clusters are lost at once: wait until they answer again")
    if brake == Level.SLOWED.value or seconds < _tolerated_seconds(app, presence.subset) < math.inf:
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
    if _tolerated_seconds(app, subset) == math.inf:
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


def _tolerated_seconds(app: Mapping[str, Any], subset: str) -> float:
    """For how many seconds a subset tolerates the taint of a drain: 0 if not at all, infinite if forever."""
    topology = (app.get("spec") or {}).get("topology") or {}
    subsets: Sequence[Mapping[str, Any]] = topology.get("subsets") or ()
    own: Mapping[str, Any] = next((entry for entry in subsets if entry.get("name") == subset), {})
    for document in [*(own.get("clusterTolerations") or ()), *(topology.get("tolerations") or ())]:
        try:
            toleration = Toleration.model_validate(document)
        except ValidationError:
            continue
        if tolerates(toleration, _TAINT):
            return math.inf if toleration.toleration_seconds is None else float(toleration.toleration_seconds)
    return 0.0


def _has_volumes(spec: Mapping[str, Any]) -> bool:
    template = spec.get("template") or {}
    return any(
        (kind or {}).get("spec", {}).get("volumeClaimTemplates") for kind in template.values() if isinstance(kind, dict)
    )


def in_effect(cluster: Mapping[str, Any]) -> str | None:
    """When the controller first saw the taint of the drain, from which its plans follow; None if it has not yet."""
    taints = (cluster.get("status") or {}).get("taints") or ()
    return next((taint.get("timeAdded") or "" for taint in taints if taint.get("key") == names.TAINT_DRAIN), None)


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
