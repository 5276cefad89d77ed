"""The capacity of a cluster in the status of its Cluster. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from uniteddeployment.fleet import status
from uniteddeployment.fleet.capacity.figures import differs
from uniteddeployment.fleet.capacity.reader import COUNTED, DISABLED, CapacityReader
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.status import Verdict
from uniteddeployment.kube.meta import rfc3339

CONDITION: Final = "Capacity"
_NOT_CONNECTED = Verdict("Unknown", "NotConnected", "the cluster is not connected")
_FIGURES = ("nodes", "readyNodes", "schedulableNodes", "capacity")
_ONLY_COUNTED = ("readyNodes", "schedulableNodes", "capacity")


def add(
    wanted: dict[str, Any],
    cluster: ClusterObject,
    stored: Mapping[str, Any],
    reader: CapacityReader | None,
    now: datetime,
) -> None:
    """Add the figures and the condition to the status that a Cluster should have.

    Figures that differ little from the stored ones stay as they are. While it is not known yet whether the capacity can
    be read, everything stays.
    """
    before = {condition.get("type"): condition for condition in stored.get("conditions") or ()}.get(CONDITION)
    verdict = _verdict(cluster, reader, known_before=before is not None)
    if verdict is None:
        if before is not None:
            wanted["conditions"] += [before]
        if "capacity" in stored:
            wanted |= {name: stored[name] for name in _FIGURES if name in stored}
        return
    wanted["conditions"] += [status.condition(cluster, CONDITION, verdict, before or {}, now)]
    published = reader.published if reader is not None else None
    if verdict.reason == COUNTED and published is not None:
        wanted |= _figures(stored, published, now)
    elif verdict.status == "False":
        wanted |= dict.fromkeys(_ONLY_COUNTED)


def _verdict(cluster: ClusterObject, reader: CapacityReader | None, *, known_before: bool) -> Verdict | None:
    if reader is not None:
        return reader.state
    if not known_before:
        return None
    return _NOT_CONNECTED if cluster.spec.counts_capacity else DISABLED


def _figures(stored: Mapping[str, Any], published: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    if not differs(stored, published):
        return {name: stored[name] for name in _FIGURES}
    return {**published, "capacity": {**published["capacity"], "observedTime": rfc3339(now)}}
