"""Validation of containers: images, ports, environment, mounts, resources, security."""

import re
from collections.abc import Collection, Mapping, Sequence

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.quantity import NANO, nano
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import (
    NON_NEGATIVE,
    duplicate,
    forbidden,
    invalid,
    invalids,
    not_found,
    not_supported,
    required,
)
from uniteddeployment.embedded.builtin.validation.fields import dns_label, one_of, port_name, port_number
from uniteddeployment.embedded.builtin.validation.probes import lifecycle, probe
from uniteddeployment.embedded.errors import Cause

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("FallbackToLogsOnError", "File")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})
_MAX_ID = 2**31 - 1
_ID_TEXT = f"must be between 0 and {_MAX_ID}, inclusive"
_ENV_NAME = re.compile(r"[ -<>-~]+")
_ENV_NAME_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELD_PATHS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_MAP_FIELD = re.compile(r"metadata\.(labels|annotations)(\['.*'\])?")
_REFERENCE_FIELDS = {
    "configMapKeyRef": ("name", "key"),
    "secretKeyRef": ("name", "key"),
    "resourceFieldRef": ("resource",),
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_LASTING = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", *_PROBES, "lifecycle",
)  # fmt: skip
"""Fields of containers that ephemeral containers do not have."""
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


def containers(spec: Obj, path: str, volumes: Collection[str]) -> list[Cause]:
    """The containers of a pod, init containers first."""
    causes: list[Cause] = []
    taken: set[str] = set()
    host_network = bool(spec.get("hostNetwork"))
    given = spec.get("containers") or ()
    if not given:
        causes.append(required(f"{path}.containers"))
    for index, container in enumerate(given):
        at = f"{path}.containers[{index}]"
        causes += _container(container, at, volumes, host_network=host_network)
        causes += _name(container, at, taken)
    for index, container in enumerate(spec.get("initContainers") or ()):
        at = f"{path}.initContainers[{index}]"
        causes += _container(container, at, volumes, host_network=host_network)
        causes += _name(container, at, taken)
        if container.get("restartPolicy") != "Always":
            text = "may not be set for init containers without restartPolicy=Always"
            causes += [forbidden(f"{at}.{key}", text) for key in ("lifecycle", *_PROBES) if key in container]
    return causes


def ephemeral_containers(spec: Obj, path: str, volumes: Collection[str]) -> list[Cause]:
    """Ephemeral containers, which are added to a running pod for debugging."""
    causes: list[Cause] = []
    others = {
        container.get("name", "") for key in ("containers", "initContainers") for container in spec.get(key) or ()
    }
    taken = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}.ephemeralContainers[{index}]"
        causes += _container(container, at, volumes, host_network=bool(spec.get("hostNetwork")))
        causes += _name(container, at, taken)
        target = container.get("targetContainerName")
        if target and target not in others:
            causes.append(not_found(f"{at}.targetContainerName", target))
        causes += [forbidden(f"{at}.{key}", _NOT_EPHEMERAL) for key in _LASTING if container.get(key)]
        causes += [
            forbidden(f"{at}.volumeMounts[{number}].{key}", _NOT_EPHEMERAL)
            for number, mount in enumerate(container.get("volumeMounts") or ())
            for key in ("subPath", "subPathExpr")
            if mount.get(key)
        ]
    return causes


def _name(container: Obj, path: str, taken: set[str]) -> list[Cause]:
    name = container.get("name", "")
    causes = dns_label(name, f"{path}.name")
    if name and name in taken:
        causes.append(duplicate(f"{path}.name", name))
    taken.add(name)
    return causes


def _container(container: Obj, path: str, volumes: Collection[str], *, host_network: bool) -> list[Cause]:
    causes: list[Cause] = []
    image = container.get("image", "")
    if not image:
        causes.append(required(f"{path}.image"))
    elif image.strip() != image:
        causes.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
    if "ports" in container:
        causes += _ports(container["ports"], f"{path}.ports", host_network=host_network)
    if "env" in container:
        causes += _environment(container["env"], f"{path}.env")
    if "envFrom" in container:
        causes += _environment_sources(container["envFrom"], f"{path}.envFrom")
    if "volumeMounts" in container:
        causes += _mounts(container["volumeMounts"], f"{path}.volumeMounts", volumes)
    for key in _PROBES:
        if key in container:
            causes += probe(container[key], f"{path}.{key}", once=key != "readinessProbe")
    if "lifecycle" in container:
        causes += lifecycle(container["lifecycle"], f"{path}.lifecycle")
    causes += one_of(container, "terminationMessagePolicy", path, _MESSAGE_POLICIES)
    causes += one_of(container, "imagePullPolicy", path, _PULL_POLICIES)
    causes += one_of(container, "restartPolicy", path, _RESTART_POLICIES)
    if container.get("resources"):
        causes += resources(container["resources"], f"{path}.resources")
    if "securityContext" in container:
        causes += _security(container["securityContext"], f"{path}.securityContext")
    return causes


