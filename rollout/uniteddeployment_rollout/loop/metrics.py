"""What the rollout controller counts for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutStatus
from uniteddeployment_rollout.status import from_text

_BUCKETS = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800)


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

    def notified(self, *, delivered: bool) -> None:
        """A notification was sent, or an attempt has failed."""
        self._notifications.labels("delivered" if delivered else "failed").inc()

    def changed(self, before: UnitedRolloutStatus, after: UnitedRolloutStatus) -> None:
        """A status was stored."""
        known = {run.run_id for run in before.history}
        for run in after.history:
            if run.run_id not in known:
                self._runs.labels(run.outcome).inc()
                self._duration.labels(run.outcome).observe(_seconds(run.start_time, run.finish_time))
        same_run = bool(before.run_id) and before.run_id == after.run_id
        if same_run and after.step > before.step and before.step_start_time and after.step_start_time:
            self._steps.observe(_seconds(before.step_start_time, after.step_start_time))


def _seconds(start: str, end: str) -> float:
    return (from_text(end) - from_text(start)).total_seconds()
