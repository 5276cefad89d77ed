"""The status of a Cluster: what is stored of its health, and what the status should be. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from uniteddeployment.fleet import taints
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.health import (
    INTERNAL_ERROR,
    INVALID_CREDENTIALS,
    RECOVERING,
    UNAUTHORIZED,
    UNREACHABLE,
    Phase,
    Record,
)
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.planning.observed import Taint
from uniteddeployment_api.duration import text

_UNSEEN = frozenset({UNREACHABLE, UNAUTHORIZED, INVALID_CREDENTIALS, INTERNAL_ERROR})
"""Reasons for which the state of the cluster is unknown."""
_HEALTH_TIMES = {"failingSince": "failing_since", "answeringSince": "answering_since"}
_WHOLE = ("health", "capacity")
"""Fields whose entries are removed if they are not wanted."""
UNDATED = ("lastProbeTime", "lastContactTime")
"""Fields that alone are no reason to write a status (I3)."""


@dataclass(slots=True)
class Facts:
    """The version and the number of nodes of a cluster."""

    version: str = ""
    nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a Cluster from which its status is made."""

    record: Record
    taints: tuple[Taint, ...] = ()
    reason: str = ""
    """Why it is not used, if it is not; replaces the reason of the record."""
    detail: str = ""
    """For people: why it fails or is not used."""
    facts: Facts | None = None
    last_contact: str | None = None
    """Time of the last good answer, if this process has seen one."""
    uid: str = ""
    """The uid of its cluster."""
    leaving: str = ""
    """What its departure waits for, if it is being deleted."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Status, reason and message of a condition."""

    status: str
    reason: str
    message: str


def record(stored: Mapping[str, Any]) -> Record:
    """Return the health that a status stores. What cannot be read counts as not stored."""
    health = stored.get("health")
    health = health if isinstance(health, dict) else {}
    phase = stored.get("phase")
    outages = health.get("outages")
    return Record(
        next((known for known in Phase if known == phase), Phase.PENDING),
        _time(stored.get("phaseTransitionTime")),
        str(health.get("reason") or ""),
        _time(health.get("failingSince")),
        _time(health.get("answeringSince")),
        outages if isinstance(outages, int) and outages > 0 else 0,
    )


def build(cluster: ClusterObject, stored: Mapping[str, Any], standing: Standing, now: datetime) -> dict[str, Any]:
    """Return the status that a Cluster should have. The version and the number of nodes stay until others are known.

    A field that is None has to be removed.
    """
    record = standing.record
    well = record.phase is Phase.RUNNING and record.failing_since is None
    verdicts = {"Ready": _ready(cluster, standing), "Schedulable": _schedulable(cluster, record)}
    before = {condition.get("type"): condition for condition in stored.get("conditions") or ()}
    status: dict[str, Any] = {name: stored[name] for name in ("kubernetesVersion", "nodes") if name in stored}
    if standing.facts is not None and standing.facts.version:
        status |= {"kubernetesVersion": standing.facts.version, "nodes": standing.facts.nodes}
    if standing.uid:
        status["clusterUID"] = standing.uid
    return status | {
        "phase": str(record.phase),
        "phaseTransitionTime": rfc3339(record.since) if record.since else stored.get("phaseTransitionTime"),
        "conditions": [
            condition(cluster, name, verdict, before.get(name) or {}, now) for name, verdict in verdicts.items()
        ],
        "taints": [taints.document(taint) for taint in standing.taints] or None,
        "health": _health(record),
        "lastContactTime": None if well else standing.last_contact or stored.get("lastContactTime"),
        "lastProbeTime": rfc3339(now),
    }


