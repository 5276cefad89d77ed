"""Preparation of pods: first status, quality of service, default tolerations, priority."""

from collections.abc import Iterator

from uniteddeployment.embedded.apimachinery.quantity import nano
from uniteddeployment.embedded.apimachinery.resources import Obj

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_COMPUTE = ("cpu", "memory")
_PARTS = frozenset({"ephemeralcontainers", "resize"})
"""Subresources that change a part of the spec."""
_KEPT_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
SYSTEM_PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
"""Built-in priority classes."""


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
                "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
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
    """A subresource changes only its part of the spec, and of the metadata only managedFields."""
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
    return [
        tuple(container.get("name", "") for container in spec.get(key) or ())
        for key in ("containers", "initContainers")
    ]


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
    """Tolerate lost nodes for five minutes, unless the pod has tolerations of its own for them."""
    given = spec.get("tolerations") or []
    missing = [key for key in _TOLERATED if not any(_tolerates(toleration, key) for toleration in given)]
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
    """The quality of service class, from requests and limits."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    # Resources at pod level replace those of the containers.
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
    """Sum up the relevant resources; return whether all of them are set."""
    present = 0
    for resource in _COMPUTE:
        amount = nano((amounts or {}).get(resource, "0"))
        if amount:
            total[resource] = total.get(resource, 0) + amount
            present += 1
    return present == len(_COMPUTE)
