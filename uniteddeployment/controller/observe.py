"""Takes the snapshot from which a plan is made: from the caches, without a request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from cachetools import LRUCache

from uniteddeployment.controller.failures import Failure
from uniteddeployment.controller.host import Host, Key
from uniteddeployment.controller.rooms import Rooms
from uniteddeployment.fleet import permission
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.registry import Fleet, selected
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes import retire
from uniteddeployment.planning.observed import (
    HOST,
    Drift,
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
from uniteddeployment_api.v1alpha1.uniteddeployment import CLUSTER_PROFILE


@dataclass(slots=True)
class Memory:
    """The state that this process keeps of one application between passes. All of it can be re-derived (I9)."""

    uid: str = ""
    generations: dict[WorkloadKey, int] = field(default_factory=dict)
    """Workload -> the generation that our last write gave it."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """Subset -> why its last write failed."""
    refused: dict[WorkloadKey, Refusal] = field(default_factory=dict)
    """Workload -> the write that was refused because it changes fields that cannot be changed."""
    drifts: dict[str, Drift] = field(default_factory=dict)
    """Subset -> the last changes of others that were reverted."""
    observed_at: str = ""
    """Time of the last snapshot."""
    seeded: set[str] = field(default_factory=set)
    """Subsets whose generations were looked up in status since this process started."""
    clusters: frozenset[str] = frozenset()
    """The clusters that the last snapshot had."""


InFlight = Callable[[Key], Mapping[str, Sequence[MemberStep]]]
"""Returns cluster -> the steps of an application that are in flight there."""
NamespaceLabels = Callable[[str], Mapping[str, str] | None]
"""Returns the labels of a namespace of the host; None if they are not known."""


class Observer:
    """Takes snapshots."""

    def __init__(
        self,
        host: Host,
        fleet: Fleet,
        now: Callable[[], datetime],
        in_flight: InFlight = lambda _: {},
        *,
        namespace_labels: NamespaceLabels = lambda _: None,
        profile_problem: Callable[[str], str] = lambda _: "",
        rooms: Rooms | None = None,
    ) -> None:
        self._profile_problem = profile_problem
        self.rooms = rooms or Rooms(lambda: 0.0)
        self._namespace_labels = namespace_labels
        self._in_flight = in_flight
        self._host = host
        self._fleet = fleet
        self._now = now
        self._memories: dict[Key, Memory] = {}
        self._by_cluster: dict[str, set[Key]] = {}
        self.templates: LRUCache[tuple[str, str], RevisionData] = LRUCache(2048)
        """(namespace, ControllerRevision) -> its data, which never changes."""
        self.damaged: LRUCache[tuple[str, str, str], str] = LRUCache(2048)
        """(namespace, ControllerRevision, uid) -> why it cannot be used."""

    def memory(self, subject: Subject) -> Memory:
        """The state of an application. State of a deleted object with the same name is discarded."""
        key = (subject.namespace, subject.name)
        memory = self._memories.get(key)
        if memory is None or memory.uid != subject.uid:
            memory = self._memories[key] = Memory(uid=subject.uid)
        return memory

    def forget(self, key: Key) -> None:
        """Discard the state of an application that was deleted."""
        self.rooms.forget(key)
        memory = self._memories.pop(key, None)
        for cluster in memory.clusters if memory else ():
            self._by_cluster.get(cluster, set()).discard(key)

    def in_cluster(self, cluster: str) -> frozenset[Key]:
        """The applications whose last snapshot had this cluster."""
        return frozenset(self._by_cluster.get(cluster, ()))

    def observe(self, subject: Subject) -> Observed:
        """Take a snapshot. It shares nothing mutable with this process's state."""
        memory = self.memory(subject)
        unanswered = self._in_flight((subject.namespace, subject.name))
        members = self._members(subject, unanswered)
        for view in members.values():
            if view.known:
                _seed(subject, view, memory)
        self._note_clusters((subject.namespace, subject.name), memory, frozenset(members))
        failures = {
            subset: failure for subset, failure in memory.failures.items() if failure.generation == subject.generation
        }
        memory.observed_at = rfc3339(self._now())
        return Observed(
            now=memory.observed_at,
            members={name: _without_deleted(view, unanswered.get(name, ())) for name, view in members.items()},
            revisions=self._records(subject),
            templates=self._templates(subject),
            generations=dict(memory.generations),
            errors={subset: failure.message for subset, failure in failures.items()},
            stalled=frozenset(subset for subset, failure in failures.items() if failure.stalled),
            writing=frozenset(unanswered),
            refused=dict(memory.refused),
            drifts=dict(memory.drifts),
            orphaning_checked=self._host.orphaning_checked(subject.uid),
            clusters=self.rooms.add(
                subject,
                members,
                {name: facts for name in members if (facts := self._fleet.facts(name)) is not None},
            ),
            fleet=self._fleet.fleet_facts(),
        )

    def _records(self, subject: Subject) -> tuple[RevisionRecord, ...]:
        """The revisions, with the problems of those that are damaged."""
        records = self._host.records((subject.namespace, subject.name))
        if not self.damaged:
            return records
        return tuple(
            replace(record, problem=self.damaged.get((subject.namespace, record.name, record.uid)) or record.problem)
            for record in records
        )

    def _members(self, subject: Subject, unanswered: Iterable[str]) -> dict[str, MemberView]:
        """The clusters of the topology and of status, and those where it has objects or writes in flight."""
        label = (subject.namespace, names.label_value(subject.name))
        wanted = set(unanswered) | {stored.cluster for stored in subject.status.workloads}
        if subject.app is not None:
            wanted |= {subject.app.cluster_of(subset) for subset in subject.app.subsets.values()}
        wanted |= {member.name for member in self._fleet.members() if label in member.cache}
        views = {cluster: self._fleet.view(cluster, label) for cluster in wanted}
        named = {workload.applied_through for view in views.values() for workload in view.workloads}
        named |= {view.same_as for view in views.values()}
        views |= {name: self._fleet.view(name, label) for name in named if name is not None and name not in views}
        views = dict(sorted(views.items()))
        if subject.app is not None and not subject.deleting:
            views = {cluster: self._allowed(subject.app, view) for cluster, view in views.items()}
        return views

    def _allowed(self, app: Application, view: MemberView) -> MemberView:
        """The view of a cluster. If the application may not use it, it counts as missing, with visible workloads."""
        cluster = self._fleet.cluster(view.name)
        profile_problem = self._profile_problem(view.name) if _asks_for_profile(app, view.name) else ""
        if cluster is None:
            return replace(view, detail=profile_problem) if profile_problem else view
        labels = self._namespace_labels(app.namespace)
        problem = profile_problem or _left_out(app, cluster) or permission.refusal(cluster, app.namespace, labels)
        if not problem:
            return view
        if view.workloads:
            problem = f"{problem}. What runs there is left as it is"
        undecided = labels is None and permission.needs_labels(cluster, app.namespace)
        return MemberView(
            view.name,
            Reach.UNKNOWN,
            problem,
            view.last_contact,
            view.workloads,
            view.pods,
            undecided=undecided,
        )

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


