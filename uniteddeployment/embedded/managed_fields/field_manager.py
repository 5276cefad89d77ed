"""Field ownership: the managedFields of updates, and server-side apply.

Both functions must be called where the real server does it: on the decoded and defaulted object, before the kind's
strategy resets, allocates or counts anything (those values get no owner). ``live`` is the stored object, or None on
creation; it is never changed. ``new`` may share parts with ``live`` afterwards.

``status`` is true if the kind has a status subresource: writes of the object then never own ``status``. Writes of
``/status`` never own ``spec`` (for custom resources they own ``status`` only). Owners under other versions of a kind
are assumed to use the same paths.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import StatusError, bad_request
from uniteddeployment.embedded.managed_fields import combine, entries, typed
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields import last_applied as lastapplied
from uniteddeployment.embedded.managed_fields.compare import Comparison, compare
from uniteddeployment.embedded.managed_fields.conflicts import conflict_error, conflicting, without
from uniteddeployment.embedded.managed_fields.entries import APPLY, UPDATE, Entries, Entry, Manager
from uniteddeployment.embedded.managed_fields.field_set import LEAF, SELF, Fields, FieldsError
from uniteddeployment.embedded.schema.node import Node

BEFORE_FIRST_APPLY: Final = "before-first-apply"
KUBECTL: Final = "kubectl"

_UNTRACKED_META: Final = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
_STATUS_KEEPS: Final = {
    "Deployment": frozenset({"labels"}),
    "Pod": frozenset({"ownerReferences", "deletionTimestamp"}),
}
"""Metadata that a write of a built-in kind's status does not change."""

_RESETS_NOTHING: Final = frozenset({"ephemeralcontainers", "resize"})
"""Subresources whose writers also own fields that their write does not change."""

_UNTRACKED: Final[Fields] = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {SELF: LEAF, **{fieldset.field(name): LEAF for name in _UNTRACKED_META}},
}


@dataclass(frozen=True, slots=True)
class _Write:
    """One kind of write, at one time."""

    node: Node
    api_version: str
    subresource: str
    status: bool
    time: str

    def manager(self, name: str, operation: str) -> Manager:
        return entries.manager_of(name, operation, self.api_version, self.subresource)

    def owned(self, fields: Fields) -> Fields:
        """The part of a set that this kind of write can own."""
        if self.subresource == "status" and not self.node.definition:
            return {name: below for name, below in fields.items() if name == "f:status"}
        return fieldset.without(fields, {fieldset.field(self._reset): LEAF})

    def compare(self, old: Obj | None, new: Obj) -> Comparison:
        """The differences in the parts that this kind of write can own."""
        return compare(self.node, self._tracked(old), self._tracked(new))

    @property
    def _reset(self) -> str:
        """The top-level field that this kind of write resets; empty if there is none."""
        if self.subresource == "status":
            return "spec"
        return "status" if self.status and self.subresource not in _RESETS_NOTHING else ""

    def _tracked(self, obj: Obj | None) -> Obj:
        if obj is None:
            return {"metadata": {}}
        if self.subresource == "status" and not self.node.definition:
            return {"status": obj["status"]} if "status" in obj else {}
        untracked = ("apiVersion", "kind", "metadata", self._reset)
        tracked = {name: value for name, value in obj.items() if name not in untracked}
        metadata = obj.get("metadata") or {}
        tracked["metadata"] = {name: value for name, value in metadata.items() if name not in _UNTRACKED_META}
        if self.subresource == "status":
            for name in _STATUS_KEEPS.get(self.node.definition, ()):
                tracked["metadata"].pop(name, None)
        return tracked


def update(
    live: Obj | None,
    new: Obj,
    *,
    manager: str,
    operation: str = UPDATE,
    api_version: str,
    subresource: str,
    now: datetime,
    node: Node,
    status: bool = True,
) -> None:
    """Set ``new.metadata.managedFields`` after a create, an update or a patch other than apply.

    ``manager`` takes over the fields that differ between ``live`` and ``new``. A client may replace the entries (but
    not through a subresource), or reset them with ``[{}]``. An object without entries stays without.
    """
    metadata: dict[str, Any] = new.setdefault("metadata", {})
    given = metadata.pop("managedFields", None)
    stored: list[dict[str, Any]] = (live or {}).get("metadata", {}).get("managedFields") or []
    owners = _starting_point(stored, given, subresource)
    if not owners and live is not None:
        return
    write = _Write(node, api_version, subresource, status, entries.timestamp(now))
    owners = _reconciled(owners, node)
    comparison = write.compare(live, new)
    mine = write.manager(manager, operation)
    touched = comparison.touched()
    result = _taken_from(owners, touched, comparison.removed)
    if touched:
        held = result.get(mine)
        fields = fieldset.union(held.fields, touched) if held else touched
        result[mine] = Entry(mine, api_version, fields, write.time)
    _finish(live, new, result)


def _starting_point(stored: list[dict[str, Any]], given: Any, subresource: str) -> Entries:
    if subresource or not given or given == stored:
        return entries.read(stored)
    if entries.is_reset(given):
        return {}
    try:
        return entries.read_foreign(given)
    except FieldsError:
        return entries.read(stored)


def _reconciled(owners: Entries, node: Node) -> Entries:
    """The entries under the current schema of a custom resource, which may have made a list or a map atomic."""
    if node.definition:
        return owners
    return {who: entry.owning(typed.reconciled(entry.fields, node)) for who, entry in owners.items()}


