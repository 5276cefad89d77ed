"""The snapshot that a plan is made from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from uniteddeployment.planning.observed.clusters import NO_FACTS, NO_FLEET, ClusterFacts, FleetFacts
from uniteddeployment.planning.observed.pods import Pod, Unready
from uniteddeployment.planning.observed.values import later
from uniteddeployment.planning.observed.workloads import Workload

HOST = ""
"""The cluster name of the host itself."""


def cluster_label(cluster: str) -> str:
    """The name of a cluster in messages."""
    return "the host" if cluster == HOST else cluster


WorkloadKey = tuple[str, str, str]
"""(cluster, kind, name)"""


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """A reference to a workload of an application, whether it exists or not."""

    cluster: str
    subset: str
    """The subset that it belongs to. It is not part of the identity, since anybody can change a label."""
    kind: str
    name: str

    @property
    def key(self) -> WorkloadKey:
        """The identity among all workloads of one application: a cluster has one of each kind and name."""
        return self.cluster, self.kind, self.name

    def __str__(self) -> str:
        """The name in messages: ``StatefulSet web-a in default/member-1``."""
        return f"{self.kind} {self.name} in {cluster_label(self.cluster)}"


@dataclass(frozen=True, slots=True)
class PodTally:
    """The counted pods of one subset in one cluster. Counted once per change, so that a plan need not read pods."""

    pods: tuple[Pod, ...] = ()
    total: int = 0
    """All pods, including those that are being deleted."""
    living: Mapping[str, int] = field(default_factory=dict)
    """Revision -> pods that have neither ended nor are being deleted."""
    ready: Mapping[str, int] = field(default_factory=dict)
    """Revision -> ready pods."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    """Revision -> restarts of containers, for revisions whose containers were restarted."""
    unready: tuple[Unready, ...] = ()
    """Why pods are not ready: one entry for each pod that has a reason."""
    unscheduled: tuple[tuple[int, str], ...] = ()
    """The ordinal of each pod that the scheduler found no node for, and the time since when."""

    def ordinals(self, revision: str) -> set[int]:
        """The ordinals of the pods at a revision."""
        return {pod.ordinal for pod in self.pods if pod.revision == revision}

    def only(self, revision: str) -> bool:
        """Return True if every pod is at this revision, including those that are being deleted."""
        if self.living.keys() - {revision}:
            return False
        return self.total == self.living.get(revision, 0) or all(pod.revision == revision for pod in self.pods)


def tally(pods: Iterable[Pod]) -> PodTally:
    """Count the pods of one subset."""
    kept = tuple(pods)
    living: Counter[str] = Counter()
    ready: Counter[str] = Counter()
    restarts: Counter[str] = Counter()
    waiting: list[Unready] = []
    unscheduled: list[tuple[int, str]] = []
    for pod in kept:
        if not pod.living:
            continue
        revision = pod.revision
        living[revision] += 1
        if pod.status.restarts:
            restarts[revision] += pod.status.restarts
        if pod.ready:
            ready[revision] += 1
            continue
        if (reason := pod.unready) is not None:
            waiting.append(reason)
        if (begun := pod.unscheduled_since) is not None:
            unscheduled.append((pod.ordinal, begun))
    return PodTally(
        kept, len(kept), dict(living), dict(ready), dict(restarts), tuple(waiting), tuple(sorted(unscheduled))
    )


NO_PODS = PodTally()


class Reach(StrEnum):
    """Whether a cluster can be reached."""

    READY = "Ready"
    PENDING = "Pending"
    """Known, but not completely read yet since this process started."""
    OFFLINE = "Offline"
    """It has answered before and does not answer now."""
    SUSPENDED = "Suspended"
    UNKNOWN = "Unknown"
    """No Cluster has that name, the registry query excludes it, or another Cluster is used in its place."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """The view of one application in one cluster; the last known one if ``reach`` is not READY."""

    name: str
    reach: Reach
    detail: str = ""
    """Why it is not READY, for messages."""
    last_contact: str | None = None
    """When it last answered (RFC 3339); only set when it does not answer now."""
    workloads: tuple[Workload, ...] = ()
    pods: Mapping[str, PodTally] = field(default_factory=dict)
    """Subset -> its pods."""
    unserved: Mapping[str, str] = field(default_factory=dict)
    """Kinds of workloads that the cluster does not serve -> why, for messages."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kinds of workloads whose objects could not be read yet -> why, for messages."""
    same_as: str | None = None
    """The Cluster that is used in its place, since both name one cluster (``""`` for the host)."""
    undecided: bool = False
    """Whether it is too early to know if it can be reached: this process has just started, and nothing has failed."""
    clock_ahead: int = 0
    """By how many seconds its clock is ahead of ours; negative if it is behind."""

    def clock(self, now: str) -> str:
        """What its clock shows at a time of ours. The times of its objects are compared with that."""
        return later(now, self.clock_ahead) if self.clock_ahead else now

    def ref(self, workload: Workload) -> WorkloadRef:
        """The reference to a workload that this cluster shows."""
        return WorkloadRef(self.name, workload.subset, workload.kind, workload.metadata.name)

    @property
    def known(self) -> bool:
        """Whether its workloads were ever read completely."""
        return self.reach in (Reach.READY, Reach.OFFLINE)

    @property
    def gone(self) -> bool:
        """Whether no Cluster stands for it any more, so that what it may run is given up."""
        return self.reach is Reach.UNKNOWN and not self.workloads

    @property
    def unseen(self) -> bool:
        """Return True if the cluster may run workloads that nobody sees now."""
        return self.reach in (Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED)


