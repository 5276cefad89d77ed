"""The endpoints of a Service: its pods, grouped by their ports.

Pure functions of a Service, its pods and the zones of nodes, for EndpointSlices and Endpoints.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.workloads.ownership import is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_finished, is_ready

PER_SLICE: Final = 100
ADDRESS_TYPES: Final = {"IPv4": ".", "IPv6": ":"}
"""Address families, with the character that identifies an address."""


class Port(NamedTuple):
    """A port of an endpoint: the target, not the Service's own port."""

    name: str
    port: int
    protocol: str
    app_protocol: str = ""

    def as_slice_port(self) -> Obj:
        """The port in an EndpointSlice, which has a name even if it is empty."""
        extra = {"appProtocol": self.app_protocol} if self.app_protocol else {}
        return {"name": self.name, "port": self.port, "protocol": self.protocol, **extra}

    def as_endpoints_port(self) -> Obj:
        """The port in an Endpoints object."""
        return {key: value for key, value in self.as_slice_port().items() if value}


class Group(NamedTuple):
    """Pods that have the same ports for a Service."""

    ports: tuple[Port, ...]
    pods: list[Obj]


def address_of(pod: Obj, family: str) -> str:
    """The pod's address of a family; empty if it has none."""
    mark = ADDRESS_TYPES[family]
    status = pod.get("status") or {}
    addresses = [entry.get("ip", "") for entry in status.get("podIPs") or ()] or [status.get("podIP", "")]
    return next((address for address in addresses if mark in address), "")


def groups_of(service: Obj, pods: Sequence[Obj], family: str) -> list[Group]:
    """The pods with an address, grouped by the ports that the Service's targets have in them."""
    groups: dict[tuple[Port, ...], list[Obj]] = {}
    for pod in pods:
        if not is_finished(pod) and address_of(pod, family):
            groups.setdefault(ports_of(service, pod), []).append(pod)
    return [Group(ports, members) for ports, members in sorted(groups.items(), key=lambda item: item[0])]


def ports_of(service: Obj, pod: Obj) -> tuple[Port, ...]:
    """The Service's ports in ``pod``; named targets that the pod does not have are left out."""
    resolved = []
    for port in service["spec"].get("ports") or ():
        protocol = port.get("protocol", "TCP")
        target = port.get("targetPort") or port["port"]
        number = target if isinstance(target, int) else _named_port(pod, target, protocol)
        if number is not None:
            resolved.append(Port(port.get("name", ""), number, protocol, port.get("appProtocol", "")))
    return tuple(resolved)


def _named_port(pod: Obj, name: str, protocol: str) -> int | None:
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("name") == name and port.get("protocol", "TCP") == protocol:
                number: int = port["containerPort"]
                return number
    return None


def is_published(service: Obj, pod: Obj) -> bool:
    """Whether clients may connect to the pod: it is ready and not terminating, or the Service publishes all pods."""
    return publishes_all(service) or (is_ready(pod) and not is_deleting(pod))


def publishes_all(service: Obj) -> bool:
    """``publishNotReadyAddresses``."""
    return bool(service["spec"].get("publishNotReadyAddresses"))


def slice_endpoint(service: Obj, pod: Obj, family: str, zone_of: Callable[[str], str]) -> Obj:
    """The endpoint of a pod in an EndpointSlice."""
    endpoint: Obj = {
        "addresses": [address_of(pod, family)],
        "conditions": {
            "ready": is_published(service, pod),
            "serving": is_ready(pod),
            "terminating": is_deleting(pod),
        },
        "targetRef": _target(pod),
    }
    node = pod["spec"].get("nodeName", "")
    if node:
        endpoint["nodeName"] = node
        zone = zone_of(node)
        if zone:
            endpoint["zone"] = zone
    hostname = _hostname(service, pod)
    if hostname:
        endpoint["hostname"] = hostname
    return endpoint


def subsets_of(service: Obj, groups: Sequence[Group], family: str) -> list[Obj]:
    """The ``subsets`` of an Endpoints object. Terminating pods are included only if the Service publishes all pods."""
    subsets = []
    for ports, pods in groups:
        sides: dict[str, list[Obj]] = {"addresses": [], "notReadyAddresses": []}
        for pod in sorted(pods, key=lambda pod: address_of(pod, family)):
            if publishes_all(service) or not is_deleting(pod):
                side = "addresses" if is_published(service, pod) else "notReadyAddresses"
                sides[side].append(_endpoints_address(service, pod, family))
        subset: Obj = {side: addresses for side, addresses in sides.items() if addresses}
        if subset:
            if ports:
                subset["ports"] = [port.as_endpoints_port() for port in ports]
            subsets.append(subset)
    return subsets


def _endpoints_address(service: Obj, pod: Obj, family: str) -> Obj:
    address: dict[str, Any] = {"ip": address_of(pod, family)}
    hostname = _hostname(service, pod)
    if hostname:
        address["hostname"] = hostname
    if pod["spec"].get("nodeName"):
        address["nodeName"] = pod["spec"]["nodeName"]
    return address | {"targetRef": _target(pod)}


def _hostname(service: Obj, pod: Obj) -> str:
    """The pod's own DNS name under the Service, for StatefulSets."""
    under = pod["spec"].get("subdomain", "") == service["metadata"]["name"]
    return pod["spec"].get("hostname", "") if under else ""


def _target(pod: Obj) -> Obj:
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
