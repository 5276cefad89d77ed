"""Metrics carry client-go's names and forget clusters that are gone."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from uniteddeployment.kube.metrics import Metrics
from uniteddeployment.kube.workqueue import WorkQueue

pytestmark = pytest.mark.looptime


async def test_a_queue_is_measured_also_when_another_thread_collects() -> None:
    registry = CollectorRegistry()
    measured = Metrics(registry).queue("ud")
    queue: WorkQueue[str] = WorkQueue(metrics=measured)
    measured.follow(queue)
    queue.add("a")
    queue.add_after("b", 100)
    await asyncio.sleep(2)
    await queue.get()
    await asyncio.sleep(3)
    with ThreadPoolExecutor(1) as threads:
        text = threads.submit(generate_latest, registry).result().decode()
    for line in (
        'workqueue_depth{name="ud"} 0.0',
        'workqueue_adds_total{name="ud"} 1.0',
        'workqueue_retries_total{name="ud"} 1.0',
        'workqueue_queue_duration_seconds_sum{name="ud"} 2.0',
        'workqueue_unfinished_work_seconds{name="ud"} 3.0',
        'workqueue_longest_running_processor_seconds{name="ud"} 3.0',
    ):
        assert line in text
    queue.done("a")
    assert registry.get_sample_value("workqueue_work_duration_seconds_sum", {"name": "ud"}) == pytest.approx(3)
    queue.shut_down()


def test_a_cluster_that_is_gone_leaves_the_registry() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    kept, gone = metrics.client("kept"), metrics.client("gone")
    for client in (kept, gone):
        client.requested("apply", "statefulsets", 200, 0.01)
        client.requested("apply", "statefulsets", 200, 0.01)
        client.requested("watch", "pods", 200, 0.01)
    labels = {"cluster": "kept", "verb": "apply", "resource": "statefulsets", "code": "200"}
    assert registry.get_sample_value("rest_client_requests_total", labels) == 2
    gone.forget()
    text = generate_latest(registry).decode()
    assert 'cluster="kept"' in text
    assert 'cluster="gone"' not in text
    assert 'verb="watch"' not in "".join(line for line in text.splitlines() if "duration" in line)
