"""Creating and updating objects: defaults, admission, ownership, validation, commit. Used by requests and controllers.

Contract: callers pass private objects in the form of the resource's version, decoded by its schema; returned objects
are shared. The order of the steps is the real server's, because it determines which of several errors a client sees.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.builtin.admission import admit_create, wanted
from uniteddeployment.embedded.errors import (
    Cause,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
    qualified,
)
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.managed_fields import typed
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.schema.node import Node
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Table

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
NAMESPACES = "namespaces"
NAME_ATTEMPTS = 8
VERSION_REQUIRED = frozenset(
    {"leases.coordination.k8s.io", "poddisruptionbudgets.policy", "customresourcedefinitions.apiextensions.k8s.io"}
)
"""Built-in resources whose updates must have a resourceVersion; all custom resources must too."""

PLACES = {
    "nodes": "minions",
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
}
"""Resources whose storage keys in the real server differ from their names."""

DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: [{}]"
)

UNOWNED = frozenset({"binding"})
"""Subresources whose changes get no owner."""

_canonical = msgspec.json.Encoder(order="deterministic").encode

Change = Callable[[Obj], Obj]
"""Returns the new object for the live one, which it must not change."""


class Target(NamedTuple):
    """One object, existing or not."""

    resource: Resource
    namespace: str
    name: str
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    def missing(self) -> StatusError:
        return not_found(self.resource.plural, self.resource.group, self.name)

    def invalid(self, obj: Obj, causes: list[Cause]) -> StatusError:
        """422 for an object. A custom resource may have another kind than the resource."""
        name, resource = obj["metadata"].get("name", ""), self.resource
        if resource.custom:
            group = obj.get("apiVersion", resource.api_version).rpartition("/")[0]
            return invalid(obj.get("kind", resource.kind), group, name, causes)
        return invalid(resource.kind, resource.extra.get("error_group", resource.group), name, causes)


def live(core: Core, target: Target) -> Obj | None:
    """The object in this version, or None; shared."""
    table = core.registry.table(target.resource)
    entry = table.entries.get(target.key)
    return None if entry is None else core.registry.show(target.resource, core.store.obj(table, entry))


# Creating


def create(core: Core, target: Target, obj: Obj, call: Call, *, owned: bool = True) -> Obj:
    """Store a new object. ``owned`` is False if its managedFields are set already (server-side apply)."""
    resource = target.resource
    metadata = obj.setdefault("metadata", {})
    place(target.namespace, metadata)
    version = metadata.get("resourceVersion")
    if owned:
        meta.wipe(metadata)
    resource.strategy.default(obj)
    _dedup_owners(metadata, call)
    if call.gate is not None:
        call.gate.creating(resource.key, obj)
    _admit(core, target, metadata)
    if owned:
        own(core, target, None, obj, call)
    admit_create(resource.key, obj, partial(_objects, core))
    generated = not metadata.get("name")
    meta.stamp(obj, core.clock.now(), core.random)
    requested = wanted(resource.key, obj, None)
    resource.strategy.prepare_create(obj)
    causes = [*meta.check_new(obj, resource.key, custom=resource.custom), *resource.strategy.validate_create(obj)]
    if causes:
        raise target.invalid(obj, causes)
    if call.gate is not None:
        call.gate.creating_by_update()
    if requested is not None:
        requested.check(obj, partial(_objects, core))
    call.warnings += resource.strategy.warnings(obj, None)
    table = core.registry.table(resource)
    _check_unversioned(version, call)
    _find_name(core, target, table, metadata, generated=generated)
    if call.dry_run:
        return obj
    core.store.create(table, (target.namespace, metadata["name"]), core.registry.hide(resource, obj))
    stored = live(core, Target(resource, target.namespace, metadata["name"]))
    return obj if stored is None else stored


def _check_unversioned(version: object, call: Call) -> None:
    """Storage refuses a new object that has a version (a version that is not a number counts as none)."""
    if not call.dry_run and isinstance(version, str) and version.isdecimal() and int(version):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")


def _objects(core: Core, key: str, namespace: str | None) -> list[Obj]:
    """The lookup of admission (None: all namespaces); objects are shared."""
    table = core.registry.table(core.registry.main(key)) if core.registry.serves(key) else None
    return core.store.objects(table, table.select(namespace)) if table is not None and table.entries else []


def place(namespace: str, metadata: Obj) -> None:
    """Set the namespace of the request; cluster-scoped objects get none."""
    if not namespace:
        metadata.pop("namespace", None)
        return
    if (metadata.get("namespace") or namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def _dedup_owners(metadata: Obj, call: Call) -> None:
    """Remove duplicate owner references, with a warning."""
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: list[Obj] = []
    duplicates: set[str] = set()
    for reference in references:
        if reference in kept:
            duplicates.add(str(reference.get("uid", "")))
        else:
            kept.append(reference)
    if duplicates:
        metadata["ownerReferences"] = kept
        call.warnings.append(DUPLICATE_OWNERS.format(" ".join(sorted(duplicates))))


def _admit(core: Core, target: Target, metadata: Obj) -> None:
    """Refuse a namespace that is missing or terminating."""
    if not target.namespace or not core.registry.serves(NAMESPACES):
        return
    table = core.registry.table(core.registry.main(NAMESPACES))
    entry = table.entries.get(("", target.namespace))
    if entry is None:
        raise not_found(NAMESPACES, "", target.namespace)
    namespace = core.store.obj(table, entry)
    if "deletionTimestamp" not in namespace["metadata"]:
        return
    resource, name = target.resource, metadata.get("name", "")
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    text = f"namespace {target.namespace} is being terminated"
    details["causes"] = [{"reason": "NamespaceTerminating", "message": text, "field": "metadata.namespace"}]
    raise StatusError(
        403,
        "Forbidden",
        f'{qualified(resource.plural, resource.group)} "{name}" is forbidden: unable to create new content in '
        f"namespace {target.namespace} because it is being terminated",
        details=details,
    )


def own(core: Core, target: Target, before: Obj | None, obj: Obj, call: Call) -> None:
    """Set managedFields for an update by ``call.manager``."""
    node = core.registry.node(target.resource)
    if target.resource.custom and target.subresource and not _typed(node, obj):
        # Values that do not fit the schema lose their owners. They can only be in parts that this write resets.
        obj["metadata"]["managedFields"] = []
        return
    managed.update(
        before,
        obj,
        manager=call.manager,
        api_version=target.resource.api_version,
        subresource=target.subresource,
        now=core.clock.now(),
        node=node,
        status=target.resource.status,
    )


def _typed(node: Node, obj: Obj) -> bool:
    try:
        typed.validate(node, obj)
    except typed.TypedError:
        return False
    return True


def _find_name(core: Core, target: Target, table: Table, metadata: Obj, *, generated: bool) -> None:
    """Refuse a name in use; a generated name is drawn again a few times."""
    prefix = metadata.get("generateName") or ""
    for _ in range(NAME_ATTEMPTS if generated else 1):
        if (target.namespace, metadata["name"]) not in table.entries:
            return
        if not generated:
            break
        metadata["name"] = meta.generate_name(prefix, core.random)
    raise already_exists(target.resource.plural, target.resource.group, metadata["name"])


# Updating


def update(
    core: Core, target: Target, change: Change, call: Call, *, owned: bool = True, versioned: bool = False
) -> Obj:
    """Store a new state of an object: nothing if it is unchanged, the deletion if only this write was holding it.

    ``versioned`` is true if a client sent the whole object (PUT), so that its resourceVersion and uid are
    preconditions; ``owned`` is as in :func:`create`.
    """
    strategy = target.resource.strategy
    before = live(core, target)
    if before is None:
        raise target.missing()
    new = change(before)
    if call.gate is not None:
        call.gate.changing(target.resource.key, new, before)
    metadata = new["metadata"]
    place(target.namespace, metadata)
    _check_version(target, metadata, before, versioned=versioned)
    meta.keep(new, before)
    _dedup_owners(metadata, call)
    metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
    if owned and target.subresource not in UNOWNED:
        own(core, target, before, new, call)
    requested = wanted(target.resource.key, new, before)
    strategy.prepare_update(new, before, target.subresource)
    meta.tidy(new["metadata"])
    causes = [*meta.check_update(new, before), *strategy.validate_update(new, before, target.subresource)]
    if causes:
        raise target.invalid(new, causes)
    if requested is not None:
        requested.check(new, partial(_objects, core))
    if target.subresource != "status":
        call.warnings += strategy.warnings(new, before)
    return commit(core, target, new, before, call)


def _check_version(target: Target, metadata: Obj, before: Obj, *, versioned: bool) -> None:
    resource, known = target.resource, before["metadata"]
    said = metadata.get("resourceVersion") or ""
    if versioned:
        check_uid(target, metadata, before)
    if not said or said == "0":
        if versioned and (resource.custom or resource.key in VERSION_REQUIRED):
            cause = Cause(
                "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
            )
            raise invalid(resource.plural, resource.group, target.name, [cause])
    elif said != known["resourceVersion"]:
        raise conflict(resource.plural, resource.group, target.name, MODIFIED)


def check_uid(target: Target, metadata: Obj, before: Obj) -> None:
    """A uid from a client must be that of the object."""
    known = before["metadata"]["uid"]
    if metadata.get("uid") and metadata["uid"] != known:
        raise _other_uid(target, metadata["uid"], known)


def _other_uid(target: Target, said: str, known: str) -> StatusError:
    resource = target.resource
    return conflict(
        resource.plural,
        resource.group,
        target.name,
        f"StorageError: invalid object, Code: 4, Key: {_storage_key(target)}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {said}, UID in object meta: {known}",
    )


def _storage_key(target: Target) -> str:
    """The storage key of an object in the real server."""
    resource = target.resource
    place = f"{resource.group}/{resource.plural}" if resource.custom else PLACES.get(resource.plural, resource.plural)
    return "/".join(part for part in ("/registry", place, target.namespace, target.name) if part)


def commit(core: Core, target: Target, new: Obj, before: Obj, call: Call) -> Obj:
    """Commit a validated state: nothing if it is unchanged, the deletion if nothing holds the object any more."""
    table = core.registry.table(target.resource)
    if released(target.resource, new):
        if not call.dry_run:
            core.store.remove(table, target.key)
        return new
    if unchanged(new, before):
        return before
    if call.dry_run:
        return new
    core.store.replace(table, target.key, core.registry.hide(target.resource, new))
    stored = live(core, target)
    return new if stored is None else stored


def released(resource: Resource, obj: Obj) -> bool:
    """Whether an object is terminating and nothing holds it."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if resource.key == NAMESPACES:
        return not obj.get("spec", {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def unchanged(new: Obj, before: Obj) -> bool:
    """Whether two states are equal, apart from the times in managedFields."""
    if new.keys() != before.keys():
        return False
    after, prior = new["metadata"], before["metadata"]
    if any(new[field] != before[field] for field in new if field != "metadata"):
        return False
    if after.keys() != prior.keys():
        return False
    if any(after[field] != prior[field] for field in after if field != "managedFields"):
        return False
    if _timeless(after) != _timeless(prior):
        return False
    # Python considers 1, 1.0 and True equal, JSON does not.
    return _canonical(_bare(new)) == _canonical(_bare(before))


def _timeless(metadata: Obj) -> list[Obj]:
    return [{k: v for k, v in entry.items() if k != "time"} for entry in metadata.get("managedFields", ())]


def _bare(obj: Obj) -> Obj:
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