@dataclass(frozen=True, slots=True)
class RevisionRecord:
    """A ControllerRevision of the host, without the template that it holds."""

    name: str
    number: int
    hash: str
    template_hash: str
    """The hash of the pod template alone: the revision of every subset that changes nothing in it."""
    patched: Mapping[str, str] = field(default_factory=dict)
    """Subset -> hash, for the subsets that change something in the template."""
    cause: str = ""
    """Why the template was changed, as a user noted it."""
    owned: bool = True
    """Whether it has an owner reference."""
    problem: str = ""
    """Why it cannot be used; empty if it is as we wrote it."""
    uid: str = ""

    def of_subset(self, subset: str) -> str:
        """The revision of a subset."""
        return self.patched.get(subset, self.template_hash)


@dataclass(frozen=True, slots=True)
class Observed:
    """A consistent snapshot of everything that a plan for one UnitedDeployment reads."""

    now: str
    """RFC 3339. For transition times, and to find out how long ago a time in a cluster was."""
    members: Mapping[str, MemberView]
    """Cluster name (``""`` for the host) -> view, for every cluster that has, or should have, a workload."""
    revisions: tuple[RevisionRecord, ...] = ()
    templates: Mapping[str, "RevisionData"] = field(default_factory=dict)
    """ControllerRevision name -> content, for those that were loaded because a plan asked for them."""
    generations: Mapping[WorkloadKey, int] = field(default_factory=dict)
    """Workload -> the generation that our last write gave it, where that is known."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Subset -> why its last write failed, for messages."""
    stalled: frozenset[str] = frozenset()
    """Subsets whose last write was refused for good: waiting does not help."""
    orphaning_checked: bool = False
    """Whether the revisions were read after the deletion of the application was requested."""
    writing: frozenset[str] = frozenset()
    """Clusters that have yet to answer writes for this application. Nothing else is written there until then."""
    refused: Mapping[WorkloadKey, "Refusal"] = field(default_factory=dict)
    """Workload -> the write that was refused because it changes fields that cannot be changed."""
    drifts: Mapping[str, "Drift"] = field(default_factory=dict)
    """Subset -> the last changes of others to its workload that this process reverted."""
    clusters: Mapping[str, ClusterFacts] = field(default_factory=dict)
    """Cluster name -> its state in the fleet. The host has none."""
    fleet: FleetFacts = NO_FLEET

    def facts(self, cluster: str) -> ClusterFacts:
        """The state of a cluster in the fleet; nothing is wrong with a cluster that has none."""
        return self.clusters.get(cluster, NO_FACTS)


@dataclass(frozen=True, slots=True)
class Drift:
    """Changes of others to a workload that were reverted."""

    time: str
    message: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write that an API server refused because it changes fields that cannot be changed."""

    digest: str
    """The digest of the body that was sent."""
    final: bool = False
    """Whether it refuses the body also as a replacement."""


@dataclass(frozen=True, slots=True)
class RevisionData:
    """The content of a revision: the pod template, and the changes that subsets make to it."""

    template: Mapping[str, Any]
    patches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Subset -> strategic merge patch on the pod template."""
    overrides: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """Subset -> JSON patch operations on the workload that reach the pod template."""
    subsets: frozenset[str] = frozenset()
    """The subsets at the time when the revision was created."""

    def knows(self, subset: str) -> bool:
        """Return True if the revision has the changes of a subset. A later subset has only its present changes."""
        return subset in self.subsets or subset in self.patches or subset in self.overrides
