"""The snapshot that a plan is made from: taken from caches, without a request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from cachetools import LRUCache

from uniteddeployment.controller.failures import Failure
from uniteddeployment.controller.host import Host, Key
from uniteddeployment.fleet.registry import Fleet, selected
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes import retire
from uniteddeployment.planning.observed import (
    MemberView,
    Observed,
    Reach,
    Refusal,
    RevisionData,
    RevisionRecord,
    WorkloadKey,
)
from uniteddeployment.planning.steps import Delete, MemberStep
from uniteddeployment_api import names


@dataclass(slots=True)
class Memory:
    """What this process remembers of one application between passes. All of it can be found out again (I9)."""

    uid: str = ""
    generations: dict[WorkloadKey, int] = field(default_factory=dict)
    """Workload -> the generation that our last write gave it."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """Subset -> why its last write failed."""
    refused: dict[WorkloadKey, Refusal] = field(default_factory=dict)
    """Workload -> the write that was refused because it changes fields that cannot be changed."""
    seeded: set[str] = field(default_factory=set)
    """Subsets whose generations were looked up in status since this process started."""
    clusters: frozenset[str] = frozenset()
    """Clusters that it has or should have something in."""


InFlight = Callable[[Key], Mapping[str, Sequence[MemberStep]]]
"""Gives cluster -> the steps of an application that have yet to be answered there."""


class Observer:
    """Takes snapshots."""

    def __init__(
        self, host: Host, fleet: Fleet, now: Callable[[], datetime], in_flight: InFlight = lambda _: {}
    ) -> None:
        self._in_flight = in_flight
        self._host = host
        self._fleet = fleet
        self._now = now
        self._memories: dict[Key, Memory] = {}
        self._by_cluster: dict[str, set[Key]] = {}
        self.templates: LRUCache[tuple[str, str], RevisionData] = LRUCache(2048)
        """(namespace, ControllerRevision) -> what it holds; revisions never change."""
        self.damaged: LRUCache[tuple[str, str, str], str] = LRUCache(2048)
        """(namespace, ControllerRevision, uid) -> why it cannot be used."""

    def memory(self, subject: Subject) -> Memory:
        """What is remembered of it; of a namesake that is gone nothing is."""
        key = (subject.namespace, subject.name)
        memory = self._memories.get(key)
        if memory is None or memory.uid != subject.uid:
            memory = self._memories[key] = Memory(uid=subject.uid)
        return memory

    def forget(self, key: Key) -> None:
        memory = self._memories.pop(key, None)
        for cluster in memory.clusters if memory else ():
            self._by_cluster.get(cluster, set()).discard(key)

    def in_cluster(self, cluster: str) -> frozenset[Key]:
        """The applications that have, or should have, something in a cluster."""
        return frozenset(self._by_cluster.get(cluster, ()))

    def observe(self, subject: Subject) -> Observed:
        memory = self.memory(subject)
        unanswered = self._in_flight((subject.namespace, subject.name))
        members = self._members(subject, unanswered)
        for view in members.values():
            if view.known:
                _seed(subject, view, memory)
        self._note_clusters((subject.namespace, subject.name), memory, frozenset(members))
        failures = {name: one for name, one in memory.failures.items() if one.generation == subject.generation}
        return Observed(
            now=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            members={name: _without_deleted(view, unanswered.get(name, ())) for name, view in members.items()},
            revisions=self._records(subject),
            templates=self._templates(subject),
            generations=dict(memory.generations),
            errors={name: one.message for name, one in failures.items()},
            stalled=frozenset(name for name, one in failures.items() if one.stalled),
            writing=frozenset(unanswered),
            refused=dict(memory.refused),
            orphaning_checked=self._host.orphaning_checked(subject.uid),
        )

    def _records(self, subject: Subject) -> tuple[RevisionRecord, ...]:
        """The revisions, with what was found out about those that somebody has damaged."""
        records = self._host.records((subject.namespace, subject.name))
        if not self.damaged:
            return records
        return tuple(
            replace(one, problem=self.damaged.get((subject.namespace, one.name, one.uid)) or one.problem)
            for one in records
        )

    def _members(self, subject: Subject, unanswered: Iterable[str]) -> dict[str, MemberView]:
        """The clusters of the topology and of status, and those where something of it was seen or just sent."""
        label = (subject.namespace, names.label_value(subject.name))
        wanted = set(unanswered) | {stored.cluster for stored in subject.status.workloads}
        if subject.app is not None:
            wanted |= {subject.app.cluster_of(subset) for subset in subject.app.subsets.values()}
        wanted |= {member.name for member in self._fleet.members() if label in member.cache}
        views = {cluster: self._fleet.view(cluster, label) for cluster in wanted}
        named = {one.applied_through for view in views.values() for one in view.workloads}
        named |= {view.same_as for view in views.values()}
        views |= {name: self._fleet.view(name, label) for name in named if name is not None and name not in views}
        views = dict(sorted(views.items()))
        if subject.app is not None and not subject.deleting:
            views = {cluster: self._allowed(subject.app, view) for cluster, view in views.items()}
        return views

    def _allowed(self, app: Application, view: MemberView) -> MemberView:
        """A cluster that the registry query leaves out is as good as none, but what runs there is still seen."""
        registry = app.model.spec.topology.cluster_registry
        cluster = self._fleet.cluster(view.name)
        if registry is None or cluster is None:
            return view
        if registry.namespaces and cluster.metadata.namespace not in registry.namespaces:
            problem = f"namespace {cluster.metadata.namespace} is not among spec.topology.clusterRegistry.namespaces"
        elif not selected(cluster, registry.selector):
            problem = "the Cluster does not have the labels of spec.topology.clusterRegistry.selector"
        else:
            return view
        return MemberView(view.name, Reach.UNKNOWN, problem, view.last_contact, view.workloads, view.pods)

    def _templates(self, subject: Subject) -> dict[str, RevisionData]:
        name = subject.status.current_revision or ""
        if subject.app is not None and name == subject.app.revision_name:
            return {name: subject.app.revision_data}
        data = self.templates.get((subject.namespace, name))
        return {name: data} if data is not None else {}

    def _note_clusters(self, key: Key, memory: Memory, clusters: frozenset[str]) -> None:
        if clusters == memory.clusters:
            return
        for cluster in memory.clusters - clusters:
            self._by_cluster.get(cluster, set()).discard(key)
        for cluster in clusters - memory.clusters:
            self._by_cluster.setdefault(cluster, set()).add(key)
        memory.clusters = clusters


def _seed(subject: Subject, view: MemberView, memory: Memory) -> None:
    """Take over from status which generations the last process's writes got, once its workloads can be seen."""
    for name, stored in subject.status.subsets.items():
        if name in memory.seeded or stored.cluster != view.name or stored.kind in view.unread:
            continue
        memory.seeded.add(name)
        found = [one for one in retire.owned(subject, view) if (one.subset, one.kind) == (name, stored.kind)]
        if sum(one.metadata.generation for one in found) == stored.observed_generation:
            for one in found:
                memory.generations.setdefault(view.ref(one).key, one.metadata.generation)


def _without_deleted(view: MemberView, unanswered: Sequence[MemberStep]) -> MemberView:
    """The view with what is being deleted marked as such: its pods must not be counted on any more (I7)."""
    deleted = {(step.ref.key, step.uid) for step in unanswered if isinstance(step, Delete)}
    if not deleted:
        return view
    workloads = (one.going() if (view.ref(one).key, one.metadata.uid) in deleted else one for one in view.workloads)
    return replace(view, workloads=tuple(workloads))
