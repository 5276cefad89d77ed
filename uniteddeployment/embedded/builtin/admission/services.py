"""Services: a requested cluster address or node port must be valid and free.

Usage is read from the services themselves, so it is always exact. Because this reads all services, only explicitly
requested values are checked; allocated values are free by construction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import invalid as cause
from uniteddeployment.embedded.errors import StatusError, invalid

Lookup = Callable[[str, str | None], Sequence[Obj]]

NETWORK: Final = IPv4Network("10.0.0.0/8")
"""The range of valid addresses: larger than the range of allocation, for manifests of other clusters."""
_API_SERVER: Final = "10.96.0.1"
_TYPES_WITH_NODE_PORTS: Final = frozenset({"NodePort", "LoadBalancer"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values that a service requests: an address, and node ports by the index of their port."""

    address: str
    ports: Mapping[int, int]

    def check(self, service: Obj, lookup: Lookup) -> None:
        """Refuse (422) a service whose request is invalid or in use."""
        uid = service["metadata"].get("uid")
        others = [other["spec"] for other in lookup("services", None) if other["metadata"].get("uid") != uid]
        why = _why_not(self.address, others) if self.address else ""
        if why:
            given = service["spec"].get("clusterIPs") or []
            raise _refused(service, "spec.clusterIPs", given, f"failed to allocate IP {self.address}: {why}")
        taken = {port for spec in others for port in _node_ports(spec).values()}
        for index, port in self.ports.items():
            if port in taken:
                raise _refused(service, f"spec.ports[{index}].nodePort", port, "provided port is already allocated")


def wanted(new: Obj, old: Obj | None) -> Wanted | None:
    """The values that a service requests and did not have before, or None. Call it before allocation."""
    before = (old or {}).get("spec") or {}
    request = Wanted(_new_address(new.get("spec") or {}, before), _new_node_ports(new.get("spec") or {}, before))
    return request if request.address or request.ports else None


def _refused(service: Obj, field: str, value: object, why: str) -> StatusError:
    return invalid("Service", "", service["metadata"].get("name", ""), [cause(field, value, why)])


def _new_address(spec: Obj, before: Obj) -> str:
    """The cluster address that the service did not have before; empty if there is none."""
    address: str = spec.get("clusterIP") or ""
    return "" if address in ("", "None", before.get("clusterIP")) else address


def _why_not(address: str, others: Sequence[Obj]) -> str:
    if ip_address(address) not in NETWORK:
        return "the provided network does not match the current range"
    if address == _API_SERVER or any(spec.get("clusterIP") == address for spec in others):
        return "provided IP is already allocated"
    return ""


def _node_ports(spec: Obj) -> dict[int, int]:
    """The node ports of a service by the index of their port."""
    if spec.get("type") not in _TYPES_WITH_NODE_PORTS:
        return {}
    return {index: port["nodePort"] for index, port in enumerate(spec.get("ports") or ()) if port.get("nodePort")}


def _new_node_ports(spec: Obj, before: Obj) -> dict[int, int]:
    held = set(_node_ports(before).values())
    return {index: port for index, port in _node_ports(spec).items() if port not in held}
