"""Errors of the API in Kubernetes' words. Each becomes a ``Status`` object in the response."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """One problem with a field of an object.

    ``reason`` is a ``FieldValue...`` reason (or FieldManagerConflict). ``message`` is the real server's complete text,
    e.g. ``Invalid value: -1: must be greater than or equal to 0``. ``field`` is a dotted path.
    """

    reason: str
    message: str
    field: str


class StatusError(Exception):
    """A response that is not a success."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after
        self.metadata: dict[str, Any] = {}
        """Metadata of the Status; for an expired list it has the token with which the client can continue."""

    def body(self) -> dict[str, Any]:
        """The Status object of this error."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        details = dict(self.details or {})
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        if details or self.details is not None:
            status["details"] = details
        status["code"] = self.code
        return status


def qualified(plural: str, group: str) -> str:
    """The name of a resource in messages: ``statefulsets.apps``."""
    return f"{plural}.{group}" if group else plural


def not_found(plural: str, group: str, name: str) -> StatusError:
    details = {"name": name, "group": group, "kind": plural} if group else {"name": name, "kind": plural}
    return StatusError(404, "NotFound", f'{qualified(plural, group)} "{name}" not found', details=details)


def already_exists(plural: str, group: str, name: str) -> StatusError:
    details = {"name": name, "group": group, "kind": plural} if group else {"name": name, "kind": plural}
    return StatusError(409, "AlreadyExists", f'{qualified(plural, group)} "{name}" already exists', details=details)


def conflict(plural: str, group: str, name: str, why: str) -> StatusError:
    details = {"name": name, "group": group, "kind": plural} if group else {"name": name, "kind": plural}
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=details)


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """422 with its causes. The message shows one cause as it is, several in brackets, and duplicates once."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    texts = list(dict.fromkeys(texts))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: dict[str, Any] = {"name": name} if name else {}
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    subject = f'{qualified(kind, group)} "{name}"'
    return StatusError(422, "Invalid", f"{subject} is invalid: {text}", details=details)
