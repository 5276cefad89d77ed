"""The audit of requests: who asked for what, and what became of it.

Contract: every request that reached the API gives one event, also one that was refused. An event's document is an
``audit.k8s.io/v1`` Event of level Metadata, as a real server writes it to its audit log. Bodies, tokens and header
values other than the User-Agent are in no event.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from uniteddeployment.embedded.auth.attributes import Attributes
from uniteddeployment.embedded.http import Identity


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One request. ``identity`` is whom it was answered for; it is None when nobody could tell who asked.

    ``impersonator`` is who really asked, if that was somebody else; ``streams`` says that the answer is a watch, which
    goes on after the event.
    """

    at: datetime
    method: str
    uri: str
    asked: Attributes
    status: int
    identity: Identity | None = None
    impersonator: Identity | None = None
    version: str = ""
    user_agent: str = ""
    decision: str = ""
    """``allow`` or ``forbid``; empty when the request did not come that far."""
    reason: str = ""
    """Why authorization decided so; empty where no role was needed or none was found."""
    streams: bool = False

    @property
    def user(self) -> str:
        """Whom it was answered for; empty when nobody could tell."""
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
            "verb": self.asked.verb,
            "user": _user(self.impersonator or self.identity),
            "userAgent": self.user_agent,
            "responseStatus": {"metadata": {}, "code": self.status},
            "requestReceivedTimestamp": at,
            "stageTimestamp": at,
        }
        if self.impersonator is not None:
            event["impersonatedUser"] = _user(self.identity)
        if self.asked.resource:
            event["objectRef"] = self._reference()
        if self.decision:
            event["annotations"] = {
                "authorization.k8s.io/decision": self.decision,
                "authorization.k8s.io/reason": self.reason,
            }
        return event

    def _reference(self) -> dict[str, str]:
        asked = self.asked
        parts = {
            "resource": asked.resource,
            "namespace": asked.namespace,
            "name": asked.name,
            "apiGroup": asked.group,
            "apiVersion": self.version,
            "subresource": asked.subresource,
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
    """Appends each event to a file, one JSON object to a line, readable by its owner alone.

    A line is written with one system call, so that a reader never sees half of one.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, event: AuditEvent) -> None:
        os.write(self._descriptor, msgspec.json.encode(event.document()) + b"\n")

    def close(self) -> None:
        """Write no more."""
        os.close(self._descriptor)
