"""Who asked a cluster for what: the audit log of a process, read back for a test."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uniteddeployment.embedded.auth.audit import AuditEvent


@dataclass(frozen=True)
class Asked:
    """One request. ``resource`` is empty for what is no resource, and ``path`` then says what it was.

    ``user`` is whom the request was answered for; ``verb`` is RBAC's (``get``, ``list``, ``deletecollection``, ...).
    """

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    status: int
    path: str

    @property
    def rule(self) -> tuple[str, str, str]:
        """What a rule must have to allow it: group, resource with its subresource, verb."""
        combined = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return self.group, combined, self.verb


def read(log: Path) -> list[Asked]:
    """All requests of an audit log so far, in their order; of a watch that is open, its start."""
    return list(_asked(json.loads(line) for line in log.read_text().splitlines())) if log.exists() else []


def of_events(events: Iterable[AuditEvent]) -> list[Asked]:
    """The same of a cluster in this process, whose ``audit`` has the ``append`` of a list."""
    return list(_asked(event.document() for event in events))


def _asked(documents: Iterable[dict[str, Any]]) -> Iterator[Asked]:
    started: set[str] = set()
    for event in documents:
        # A real server writes two events for a watch under one id: that it began, and that it ended.
        key = event.get("auditID", "")
        if key in started:
            continue
        if key:
            started.add(key)
        about = event.get("objectRef") or {}
        user = event.get("impersonatedUser") or event["user"]
        yield Asked(
            user.get("username", ""),
            event["verb"],
            about.get("apiGroup", ""),
            about.get("resource", ""),
            about.get("subresource", ""),
            about.get("namespace", ""),
            about.get("name", ""),
            int((event.get("responseStatus") or {}).get("code", 0)),
            event["requestURI"].partition("?")[0],
        )
