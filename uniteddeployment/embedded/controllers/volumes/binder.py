"""Binds PersistentVolumeClaims to PersistentVolumes, provisions volumes and reclaims them.

A claim of a ``WaitForFirstConsumer`` class waits until the scheduler has selected a node for its first pod. It then
gets a volume that this node can reach; a provisioned volume is pinned to the zone of that node. This controller
provisions volumes for classes with the provisioner ``embedded/zonal``.
"""

from random import Random
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.scheduler.model import ZONE
from uniteddeployment.embedded.controllers.scheduler.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    best_volume,
    class_of,
    is_bound,
    provisions_at,
    reachable,
    refers_to,
    suits,
    waits_for_pod,
)
from uniteddeployment.embedded.errors import StatusError

MANAGER: Final = "kube-controller-manager"
COMPONENT: Final = "persistentvolume-controller"
PROVISIONER: Final = "embedded/zonal"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"
CLASSES: Final = "storageclasses.storage.k8s.io"
GONE: Final = 404


class VolumeBinder(Controller):
    """Keys are claims, and volumes with an empty namespace."""

    name: ClassVar[str] = "persistentvolume-binder"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._unbound: dict[Key, str] = {}
        """Unbound claims, with the last message about each."""

    def setup(self) -> None:
        self._unbound.clear()
        self._unsubscribe += [
            self.access.subscribe(VOLUMES, self._on_volume),
            self.access.subscribe(CLAIMS, self._on_claim),
            self.access.subscribe(CLASSES, self._on_class),
        ]
        for volume in self.access.list(VOLUMES):
            self._queue_volume(volume)
        for claim in self.access.list(CLAIMS):
            self._on_claim(Change("ADDED", CLAIMS, claim, None))

    def _on_claim(self, change: Change) -> None:
        claim = change.obj
        key = (claim["metadata"]["namespace"], claim["metadata"]["name"])
        if change.type == "DELETED":
            self._unbound.pop(key, None)
            if claim["spec"].get("volumeName"):
                self.enqueue(("", claim["spec"]["volumeName"]))
            return
        if is_bound(claim):
            self._unbound.pop(key, None)
        else:
            self._unbound.setdefault(key, "")
        self.enqueue(key)

    def _on_volume(self, change: Change) -> None:
        self._queue_volume(change.obj)

    def _queue_volume(self, volume: Obj) -> None:
        self.enqueue(("", volume["metadata"]["name"]))
        for key in self._unbound:
            self.enqueue(key)

    def _on_class(self, _: Change) -> None:
        for key in self._unbound:
            self.enqueue(key)

    def sync(self, key: Key) -> None:
        if key[0]:
            claim = self.access.get(CLAIMS, *key)
            if claim is not None:
                self._settle_claim(claim)
        else:
            volume = self.access.get(VOLUMES, *key)
            if volume is not None:
                self._settle_volume(volume)

    # Claims

    def _settle_claim(self, claim: Obj) -> None:
        if is_bound(claim):
            if self.access.get(VOLUMES, "", claim["spec"]["volumeName"]) is None:
                self._set_phase(CLAIMS, claim, "Lost")
            elif (claim.get("status") or {}).get("phase") != "Bound":
                self._finish(claim, self.access.get(VOLUMES, "", claim["spec"]["volumeName"]))
            return
        if claim["metadata"].get("deletionTimestamp"):
            return
        kind = self.access.get(CLASSES, "", class_of(claim)) if class_of(claim) else None
        if claim["spec"].get("volumeName"):
            self._bind_named(claim)
            return
        node = self._chosen_node(claim)
        if waits_for_pod(kind) and node is None:
            self._set_phase(CLAIMS, claim, "Pending")
            text = "waiting for first consumer to be created before binding"
            self._record_event(claim, "WaitForFirstConsumer", text)
            return
        volume = best_volume(claim, self._available(node if waits_for_pod(kind) else None))
        if volume is not None:
            self._bind(claim, volume)
        elif kind is not None and kind.get("provisioner") != NO_PROVISIONER:
            self._provision(claim, kind, node)
        else:
            self._set_phase(CLAIMS, claim, "Pending")

    def _record_event(self, claim: Obj, reason: str, text: str) -> None:
        """Record an Event about the reason why a claim waits, once per reason."""
        key = (claim["metadata"]["namespace"], claim["metadata"]["name"])
        if self._unbound.get(key) != reason:
            self._unbound[key] = reason
            self.events.event(claim, "Normal", reason, text, component=COMPONENT)

    def _chosen_node(self, claim: Obj) -> Obj | None:
        name = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        return self.access.get("nodes", "", name) if name else None

    def _available(self, node: Obj | None) -> list[Obj]:
        volumes = self.access.list(VOLUMES)
        if node is None:
            return list(volumes)
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        return [volume for volume in volumes if reachable(volume, name, labels)]

    def _bind_named(self, claim: Obj) -> None:
        """Bind a claim to the volume that it names, if that is free."""
        volume = self.access.get(VOLUMES, "", claim["spec"]["volumeName"])
        if volume is not None and (refers_to(volume, claim) or not volume["spec"].get("claimRef")):
            self._bind(claim, volume)
        else:
            self._set_phase(CLAIMS, claim, "Pending")

    def _bind(self, claim: Obj, volume: Obj) -> None:
        """Bind both sides. The volume comes first, because two claims could compete for it."""
        metadata = claim["metadata"]
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        before = volume["spec"].get("claimRef")
        if not before or before.get("uid") != metadata["uid"]:
            taken = {**volume, "spec": {**volume["spec"], "claimRef": {**reference, **_version(claim)}}}
            if not before:
                taken = _annotated(taken, BOUND_BY_CONTROLLER)
            volume = self.access.update(VOLUMES, taken, manager=MANAGER)
        self._set_phase(VOLUMES, volume, "Bound")
        if not is_bound(claim):
            bound = {**claim, "spec": {**claim["spec"], "volumeName": volume["metadata"]["name"]}}
            if not claim["spec"].get("volumeName"):
                bound = _annotated(bound, BOUND_BY_CONTROLLER)
            claim = self.access.update(CLAIMS, _annotated(bound, BIND_COMPLETED), manager=MANAGER)
        self._finish(claim, volume)

    def _finish(self, claim: Obj, volume: Obj | None) -> None:
        if volume is None:
            return
        status = {
            **(claim.get("status") or {}),
            "phase": "Bound",
            "accessModes": volume["spec"].get("accessModes") or [],
            "capacity": volume["spec"].get("capacity") or {},
        }
        self.access.update(CLAIMS, {**claim, "status": status}, manager=MANAGER, subresource="status")

    # Provisioning

    def _provision(self, claim: Obj, kind: Obj, node: Obj | None) -> None:
        if kind.get("provisioner") != PROVISIONER:
            self._set_phase(CLAIMS, claim, "Pending")
            text = (
                "Waiting for a volume to be created either by the external provisioner "
                f"'{kind.get('provisioner')}' or manually by the system administrator. If volume creation is delayed, "
                "please verify that the provisioner is running and correctly registered."
            )
            self._record_event(claim, "ExternalProvisioning", text)
            return
        zone = self._zone(kind, node)
        metadata, spec = claim["metadata"], claim["spec"]
        name = f"pvc-{metadata['uid']}"
        if self.access.get(VOLUMES, "", name) is not None:
            return
        volume: Obj = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
            "spec": {
                "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy", "Delete"),
                "storageClassName": kind["metadata"]["name"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                "csi": {"driver": PROVISIONER.replace("/", "."), "volumeHandle": name},
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": metadata["namespace"],
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                },
            },
        }
        if zone:
            volume["metadata"]["labels"] = {ZONE: zone}
            rule = {"key": ZONE, "operator": "In", "values": [zone]}
            volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
        provisioned = self.access.create(VOLUMES, volume, manager=MANAGER)
        text = f"Successfully provisioned volume {name}"
        self.events.event(claim, "Normal", "ProvisioningSucceeded", text, component=PROVISIONER)
        self._bind(claim, provisioned)

    def _zone(self, kind: Obj, node: Obj | None) -> str:
        """The zone of the selected node; without one, a zone that the class allows and that depends on the claim
        only.
        """
        if node is not None:
            return str((node["metadata"].get("labels") or {}).get(ZONE, ""))
        zones = set()
        for candidate in self.access.list("nodes"):
            labels = candidate["metadata"].get("labels") or {}
            if ZONE in labels and provisions_at(kind, labels):
                zones.add(labels[ZONE])
        return self.random.choice(sorted(zones)) if zones else ""

    # Volumes

    def _settle_volume(self, volume: Obj) -> None:
        """Set the phase of a volume: Available while free, Bound while claimed, then Released (and deleted, by its
        policy).
        """
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            if not volume["metadata"].get("deletionTimestamp"):
                self._set_phase(VOLUMES, volume, "Available")
            return
        claim = self.access.get(CLAIMS, reference["namespace"], reference["name"])
        if claim is not None and claim["metadata"]["uid"] == reference["uid"]:
            if is_bound(claim):
                self._set_phase(VOLUMES, volume, "Bound")
            elif suits(volume, claim):
                self._bind(claim, volume)
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._reclaim(volume)
        else:
            self._set_phase(VOLUMES, volume, "Released")

    def _reclaim(self, volume: Obj) -> None:
        metadata = volume["metadata"]
        self._set_phase(VOLUMES, volume, "Released")
        try:
            self.access.delete(VOLUMES, "", metadata["name"], uid=metadata["uid"])
        except StatusError as error:
            if error.code != GONE:
                raise

    def _set_phase(self, resource: str, obj: Obj, phase: str) -> None:
        status = obj.get("status") or {}
        if status.get("phase") == phase:
            return
        updated = {**status, "phase": phase}
        if resource == VOLUMES:
            updated["lastPhaseTransitionTime"] = timestamp(self.clock.now())
        self.access.update(resource, {**obj, "status": updated}, manager=MANAGER, subresource="status")


def _annotated(obj: Obj, annotation: str) -> Obj:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), annotation: "yes"}}}


def _version(claim: Obj) -> Obj:
    return {"resourceVersion": claim["metadata"]["resourceVersion"]}
