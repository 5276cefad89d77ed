"""What the rollout controller counts for Prometheus."""

from collections.abc import Iterable
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from uniteddeployment.kube.cache import Cache
from uniteddeployment_api.v1alpha1.rollout import Phase, UnitedRolloutStatus
from uniteddeployment_rollout.loop.objects import StoredRollout
from uniteddeployment_rollout.status import from_text

PHASES: tuple[str, ...] = get_args(Phase)
_NUMBERS = {
    "step": ("step", "Present step of the run, or 0"),
    "replicas": ("replicas", "Desired pods of the target"),
    "updated_replicas": ("updatedReplicas", "Pods at the update revision"),
    "updated_ready_replicas": ("updatedReadyReplicas", "Ready pods at the update revision"),
}
"""Name of a gauge -> field of the status, description."""
_BUCKETS = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800)

_MEASUREMENT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600)
_RESULTS = ("Passed", "Failed", "Inconclusive", "Error")


class RolloutMetrics:
    """Counts runs and measures runs and steps. Times are those of the status, so a restart loses none."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._runs = Counter(
            "uniteddeployment_rollout_runs_total", "Runs that are over, by outcome", ["outcome"], registry=registry
        )
        self._duration = Histogram(
            "uniteddeployment_rollout_run_duration_seconds",
            "Duration of runs, by outcome",
            ["outcome"],
            registry=registry,
            buckets=_BUCKETS,
        )
        self._steps = Histogram(
            "uniteddeployment_rollout_step_duration_seconds",
            "Duration of steps, pauses included",
            registry=registry,
            buckets=_BUCKETS,
        )

        self._notifications = Counter(
            "uniteddeployment_rollout_notifications_total",
            "Attempts to deliver a notification, by result",
            ["result"],
            registry=registry,
        )
        self._gates = Counter(
            "uniteddeployment_rollout_gates_total",
            "Gates that have a result, by result; one for each subset that was measured",
            ["result"],
            registry=registry,
        )
        self._gate_duration = Histogram(
            "uniteddeployment_rollout_gate_duration_seconds",
            "Time from the start of a gate to its result, by result",
            ["result"],
            registry=registry,
            buckets=_BUCKETS,
        )
        self._measurements = Counter(
            "uniteddeployment_rollout_gate_measurements_total",
            "Measurements of gates, by kind and outcome; readiness sends no requests and is not counted",
            ["kind", "outcome"],
            registry=registry,
        )
        self._measurement_duration = Histogram(
            "uniteddeployment_rollout_gate_measurement_duration_seconds",
            "Duration of measurements of gates, by kind",
            ["kind"],
            registry=registry,
            buckets=_MEASUREMENT_BUCKETS,
        )

    def notified(self, *, delivered: bool) -> None:
        """A notification was sent, or an attempt has failed."""
        self._notifications.labels("delivered" if delivered else "failed").inc()

    def measured(self, kind: str, outcome: str, seconds: float) -> None:
        """Count a measurement of a gate."""
        self._measurements.labels(kind, outcome).inc()
        self._measurement_duration.labels(kind).observe(seconds)

    def _gates_changed(self, before: UnitedRolloutStatus, after: UnitedRolloutStatus) -> None:
        same_gates = (before.run_id, before.step, before.gate_attempt) == (after.run_id, after.step, after.gate_attempt)
        states = {(row.name, row.subset): row.state for row in before.gates} if same_gates else {}
        for row in after.gates:
            if row.state not in _RESULTS or states.get((row.name, row.subset)) == row.state:
                continue
            self._gates.labels(row.state).inc()
            if row.start_time and row.time:
                self._gate_duration.labels(row.state).observe(_seconds(row.start_time, row.time))

    def changed(self, before: UnitedRolloutStatus, after: UnitedRolloutStatus) -> None:
        """A status was stored."""
        known = {run.run_id for run in before.history}
        for run in after.history:
            if run.run_id not in known:
                self._runs.labels(run.outcome).inc()
                self._duration.labels(run.outcome).observe(_seconds(run.start_time, run.finish_time))
        self._gates_changed(before, after)
        end = _step_end(before, after)
        if before.step_start_time and end:
            self._steps.observe(_seconds(before.step_start_time, end))


class RolloutCollector(Collector):
    """Gauges of the rollouts in a cache: read at each scrape, so those of a deleted rollout are gone at once."""

    def __init__(self, rollouts: Cache[StoredRollout]) -> None:
        self._rollouts = rollouts

    def describe(self) -> Iterable[Metric]:
        return self._gauges().values()

    def collect(self) -> Iterable[Metric]:
        gauges = self._gauges()
        for rollout in self._rollouts.objects.values():
            status, labels = rollout.status, list(rollout.key)
            for phase in PHASES:
                gauges["phase"].add_metric([*labels, phase], float(status.get("phase") == phase))
            for name, (field, _) in _NUMBERS.items():
                gauges[name].add_metric(labels, float(status.get(field, 0)))
        return gauges.values()

    def _gauges(self) -> dict[str, GaugeMetricFamily]:
        prefix, labels = "uniteddeployment_rollout", ["namespace", "name"]
        gauges = {"phase": GaugeMetricFamily(f"{prefix}_phase", "1 for the present phase", labels=[*labels, "phase"])}
        for name, (_, help_) in _NUMBERS.items():
            gauges[name] = GaugeMetricFamily(f"{prefix}_{name}", help_, labels=labels)
        return gauges


def _step_end(before: UnitedRolloutStatus, after: UnitedRolloutStatus) -> str | None:
    """The time when the step of ``before`` was completed; None if it was not."""
    if before.run_id and before.run_id == after.run_id:
        return after.step_start_time if after.step > before.step else None
    return next(
        (run.finish_time for run in after.history if run.run_id == before.run_id and run.outcome == "Completed"), None
    )


def _seconds(start: str, end: str) -> float:
    return (from_text(end) - from_text(start)).total_seconds()
