"""Conditions of a status: find one, or set one and keep its transition time if its status does not change."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj


def condition_of(status: Mapping[str, Any] | None, type_: str) -> Obj:
    """The condition of this type; empty if there is none."""
    for condition in (status or {}).get("conditions") or ():
        if condition["type"] == type_:
            match: Obj = condition
            return match
    return {}


def merged(before: Iterable[Obj], new: Iterable[Obj]) -> list[Obj]:
    """Conditions with some of them replaced or added, in their order.

    A condition whose status does not change keeps its ``lastTransitionTime``.
    """
    by_type = {condition["type"]: condition for condition in before}
    for condition in new:
        old = by_type.get(condition["type"])
        if old is not None and old.get("status") == condition["status"] and "lastTransitionTime" in old:
            condition = {**condition, "lastTransitionTime": old["lastTransitionTime"]}  # noqa: PLW2901 - the kept form
        by_type[condition["type"]] = condition
    return list(by_type.values())


def disrupted(pod: Obj, reason: str, message: str, now: datetime) -> Obj:
    """The status of a pod that is about to be evicted, with the condition that has the reason."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(now),
        "observedGeneration": pod["metadata"].get("generation", 1),
        "reason": reason,
        "message": message,
    }
    return with_condition(pod.get("status") or {}, condition)


def with_condition(status: Mapping[str, Any], *conditions: Obj) -> Obj:
    """A shallow copy of a status with these conditions set."""
    return {**status, "conditions": merged(status.get("conditions") or (), conditions)}
