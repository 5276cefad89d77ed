"""Defaults of services that depend on other fields: ports, and policies of the service's type."""

from collections.abc import Callable

from uniteddeployment.embedded.apimachinery.resources import Obj

_AFFINITY_SECONDS = 10800


def externally_accessible(spec: Obj) -> bool:
    """Whether the service is reachable from outside the cluster."""
    kind = spec.get("type")
    return kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _service_spec(spec: Obj) -> None:
    kind = spec["type"]
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", _AFFINITY_SECONDS)
    for port in spec.get("ports") or ():
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("ClusterIP", "NodePort", "LoadBalancer") and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True


def _service(service: Obj) -> None:
    """The mode of a load balancer address is VIP unless it is set."""
    if service["spec"].get("type") == "LoadBalancer":
        for point in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if point.get("ip") and point.get("ipMode") is None:
                point["ipMode"] = "VIP"


COMPUTED: dict[str, Callable[[Obj], None]] = {"core.v1.Service": _service, "core.v1.ServiceSpec": _service_spec}
