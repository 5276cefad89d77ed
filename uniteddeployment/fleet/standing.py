"""The state of an entry of the fleet, as its status shows it and as plans read it. Pure."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from uniteddeployment.fleet import status, tokens
from uniteddeployment.fleet.capacity import status as capacity
from uniteddeployment.fleet.entry import Entry
from uniteddeployment.fleet.health import Phase
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.planning.observed import ClusterFacts, FleetFacts, Reach


def wanted_status(
    entry: Entry, stored: Mapping[str, Any], last_contact: str | None, now: datetime
) -> dict[str, Any] | None:
    """Return the status that a Cluster should have; None if it is not known yet."""
    if entry.undecided and stored:
        return None
    if entry.departure is not None and stored and not entry.leaving and not entry.closing:
        return None
    wanted = status.build(entry.cluster, stored, _standing(entry, last_contact), now)
    capacity.add(wanted, entry.cluster, stored, entry.member.capacity if entry.member is not None else None, now)
    if entry.token_trouble is not None:
        wanted["conditions"] += [tokens.condition(entry.token_trouble, entry.cluster, stored, now)]
    return wanted


def facts(entry: Entry) -> ClusterFacts:
    """Return the facts that decide whether a cluster is fit to hold replicas."""
    return ClusterFacts(entry.taints, offline_since=_offline_since(entry), recovering=entry.record.recovering)


def fleet_facts(entries: Collection[Entry]) -> FleetFacts:
    """Count the clusters, apart from those that were never used, and say which of them are Offline."""
    used = [entry for entry in entries if entry.record.phase is not Phase.PENDING]
    return FleetFacts(len(used), tuple(sorted(since for entry in used if (since := _offline_since(entry)))))


def _standing(entry: Entry, last_contact: str | None) -> status.Standing:
    trouble, member, problem = entry.probes.trouble, entry.member, entry.problem
    suspended = "Suspended" if entry.reach is Reach.SUSPENDED else ""
    return status.Standing(
        entry.record,
        entry.taints,
        reason=problem.reason if problem is not None else suspended,
        detail=trouble.detail if trouble is not None and problem is None else entry.detail,
        facts=member.facts if member is not None else None,
        last_contact=member.last_contact if member is not None else last_contact,
        uid=entry.held_uid,
        leaving=entry.leaving,
    )


def _offline_since(entry: Entry) -> str | None:
    record = entry.record
    return rfc3339(record.since) if record.phase is Phase.OFFLINE and record.since is not None else None
