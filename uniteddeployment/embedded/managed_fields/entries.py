"""Reading and writing ``metadata.managedFields``: which paths each manager owns, since when and by which operation."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.field_set import Fields, FieldsError

APPLY: Final = "Apply"
UPDATE: Final = "Update"
OLD_UPDATES: Final = "ancient-changes"
MAX_UPDATERS: Final = 10


class Manager(NamedTuple):
    """The identity of an owner. Appliers are the same in all API versions, updaters are not."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def described(self) -> str:
        """The manager's name in conflict messages."""
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Entry(NamedTuple):
    """The fields of one manager. ``raw`` is the form that it was read from, reused while nothing changes."""

    manager: Manager
    api_version: str
    fields: Fields
    time: str | None
    raw: dict[str, Any] | None = None

    def owning(self, fields: Fields) -> "Entry":
        """The entry with other fields."""
        return self if fields is self.fields else self._replace(fields=fields, raw=None)

    def at(self, time: str | None) -> "Entry":
        """The entry with another time."""
        return self if time == self.time else self._replace(time=time, raw=None)


Entries = dict[Manager, Entry]


def manager_of(name: str, operation: str, api_version: str, subresource: str) -> Manager:
    """The identity under which an operation owns fields."""
    return Manager(name, operation, "" if operation == APPLY else api_version, subresource)


def timestamp(now: datetime) -> str:
    """A time in the format of objects."""
    return now.astimezone(UTC).isoformat()[:19] + "Z"


def read(stored: Sequence[dict[str, Any]] | None) -> Entries:
    """Read entries that this cluster wrote, without checking them."""
    entries: Entries = {}
    for raw in stored or ():
        entry = _entry(raw, raw.get("fieldsV1") or {})
        entries[entry.manager] = entry
    return entries


def read_foreign(given: object) -> Entries:
    """Read and check entries from a client. Raises FieldsError."""
    if not isinstance(given, list):
        raise FieldsError("managedFields must be a list")
    entries: Entries = {}
    for raw in given:
        if not isinstance(raw, dict) or raw.get("operation") not in (APPLY, UPDATE):
            raise FieldsError("operation must be Apply or Update")
        entry = _entry(raw, fieldset.parse(raw.get("fieldsV1") or {}))
        entries[entry.manager] = entry._replace(raw=None)
    return entries


def _entry(raw: dict[str, Any], fields: Fields) -> Entry:
    api_version = raw.get("apiVersion", "")
    manager = manager_of(raw.get("manager", ""), raw.get("operation", ""), api_version, raw.get("subresource", ""))
    return Entry(manager, api_version, fields, raw.get("time"), raw)


def is_reset(given: object) -> bool:
    """Whether a client asks to reset all owners: a list with one empty entry."""
    return isinstance(given, list) and len(given) == 1 and given[0] == {}


def write(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Encode the entries in the real server's order; entries without fields are left out."""
    kept = [entry for entry in entries if entry.fields]
    kept.sort(key=lambda e: (e.manager.operation, e.time or "", e.manager.name, e.api_version, e.manager.subresource))
    return [entry.raw if entry.raw is not None else _written(entry) for entry in kept]


def _written(entry: Entry) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "manager": entry.manager.name,
        "operation": entry.manager.operation,
        "apiVersion": entry.api_version,
    }
    if entry.time is not None:
        raw["time"] = entry.time
    raw["fieldsType"] = "FieldsV1"
    raw["fieldsV1"] = fieldset.canonical(entry.fields)
    if entry.manager.subresource:
        raw["subresource"] = entry.manager.subresource
    return raw


def cap(entries: Entries) -> Entries:
    """Merge the oldest updaters of a version into one, so that their number stays bounded."""
    updaters = [entry for entry in entries.values() if entry.manager.operation == UPDATE]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return entries
    updaters.sort(key=lambda entry: (entry.time or "", entry.manager))
    result = dict(entries)
    first: dict[str, Manager] = {}
    for entry in updaters:
        if surplus <= 0:
            break
        bucket = Manager(OLD_UPDATES, UPDATE, entry.api_version)
        if entry.api_version not in first:
            first[entry.api_version] = entry.manager
            continue
        held = result.get(bucket) or result.pop(first[entry.api_version])
        if entry.manager != bucket:
            del result[entry.manager]
        result[bucket] = Entry(bucket, entry.api_version, fieldset.union(held.fields, entry.fields), entry.time)
        surplus -= 1
    return result


def same_but_time(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> bool:
    """Whether two lists of entries differ in times only."""
    if len(old) != len(new):
        return False
    ours = sorted(((_entry(raw, {}).manager, raw) for raw in old), key=lambda pair: pair[0])
    theirs = sorted(((_entry(raw, {}).manager, raw) for raw in new), key=lambda pair: pair[0])
    return all(
        a is b or (m == n and a.get("fieldsV1") == b.get("fieldsV1") and a.get("apiVersion") == b.get("apiVersion"))
        for (m, a), (n, b) in zip(ours, theirs, strict=True)
    )
