"""ResourceQuotas: limits on the objects of a namespace.

Usage is computed from the objects each time, so it is always exact.
"""

from collections.abc import Callable, Sequence

from uniteddeployment.embedded.apimachinery.quantity import Quantity, parse
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission.denial import forbidden
from uniteddeployment.embedded.builtin.admission.limits import pod_total

Lookup = Callable[[str, str | None], Sequence[Obj]]

_COUNTED = frozenset({
    "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets", "services",
})  # fmt: skip
_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})
_ONE = Quantity(10**9)
_NOTHING = Quantity(0)
_ENDED = ("Succeeded", "Failed")


def resource_of(name: str) -> str:
    """The resource key whose objects a quota counts under ``name``; empty if it is unknown."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in _COUNTED:
        return name
    if name in ("services.nodeports", "services.loadbalancers"):
        return "services"
    if name == "requests.storage":
        return "persistentvolumeclaims"
    bare = name.removeprefix("requests.").removeprefix("limits.")
    return "pods" if bare in _COMPUTE else ""


def share(name: str, obj: Obj) -> Quantity:
    """The usage of one object under the quota name ``name``."""
    key = resource_of(name)
    spec = obj.get("spec") or {}
    if name in _COUNTED or name.startswith("count/"):
        return _NOTHING if name == "pods" and _ended(obj) else _ONE
    if key == "services":
        return _service_share(name, spec)
    if key == "persistentvolumeclaims":
        return parse(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))
    if key == "pods" and not _ended(obj):
        kind = "limits" if name.startswith("limits.") else "requests"
        return parse(pod_total(obj, kind).get(name.rpartition(".")[2] if "." in name else name, "0"))
    return _NOTHING


def _ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def _service_share(name: str, spec: Obj) -> Quantity:
    if name == "services.loadbalancers":
        return _ONE if spec.get("type") == "LoadBalancer" else _NOTHING
    return (
        Quantity(10**9 * len(spec.get("ports") or ())) if spec.get("type") in ("NodePort", "LoadBalancer") else _NOTHING
    )


def used(name: str, objects: Sequence[Obj]) -> str:
    """The total usage of some objects, in the form of a quota's status."""
    total = _NOTHING
    for obj in objects:
        total = total + share(name, obj)
    return str(total)


def charge(key: str, obj: Obj, quota: Obj, lookup: Lookup) -> None:
    """Refuse an object of the resource ``key`` that exceeds a quota."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    requested, taken, bounds = [], [], []
    for name, bound in sorted(hard.items()):
        if resource_of(name) != key:
            continue
        wanted = share(name, obj)
        held = parse(used(name, lookup(key, obj["metadata"].get("namespace", ""))))
        if wanted.nano and parse(bound) < held + wanted:
            requested.append(f"{name}={wanted}")
            taken.append(f"{name}={held}")
            bounds.append(f"{name}={bound}")
    if requested:
        name = quota["metadata"]["name"]
        parts = f"requested: {','.join(requested)}, used: {','.join(taken)}, limited: {','.join(bounds)}"
        raise forbidden(key, obj, f"exceeded quota: {name}, {parts}")
