"""Validation of pod updates: of the pod, its ephemeral containers and the resources of its containers."""

import json
from collections.abc import Callable, Mapping
from difflib import unified_diff
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.prepare.pods import quality_of_service
from uniteddeployment.embedded.builtin.validation import gated
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid, required
from uniteddeployment.embedded.builtin.validation.pods import DEADLINE_TEXT, MAX_DEADLINE, pod_spec
from uniteddeployment.embedded.builtin.validation.scheduling import tolerations
from uniteddeployment.embedded.errors import Cause

_MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)
_RESIZABLE = frozenset({"cpu", "memory"})


def pod_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    """An update of a pod: in the spec almost only images may change."""
    if subresource:
        check = _SUBRESOURCES.get(subresource)
        return check(new, old) if check is not None else []
    spec, before = new["spec"], old["spec"]
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            return [forbidden(f"spec.{key}", "pod updates may not add or remove containers")]
    causes = [
        required(f"spec.{key}[{index}].image")
        for key in ("containers", "initContainers")
        for index, container in enumerate(spec.get(key) or ())
        if not container.get("image")
    ]
    causes += _deadline_update(spec, before)
    causes += _tolerations_update(spec, before)
    if before.get("schedulingGates"):
        causes += gated.update(spec, before)
    elif spec.get("schedulingGates"):
        causes += gated.new_gates(spec, before)
    frozen, known = _frozen(spec, before), _frozen(before, before)
    if frozen != known:
        causes.append(forbidden("spec", _MUTABLE + _difference(known, frozen)))
    return causes


def _deadline_update(spec: Obj, before: Obj) -> list[Cause]:
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    path = "spec.activeDeadlineSeconds"
    if new is None:
        return [] if old is None else [invalid(path, None, "must not update from a positive integer to nil value")]
    if not 1 <= new <= MAX_DEADLINE:
        return [invalid(path, new, DEADLINE_TEXT)]
    return [invalid(path, new, "must be less than or equal to previous value")] if old is not None and new > old else []


def _tolerations_update(spec: Obj, before: Obj) -> list[Cause]:
    text = "existing toleration can not be modified except its tolerationSeconds"
    kept = [_timeless(toleration) for toleration in spec.get("tolerations") or ()]
    if any(_timeless(toleration) not in kept for toleration in before.get("tolerations") or ()):
        return [forbidden("spec.tolerations", text)]
    return tolerations(spec.get("tolerations") or (), "spec.tolerations")


def _timeless(toleration: Obj) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _frozen(spec: Obj, before: Obj) -> Obj:
    """The spec without its mutable fields, in which two states of a pod must be equal."""
    frozen = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations")}
    for key in ("containers", "initContainers"):
        if key in spec:
            frozen[key] = [{**container, "image": ""} for container in spec[key]]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        frozen["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    gated.freeze(frozen, before)
    return frozen


def _difference(known: Obj, frozen: Obj) -> str:
    old, new = (json.dumps(spec, indent=1, sort_keys=True).splitlines() for spec in (known, frozen))
    return "\n".join(list(unified_diff(old, new, n=3, lineterm=""))[2:]) + "\n"


def _ephemeral_update(new: Obj, old: Obj) -> list[Cause]:
    """Ephemeral containers can be added, but neither changed nor removed."""
    causes = pod_spec(new["spec"], "spec")
    path = "spec.ephemeralContainers"
    given = {container["name"]: container for container in new["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        what = f"existing ephemeral containers {json.dumps(name)} may not be"
        if name not in given:
            causes.append(forbidden(path, f"{what} removed\n"))
        elif given[name] != container:
            causes.append(forbidden(path, f"{what} changed\n{_difference(container, given[name])}"))
    return causes


def _resize(new: Obj, old: Obj) -> list[Cause]:
    """cpu and memory of containers may change, but not be removed."""
    causes = pod_spec(new["spec"], "spec")
    if quality_of_service(old["spec"]) != quality_of_service(new["spec"]):
        text = "Pod QOS Class may not change as a result of resizing"
        causes.append(invalid("spec", old["status"].get("qosClass", ""), text))
    if not _node_resizes(old):
        causes.append(forbidden("spec", "Pod running on node without support for resize"))
    moved = [cause for key in ("containers", "initContainers") for cause in _moved(new, old, key)]
    if moved:
        return causes + moved
    for key in ("initContainers", "containers"):
        for index, before in enumerate(old["spec"].get(key) or ()):
            causes += _taken_away(new["spec"][key][index], before, f"spec.{key}[{index}].resources")
    causes += [
        forbidden("spec", "only cpu and memory resources are mutable")
        for container, before in zip(new["spec"]["containers"], old["spec"]["containers"], strict=True)
        if _other_resources(container) != _other_resources(before)
    ]
    causes += [
        forbidden(
            f"spec.initContainers[{index}]", "only cpu and memory resources for init or sidecar containers are mutable"
        )
        for index, before in enumerate(old["spec"].get("initContainers") or ())
        if _other_resources(new["spec"]["initContainers"][index]) != _other_resources(before)
    ]
    return causes


def _node_resizes(pod: Obj) -> bool:
    """Whether the pod's node reports the resources of containers; a node without running pods may do so later."""
    for container in pod["status"].get("containerStatuses") or ():
        if "running" in (container.get("state") or {}):
            return "resources" in container
    return True


def _moved(new: Obj, old: Obj, key: str) -> list[Cause]:
    given, before = new["spec"].get(key) or (), old["spec"].get(key) or ()
    if len(given) != len(before):
        return [forbidden(f"spec.{key}", f"{key} may not be added or removed on resize")]
    return [
        forbidden(f"spec.{key}[{index}].name", f"{key} may not be renamed or reordered on resize")
        for index, container in enumerate(before)
        if given[index]["name"] != container["name"]
    ]


def _taken_away(container: Obj, before: Obj, path: str) -> list[Cause]:
    given, known = container.get("resources") or {}, before.get("resources") or {}
    return [
        forbidden(f"{path}.{kind}", f"resource {kind} cannot be removed")
        for kind in ("requests", "limits")
        if set(known.get(kind) or ()) - set(given.get(kind) or ())
    ]


def _other_resources(container: Obj) -> Obj:
    """A container without its cpu and memory."""
    resources = container.get("resources") or {}
    kept = {
        kind: {name: amount for name, amount in (resources.get(kind) or {}).items() if name not in _RESIZABLE}
        for kind in ("requests", "limits")
    }
    return {**container, "resources": kept}


_SUBRESOURCES: Final[Mapping[str, Callable[[Obj, Obj], list[Cause]]]] = {
    "ephemeralcontainers": _ephemeral_update,
    "resize": _resize,
}
