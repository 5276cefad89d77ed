"""The taints of a cluster: those of its spec, and those that follow from its state. Pure.

Each has the time when it was first seen, from which ``tolerationSeconds`` count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from uniteddeployment.fleet.clusters import ClusterObject, abandoned
from uniteddeployment.fleet.health import NO_READY_NODES, NOT_HEALTHY, NOT_READABLE, Phase, Record
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.planning.observed import Taint
from uniteddeployment.planning.observed.clusters import NO_EXECUTE, NO_SCHEDULE
from uniteddeployment_api import names

_ANSWERS = frozenset({NOT_HEALTHY, NO_READY_NODES, NOT_READABLE})
"""Reasons of a cluster that answers, and yet is not fit to hold replicas."""


def in_effect(cluster: ClusterObject, record: Record, known: Iterable[Taint], now: datetime) -> tuple[Taint, ...]:
    """Return the taints that are in effect. A taint that was ``known`` before keeps its time."""
    times = {replace(taint, time_added=None): taint.time_added for taint in known}
    present = dict.fromkeys((*_of_spec(cluster), *_automatic(cluster, record)))
    return tuple(replace(taint, time_added=times.get(taint) or rfc3339(now)) for taint in present)


def stored(status: Mapping[str, Any]) -> tuple[Taint, ...]:
    """Return the taints of a stored status."""
    entries = status.get("taints")
    return tuple(
        Taint(*(str(entry.get(name) or "") for name in ("key", "value", "effect", "timeAdded")))
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    )


def document(taint: Taint) -> dict[str, str | None]:
    """Return the entry of the status for a taint."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect, "timeAdded": taint.time_added}


def _of_spec(cluster: ClusterObject) -> Iterable[Taint]:
    return (Taint(taint.key, taint.value, taint.effect) for taint in cluster.spec.taints)


def _automatic(cluster: ClusterObject, record: Record) -> Iterable[Taint]:
    if record.phase is Phase.OFFLINE:
        key = names.TAINT_NOT_READY if record.reason in _ANSWERS else names.TAINT_UNREACHABLE
        yield Taint(key, effect=NO_SCHEDULE)
    if cluster.spec.unschedulable or cluster.spec.suspended:
        yield Taint(names.TAINT_CORDONED, effect=NO_SCHEDULE)
    if record.phase is Phase.TERMINATED:
        # What runs in an abandoned cluster is left alone, and a move that begins would be left half-way.
        yield Taint(names.TAINT_TERMINATING, effect=NO_SCHEDULE if abandoned(cluster) else NO_EXECUTE)
