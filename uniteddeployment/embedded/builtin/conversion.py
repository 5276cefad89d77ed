"""Conversions between the versions of kinds that are served in several versions.

Contract: functions return a new object and leave their argument unchanged; callers set apiVersion and kind.
"""

from collections.abc import Callable
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj

Convert = Callable[[Obj], Obj]

_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENT_NAMES_BACK = {newer: core for core, newer in _EVENT_NAMES.items()}
_NEVER_ABSENT = ("reportingComponent", "reportingInstance")
"""Fields that core/v1 shows even if they are empty, and events.k8s.io does not."""

_CPU = "cpu"


def event_from_core(obj: Obj) -> Obj:
    """Convert a core/v1 event to events.k8s.io/v1."""
    return {_EVENT_NAMES.get(key, key): value for key, value in obj.items() if value != "" or key not in _NEVER_ABSENT}


def event_to_core(obj: Obj) -> Obj:
    """Convert an events.k8s.io/v1 event to core/v1."""
    event = {_EVENT_NAMES_BACK.get(key, key): value for key, value in obj.items()}
    for key in _NEVER_ABSENT:
        event.setdefault(key, "")
    return event


def autoscaler_from_v2(obj: Obj) -> Obj:
    """Convert an autoscaling/v2 autoscaler to v1, which has the cpu percentage as its only metric."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metrics = spec.pop("metrics", None) or ()
    spec.pop("behavior", None)
    for metric in metrics:
        wanted = _cpu(metric, "target")
        if wanted is not None:
            spec["targetCPUUtilizationPercentage"] = wanted
    current = status.pop("currentMetrics", None) or ()
    status.pop("conditions", None)
    for metric in current:
        used = _cpu(metric, "current")
        if used is not None:
            status["currentCPUUtilizationPercentage"] = used
    status.setdefault("currentReplicas", 0)
    return {**obj, "spec": spec, "status": status}


def _cpu(metric: Obj, key: str) -> Any:
    resource = metric.get("resource") or {}
    return (resource.get(key) or {}).get("averageUtilization") if resource.get("name") == _CPU else None


def autoscaler_to_v2(obj: Obj) -> Obj:
    """Convert an autoscaling/v1 autoscaler to v2, the stored form."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": _CPU, "target": target}}]
    used = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = (
        None
        if used is None
        else [{"type": "Resource", "resource": {"name": _CPU, "current": {"averageUtilization": used}}}]
    )
    return {**obj, "spec": spec, "status": status}


CONVERTERS: dict[str, tuple[Convert | None, Convert | None]] = {
    "io.k8s.api.events.v1.Event": (event_from_core, event_to_core),
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": (autoscaler_from_v2, autoscaler_to_v2),
}
"""By definition: the conversion from the stored form, and back."""

FIELD_PATHS = {"source": "source.component", "status.successful": "status.succeeded", "name": "metadata.name"}
"""Field selectors whose names differ from the field that they compare."""
