"""Conflicts of server-side apply: fields of other managers that an apply would change, and the refusal."""

from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.entries import Entries, Manager
from uniteddeployment.embedded.managed_fields.field_set import Fields


def conflicting(others: Entries, touched: Fields) -> dict[Manager, Fields]:
    """The fields of other managers that an apply would change."""
    shared = {who: fieldset.intersection(entry.fields, touched) for who, entry in others.items()}
    return {who: fields for who, fields in sorted(shared.items()) if fields}


def without(conflicts: dict[Manager, Fields], allowed: Fields) -> dict[Manager, Fields]:
    """The conflicts without those about the allowed fields."""
    left = {who: fieldset.difference(fields, allowed) for who, fields in conflicts.items()}
    return {who: fields for who, fields in left.items() if fields}


def conflict_error(conflicts: dict[Manager, Fields]) -> StatusError:
    """409 with a cause for each field; the message groups several by manager."""
    paths = [(who, fieldset.show(path)) for who, fields in conflicts.items() for path in fieldset.paths(fields)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who.described()}", "field": path}
        for who, path in paths
    ]
    if len(paths) == 1:
        who, path = paths[0]
        message = f"Apply failed with 1 conflict: conflict with {who.described()}: {path}"
    else:
        lines: list[str] = []
        for who in conflicts:
            lines.append(f"conflicts with {who.described()}:")
            lines.extend(f"- {path}" for owner, path in paths if owner == who)
        message = f"Apply failed with {len(paths)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", message, details={"causes": causes})
