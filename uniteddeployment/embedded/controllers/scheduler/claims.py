"""Checks of a pod's PersistentVolumeClaims: the nodes that reach the volumes, or a reason to wait."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.scheduler.filters import Rejection
from uniteddeployment.embedded.controllers.scheduler.model import NodeInfo, PodInfo
from uniteddeployment.embedded.controllers.scheduler.volumes import (
    SELECTED_NODE,
    best_volume,
    class_of,
    in_zone,
    is_bound,
    provisions_at,
    reachable,
    waits_for_pod,
)

ELSEWHERE: Final = Rejection(("node(s) didn't match PersistentVolume's node affinity",), unresolvable=True)
OTHER_ZONE: Final = Rejection(("node(s) had no available volume zone",), unresolvable=True)
NO_VOLUME: Final = Rejection(("node(s) didn't find available persistent volumes to bind",), unresolvable=True)


class NotYetError(Exception):
    """No node can take the pod, for a reason that does not depend on nodes."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one pod: volumes that are bound, and claims that are bound once the pod has a node."""

    volumes: tuple[Obj, ...] = ()
    waiting: tuple[tuple[Obj, Obj], ...] = ()
    """(claim, StorageClass)"""

    def checks(self, access: Access) -> list[Callable[[NodeInfo], Rejection | None]]:
        """The checks of a node, in the order of the real scheduler."""
        if not self.volumes and not self.waiting:
            return []
        free: Sequence[Obj] = access.list("persistentvolumes") if self.waiting else ()

        def binding(node: NodeInfo) -> Rejection | None:
            if any(not reachable(volume, node.name, node.labels) for volume in self.volumes):
                return ELSEWHERE
            if any(not _bindable(claim, kind, node, free) for claim, kind in self.waiting):
                return NO_VOLUME
            return None

        def zone(node: NodeInfo) -> Rejection | None:
            return None if all(in_zone(volume, node.labels) for volume in self.volumes) else OTHER_ZONE

        return [binding, zone]


def _bindable(claim: Obj, kind: Obj, node: NodeInfo, free: Sequence[Obj]) -> bool:
    chosen = _selected(claim)
    if chosen:
        return chosen == node.name
    volumes = [volume for volume in free if reachable(volume, node.name, node.labels)]
    return best_volume(claim, volumes) is not None or provisions_at(kind, node.labels)


def _selected(claim: Obj) -> str:
    annotations: Mapping[str, str] = claim["metadata"].get("annotations") or {}
    return annotations.get(SELECTED_NODE, "")


def claims_of(pod: PodInfo, access: Access) -> Claims:
    """Look up a pod's claims. Raises NotYetError if one is missing or must be bound first."""
    if not pod.claims:
        return Claims()
    volumes: list[Obj] = []
    waiting: list[tuple[Obj, Obj]] = []
    for name in pod.claims:
        claim = access.get("persistentvolumeclaims", pod.key[0], name)
        if claim is None:
            raise NotYetError(f'persistentvolumeclaim "{name}" not found')
        if claim["metadata"].get("deletionTimestamp"):
            raise NotYetError(f'persistentvolumeclaim "{name}" is being deleted')
        if is_bound(claim):
            volume = access.get("persistentvolumes", "", claim["spec"]["volumeName"])
            if volume is None:
                raise NotYetError(f'persistentvolume "{claim["spec"]["volumeName"]}" not found')
            volumes.append(volume)
            continue
        kind = access.get("storageclasses.storage.k8s.io", "", class_of(claim))
        if kind is None or not waits_for_pod(kind):
            raise NotYetError("pod has unbound immediate PersistentVolumeClaims")
        waiting.append((claim, kind))
    return Claims(tuple(volumes), tuple(waiting))
