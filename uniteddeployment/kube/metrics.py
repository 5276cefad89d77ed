"""Prometheus metrics of work queues and clients, under the names that client-go uses.

Labelled children are looked up once and kept, since a lookup takes four times as long as counting. The series of a
cluster are removed together with it, so that a changing fleet does not grow the registry forever.
"""

from http import HTTPStatus
from typing import Protocol

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_QUEUE_BUCKETS = (0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)


_CODES = frozenset({0, *HTTPStatus})
"""Codes that get a series of their own. A server may answer with any number, and each series stays forever."""


class Measurable(Protocol):
    """A queue that reports its work in progress."""

    def unfinished(self) -> float: ...

    def longest_running(self) -> float: ...


class Metrics:
    """The metric families of one registry, and the metrics of each queue and of each client."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def gauge(name: str, what: str) -> Gauge:
            return Gauge(name, what, ["name"], registry=registry)

        self.depth = gauge("workqueue_depth", "Keys waiting for a worker")
        self.unfinished = gauge("workqueue_unfinished_work_seconds", "Total age of the work in progress")
        self.longest = gauge("workqueue_longest_running_processor_seconds", "Age of the oldest work in progress")
        self.adds = Counter("workqueue_adds_total", "Keys added", ["name"], registry=registry)
        self.retries = Counter("workqueue_retries_total", "Keys added with a delay", ["name"], registry=registry)
        self.queued = Histogram(
            "workqueue_queue_duration_seconds",
            "Time that keys wait for a worker",
            ["name"],
            registry=registry,
            buckets=_QUEUE_BUCKETS,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "Time that a worker takes for a key",
            ["name"],
            registry=registry,
            buckets=_QUEUE_BUCKETS,
        )
        self.requests = Counter(
            "rest_client_requests_total",
            "Requests to API servers; code 0 means no answer",
            ["cluster", "verb", "resource", "code"],
            registry=registry,
        )
        self.latency = Histogram(
            "rest_client_request_duration_seconds",
            "Time until an API server answers",
            ["cluster", "verb"],
            registry=registry,
            buckets=_REQUEST_BUCKETS,
        )

    def queue(self, name: str) -> "QueueMetrics":
        """The metrics of one queue. Pass them to the queue, and the queue to their ``follow``."""
        return QueueMetrics(self, name)

    def client(self, cluster: str) -> "ClientMetrics":
        """The metrics of the client of one cluster."""
        return ClientMetrics(self, cluster)


class QueueMetrics:
    """Implements ``workqueue.QueueMetrics``."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._name = name
        self._metrics = metrics
        self.added = metrics.adds.labels(name).inc
        self.retried = metrics.retries.labels(name).inc
        self.depth = metrics.depth.labels(name).set
        self.waited = metrics.queued.labels(name).observe
        self.worked = metrics.worked.labels(name).observe

    def follow(self, queue: Measurable) -> None:
        """Read the work in progress from the queue whenever metrics are collected."""
        self._metrics.unfinished.labels(self._name).set_function(queue.unfinished)
        self._metrics.longest.labels(self._name).set_function(queue.longest_running)


class ClientMetrics:
    """Implements ``client.ClientMetrics``."""

    def __init__(self, metrics: Metrics, cluster: str) -> None:
        self._metrics = metrics
        self._cluster = cluster
        self._counters: dict[tuple[str, str, str], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def requested(self, verb: str, resource: str, status: int, seconds: float) -> None:
        """Count one request."""
        code = str(status) if status in _CODES else f"{status // 100}xx"
        counter = self._counters.get((verb, resource, code))
        if counter is None:
            counter = self._metrics.requests.labels(self._cluster, verb, resource, code)
            self._counters[verb, resource, code] = counter
        counter.inc()
        if verb == "watch":
            return  # the time until a stream begins does not show how fast a server is
        timer = self._timers.get(verb)
        if timer is None:
            timer = self._timers[verb] = self._metrics.latency.labels(self._cluster, verb)
        timer.observe(seconds)

    def forget(self) -> None:
        """Remove the series of this cluster from the registry."""
        for verb, resource, code in self._counters:
            self._metrics.requests.remove(self._cluster, verb, resource, code)
        for verb in self._timers:
            self._metrics.latency.remove(self._cluster, verb)
        self._counters.clear()
        self._timers.clear()
