"""Preparation of services: allocation and release of cluster addresses and node ports by service type."""

from collections.abc import Sequence
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj

_WITH_ADDRESS = frozenset({"ClusterIP", "NodePort", "LoadBalancer"})
_WITH_NODE_PORTS = frozenset({"NodePort", "LoadBalancer"})
_ADDRESS_FIELDS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")

FIRST_ADDRESS = 2
"""10.96.0.1 belongs to the API server."""
ADDRESSES = 2**16 - 2
FIRST_NODE_PORT = 30000
NODE_PORTS = 2768


class ServiceAllocations:
    """The addresses and node ports of one cluster, allocated in order, so that every run yields the same ones."""

    def __init__(self) -> None:
        self._next_address = FIRST_ADDRESS
        self._next_port = 0
        self._asked_for: set[str | int] = set()

    def address(self) -> str:
        """An address that no service has requested explicitly."""
        for _ in range(ADDRESSES):
            number = self._next_address
            self._next_address = FIRST_ADDRESS + (number + 1 - FIRST_ADDRESS) % (ADDRESSES - FIRST_ADDRESS)
            text = f"10.96.{number >> 8}.{number & 255}"
            if text not in self._asked_for:
                return text
        raise RuntimeError("every address of the service network is taken")

    def node_port(self) -> int:
        """A node port that no service has requested explicitly."""
        for _ in range(NODE_PORTS):
            port = FIRST_NODE_PORT + self._next_port
            self._next_port = (self._next_port + 1) % NODE_PORTS
            if port not in self._asked_for:
                return port
        raise RuntimeError("every node port is taken")

    def prepare_create(self, service: Obj) -> None:
        spec = service["spec"]
        service["status"] = {"loadBalancer": {}}
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        self._complete(spec, share=True)

    def prepare_update(self, new: Obj, old: Obj, subresource: str) -> None:
        if subresource == "status":
            return
        spec, before = new["spec"], old["spec"]
        if before.get("type") == "LoadBalancer" != spec.get("type"):
            new["status"] = {**new["status"], "loadBalancer": {}}
        _carry_over(spec, before)
        _follow_address(spec, before)
        _drop_what_the_type_has_not(spec, before)
        self._complete(spec)

    def _complete(self, spec: Obj, *, share: bool = False) -> None:
        kind = spec.get("type")
        if kind in _WITH_ADDRESS:
            if not spec.get("clusterIP") and not spec.get("clusterIPs"):
                spec["clusterIP"] = self.address()
                spec["clusterIPs"] = [spec["clusterIP"]]
            elif spec.get("clusterIP") not in (None, "None"):
                self._asked_for.add(spec["clusterIP"])
            _name_families(spec)
        if kind in _WITH_NODE_PORTS and spec.get("allocateLoadBalancerNodePorts", True):
            self._complete_ports(spec.get("ports") or (), share=share)
        if _is_health_checked(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = self.node_port()

    def _complete_ports(self, ports: Sequence[Obj], *, share: bool) -> None:
        """Allocate a node port for each port; a new service shares one between the protocols of a port."""
        known: dict[Any, int] = {}
        for port in ports:
            if port.get("nodePort"):
                self._asked_for.add(port["nodePort"])
                known.setdefault(port.get("port"), port["nodePort"])
        for port in ports:
            if not port.get("nodePort"):
                shared = known.get(port.get("port")) if share else None
                port["nodePort"] = shared or self.node_port()
                known.setdefault(port.get("port"), port["nodePort"])


def _is_health_checked(spec: Obj) -> bool:
    """Whether a load balancer asks each node for the service's endpoints."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _name_families(spec: Obj) -> None:
    undecided = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        # A headless service without a selector has manual endpoints, which may be of both families.
        spec["ipFamilyPolicy"] = "RequireDualStack" if undecided else "SingleStack"
    if not spec.get("ipFamilies"):
        both = undecided and spec["ipFamilyPolicy"] != "SingleStack"
        spec["ipFamilies"] = ["IPv4", "IPv6"] if both else ["IPv4"]


def _carry_over(spec: Obj, before: Obj) -> None:
    """Values that an update leaves out are kept, if both types have them."""
    if spec.get("type") in _WITH_ADDRESS and before.get("type") in _WITH_ADDRESS:
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
    if spec.get("type") in _WITH_NODE_PORTS and before.get("type") in _WITH_NODE_PORTS:
        known = {(port.get("protocol"), port.get("port")): port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            node_port = known.get((port.get("protocol"), port.get("port")))
            if not port.get("nodePort") and node_port:
                port["nodePort"] = node_port
    if _is_health_checked(spec) and _is_health_checked(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")


def _follow_address(spec: Obj, before: Obj) -> None:
    """Old clients know only clusterIP: a change there applies to the list too."""
    if spec.get("clusterIP") == before.get("clusterIP") or spec.get("clusterIPs") != before.get("clusterIPs"):
        return
    if not spec.get("clusterIP"):
        spec.pop("clusterIPs", None)
    else:
        spec["clusterIPs"] = [spec["clusterIP"], *(before.get("clusterIPs") or ())[1:]]


def _drop_what_the_type_has_not(spec: Obj, before: Obj) -> None:
    """Drop the fields that the new type does not have, unless the client changed them in the same write."""

    def drop(keys: Sequence[str]) -> None:
        for key in keys:
            if spec.get(key) == before.get(key):
                spec.pop(key, None)

    kind, was = spec.get("type"), before.get("type")
    if was in _WITH_ADDRESS and kind not in _WITH_ADDRESS:
        drop(_ADDRESS_FIELDS)
    if was == "ExternalName" and kind != "ExternalName":
        drop(("externalName",))
    if was in _WITH_NODE_PORTS and kind not in _WITH_NODE_PORTS:
        drop(("externalTrafficPolicy",))
        known: set[Any] = {port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            if port.get("nodePort") in known:
                port.pop("nodePort", None)
    if _is_health_checked(before) and not _is_health_checked(spec):
        drop(("healthCheckNodePort",))
    if was == "LoadBalancer" and kind != "LoadBalancer":
        drop(("allocateLoadBalancerNodePorts", "loadBalancerClass"))
