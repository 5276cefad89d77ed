"""Metrics of the control loop. Those of its queue and its clients are in ``kube.metrics``."""

from collections.abc import Sequence
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

    def failed(self, kind: str) -> None:
        """Count a pass that has to be repeated."""


class NoMetrics:
    """Discards all events."""

    queue: QueueMetrics | None = None

    def steps(self, done: Sequence[MemberStep]) -> None:
        """Do nothing."""

    def failed(self, kind: str) -> None:
        """Do nothing."""


class LoopMetrics:
    """Counters for Prometheus."""

    def __init__(self, registry: CollectorRegistry, queue: QueueMetrics) -> None:
        self.queue: QueueMetrics | None = queue
        self._steps = Counter(
            "uniteddeployment_steps_total", "Steps carried out in clusters", ["cluster", "step"], registry=registry
        )
        self._failed = Counter(
            "uniteddeployment_reconcile_retries_total", "Reconciliations to repeat", ["kind"], registry=registry
        )

    def steps(self, done: Sequence[MemberStep]) -> None:
        for step in done:
            self._steps.labels(step.cluster or "host", type(step).__name__.lower()).inc()

    def failed(self, kind: str) -> None:
        self._failed.labels(kind).inc()
