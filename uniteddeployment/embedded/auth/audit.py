"""Audit events of requests.

Contract: every request yields one event, also a refused one. Its document is an ``audit.k8s.io/v1`` Event of level
Metadata. Events contain no bodies, no tokens and no header values except the User-Agent.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from uniteddeployment.embedded.auth.attributes import Attributes
from uniteddeployment.embedded.http import Identity


class AuditEvent(NamedTuple):
    """One request. ``identity`` is the effective user, or None if authentication failed.

    ``impersonator`` is the authenticated user if it differs. ``streams`` is true if the response is a watch, which
    continues after the event.
    """

    at: datetime
    method: str
    uri: str
    attributes: Attributes
    status: int
    identity: Identity | None = None
    impersonator: Identity | None = None
    version: str = ""
    user_agent: str = ""
    decision: str = ""
    """``allow`` or ``forbid``; empty if the request was not authorized at all."""
    reason: str = ""
    """The reason of the decision; empty if no role was needed or none matched."""
    streams: bool = False

    @property
    def user(self) -> str:
        """The effective user; empty if authentication failed."""
        return self.identity.name if self.identity is not None else ""

    def document(self) -> dict[str, Any]:
        """The event as an ``audit.k8s.io/v1`` Event."""
        at = self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "stage": "ResponseStarted" if self.streams else "ResponseComplete",
            "requestURI": self.uri,
            "verb": self.attributes.verb,
            "user": _user(self.impersonator or self.identity),
            "userAgent": self.user_agent,
            "responseStatus": {"metadata": {}, "code": self.status},
            "requestReceivedTimestamp": at,
            "stageTimestamp": at,
        }
        if self.impersonator is not None:
            event["impersonatedUser"] = _user(self.identity)
        if self.attributes.resource:
            event["objectRef"] = self._reference()
        if self.decision:
            event["annotations"] = {
                "authorization.k8s.io/decision": self.decision,
                "authorization.k8s.io/reason": self.reason,
            }
        return event

    def _reference(self) -> dict[str, str]:
        attributes = self.attributes
        parts = {
            "resource": attributes.resource,
            "namespace": attributes.namespace,
            "name": attributes.name,
            "apiGroup": attributes.group,
            "apiVersion": self.version,
            "subresource": attributes.subresource,
        }
        return {name: value for name, value in parts.items() if value}


def _user(identity: Identity | None) -> dict[str, Any]:
    if identity is None:
        return {}
    user: dict[str, Any] = {"username": identity.name}
    if identity.uid:
        user["uid"] = identity.uid
    return {**user, "groups": list(identity.groups)}


Auditor = Callable[[AuditEvent], None]


class AuditLog:
    """Appends each event to a file, one JSON object per line, readable by its owner only.

    One system call writes a line, so readers never see half of one.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, event: AuditEvent) -> None:
        os.write(self._descriptor, msgspec.json.encode(event.document()) + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
