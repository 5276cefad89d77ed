"""managedFields of the scale subresource: a Scale shows the owners of one field of its object under another path.

A write of a Scale is tracked on the Scale (:func:`of_scale`, then ``field_manager``), and the result is transferred to
the object (:func:`of_object`). New entries have no time, as on the real server.
"""

from collections.abc import Sequence
from typing import Any, Final

from uniteddeployment.embedded.managed_fields import entries
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.entries import Entries, Entry

API_VERSION: Final = "autoscaling/v1"
_IN_SCALE: Final = ("f:spec", "f:replicas")


def _elements(path: str) -> tuple[str, ...]:
    return tuple(fieldset.field(name) for name in path.strip(".").split("."))


def of_scale(stored: Sequence[dict[str, Any]] | None, path: str) -> list[dict[str, Any]]:
    """The managedFields of a Scale: the object's entries that own ``path`` (``.spec.replicas``)."""
    elements = _elements(path)
    owners = []
    for entry in entries.read(stored).values():
        if fieldset.has(entry.fields, elements):
            who = entry.manager._replace(api_version=API_VERSION if entry.manager.api_version else "")
            owners.append(Entry(who, API_VERSION, fieldset.insert({}, _IN_SCALE), entry.time))
    return entries.write(owners)


def of_object(
    stored: Sequence[dict[str, Any]] | None, scale: Sequence[dict[str, Any]] | None, path: str, api_version: str
) -> list[dict[str, Any]]:
    """The managedFields of an object after a write of its Scale, whose managedFields are ``scale``.

    Owners of the Scale's replicas own ``path``; all others lose it. An owner by update is not recognized, because the
    identity of an updater includes the version, and a Scale has another one. As on the real server that owner gets a
    second entry, so the object changes even if its replicas do not.
    """
    replicas = fieldset.insert({}, _elements(path))
    owners = dict(entries.read(scale))
    result: Entries = {}
    for entry in entries.read(stored).values():
        if not fieldset.has(entry.fields, _elements(path)) or owners.pop(entry.manager, None) is not None:
            result[entry.manager] = entry
        else:
            result[entry.manager] = entry.owning(fieldset.difference(entry.fields, replicas))
    taken = []
    for entry in owners.values():
        if not fieldset.has(entry.fields, _IN_SCALE):
            continue
        who = entry.manager._replace(api_version=api_version if entry.manager.api_version else "")
        taken.append(Entry(who, api_version, replicas, None))
    return entries.write([*result.values(), *taken])