def _asks_for_profile(app: Application, cluster: str) -> bool:
    """Whether the application targets a ClusterProfile of this name."""
    registry = app.model.spec.topology.cluster_registry
    if registry is None or registry.cluster_type != CLUSTER_PROFILE:
        return False
    return any(app.cluster_of(subset) == cluster for subset in app.subsets.values()) and cluster != HOST


def _left_out(app: Application, cluster: ClusterObject) -> str:
    """Why the registry query of an application leaves a cluster out; empty if it does not."""
    registry = app.model.spec.topology.cluster_registry
    if registry is None:
        return ""
    if registry.namespaces and cluster.metadata.namespace not in registry.namespaces:
        return f"namespace {cluster.metadata.namespace} is not among spec.topology.clusterRegistry.namespaces"
    if not selected(cluster, registry.selector):
        return "the Cluster does not have the labels of spec.topology.clusterRegistry.selector"
    return ""


def _seed(subject: Subject, view: MemberView, memory: Memory) -> None:
    """Take the generations of the last process's writes from status, once the workloads are known."""
    for name, stored in subject.status.subsets.items():
        if name in memory.seeded or stored.cluster != view.name or stored.kind in view.unread:
            continue
        memory.seeded.add(name)
        owned = [workload for workload in retire.owned(subject, view) if workload.subset == name]
        current = [workload for workload in owned if workload.kind == stored.kind]
        if sum(workload.metadata.generation for workload in current) == stored.observed_generation:
            for workload in current:
                memory.generations.setdefault(view.ref(workload).key, workload.metadata.generation)


def _without_deleted(view: MemberView, unanswered: Sequence[MemberStep]) -> MemberView:
    """The view in which workloads with a deletion in flight are marked: their pods do not count any more (I7)."""
    deleted = {(step.ref.key, step.uid) for step in unanswered if isinstance(step, Delete)}
    if not deleted:
        return view
    workloads = (
        workload.being_deleted() if (view.ref(workload).key, workload.metadata.uid) in deleted else workload
        for workload in view.workloads
    )
    return replace(view, workloads=tuple(workloads))
