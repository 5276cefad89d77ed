"""What the controller counts. With Prometheus in ``prometheus``; nothing at all where nobody asked for numbers."""

from collections.abc import Sequence
from typing import Protocol

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
