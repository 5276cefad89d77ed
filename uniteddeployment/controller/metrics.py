"""Metrics of the control loop. Those of its queue and its clients are in ``kube.metrics``."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter

from uniteddeployment.kube.workqueue import QueueMetrics
from uniteddeployment.planning.steps import MemberStep


class Metrics(Protocol):
    """Receives the events of the control loop."""

    @property
    def queue(self) -> QueueMetrics | None: ...

    def steps(self, done: Sequence[MemberStep]) -> None:
        """Count steps that were carried out in clusters."""

    def steps_failed(self, failed: Sequence[MemberStep]) -> None:
        """Count steps that failed."""

    def moved(self, replicas: Mapping[str, int]) -> None:
        """Count replicas that begin to move, by the cluster that they leave."""

    def failed(self, kind: str) -> None:
        """Count a pass that has to be repeated."""

    def forget(self, cluster: str) -> None:
        """Remove the series of a cluster that was removed."""


class NoMetrics:
    """Discards all events."""

    queue: QueueMetrics | None = None

    def steps(self, done: Sequence[MemberStep]) -> None:
        """Do nothing."""

    def steps_failed(self, failed: Sequence[MemberStep]) -> None:
        """Do nothing."""

    def moved(self, replicas: Mapping[str, int]) -> None:
        """Do nothing."""

    def failed(self, kind: str) -> None:
        """Do nothing."""

    def forget(self, cluster: str) -> None:
        """Do nothing."""


class LoopMetrics:
    """Counters for Prometheus."""

    def __init__(self, registry: CollectorRegistry, queue: QueueMetrics) -> None:
        self.queue: QueueMetrics | None = queue
        self._steps = _ByStep("uniteddeployment_steps_total", "Steps carried out in clusters", registry)
        self._steps_failed = _ByStep("uniteddeployment_failed_steps_total", "Steps that failed in clusters", registry)
        self._moved = Counter(
            "uniteddeployment_moved_replicas_total",
            "Replicas that began to move to other subsets",
            ["cluster"],
            registry=registry,
        )
        self._moved_from: set[str] = set()
        self._failed = Counter(
            "uniteddeployment_reconcile_retries_total", "Reconciliations to repeat", ["kind"], registry=registry
        )

    def steps(self, done: Sequence[MemberStep]) -> None:
        self._steps.count(done)

    def steps_failed(self, failed: Sequence[MemberStep]) -> None:
        self._steps_failed.count(failed)

    def forget(self, cluster: str) -> None:
        self._steps.forget(cluster)
        self._steps_failed.forget(cluster)
        if cluster in self._moved_from:
            self._moved_from.discard(cluster)
            self._moved.remove(cluster)

    def moved(self, replicas: Mapping[str, int]) -> None:
        for cluster, count in replicas.items():
            self._moved_from.add(cluster)
            self._moved.labels(cluster or "host").inc(count)

    def failed(self, kind: str) -> None:
        self._failed.labels(kind).inc()


class _ByStep:
    """Counts steps by cluster and kind of step."""

    def __init__(self, name: str, description: str, registry: CollectorRegistry) -> None:
        self._counter = Counter(name, description, ["cluster", "step"], registry=registry)
        self._kinds: dict[str, set[str]] = {}

    def count(self, steps: Sequence[MemberStep]) -> None:
        for step in steps:
            cluster, kind = step.cluster or "host", type(step).__name__.lower()
            self._kinds.setdefault(cluster, set()).add(kind)
            self._counter.labels(cluster, kind).inc()

    def forget(self, cluster: str) -> None:
        """Remove the series of a cluster."""
        for kind in self._kinds.pop(cluster, ()):
            self._counter.remove(cluster, kind)
