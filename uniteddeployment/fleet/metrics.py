"""Metrics of the members, computed when they are collected. The series of a Cluster end together with it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from uniteddeployment.fleet.capacity.quantity import CPU
from uniteddeployment.fleet.entry import Entry
from uniteddeployment.fleet.health import Phase


class FleetCollector(Collector):
    """Collects the metrics of all Clusters."""

    def __init__(self, entries: Callable[[], Iterable[Entry]], now: Callable[[], datetime]) -> None:
        self._entries = entries
        self._now = now

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the registry need not collect to know the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the present values."""
        phase = _family("phase", "1 for the phase of the Cluster, 0 for the others", "phase")
        contact = _family("last_contact_age_seconds", "Age of the last good answer to a probe")
        wanted = _family("pods_wanted", "Replicas of the workloads in the cluster, as last seen")
        ready = _family("pods_ready", "Ready replicas of the workloads in the cluster, as last seen")
        allocatable = _family("allocatable", "Resources of the schedulable nodes for pods", "resource")
        requested = _family("requested", "Resources that pods on the schedulable nodes request", "resource")
        for entry in self._entries():
            if entry.member is not None and entry.member.capacity.current:
                sums = entry.member.capacity.sums
                total, names = sums.total(), sums.places.names
                _add_resources(allocatable, entry.key, names, total.allocatable)
                _add_resources(requested, entry.key, names, total.requested)
            for known in Phase:
                phase.add_metric([entry.key, str(known)], float(known is entry.record.phase))
            if entry.probes.last_answer is not None:
                contact.add_metric([entry.key], (self._now() - entry.probes.last_answer).total_seconds())
            if entry.member is not None:
                pods, pods_ready = _replicas(entry)
                wanted.add_metric([entry.key], pods)
                ready.add_metric([entry.key], pods_ready)
        yield from (phase, contact, wanted, ready, allocatable, requested)


def _replicas(entry: Entry) -> tuple[int, int]:
    """The replicas of the cached workloads of a cluster: those that are wanted, and those that are ready."""
    caches = entry.member.cache.workload_caches.values() if entry.member is not None else ()
    workloads = [workload for cache in caches for workload in cache.objects.values()]
    return sum(one.spec.replicas for one in workloads), sum(one.status.ready_replicas for one in workloads)


def _add_resources(family: GaugeMetricFamily, cluster: str, names: Iterable[str], amounts: Iterable[int]) -> None:
    """Add the amounts of a cluster: cores of cpu, bytes of memory, and numbers of everything else."""
    for name, amount in zip(names, amounts, strict=False):
        family.add_metric([cluster, name], amount / 1000 if name == CPU else float(amount))


def _family(name: str, description: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"uniteddeployment_cluster_{name}", description, labels=["cluster", *labels])
