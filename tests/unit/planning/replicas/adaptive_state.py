"""A short notation for subsets whose pods wait for a node, as a subject and a snapshot."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.planning import NOW, application, manifest, observed, subject, view
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Observed, Pod, PodCondition, PodMetadata, PodStatus, Reach
from uniteddeployment_api import names


def ago(seconds: float) -> str:
    """A time before the present of the tests."""
    present = datetime.fromisoformat(NOW)
    return (present - timedelta(seconds=seconds)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Seen:
    """One subset: what it was given, and its pods by how many seconds they have been as they are."""

    given: int = 0
    waiting: Sequence[float] = ()
    """Pods without a node."""
    ready: Sequence[float] = ()
    starting: int = 0
    """Pods that have a node and are not ready."""
    marked: float | None = None
    """For how long it has been unschedulable."""
    reserved: int = 0
    reach: Reach = Reach.READY
    new: bool = False
    """Whether status has never heard of it."""
    first: str = "ready"
    """Which pods have the lowest ordinals."""
    ahead: int = 0
    """By how many seconds the clock of its cluster is ahead, and with it the times of its pods."""

    def pods(self, app: Application, name: str) -> list[Pod]:
        waiting = [
            condition("PodScheduled", "False", age - self.ahead, "Unschedulable", "0/3 nodes") for age in self.waiting
        ]
        running = [condition("Ready", "True", age - self.ahead) for age in self.ready]
        running += [condition("Ready", "False", 5) for _ in range(self.starting)]
        order = [*running, *waiting] if self.first == "ready" else [*waiting, *running]
        return [pod(app, name, ordinal, one) for ordinal, one in enumerate(order)]

    def entry(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": name, "cluster": f"default/{name}", "replicas": self.given}
        if self.reserved:
            entry["reservedReplicas"] = self.reserved
        if self.marked is not None:
            entry["conditions"] = [
                {
                    "type": "Schedulable",
                    "status": "False",
                    "lastTransitionTime": ago(self.marked),
                    "reason": "Unschedulable",
                    "message": "as before",
                }
            ]
        return entry


def condition(type_: str, status: str, age: float, reason: str = "", message: str = "") -> PodCondition:
    return PodCondition(type_, status, reason, message, ago(age))


def pod(app: Application, subset_name: str, ordinal: int, *conditions: PodCondition) -> Pod:
    labels = {names.LABEL_NAME: app.label, names.LABEL_SUBSET: subset_name, names.LABEL_REVISION: "some"}
    metadata = PodMetadata(
        f"{app.name}-{subset_name}-{ordinal}", app.namespace, f"{subset_name}-{ordinal}", "", None, labels
    )
    return Pod(metadata, PodStatus("Running", conditions))


def adaptive(
    total: int | None,
    bounds: Mapping[str, Mapping[str, Any]],
    *,
    kind: str = "deploymentTemplate",
    critical: int = 30,
    duration: int = 300,
    reserve: bool = False,
    **workload: Any,
) -> Application:
    """An application with the strategy Adaptive whose subsets have these bounds, and its workloads these fields."""
    document = manifest(kind=kind, replicas=total, shares=bounds)
    document["spec"]["template"][kind]["spec"] |= workload
    document["spec"]["topology"]["scheduleStrategy"] = {
        "type": "Adaptive",
        "adaptive": {
            "rescheduleCriticalSeconds": critical,
            "unschedulableDuration": duration,
            "reserveUnschedulablePods": reserve,
        },
    }
    return application(document)


def snapshot(app: Application, seen: Mapping[str, Seen]) -> tuple[Subject, Observed]:
    views = {
        name: dataclasses.replace(view(name, pods=one.pods(app, name), reach=one.reach), clock_ahead=one.ahead)
        for name, one in seen.items()
    }
    entries = [one.entry(name) for name, one in seen.items() if not one.new]
    return subject(app, status={"subsetStatuses": entries}), observed(views, members=())
