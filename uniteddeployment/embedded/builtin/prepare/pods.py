"""Pods: their first status, their quality of service, the tolerations and the priority that every pod has."""

from collections.abc import Iterator

from uniteddeployment.embedded.apimachinery.quantity import nano
from uniteddeployment.embedded.apimachinery.resources import Obj

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_COMPUTE = ("cpu", "memory")
_PARTS = frozenset({"ephemeralcontainers", "resize"})
"""Subresources that are a part of the spec."""
_KEPT_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
SYSTEM_PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
"""Priority classes that every cluster has."""


def prepare_create(pod: Obj) -> None:
    spec = pod.setdefault("spec", {})
    tolerate_lost_nodes(spec)
    if spec.get("priority") is None:
        spec["priority"] = SYSTEM_PRIORITIES.get(spec.get("priorityClassName", ""), 0)
    if spec.get("preemptionPolicy") is None:
        spec["preemptionPolicy"] = "PreemptLowerPriority"
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": None,
            }
        ]


def prepare_update(new: Obj, old: Obj, subresource: str) -> None:
    if subresource == "status":
        _keep(new["metadata"], old["metadata"], "ownerReferences")
        _keep(new["status"], old.get("status") or {}, "qosClass")
    elif subresource in _PARTS:
        _keep_all_but_part(new, old, subresource)
    elif not subresource:
        tolerate_lost_nodes(new["spec"])
        for key in ("priority", "preemptionPolicy"):
            if new["spec"].get(key) is None and key in old["spec"]:
                new["spec"][key] = old["spec"][key]


def _keep_all_but_part(new: Obj, old: Obj, subresource: str) -> None:
    """A subresource changes its part of the spec, and nobody's metadata but who owns what."""
    given, metadata = new["spec"], new["metadata"]
    for key in _KEPT_METADATA:
        _keep(metadata, old["metadata"], key)
    if subresource == "ephemeralcontainers":
        new["spec"] = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
        if "ephemeralContainers" in given:
            new["spec"]["ephemeralContainers"] = given["ephemeralContainers"]
        return
    if _names(given) != _names(old["spec"]):
        return
    resized = {
        key: [_resized(container, before) for container, before in zip(given[key], old["spec"][key], strict=True)]
        for key in ("containers", "initContainers")
        if key in given
    }
    new["spec"] = {**old["spec"], **resized}
    _keep(new["spec"], given, "resources")


def _names(spec: Obj) -> list[tuple[str, ...]]:
    return [tuple(one.get("name", "") for one in spec.get(key) or ()) for key in ("containers", "initContainers")]


def _resized(container: Obj, before: Obj) -> Obj:
    made = dict(before)
    for key in ("resources", "resizePolicy"):
        _keep(made, container, key)
    return made


def _keep(new: Obj, old: Obj, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def tolerate_lost_nodes(spec: Obj) -> None:
    """A pod stays for five minutes on a node that is lost, unless it says something else about such nodes."""
    given = spec.get("tolerations") or []
    missing = [key for key in _TOLERATED if not any(_tolerates(one, key) for one in given)]
    if missing:
        spec["tolerations"] = [
            *given,
            *(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
                for key in missing
            ),
        ]


def _tolerates(toleration: Obj, key: str) -> bool:
    return (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"


def quality_of_service(spec: Obj) -> str:
    """How a pod is treated when a node runs short: as its requests and limits promise."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    # What the pod promises as a whole stands for all of its containers.
    for container in [spec] if spec.get("resources") else _containers(spec):
        resources = container.get("resources") or {}
        _add(requests, resources.get("requests"))
        if not _add(limits, resources.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _containers(spec: Obj) -> Iterator[Obj]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _add(total: dict[str, int], amounts: dict[str, str] | None) -> bool:
    """Add up what counts; whether all of it was there."""
    found = 0
    for resource in _COMPUTE:
        amount = nano((amounts or {}).get(resource, "0"))
        if amount:
            total[resource] = total.get(resource, 0) + amount
            found += 1
    return found == len(_COMPUTE)