def differ(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return True if a status has to be written: if more than the times in :data:`UNDATED` differs."""
    return any(stored.get(name) != value for name, value in wanted.items() if name not in UNDATED)


def patch(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from the stored status to the wanted one, which keeps the fields that it does not have."""
    return {name: _change(stored.get(name), value) if name in _WHOLE else value for name, value in wanted.items()}


def _change(stored: object, wanted: object) -> object:
    """The merge patch to a value, in which the entries of maps that are not wanted are removed."""
    if not isinstance(wanted, Mapping) or not isinstance(stored, Mapping):
        return wanted
    removed: dict[str, object] = dict.fromkeys(name for name in stored if name not in wanted)
    return removed | {name: _change(stored.get(name), value) for name, value in wanted.items()}


def _ready(cluster: ClusterObject, standing: Standing) -> Verdict:
    record, detail = standing.record, standing.detail
    if record.phase is Phase.RUNNING:
        return Verdict("True", "ClusterReady", _failing(cluster, standing) or "the cluster answers")
    if record.phase is Phase.TERMINATED:
        return Verdict("False", "Terminating", standing.leaving or "the Cluster is being deleted")
    reason = standing.reason or record.reason
    if record.phase is not Phase.OFFLINE:
        return Verdict("False", reason or "Connecting", detail)
    unseen = "Unknown" if record.reason in _UNSEEN else "False"
    if record.answering_since is None:
        return Verdict(unseen, reason, detail)
    wait = cluster.spec.health.settings().recovery(record.outages)
    repeated = f". It was Offline {record.outages} times in a row, which prolongs this" if record.outages > 1 else ""
    message = (
        f"has answered since {rfc3339(record.answering_since)}, and is Running again after {_text(wait)} without a "
        f"failure{repeated}"
    )
    return Verdict(unseen, RECOVERING, message)


def _failing(cluster: ClusterObject, standing: Standing) -> str:
    """Return the message of a Running cluster that fails, or did so until a moment ago."""
    record = standing.record
    if record.failing_since is None:
        return ""
    if record.answering_since is not None:
        return f"the cluster answers, but has failed repeatedly since {rfc3339(record.failing_since)}"
    after = _text(cluster.spec.health.settings().offline_after)
    return f"has failed since {rfc3339(record.failing_since)}, and is Offline after {after}: {standing.detail}"


def _schedulable(cluster: ClusterObject, record: Record) -> Verdict:
    if record.phase is Phase.TERMINATED:
        return Verdict("False", "Terminating", "the Cluster is being deleted")
    if cluster.spec.suspended:
        return Verdict("False", "Suspended", "spec.suspended is set")
    if cluster.spec.unschedulable:
        return Verdict("False", "Cordoned", "spec.unschedulable is set")
    if record.phase is not Phase.RUNNING:
        return Verdict("False", str(record.phase), f"the phase is {record.phase}")
    return Verdict("True", "Schedulable", "it takes new replicas, apart from its taints")


def condition(
    cluster: ClusterObject, name: str, verdict: Verdict, before: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return a condition. Its transition time is that of ``before``, the stored one, if the status is the same."""
    since = before.get("lastTransitionTime") if before.get("status") == verdict.status else None
    return {
        "type": name,
        "status": verdict.status,
        "observedGeneration": cluster.metadata.generation,
        "lastTransitionTime": since or rfc3339(now),
        "reason": verdict.reason,
        "message": verdict.message,
    }


def _health(record: Record) -> dict[str, Any] | None:
    times: Iterable[tuple[str, datetime | None]] = (
        (name, getattr(record, field)) for name, field in _HEALTH_TIMES.items()
    )
    health: dict[str, Any] = {"reason": record.reason} if record.reason and record.phase is not Phase.PENDING else {}
    health |= {name: rfc3339(time) for name, time in times if time is not None}
    if record.outages:
        health["outages"] = record.outages
    return health or None


def _time(stored: object) -> datetime | None:
    try:
        return datetime.fromisoformat(stored) if isinstance(stored, str) else None
    except ValueError:
        return None


def _text(duration: timedelta) -> str:
    return text(int(duration.total_seconds()))
