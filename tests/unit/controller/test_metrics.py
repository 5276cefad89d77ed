"""The names and labels of the metrics of the control loop, which dashboards and alerts use."""

from prometheus_client import CollectorRegistry, generate_latest

from uniteddeployment.controller.metrics import LoopMetrics
from uniteddeployment.kube.metrics import Metrics
from uniteddeployment.planning.observed import HOST, WorkloadRef
from uniteddeployment.planning.steps import Delete, Scale


def test_metrics_have_these_names_helps_and_labels() -> None:
    registry = CollectorRegistry()
    queue = Metrics(CollectorRegistry()).queue("q")
    metrics = LoopMetrics(registry, queue)
    assert metrics.queue is queue
    delete = Delete(WorkloadRef("default/m", "a", "StatefulSet", "web-a"), "uid", "")
    scale = Scale(WorkloadRef(HOST, "a", "StatefulSet", "web-a"), 3, 1, "")
    metrics.steps([delete, delete, scale])
    metrics.steps_failed([scale])
    metrics.moved({"default/m": 2, HOST: 1})
    metrics.failed("conflict")
    lines = [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
    assert lines == [
        "# HELP uniteddeployment_steps_total Steps carried out in clusters",
        "# TYPE uniteddeployment_steps_total counter",
        'uniteddeployment_steps_total{cluster="default/m",step="delete"} 2.0',
        'uniteddeployment_steps_total{cluster="host",step="scale"} 1.0',
        "# HELP uniteddeployment_failed_steps_total Steps that failed in clusters",
        "# TYPE uniteddeployment_failed_steps_total counter",
        'uniteddeployment_failed_steps_total{cluster="host",step="scale"} 1.0',
        "# HELP uniteddeployment_moved_replicas_total Replicas that began to move to other subsets",
        "# TYPE uniteddeployment_moved_replicas_total counter",
        'uniteddeployment_moved_replicas_total{cluster="default/m"} 2.0',
        'uniteddeployment_moved_replicas_total{cluster="host"} 1.0',
        "# HELP uniteddeployment_reconcile_retries_total Reconciliations to repeat",
        "# TYPE uniteddeployment_reconcile_retries_total counter",
        'uniteddeployment_reconcile_retries_total{kind="conflict"} 1.0',
    ]
    metrics.forget("default/m")
    metrics.forget("default/other")
    left = generate_latest(registry).decode()
    assert "default/m" not in left
    assert 'cluster="host"' in left
