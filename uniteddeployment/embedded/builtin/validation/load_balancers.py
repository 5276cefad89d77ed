"""Validation of load balancer addresses in the status of Services and Ingresses."""

import ipaddress

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid, invalids, not_supported, required
from uniteddeployment.embedded.builtin.validation.fields import ip_address
from uniteddeployment.embedded.errors import Cause

_PATH = "status.loadBalancer.ingress"
_MODES = ("Proxy", "VIP")


def of_service(service: Obj) -> list[Cause]:
    """Validate the addresses of a Service."""
    points = _points(service)
    if points and service["spec"].get("type") != "LoadBalancer":
        return [forbidden(_PATH, "may only be used when `spec.type` is 'LoadBalancer'")]
    causes = of_ingress(service)
    for index, point in enumerate(points):
        at, mode = f"{_PATH}[{index}].ipMode", point.get("ipMode")
        if mode is None:
            causes += [required(at, "must be specified when `ip` is set")] if point.get("ip") else []
        elif not point.get("ip"):
            causes.append(forbidden(at, "may not be specified when `ip` is not set"))
        elif mode not in _MODES:
            causes.append(not_supported(at, mode, _MODES))
    return causes


def of_ingress(obj: Obj) -> list[Cause]:
    """Validate the addresses of an Ingress."""
    causes: list[Cause] = []
    for index, point in enumerate(_points(obj)):
        at, host = f"{_PATH}[{index}]", point.get("hostname", "")
        if point.get("ip"):
            causes += ip_address(point["ip"], f"{at}.ip")
        if host:
            causes += invalids(f"{at}.hostname", host, names.subdomain(host))
            if _is_address(host):
                causes.append(invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address"))
    return causes


def _points(obj: Obj) -> list[Obj]:
    balancer: Obj = (obj.get("status") or {}).get("loadBalancer") or {}
    return balancer.get("ingress") or []


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
