"""Validation of ConfigMaps, secrets, events, leases, nodes and namespaces."""

import re
from collections.abc import Mapping

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import (
    NON_NEGATIVE,
    POSITIVE,
    forbidden,
    invalid,
    invalids,
    not_supported,
    required,
    show,
    too_long,
)
from uniteddeployment.embedded.builtin.validation.fields import immutable
from uniteddeployment.embedded.errors import Cause

_MAX_DATA = 1024 * 1024
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_FROZEN_TEXT = "field is immutable when `immutable` is set"
_SECRET_KEYS: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MAX_NOTE = 1024


def _key(key: str) -> list[str]:
    errors = [names.too_long(253)] if len(key) > 253 else []
    if not _KEY.fullmatch(key):
        errors.append(_KEY_TEXT)
    if key in (".", ".."):
        errors.append(f"must not be '{key}'")
    elif key.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def config_map(obj: Obj) -> list[Cause]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    causes: list[Cause] = []
    size = 0
    for key, text in data.items():
        causes += invalids(f"data[{key}]", key, _key(key))
        if key in binary:
            causes.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(text.encode())
    for key, text in binary.items():
        causes += invalids(f"binaryData[{key}]", key, _key(key))
        size += _decoded_length(text)
    if size > _MAX_DATA:
        # The real server names no field here.
        causes.append(too_long("[]", _MAX_DATA))
    return causes


def _decoded_length(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def config_map_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    return _frozen(new, old, ("data", "binaryData")) + config_map(new)


def _frozen(new: Obj, old: Obj, keys: tuple[str, ...]) -> list[Cause]:
    if not old.get("immutable"):
        return []
    causes = [] if new.get("immutable") else [forbidden("immutable", _FROZEN_TEXT)]
    return causes + [forbidden(key, _FROZEN_TEXT) for key in keys if (new.get(key) or {}) != (old.get(key) or {})]


def secret(obj: Obj) -> list[Cause]:
    data = obj.get("data") or {}
    causes: list[Cause] = []
    size = 0
    for key, text in data.items():
        causes += invalids(f"data[{key}]", key, _key(key))
        size += _decoded_length(text)
    if size > _MAX_DATA:
        causes.append(too_long("data", _MAX_DATA))
    kind = obj.get("type", "")
    causes += [required(f"data[{key}]") for key in _SECRET_KEYS.get(kind, ()) if key not in data]
    if kind == "kubernetes.io/service-account-token":
        annotation = "kubernetes.io/service-account.name"
        if not (obj["metadata"].get("annotations") or {}).get(annotation):
            causes.append(required(f"metadata.annotations[{annotation}]"))
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        causes += [required(f"data[{key}]") for key in ("username", "password")]
    return causes


def secret_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    causes = immutable(new, old, "type", "type")
    return causes + _frozen(new, old, ("data",)) + secret(new)


def event(obj: Obj) -> list[Cause]:
    """A core/v1 event, which must be in the namespace of the object that it is about."""
    namespace = (obj.get("involvedObject") or {}).get("namespace", "")
    own = obj["metadata"].get("namespace", "")
    if not namespace and own in ("", "default", "kube-system"):
        return []
    if namespace and namespace != own:
        return [invalid("involvedObject.namespace", namespace, "does not match event.namespace")]
    return [] if namespace else [invalid("involvedObject.namespace", namespace, "does not match event.namespace")]


def new_event(obj: Obj) -> list[Cause]:
    """An events.k8s.io/v1 event, which has more required fields."""
    namespace = (obj.get("regarding") or {}).get("namespace", "")
    own = obj["metadata"].get("namespace", "")
    causes: list[Cause] = []
    if namespace != own and not (not namespace and own in ("default", "kube-system")):
        causes.append(invalid("involvedObject.namespace", namespace, "does not match event.namespace"))
    if not obj.get("eventTime"):
        causes.append(required("eventTime"))
    controller = obj.get("reportingController", "")
    if not controller:
        causes.append(required("reportingController"))
    causes += invalids("reportingController", controller, names.label_key(controller))
    causes += [required(key) for key in ("reportingInstance", "action", "reason") if not obj.get(key)]
    kind = obj.get("type", "")
    if kind not in ("Normal", "Warning"):
        causes.append(invalid("type", "", f"has invalid value: {kind}"))
    if len(obj.get("note", "")) > _MAX_NOTE:
        causes.append(invalid("message", "", f"can have at most {_MAX_NOTE} characters"))
    return causes


def event_update(_new: Obj, _old: Obj, _subresource: str) -> list[Cause]:
    """Updates of events are not validated: series grow and messages change."""
    return []


def lease(obj: Obj) -> list[Cause]:
    spec = obj.get("spec") or {}
    causes: list[Cause] = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        causes.append(invalid("spec.leaseDurationSeconds", duration, POSITIVE))
    if transitions is not None and transitions < 0:
        causes.append(invalid("spec.leaseTransitions", transitions, NON_NEGATIVE))
    return causes


def node(obj: Obj) -> list[Cause]:
    """The taints of a node, which the real server looks for in its metadata."""
    spec = obj.get("spec") or {}
    causes: list[Cause] = []
    taken: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        at = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        causes += invalids(f"{at}.key", key, names.label_key(key))
        causes += invalids(f"{at}.value", taint.get("value", ""), names.label_value(taint.get("value", "")))
        if not effect:
            causes.append(required(f"{at}.effect"))
        elif effect not in _TAINT_EFFECTS:
            causes.append(not_supported(f"{at}.effect", effect, _TAINT_EFFECTS))
        if (key, effect) in taken:
            shown = {"Key": key, "Value": taint.get("value", ""), "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            text = f"Duplicate value: {show(shown)}: taints must be unique by key and effect pair"
            causes.append(Cause("FieldValueDuplicate", text, at))
        taken.add((key, effect))
    return causes


def node_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        return []
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    # The real server checks the taints of a change twice, and those of a new node once.
    causes = node(new) * 2
    if before.get("podCIDR") and spec.get("podCIDR") != before["podCIDR"]:
        causes.append(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        causes.append(forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid'))
    return causes


def namespace_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    """The phase follows deletion: a terminating namespace stays terminating."""
    if subresource != "status":
        return []
    phase = (new.get("status") or {}).get("phase")
    wanted = "Terminating" if old["metadata"].get("deletionTimestamp") else "Active"
    if phase == wanted:
        return []
    text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
    if wanted == "Active":
        text = "may only be 'Active' if `deletionTimestamp` is empty"
    return [invalid("status.Phase", phase, text)]
