"""Deletion of objects: preconditions, grace periods, finalizers.

Contract: :func:`delete` returns the last state of the object and whether it is deleted. Objects that wait for
dependents are only marked here (``orphan`` and ``foregroundDeletion``); the garbage collector, a controller, does the
rest.
"""

from dataclasses import dataclass
from datetime import timedelta

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.crd.definition import conditions
from uniteddeployment.embedded.errors import StatusError, conflict
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.write import NAMESPACES, Target, live, unchanged
from uniteddeployment.embedded.storage.state import Core

PODS = "pods"
ORPHANED = frozenset({"jobs.batch", "replicationcontrollers"})
"""Resources whose dependents are orphaned by default."""

PROTECTED = frozenset({"default", "kube-system", "kube-public"})
"""Namespaces that cannot be deleted."""

_COLLECTED = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a deletion."""

    grace_seconds: int | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class Deleted:
    """``obj`` is the last state; ``gone`` is true if it is no longer stored."""

    obj: Obj
    gone: bool


def delete(core: Core, target: Target, options: DeleteOptions, call: Call) -> Deleted:
    """Delete one object, or mark it as terminating."""
    before = live(core, target)
    if before is None:
        raise target.missing()
    resource = target.resource
    if resource.key == NAMESPACES and target.name in PROTECTED:
        raise StatusError(
            403,
            "Forbidden",
            f'namespaces "{target.name}" is forbidden: this namespace may not be deleted',
            details={"name": target.name, "kind": NAMESPACES},
        )
    _check_preconditions(target, before, options)
    new = clone(before)
    if not _settled(resource, new["metadata"], options):
        _set_finalizers(resource, new["metadata"], options.propagation)
    if resource.key == conditions.KEY and "deletionTimestamp" not in new["metadata"]:
        conditions.terminate(new, meta.timestamp(core.clock.now()))
        held = True
    elif resource.key == NAMESPACES:
        held = _end_namespace(core, new)
    else:
        held = _mark(core, resource, new, options)
    if held:
        if not call.dry_run and not unchanged(new, before):
            new = _replace(core, target, new)
        return Deleted(new, gone=False)
    if not call.dry_run:
        core.store.remove(core.registry.table(resource), target.key)
    # Only resources with graceful deletion show the mark in the response.
    return Deleted(new if resource.key == PODS else before, gone=True)


def _replace(core: Core, target: Target, new: Obj) -> Obj:
    core.store.replace(core.registry.table(target.resource), target.key, core.registry.hide(target.resource, new))
    stored = live(core, target)
    return new if stored is None else stored


def _check_preconditions(target: Target, before: Obj, options: DeleteOptions) -> None:
    """The object must have the uid and resourceVersion that the client expects."""
    metadata, resource = before["metadata"], target.resource
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource.kind, resource.group, target.name, why)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise conflict(resource.kind, resource.group, target.name, why)


def _settled(resource: Resource, metadata: Obj, options: DeleteOptions) -> bool:
    """Whether a pod is terminating already and this deletion does not shorten its grace period."""
    if resource.key != PODS or "deletionTimestamp" not in metadata:
        return False
    requested, current = options.grace_seconds, metadata.get("deletionGracePeriodSeconds", 0)
    return requested is None or (requested if requested >= 0 else 1) >= current


def _set_finalizers(resource: Resource, metadata: Obj, propagation: str | None) -> None:
    """Add or remove the finalizers of the deletion propagation policies."""
    before = metadata.get("finalizers") or []
    collected = _COLLECTED.values()
    if propagation is None:
        # The object's own finalizers take precedence over the default of its kind.
        if resource.key not in ORPHANED or any(name in collected for name in before):
            return
        propagation = "Orphan"
    wanted = _COLLECTED.get(propagation)
    if {name for name in before if name in collected} == ({wanted} if wanted else set()):
        return
    finalizers = [name for name in before if name not in collected]
    metadata["finalizers"] = [*finalizers, wanted] if wanted else finalizers
    meta.tidy(metadata)


def _end_namespace(core: Core, new: Obj) -> bool:
    """Mark a namespace as terminating; its controller deletes its content and removes its spec.finalizers."""
    metadata = new["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = meta.timestamp(core.clock.now())
        new.setdefault("status", {})["phase"] = "Terminating"
    return bool(new.get("spec", {}).get("finalizers") or metadata.get("finalizers"))


def _mark(core: Core, resource: Resource, new: Obj, options: DeleteOptions) -> bool:
    """Set or shorten the deletion time; return whether the object stays for now."""
    metadata = new["metadata"]
    grace = _grace(resource, new, options)
    current = metadata.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = meta.timestamp(core.clock.now() + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
    elif options.grace_seconds is not None and current and grace < current:
        # The grace period can be shortened, but not extended.
        due = meta.parse_timestamp(metadata["deletionTimestamp"]) - timedelta(seconds=current - grace)
        metadata["deletionTimestamp"] = meta.timestamp(due)
        metadata["deletionGracePeriodSeconds"] = grace
    return bool(metadata["deletionGracePeriodSeconds"] or metadata.get("finalizers"))


def _grace(resource: Resource, obj: Obj, options: DeleteOptions) -> int:
    """Seconds until the object is deleted: more than 0 only for a pod on a node."""
    if resource.key != PODS:
        return 0
    spec = obj.get("spec", {})
    if not spec.get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    seconds = options.grace_seconds
    if seconds is None:
        seconds = spec.get("terminationGracePeriodSeconds", 30)
    return int(seconds) if seconds >= 0 else 1
