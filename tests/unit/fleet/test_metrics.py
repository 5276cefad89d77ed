"""Metrics of members: computed when they are collected, and gone together with the Cluster."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from prometheus_client import CollectorRegistry

from tests.support import planning as make
from tests.support.capacity import decoded_node, decoded_pod, sums_of
from uniteddeployment.controller.metrics import LoopMetrics
from uniteddeployment.fleet.cache import MemberCache
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject
from uniteddeployment.fleet.entry import Entry
from uniteddeployment.fleet.health import Phase, Probes, Record
from uniteddeployment.fleet.metrics import FleetCollector
from uniteddeployment.kube.metrics import Metrics
from uniteddeployment.planning.observed import WorkloadRef
from uniteddeployment.planning.steps import Delete

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_series_of_a_cluster_show_its_phase_and_the_age_of_its_last_answer_and_end_with_it() -> None:
    entry = Entry(ClusterObject(ClusterMetadata("one", "default")))
    entry.record = Record(Phase.OFFLINE)
    entry.probes = Probes(last_answer=NOW - timedelta(seconds=90))
    entries = [entry]
    registry = CollectorRegistry()
    registry.register(FleetCollector(lambda: entries, lambda: NOW))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"uniteddeployment_cluster_{name}", {"cluster": "default/one", **labels})

    assert [value("phase", phase=str(phase)) for phase in Phase] == [0, 0, 1, 0]
    assert value("last_contact_age_seconds") == 90
    assert value("pods_wanted") is None, "it is not connected"
    entries.clear()
    assert value("phase", phase="Offline") is None


def test_the_capacity_of_a_connected_cluster_is_shown_while_it_is_current() -> None:
    """In cores of cpu, bytes of memory and numbers of others."""
    nodes = [decoded_node("n", {"cpu": "2", "memory": "1Gi", "example.com/gpu": "4"})]
    capacity = SimpleNamespace(sums=sums_of(nodes, [decoded_pod("p", {"cpu": "500m"}, node="n")]), current=True)
    entry = Entry(ClusterObject(ClusterMetadata("one", "default")))
    entry.member = SimpleNamespace(capacity=capacity, cache=MemberCache(lambda _: None))  # type: ignore[assignment]
    registry = CollectorRegistry()
    registry.register(FleetCollector(lambda: [entry], lambda: NOW))

    def value(name: str, resource: str) -> float | None:
        labels = {"cluster": "default/one", "resource": resource}
        return registry.get_sample_value(f"uniteddeployment_cluster_{name}", labels)

    assert [value("allocatable", name) for name in ("cpu", "memory", "pods", "example.com/gpu")] == [2, 1 << 30, 110, 4]
    assert [value("requested", name) for name in ("cpu", "pods")] == [0.5, 1]
    capacity.current = False
    assert value("allocatable", "cpu") is None


def test_the_wanted_and_ready_pods_of_a_connected_cluster_are_those_of_all_its_workloads() -> None:
    app = make.application(make.manifest())
    cache = MemberCache(lambda _: None)
    for subset, replicas, ready in (("member-1", 4, 3), ("member-2", 2, 0)):
        cache.merge("StatefulSet", make.stateful_set(app, subset, replicas=replicas, ready=ready))
    entry = Entry(ClusterObject(ClusterMetadata("one", "default")))
    entry.member = SimpleNamespace(capacity=SimpleNamespace(current=False), cache=cache)  # type: ignore[assignment]
    registry = CollectorRegistry()
    registry.register(FleetCollector(lambda: [entry], lambda: NOW))
    values = [
        registry.get_sample_value(f"uniteddeployment_cluster_pods_{name}", {"cluster": "default/one"})
        for name in ("wanted", "ready")
    ]
    assert values == [6, 3]


def test_the_counted_steps_of_a_cluster_end_with_it() -> None:
    registry = CollectorRegistry()
    metrics = LoopMetrics(registry, Metrics(registry).queue("q"))
    steps = [Delete(WorkloadRef(cluster, "a", "StatefulSet", "web-a"), "uid", "") for cluster in ("one", "two")]
    metrics.steps(steps)
    metrics.steps_failed(steps)
    metrics.moved({"one": 2, "two": 3})
    metrics.forget("one")
    moved = [
        registry.get_sample_value("uniteddeployment_moved_replicas_total", {"cluster": cluster})
        for cluster in ("one", "two")
    ]
    assert moved == [None, 3]
    for name in ("steps_total", "failed_steps_total"):
        values = [
            registry.get_sample_value(f"uniteddeployment_{name}", {"cluster": cluster, "step": "delete"})
            for cluster in ("one", "two")
        ]
        assert values == [None, 1]
