"""Errors of admission."""

from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import StatusError


def forbidden(key: str, obj: Obj, why: str) -> StatusError:
    """403 for an object of the resource ``key``."""
    plural, _, group = key.partition(".")
    name = obj["metadata"].get("name", "")
    details: dict[str, Any] = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = plural
    return StatusError(403, "Forbidden", f'{key} "{name}" is forbidden: {why}', details=details)