def _taken_from(owners: Entries, touched: Fields, removed: Fields) -> Entries:
    """The fields that each manager keeps after another one changed or removed fields."""
    if not touched and not removed:
        return dict(owners)
    result: Entries = {}
    for manager, entry in owners.items():
        left = fieldset.difference(fieldset.difference(entry.fields, touched), removed)
        if left:
            result[manager] = entry.owning(left)
    return result


def _finish(live: Obj | None, new: Obj, owners: Entries) -> None:
    """Write the entries; keep those of ``live`` if only times would change."""
    written = entries.write(entries.cap(owners).values())
    if written:
        new["metadata"]["managedFields"] = written
    else:
        new["metadata"].pop("managedFields", None)
    if live is not None:
        settle(live, new)


def settle(live: Obj, new: Obj) -> None:
    """Restore the stored managedFields in ``new`` if the objects differ in the times of entries only."""
    stored = live.get("metadata", {}).get("managedFields")
    written = new.get("metadata", {}).get("managedFields")
    if not stored or not written or stored is written or not entries.same_but_time(stored, written):
        return
    bare_live = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
    bare_new = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
    if bare_live == bare_new and {**live, "metadata": None} == {**new, "metadata": None}:
        new["metadata"]["managedFields"] = stored


def apply(
    live: Obj | None,
    patch: Obj,
    *,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str,
    now: datetime,
    node: Node,
    status: bool = True,
) -> Obj:
    """Server-side apply: the object with the configuration of ``manager`` and its new managedFields.

    Raises StatusError: 400 for a configuration that is for another version or has managedFields, 500 if it does not fit
    the schema, 409 if it would change fields of other managers, unless ``force`` takes them over.
    """
    _check_patch(patch, api_version, node.kind_name or (live or {}).get("kind"), node)
    write = _Write(node, api_version, subresource, status, entries.timestamp(now))
    owners = entries.read((live or {}).get("metadata", {}).get("managedFields"))
    if not owners and live is not None:
        owners = _before_first_apply(live, write)
    owners = _reconciled(owners, node)
    mine = write.manager(manager, APPLY)
    base = _without_managed_fields(live)
    configured = typed.field_set(node, patch)
    applied = write.owned(fieldset.difference(configured, _UNTRACKED))
    last = owners.get(mine)
    held = Entry(mine, api_version, applied, last.time if last else None)
    if last is not None and last.fields == applied and last.api_version == api_version:
        held = last
    merged = combine.merge(node, base, patch)
    merged = _prune(node, merged, [configured, *(entry.fields for entry in owners.values() if entry is not last)], last)
    comparison = write.compare(live, merged)
    others = {who: entry for who, entry in owners.items() if who != mine}
    conflicts = {} if force else conflicting(others, comparison.touched())
    if conflicts and manager == KUBECTL:
        conflicts = without(conflicts, lastapplied.owned(base, node))
    if conflicts:
        raise conflict_error(conflicts)
    result = _taken_from(others, comparison.touched(), comparison.removed)
    changed = merged != base
    result[mine] = held.at(write.time) if changed else held
    if manager == KUBECTL:
        merged = lastapplied.refresh(merged, patch)
    new = {**merged, "metadata": dict(merged.get("metadata") or {})}
    _finish(live, new, result)
    return new


def _check_patch(patch: Obj, api_version: str, kind: str | None, node: Node) -> None:
    metadata = patch.get("metadata")
    version = patch.get("apiVersion") or ""
    if version != api_version or (kind and patch.get("kind") != kind):
        group = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {group}, Kind={patch.get('kind') or ''}")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        typed.validate(node, patch)
    except typed.TypedError as error:
        place = metadata if isinstance(metadata, dict) else {}
        group = version if "/" in version else f"/{version}"
        subject = f"{place.get('namespace') or ''}/{place.get('name') or ''}; {group}, Kind={patch.get('kind') or ''}"
        raise StatusError(500, "", f"failed to create typed patch object ({subject}): {error}") from error


def _without_managed_fields(obj: Obj | None) -> Obj:
    if obj is None:
        return {}
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _before_first_apply(live: Obj, write: _Write) -> Entries:
    """The owner of all fields of an object that had no owners before its first apply."""
    everything = write.compare(None, live).touched()
    if not everything:
        return {}
    who = write.manager(BEFORE_FIRST_APPLY, UPDATE)
    return {who: Entry(who, write.api_version, everything, write.time)}


def _prune(node: Node, merged: Obj, owners: list[Fields], last: Entry | None) -> Obj:
    """Remove from ``merged`` what its applier applied last time, does not apply now, and no other manager owns.

    Fields without an owner stay as long as their container has one, and go with it otherwise.
    """
    owned: Fields = {}
    for fields in owners:
        owned = fieldset.union(owned, fields)
    if last is None or not fieldset.difference(last.fields, owned):
        return merged
    everything = _members(node, merged)
    mine = typed.named_members(last.fields, node)
    pruned = combine.remove(node, merged, mine) or {}
    kept = fieldset.union(_members(node, pruned), typed.named_members(owned, node))
    restored = combine.remove(node, merged, fieldset.difference(everything, kept)) or {}
    dropped = fieldset.difference(everything, _members(node, restored))
    return combine.remove(node, merged, fieldset.intersection(dropped, mine)) or {}


def _members(node: Node, obj: Obj) -> Fields:
    return typed.named_members(typed.field_set(node, obj), node)