def _ports(ports: Sequence[Obj], path: str, *, host_network: bool) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        name = port.get("name")
        if name:
            errors = port_name(name)
            causes += invalids(f"{at}.name", name, errors)
            if not errors and name in taken:
                causes.append(duplicate(f"{at}.name", name))
            taken.add(name)
        number, on_host = port.get("containerPort", 0), port.get("hostPort", 0)
        causes += port_number(number, f"{at}.containerPort") if number else [required(f"{at}.containerPort")]
        if on_host:
            causes += port_number(on_host, f"{at}.hostPort")
            if host_network and on_host != number:
                causes.append(
                    invalid(f"{at}.hostPort", on_host, "must match `containerPort` when `hostNetwork` is true")
                )
        if port.get("protocol") not in PROTOCOLS:
            causes.append(not_supported(f"{at}.protocol", port.get("protocol", ""), PROTOCOLS))
    return causes


def _environment(env: Sequence[Obj], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, variable in enumerate(env):
        name = variable.get("name", "")
        if not name:
            causes.append(required(f"{path}[{index}].name"))
        elif not _ENV_NAME.fullmatch(name):
            causes.append(invalid(f"{path}[{index}].name", name, _ENV_NAME_TEXT))
        if "valueFrom" in variable:
            causes += _environment_value(variable, f"{path}[{index}].valueFrom")
    return causes


def _environment_value(variable: Obj, path: str) -> list[Cause]:
    source = variable["valueFrom"]
    given = [key for key in _ENV_SOURCES if key in source]
    causes: list[Cause] = []
    if "fieldRef" in source:
        field_path = source["fieldRef"].get("fieldPath", "")
        if not field_path:
            causes.append(required(f"{path}.fieldRef.fieldPath"))
        elif not _MAP_FIELD.fullmatch(field_path) and field_path not in _FIELD_PATHS:
            causes.append(not_supported(f"{path}.fieldRef.fieldPath", field_path, _FIELD_PATHS))
    for key, fields in _REFERENCE_FIELDS.items():
        if key in source:
            causes += [required(f"{path}.{key}.{field}") for field in fields if not source[key].get(field)]
    if not given:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        causes.append(invalid(path, "", text))
    elif variable.get("value"):
        causes.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        causes.append(invalid(path, "", "may not have more than one field specified at a time"))
    return causes


def _environment_sources(sources: Sequence[Obj], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        given = [key for key in ("configMapRef", "secretRef") if key in source]
        causes += [required(f"{at}.{key}.name") for key in given if not source[key].get("name")]
        if not given:
            causes.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            causes.append(invalid(at, "", "may not have more than one field specified at a time"))
    return causes


def _mounts(mounts: Sequence[Obj], path: str, volumes: Collection[str]) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        at = f"{path}[{index}]"
        name, where = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            causes.append(required(f"{at}.name"))
        elif name not in volumes:
            causes.append(not_found(f"{at}.name", name))
        if not where:
            causes.append(required(f"{at}.mountPath"))
        elif where in taken:
            causes.append(invalid(f"{at}.mountPath", where, "must be unique"))
        taken.add(where)
        causes += sub_path(mount.get("subPath", ""), f"{at}.subPath")
    return causes


def sub_path(value: str, path: str) -> list[Cause]:
    """A relative path that must stay inside its base."""
    if value.startswith("/"):
        return [invalid(path, value, "must be a relative path")]
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def resources(given: Obj, path: str) -> list[Cause]:
    """Requests and limits."""
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    causes = _amounts(limits, f"{path}.limits")
    causes += _amounts(requests, f"{path}.requests")
    for name, wanted in requests.items():
        bound = limits.get(name)
        if bound is None:
            continue
        if name not in _COMPUTE and nano(wanted) != nano(bound):
            causes.append(invalid(f"{path}.requests", wanted, f"must be equal to {name} limit of {bound}"))
        elif nano(wanted) > nano(bound):
            causes.append(invalid(f"{path}.requests", wanted, f"must be less than or equal to {name} limit of {bound}"))
    return causes


def _amounts(amounts: Mapping[str, str], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for name, amount in amounts.items():
        at, size = f"{path}[{name}]", nano(amount)
        if name not in _COMPUTE:
            causes += invalids(at, name, names.label_key(name))
            if "/" not in name and not name.startswith("hugepages-"):
                causes.append(invalid(at, name, "must be a standard resource type or fully qualified"))
                causes.append(invalid(at, name, "must be a standard resource for containers"))
            if size % NANO:
                causes.append(invalid(at, amount, "must be an integer"))
        if size < 0:
            causes.append(invalid(at, amount, NON_NEGATIVE))
    return causes


def _security(context: Obj, path: str) -> list[Cause]:
    causes = identities(context, path)
    if context.get("allowPrivilegeEscalation") is False and context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        causes.append(invalid(path, context, text))
    return causes


def identities(context: Obj, path: str) -> list[Cause]:
    """User and group ids of a security context."""
    return [
        invalid(f"{path}.{key}", context[key], _ID_TEXT)
        for key in ("runAsUser", "runAsGroup", "fsGroup")
        if context.get(key) is not None and not 0 <= context[key] <= _MAX_ID
    ]
