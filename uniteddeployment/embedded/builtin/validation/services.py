"""Validation of services, endpoints, ingresses and network policies."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.defaults.services import externally_accessible
from uniteddeployment.embedded.builtin.prepare.services import FIRST_NODE_PORT, NODE_PORTS
from uniteddeployment.embedded.builtin.validation import load_balancers
from uniteddeployment.embedded.builtin.validation.causes import (
    duplicate,
    forbidden,
    invalid,
    invalids,
    not_supported,
    required,
)
from uniteddeployment.embedded.builtin.validation.containers import PROTOCOLS
from uniteddeployment.embedded.builtin.validation.fields import (
    dns_label,
    ip_address,
    label_selector,
    one_of,
    port_number,
    port_number_or_name,
)
from uniteddeployment.embedded.errors import Cause

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_TRAFFIC = ("Cluster", "Local")
_MAX_AFFINITY = 86400
_NODE_PORT_TEXT = (
    "provided port is not in the valid range. The range of valid ports is "
    f"{FIRST_NODE_PORT}-{FIRST_NODE_PORT + NODE_PORTS - 1}"
)
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def service(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    kind = spec.get("type")
    causes: list[Cause] = []
    headless = spec.get("clusterIP") == "None"
    ports = spec.get("ports") or ()
    if not ports and not headless and kind != "ExternalName":
        causes.append(required("spec.ports"))
    if kind == "ExternalName":
        causes += _external_name(spec)
    causes += _of_its_type(spec, ports)
    if kind not in _TYPES:
        causes.append(not_supported("spec.type", kind, _TYPES))
    causes += _ports(ports)
    causes += _selector(spec)
    causes += _affinity(spec)
    causes += _addresses(spec, headless=headless)
    return causes + one_of(spec, "internalTrafficPolicy", "spec", _TRAFFIC)


def _of_its_type(spec: Obj, ports: Sequence[Obj]) -> list[Cause]:
    """Fields that only some types have."""
    kind = spec.get("type")
    causes: list[Cause] = []
    if kind == "LoadBalancer":
        text = "may not expose port 10250 externally since it is used by kubelet"
        causes += [
            invalid(f"spec.ports[{i}]", 10250, text) for i, port in enumerate(ports) if port.get("port") == 10250
        ]
    else:
        text = "may only be used when `type` is 'LoadBalancer'"
        balanced = ("allocateLoadBalancerNodePorts", "loadBalancerClass")
        causes += [forbidden(f"spec.{key}", text) for key in balanced if spec.get(key) is not None]
    if kind == "ClusterIP":
        text = "may not be used when `type` is 'ClusterIP'"
        causes += [forbidden(f"spec.ports[{i}].nodePort", text) for i, port in enumerate(ports) if port.get("nodePort")]
    policy = spec.get("externalTrafficPolicy")
    if policy and not externally_accessible(spec):
        text = "may only be set for externally-accessible services"
        return [*causes, invalid("spec.externalTrafficPolicy", policy, text)]
    return causes + one_of(spec, "externalTrafficPolicy", "spec", _TRAFFIC)


def _external_name(spec: Obj) -> list[Cause]:
    external = spec.get("externalName", "")
    causes = (
        [forbidden("spec.clusterIPs", "may not be set for ExternalName services")] if spec.get("clusterIPs") else []
    )
    if not external:
        return [*causes, required("spec.externalName")]
    return causes + invalids("spec.externalName", external, names.subdomain(external.removesuffix(".")))


def _ports(ports: Sequence[Obj]) -> list[Cause]:
    causes: list[Cause] = []
    taken_names: set[str] = set()
    taken_ports: set[tuple[str, int]] = set()
    taken_node_ports: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        at = f"spec.ports[{index}]"
        name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
        if name:
            causes += dns_label(name, f"{at}.name")
            if name in taken_names:
                causes.append(duplicate(f"{at}.name", name))
            taken_names.add(name)
        elif len(ports) > 1:
            causes.append(required(f"{at}.name"))
        causes += port_number(number, f"{at}.port")
        if protocol not in PROTOCOLS:
            causes.append(not_supported(f"{at}.protocol", protocol, PROTOCOLS))
        causes += port_number_or_name(port.get("targetPort", 0), f"{at}.targetPort")
        if (protocol, number) in taken_ports:
            causes.append(duplicate(at, {"port": number, "protocol": protocol}))
        taken_ports.add((protocol, number))
        node_port = port.get("nodePort", 0)
        if node_port and not FIRST_NODE_PORT <= node_port < FIRST_NODE_PORT + NODE_PORTS:
            causes.append(invalid(f"{at}.nodePort", node_port, _NODE_PORT_TEXT))
        if node_port and (protocol, node_port) in taken_node_ports:
            causes.append(duplicate(f"{at}.nodePort", node_port))
        taken_node_ports.add((protocol, node_port))
    return causes


def _selector(spec: Obj) -> list[Cause]:
    causes: list[Cause] = []
    for key, value in (spec.get("selector") or {}).items():
        causes += invalids("spec.selector", key, names.label_key(key))
        causes += invalids("spec.selector", value, names.label_value(value))
    return causes


def _affinity(spec: Obj) -> list[Cause]:
    affinity = spec.get("sessionAffinity")
    if affinity not in _AFFINITIES:
        return [not_supported("spec.sessionAffinity", affinity, _AFFINITIES)]
    path = "spec.sessionAffinityConfig"
    config = spec.get("sessionAffinityConfig")
    if affinity == "None":
        text = "must not be set when session affinity is None"
        return [] if config is None else [forbidden(path, text)]
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
    if 0 < seconds <= _MAX_AFFINITY:
        return []
    text = f"must be greater than 0 and less than {_MAX_AFFINITY}"
    return [invalid(f"{path}.clientIP.timeoutSeconds", seconds, text)]


def _addresses(spec: Obj, *, headless: bool) -> list[Cause]:
    given = spec.get("clusterIPs") or ()
    causes: list[Cause] = []
    if headless and len(given) > 1:
        causes.append(invalid("spec.clusterIPs[0]", "None", "headless services may not have more than one cluster IP"))
    for index, address in enumerate(given):
        if address != "None":
            causes += ip_address(address, f"spec.clusterIPs[{index}]")
    for index, address in enumerate(spec.get("externalIPs") or ()):
        causes += ip_address(address, f"spec.externalIPs[{index}]")
    two_families = len(spec.get("ipFamilies") or ()) > 1 or spec.get("ipFamilyPolicy") == "RequireDualStack"
    if two_families and (spec.get("selector") or not headless):
        text = "this cluster is not configured for dual-stack services"
        causes.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text))
    return causes


def service_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        return load_balancers.of_service(new)
    spec, before = new["spec"], old["spec"]
    causes: list[Cause] = []
    kept = before.get("clusterIPs") or ()
    if kept and spec.get("type") != "ExternalName" and before.get("type") != "ExternalName":
        given = spec.get("clusterIPs") or ()
        if not given or given[0] != kept[0]:
            causes.append(invalid("spec.clusterIPs[0]", given, "may not change once set"))
    return causes + service(new)


def endpoints(obj: Obj) -> list[Cause]:
    causes: list[Cause] = []
    for index, subset in enumerate(obj.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            causes.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for key in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(key) or ()):
                causes += ip_address(address.get("ip", ""), f"{at}.{key}[{number}].ip")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            where = f"{at}.ports[{number}]"
            if len(ports) > 1 and not port.get("name"):
                causes.append(required(f"{where}.name"))
            causes += port_number(port.get("port", 0), f"{where}.port")
            causes += one_of(port, "protocol", where, PROTOCOLS)
    return causes


def endpoint_slice(obj: Obj) -> list[Cause]:
    kind = obj.get("addressType", "")
    causes: list[Cause] = []
    if not kind:
        causes.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        causes.append(not_supported("addressType", kind, _ADDRESS_TYPES))
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            causes.append(required(f"endpoints[{index}].addresses", "must contain at least 1 address"))
        if kind in ("IPv4", "IPv6"):
            for number, address in enumerate(addresses):
                causes += ip_address(address, f"endpoints[{index}].addresses[{number}]")
    taken: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        name = port.get("name") or ""
        if name in taken:
            causes.append(duplicate(f"ports[{index}].name", name))
        taken.add(name)
        if name:
            causes += dns_label(name, f"ports[{index}].name")
        causes += one_of(port, "protocol", f"ports[{index}]", PROTOCOLS)
    return causes


def endpoint_slice_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    causes = endpoint_slice(new)
    if new.get("addressType") != old.get("addressType"):
        causes.append(invalid("addressType", new.get("addressType"), "field is immutable"))
    return causes


def ingress(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes: list[Cause] = []
    if not spec.get("rules") and "defaultBackend" not in spec:
        causes.append(invalid("spec", [], "either `defaultBackend` or `rules` must be specified"))
    for index, rule in enumerate(spec.get("rules") or ()):
        host = rule.get("host", "")
        if host:
            causes += invalids(f"spec.rules[{index}].host", host, names.subdomain(host.removeprefix("*.")))
        for number, target in enumerate((rule.get("http") or {}).get("paths") or ()):
            at = f"spec.rules[{index}].http.paths[{number}]"
            if target.get("pathType") is None:
                causes.append(required(f"{at}.pathType", "pathType must be specified"))
            elif target["pathType"] not in _PATH_TYPES:
                causes.append(not_supported(f"{at}.pathType", target["pathType"], _PATH_TYPES))
            elif target["pathType"] != "ImplementationSpecific" and not target.get("path", "").startswith("/"):
                causes.append(invalid(f"{at}.path", target.get("path", ""), "must be an absolute path"))
    return causes


def ingress_update(new: Obj, _old: Obj, subresource: str) -> list[Cause]:
    return load_balancers.of_ingress(new) if subresource == "status" else ingress(new)


def network_policy(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes = label_selector(spec.get("podSelector"), "spec.podSelector")
    for index, kind in enumerate(spec.get("policyTypes") or ()):
        if kind not in ("Ingress", "Egress"):
            causes.append(not_supported(f"spec.policyTypes[{index}]", kind, ("Egress", "Ingress")))
    return causes
