"""Admission: checks of a new object against other objects of the cluster.

Contract: :func:`admit_create` runs after defaulting and before validation. It changes the object in place (its changes
get no owner) and raises StatusError (403) if the object is refused. It reads other objects through ``lookup`` only, and
not at all for kinds that need no admission. :func:`wanted` applies to updates too.
"""

from collections.abc import Callable, Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission import limits, nodes, priority, quota, services, storage
from uniteddeployment.embedded.builtin.admission.services import Wanted

Lookup = Callable[[str, str | None], Sequence[Obj]]
"""All objects of a resource key in a namespace (``""`` for cluster-scoped objects, None for all namespaces)."""

__all__ = ["Lookup", "Wanted", "admit_create", "wanted"]

_UNCOUNTED = frozenset({"events", "events.events.k8s.io"})
"""Kinds that no quota counts, because they are numerous and created implicitly."""


def admit_create(key: str, obj: Obj, lookup: Lookup) -> None:
    """Admit a new object of the resource ``key``. Raises StatusError if it is refused."""
    namespace = obj["metadata"].get("namespace", "")
    if key == "pods":
        priority.assign(obj, lookup("priorityclasses.scheduling.k8s.io", ""))
    elif key == "nodes":
        nodes.taint(obj)
    elif key == "persistentvolumeclaims":
        storage.classify(obj, lookup("storageclasses.storage.k8s.io", ""))
    if not namespace or key in _UNCOUNTED:
        return
    if key in limits.LIMITED:
        for limit_range in lookup("limitranges", namespace):
            limits.enforce(key, obj, limit_range)
    for held in lookup("resourcequotas", namespace):
        quota.charge(key, obj, held, lookup)


def wanted(key: str, obj: Obj, old: Obj | None) -> Wanted | None:
    """The unique values that an object requests, to be checked after validation; None if there are none."""
    return services.wanted(obj, old) if key == "services" else None
