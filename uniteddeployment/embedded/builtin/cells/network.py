"""Cells of services, endpoints and ingresses."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj

_SHOWN = 3
"""Number of list items that are shown before the count of the rest."""


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _first(items: Sequence[str]) -> str:
    more = f" + {len(items) - _SHOWN} more..." if len(items) > _SHOWN else ""
    return ",".join(items[:_SHOWN]) + more


def service_cluster_ip(obj: Obj, _now: datetime) -> str:
    spec = _spec(obj)
    addresses = spec.get("clusterIPs") or ()
    return str(addresses[0] if addresses else spec.get("clusterIP") or "<none>")


def service_external_ip(obj: Obj, _now: datetime) -> str:
    spec = _spec(obj)
    external: list[str] = list(spec.get("externalIPs") or ())
    kind = spec.get("type")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind != "LoadBalancer":
        return ",".join(external) or "<none>"
    balanced = _balanced(obj)
    return ",".join([*([balanced] if balanced else []), *external]) or "<pending>"


def _balanced(obj: Obj) -> str:
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(dict.fromkeys(point.get("ip") or point.get("hostname") or "" for point in ingress))


def service_ports(obj: Obj, _now: datetime) -> str:
    texts = []
    for port in _spec(obj).get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or "<none>"


def service_selector(obj: Obj, _now: datetime) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((_spec(obj).get("selector") or {}).items())) or "<none>"


def endpoints(obj: Obj, _now: datetime) -> str:
    shown: list[str] = []
    if not obj.get("subsets"):
        return "<none>"
    for subset in obj["subsets"]:
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        shown += [_joined(ip, port.get("port")) for port in ports for ip in addresses] if ports else addresses
    return _first(shown)


def _joined(ip: str, port: object) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def slice_ports(obj: Obj, _now: datetime) -> str:
    ports = obj.get("ports") or ()
    texts = [str(port["port"] if port.get("port") is not None else port.get("name", "*")) for port in ports]
    return _first(texts) or "<unset>"


def slice_endpoints(obj: Obj, _now: datetime) -> str:
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return _first(addresses) or "<unset>"


def ingress_hosts(obj: Obj, _now: datetime) -> str:
    """The first hosts; rules without a host count among the rest."""
    rules = _spec(obj).get("rules") or ()
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _SHOWN:
            return f"{','.join(hosts)} + {len(rules) - _SHOWN} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"


def ingress_address(obj: Obj, _now: datetime) -> str:
    return _balanced(obj)


def ingress_ports(obj: Obj, _now: datetime) -> str:
    return "80, 443" if _spec(obj).get("tls") else "80"


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    function.__name__: function
    for function in (
        service_cluster_ip, service_external_ip, service_ports, service_selector, endpoints, slice_ports,
        slice_endpoints, ingress_hosts, ingress_address, ingress_ports,
    )
}  # fmt: skip
