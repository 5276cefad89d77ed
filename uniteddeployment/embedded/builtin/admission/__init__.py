"""Admission: what other objects of the cluster have to say about a new one.

Contract: :func:`admit_create` runs after defaulting and before anything of the object is checked or stored. It changes
the object in place (nobody comes to own what it sets) and raises StatusError (403) for what may not come in. It learns
about other objects through ``lookup`` only, and does without it for kinds that nobody has anything to say about.
:func:`wanted` is about changes, too.
"""

from collections.abc import Callable, Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission import limits, priority, quota, services, storage
from uniteddeployment.embedded.builtin.admission.services import Wanted

Lookup = Callable[[str, str | None], Sequence[Obj]]
"""All objects of a resource key in a namespace (``""`` for what has none, None for all namespaces)."""

__all__ = ["Lookup", "Wanted", "admit_create", "wanted"]

_UNCOUNTED = frozenset({"events", "events.events.k8s.io"})
"""Kinds that no quota counts: they are too many, and nobody asked for them."""


def admit_create(key: str, obj: Obj, lookup: Lookup) -> None:
    """Let a new object of the resource ``key`` in, or raise StatusError."""
    namespace = obj["metadata"].get("namespace", "")
    if key == "pods":
        priority.assign(obj, lookup("priorityclasses.scheduling.k8s.io", ""))
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
    """What an object asks for of which there is only one, to be checked when nothing else is wrong with the object."""
    return services.wanted(obj, old) if key == "services" else None
