"""The EndpointSlice controller: maintains EndpointSlices and Endpoints of Services with a selector."""

from collections.abc import Sequence
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.endpoints import grouping as state
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.controllers.framework.label_index import LabelIndex, SelectorIndex, labels_of
from uniteddeployment.embedded.controllers.workloads.ownership import (
    MANAGER,
    controlled,
    controller_reference,
    is_deleting,
)

SLICES: Final = "endpointslices.discovery.k8s.io"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER_NAME: Final = "endpointslice-controller.k8s.io"
SERVICE_NAME: Final = "kubernetes.io/service-name"
HEADLESS: Final = "service.kubernetes.io/headless"
TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
ENDPOINTS_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
ENDPOINTS_MANAGER: Final = "endpoint-controller"
ZONE: Final = "topology.kubernetes.io/zone"


class EndpointSliceController(Controller):
    """Follows the pods of each Service."""

    name: ClassVar[str] = "endpoint-slice-controller"

    def setup(self) -> None:
        self._pods = LabelIndex(self.access.list("pods"))
        self._selectors = SelectorIndex()
        for service in self.access.list("services"):
            self._note_service(Change("ADDED", "services", service, None))
        self._unsubscribe.append(self.access.subscribe("services", self._note_service))
        self._unsubscribe.append(self.access.subscribe("pods", self._note_pod))
        self._unsubscribe.append(self.access.subscribe(SLICES, self._note_slice))

    def _note_service(self, change: Change) -> None:
        service = change.obj
        selector = service["spec"].get("selector")
        if change.type == "DELETED" or not selector:
            self._selectors.drop(service)
        else:
            self._selectors.put(service, selector)
        self.enqueue((service["metadata"]["namespace"], service["metadata"]["name"]))

    def _note_pod(self, change: Change) -> None:
        """Queue the Services that the pod belongs to, or belonged to."""
        self._pods.note(change)
        namespace = change.obj["metadata"]["namespace"]
        sides = [labels_of(side) for side in (change.obj, change.old) if side is not None]
        for name in self._selectors.candidates(namespace, *sides):
            service = self.access.get("services", namespace, name)
            selector = service["spec"]["selector"].items() if service is not None else ()
            if selector and any(selector <= labels.items() for labels in sides):
                self.enqueue((namespace, name))

    def _note_slice(self, change: Change) -> None:
        """Repair slices that others changed or deleted."""
        labels = labels_of(change.obj)
        if labels.get(MANAGED_BY) == MANAGER_NAME and SERVICE_NAME in labels:
            self.enqueue((change.obj["metadata"]["namespace"], labels[SERVICE_NAME]))

    def sync(self, key: Key) -> None:
        service = self.access.get("services", *key)
        if service is None:
            self._forget(key)
            return
        spec = service["spec"]
        if is_deleting(service) or not spec.get("selector") or spec.get("type") == "ExternalName":
            return
        pods = self._members(key[0], spec["selector"])
        families = [family for family in spec.get("ipFamilies") or ("IPv4",) if family in state.ADDRESS_TYPES]
        present = controlled(self.access, SLICES, service)
        for family in families:
            groups = state.groups_of(service, pods, family)
            self._write_slices(service, family, groups, [s for s in present if s["addressType"] == family])
        self._write_endpoints(service, state.groups_of(service, pods, families[0]), families[0])

    def _members(self, namespace: str, selector: dict[str, str]) -> list[Obj]:
        """The pods that a Service selects."""
        pods = (self.access.get("pods", namespace, name) for name in self._pods.find(namespace, selector))
        return [pod for pod in pods if pod is not None and selector.items() <= labels_of(pod).items()]

    def _write_slices(self, service: Obj, family: str, groups: Sequence[state.Group], present: Sequence[Obj]) -> None:
        """Write the slices of one address family; a slice keeps its ports if it can."""
        wanted = [
            (list(group.ports), group.pods[first : first + state.PER_SLICE])
            for group in groups
            for first in range(0, len(group.pods), state.PER_SLICE)
        ] or [([], [])]
        free = sorted(present, key=lambda s: s["metadata"]["name"])
        for ports, pods in wanted:
            slice_ports = [port.as_slice_port() for port in ports] or None
            reuse = next((s for s in free if s.get("ports") == slice_ports), free[0] if free else None)
            if reuse is not None:
                free.remove(reuse)
            endpoints = [state.slice_endpoint(service, pod, family, self._zone) for pod in pods] or None
            self._write_slice(service, family, reuse, endpoints, slice_ports)
        for surplus in free:
            metadata = surplus["metadata"]
            self.access.delete(SLICES, metadata["namespace"], metadata["name"], uid=metadata["uid"])

    def _write_slice(
        self, service: Obj, family: str, old: Obj | None, endpoints: list[Obj] | None, ports: list[Obj] | None
    ) -> None:
        name = service["metadata"]["name"]
        labels = _headless_label(service) | {MANAGED_BY: MANAGER_NAME, SERVICE_NAME: name}
        content = {"addressType": family, "endpoints": endpoints, "ports": ports}
        if old is None:
            metadata = {
                "generateName": f"{name}-",
                "namespace": service["metadata"]["namespace"],
                "labels": {**labels_of(service), **labels},
                "annotations": {TRIGGER: service["metadata"]["creationTimestamp"]},
                "ownerReferences": [controller_reference(service)],
            }
            created = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **content}
            self.access.create(SLICES, created, manager=MANAGER)
            return
        labels = {**labels_of(service), **labels}
        if labels_of(old) == labels and all(old.get(field) == value for field, value in content.items()):
            return
        annotations = {**(old["metadata"].get("annotations") or {}), TRIGGER: timestamp(self.clock.now())}
        metadata = {**old["metadata"], "labels": labels, "annotations": annotations}
        self.access.update(SLICES, {**old, "metadata": metadata, **content}, manager=MANAGER)

    def _write_endpoints(self, service: Obj, groups: Sequence[state.Group], family: str) -> None:
        namespace, name = service["metadata"]["namespace"], service["metadata"]["name"]
        labels = labels_of(service) | _headless_label(service) | {ENDPOINTS_MANAGED_BY: ENDPOINTS_MANAGER}
        subsets = state.subsets_of(service, groups, family)
        old = self.access.get("endpoints", namespace, name)
        if old is None:
            metadata: Obj = {"name": name, "namespace": namespace, "labels": labels}
            created: Obj = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
            self.access.create("endpoints", created | ({"subsets": subsets} if subsets else {}), manager=MANAGER)
            return
        if labels_of(old) == labels and (old.get("subsets") or []) == subsets:
            return
        changed = {**old, "metadata": {**old["metadata"], "labels": labels}}
        changed.pop("subsets", None)
        self.access.update("endpoints", changed | ({"subsets": subsets} if subsets else {}), manager=MANAGER)

    def _forget(self, key: Key) -> None:
        """Clean up after a deleted Service: the garbage collector deletes its slices, but its Endpoints have no
        owner.
        """
        old = self.access.get("endpoints", *key)
        if old is not None and labels_of(old).get(ENDPOINTS_MANAGED_BY) == ENDPOINTS_MANAGER:
            self.access.delete("endpoints", *key, uid=old["metadata"]["uid"])

    def _zone(self, node_name: str) -> str:
        node = self.access.get("nodes", "", node_name)
        return labels_of(node).get(ZONE, "") if node is not None else ""


def _headless_label(service: Obj) -> dict[str, str]:
    return {HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
