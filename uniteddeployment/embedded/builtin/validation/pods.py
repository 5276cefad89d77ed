"""Pods and pod templates."""

import json
from collections.abc import Collection
from difflib import unified_diff
from typing import Any

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid, invalids, required
from uniteddeployment.embedded.builtin.validation.containers import containers, identities
from uniteddeployment.embedded.builtin.validation.fields import one_of, template_metadata
from uniteddeployment.embedded.builtin.validation.scheduling import affinity, spread, tolerations
from uniteddeployment.embedded.builtin.validation.volumes import volumes
from uniteddeployment.embedded.errors import Cause

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_DEADLINE = 2**31 - 1
_DEADLINE_TEXT = f"must be between 1 and {_MAX_DEADLINE}, inclusive"
_MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def template(given: Obj, path: str, claimed: Collection[str] = ()) -> list[Cause]:
    """A pod template. ``claimed`` are volumes that its pods will have besides those that it names."""
    return template_metadata(given, path) + pod_spec(given.get("spec") or {}, f"{path}.spec", claimed)


def pod(given: Obj) -> list[Cause]:
    return pod_spec(given.get("spec") or {}, "spec")


def pod_spec(spec: Obj, path: str, claimed: Collection[str] = ()) -> list[Cause]:
    given = spec.get("volumes") or ()
    causes = volumes(given, f"{path}.volumes") if given else []
    causes += containers(spec, path, {*claimed, *(volume.get("name", "") for volume in given)})
    causes += one_of(spec, "restartPolicy", path, _RESTART_POLICIES)
    causes += one_of(spec, "dnsPolicy", path, _DNS_POLICIES)
    if spec.get("securityContext"):
        causes += identities(spec["securityContext"], f"{path}.securityContext")
    if "affinity" in spec:
        causes += affinity(spec["affinity"], f"{path}.affinity")
    if "tolerations" in spec:
        causes += tolerations(spec["tolerations"], f"{path}.tolerations")
    if "topologySpreadConstraints" in spec:
        causes += spread(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    for key, value in (spec.get("nodeSelector") or {}).items():
        causes += invalids(f"{path}.nodeSelector", key, names.label_key(key))
        causes += invalids(f"{path}.nodeSelector", value, names.label_value(value))
    for key in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if spec.get(key):
            causes += invalids(f"{path}.{key}", spec[key], names.subdomain(spec[key]))
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            causes += invalids(f"{path}.{key}", spec[key], names.label(spec[key]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_DEADLINE:
        causes.append(invalid(f"{path}.activeDeadlineSeconds", deadline, _DEADLINE_TEXT))
    return causes


def pod_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    """A change of a pod: of what runs, only the images may change."""
    if subresource:
        return []
    spec, before = new["spec"], old["spec"]
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            return [forbidden(f"spec.{key}", "pod updates may not add or remove containers")]
    causes = [
        required(f"spec.{key}[{index}].image")
        for key in ("containers", "initContainers")
        for index, one in enumerate(spec.get(key) or ())
        if not one.get("image")
    ]
    causes += _deadline_update(spec, before)
    causes += _tolerations_update(spec, before)
    frozen, known = _frozen(spec, before), _frozen(before, before)
    if frozen != known:
        causes.append(forbidden("spec", _MUTABLE + _difference(known, frozen)))
    return causes


def _deadline_update(spec: Obj, before: Obj) -> list[Cause]:
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    path = "spec.activeDeadlineSeconds"
    if new is None:
        return [] if old is None else [invalid(path, None, "must not update from a positive integer to nil value")]
    if not 1 <= new <= _MAX_DEADLINE:
        return [invalid(path, new, _DEADLINE_TEXT)]
    return [invalid(path, new, "must be less than or equal to previous value")] if old is not None and new > old else []


def _tolerations_update(spec: Obj, before: Obj) -> list[Cause]:
    text = "existing toleration can not be modified except its tolerationSeconds"
    kept = [_timeless(one) for one in spec.get("tolerations") or ()]
    if any(_timeless(one) not in kept for one in before.get("tolerations") or ()):
        return [forbidden("spec.tolerations", text)]
    return tolerations(spec.get("tolerations") or (), "spec.tolerations")


def _timeless(toleration: Obj) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _frozen(spec: Obj, before: Obj) -> Obj:
    """A spec without what may change: two states of a pod must agree on it."""
    frozen = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations")}
    for key in ("containers", "initContainers"):
        if key in spec:
            frozen[key] = [{**one, "image": ""} for one in spec[key]]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        frozen["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    if "schedulingGates" in before:
        gates = {one.get("name") for one in before["schedulingGates"]}
        if all(one.get("name") in gates for one in spec.get("schedulingGates") or ()):
            frozen["schedulingGates"] = before["schedulingGates"]
    return frozen


def _difference(known: Obj, frozen: Obj) -> str:
    old, new = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (known, frozen))
    return "\n".join(list(unified_diff(old, new, n=3, lineterm=""))[2:]) + "\n"
