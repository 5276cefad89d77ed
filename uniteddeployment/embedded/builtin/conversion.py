"""Conversions between the versions of kinds that are served in several versions.

Contract: functions return a new object and leave their argument unchanged; callers set apiVersion and kind.
"""

from collections.abc import Callable

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import autoscalers

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


def event_from_core(obj: Obj) -> Obj:
    """Convert a core/v1 event to events.k8s.io/v1."""
    return {_EVENT_NAMES.get(key, key): value for key, value in obj.items() if value != "" or key not in _NEVER_ABSENT}


def event_to_core(obj: Obj) -> Obj:
    """Convert an events.k8s.io/v1 event to core/v1."""
    event = {_EVENT_NAMES_BACK.get(key, key): value for key, value in obj.items()}
    for key in _NEVER_ABSENT:
        event.setdefault(key, "")
    return event


CONVERTERS: dict[str, tuple[Convert | None, Convert | None]] = {
    "io.k8s.api.events.v1.Event": (event_from_core, event_to_core),
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": (autoscalers.from_v2, autoscalers.to_v2),
}
"""By definition: the conversion from the stored form, and back."""

FIELD_PATHS = {"source": "source.component", "status.successful": "status.succeeded", "name": "metadata.name"}
"""Field selectors whose names differ from the field that they compare."""
