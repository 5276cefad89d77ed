"""What the loop counts, beside what ``kube.metrics`` counts of its queue and its clients."""

from collections.abc import Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter

from uniteddeployment.kube.workqueue import QueueMetrics
from uniteddeployment.planning.steps import MemberStep


class Metrics(Protocol):
    """Is told what happens in the loop."""

    @property
    def queue(self) -> QueueMetrics | None: ...

    def steps(self, done: Sequence[MemberStep]) -> None:
        """Writes that were carried out in members."""

    def failed(self, kind: str) -> None:
        """A pass that has to be repeated."""


class NoMetrics:
    """Counts nothing."""

    queue: QueueMetrics | None = None

    def steps(self, done: Sequence[MemberStep]) -> None:
        """Nothing."""

    def failed(self, kind: str) -> None:
        """Nothing."""


class LoopMetrics:
    """Counts for Prometheus."""

    def __init__(self, registry: CollectorRegistry, queue: QueueMetrics) -> None:
        self.queue: QueueMetrics | None = queue
        self._steps = Counter(
            "uniteddeployment_steps_total", "Writes carried out in clusters", ["cluster", "step"], registry=registry
        )
        self._failed = Counter(
            "uniteddeployment_reconcile_retries_total", "Passes to be repeated", ["kind"], registry=registry
        )

    def steps(self, done: Sequence[MemberStep]) -> None:
        for step in done:
            self._steps.labels(step.cluster or "host", type(step).__name__.lower()).inc()

    def failed(self, kind: str) -> None:
        self._failed.labels(kind).inc()
