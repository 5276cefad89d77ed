"""The snapshot that a plan is made from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from uniteddeployment.planning.observed.pods import Pod, Unready
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
    """A workload of an application: where it is and what it is called, whether it exists or not."""

    cluster: str
    subset: str
    """The subset that it belongs to; its identity does not depend on it, since anybody can change a label."""
    kind: str
    name: str

    @property
    def key(self) -> WorkloadKey:
        """Its identity among all workloads of one application: there is one of a kind and name in a cluster."""
        return self.cluster, self.kind, self.name

    def __str__(self) -> str:
        """For messages: ``StatefulSet web-a in default/member-1``."""
        return f"{self.kind} {self.name} in {cluster_label(self.cluster)}"


@dataclass(frozen=True, slots=True)
class PodTally:
    """The pods of one subset in one cluster, counted. Made once per change, so that a plan need not look at pods."""

    pods: tuple[Pod, ...] = ()
    total: int = 0
    """All of them, those that are going away included."""
    living: Mapping[str, int] = field(default_factory=dict)
    """Revision -> pods that are neither over nor going away."""
    ready: Mapping[str, int] = field(default_factory=dict)
    """Revision -> ready pods."""
    unready: tuple[Unready, ...] = ()
    """Why pods are not ready: one entry for each that has a reason."""
    unscheduled: tuple[tuple[int, str], ...] = ()
    """For each pod that the scheduler found no node for: its ordinal, and since when."""

    def ordinals(self, revision: str) -> set[int]:
        """The ordinals of the pods at a revision."""
        return {pod.ordinal for pod in self.pods if pod.revision == revision}

    def only(self, revision: str) -> bool:
        """Whether every pod, also one that is going away, is at this revision."""
        if self.living.keys() - {revision}:
            return False
        return self.total == self.living.get(revision, 0) or all(pod.revision == revision for pod in self.pods)


def tally(pods: Iterable[Pod]) -> PodTally:
    """Count the pods of one subset."""
    kept = tuple(pods)
    living: Counter[str] = Counter()
    ready: Counter[str] = Counter()
    waiting: list[Unready] = []
    unscheduled: list[tuple[int, str]] = []
    for pod in kept:
        if not pod.living:
            continue
        revision = pod.revision
        living[revision] += 1
        if pod.ready:
            ready[revision] += 1
            continue
        if (reason := pod.unready) is not None:
            waiting.append(reason)
        if (begun := pod.unscheduled_since) is not None:
            unscheduled.append((pod.ordinal, begun))
    return PodTally(kept, len(kept), dict(living), dict(ready), tuple(waiting), tuple(sorted(unscheduled)))


NO_PODS = PodTally()


class Reach(StrEnum):
    """How a cluster stands to us."""

    READY = "Ready"
    PENDING = "Pending"
    """Known, and not yet looked at in full since this process started."""
    OFFLINE = "Offline"
    """It answered once and does not answer now."""
    SUSPENDED = "Suspended"
    UNKNOWN = "Unknown"
    """No Cluster object of that name, one that the registry query leaves out, or one for which another is used."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """What one cluster shows of one application. What it shows is its last word when ``reach`` is not READY."""

    name: str
    reach: Reach
    detail: str = ""
    """Why it is not READY, for people."""
    last_contact: str | None = None
    """When it last answered (RFC 3339); only set when it does not answer now."""
    workloads: tuple[Workload, ...] = ()
    pods: Mapping[str, PodTally] = field(default_factory=dict)
    """Subset -> its pods."""
    unserved: Mapping[str, str] = field(default_factory=dict)
    """Kinds of workloads that cannot be had there -> why, for people."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kinds of workloads whose objects could not be read yet -> why, for people."""
    same_as: str | None = None
    """The Cluster that is used in its place, since both name one cluster; the host is ``""``."""
    undecided: bool = False
    """Whether it is too early to say how it stands: this process has just begun to look, and nothing has failed."""

    def ref(self, workload: Workload) -> WorkloadRef:
        """The reference to a workload that this cluster shows."""
        return WorkloadRef(self.name, workload.subset, workload.kind, workload.metadata.name)

    @property
    def known(self) -> bool:
        """Whether there is a last word of it at all: its caches were complete once."""
        return self.reach in (Reach.READY, Reach.OFFLINE)

    @property
    def unseen(self) -> bool:
        """Return True if the cluster may run workloads that nobody sees now."""
        return self.reach in (Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED)


@dataclass(frozen=True, slots=True)
class RevisionRecord:
    """A ControllerRevision of the host: which template it holds, without the template itself."""

    name: str
    number: int
    hash: str
    template_hash: str
    """Hash of the pod template alone: the revision of every subset without a patch."""
    patched: Mapping[str, str] = field(default_factory=dict)
    """Subset -> hash, for the subsets that had a patch."""
    cause: str = ""
    """Why the template was changed, as somebody noted it."""
    owned: bool = True
    """Whether it has an owner reference."""
    problem: str = ""
    """Why it cannot be used, if it is not as we wrote it."""
    uid: str = ""

    def of_subset(self, subset: str) -> str:
        return self.patched.get(subset, self.template_hash)


@dataclass(frozen=True, slots=True)
class Observed:
    """One consistent look at everything that a plan for one UnitedDeployment reads."""

    now: str
    """RFC 3339, for transition times in status, and to tell how long ago the times were that clusters show."""
    members: Mapping[str, MemberView]
    """Cluster name -> view; the host itself is ``""``. Holds every cluster that has or should have something."""
    revisions: tuple[RevisionRecord, ...] = ()
    templates: Mapping[str, "RevisionData"] = field(default_factory=dict)
    """ControllerRevision name -> what it holds, for those that were loaded because a plan asked for them."""
    generations: Mapping[WorkloadKey, int] = field(default_factory=dict)
    """Workload -> the generation that our last write gave it, where that is known."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Subset -> why the last write for it failed, for people."""
    stalled: frozenset[str] = frozenset()
    """Subsets whose last write was refused for good: waiting will not mend it."""
    orphaning_checked: bool = False
    """Whether the revisions were read since the application is being deleted."""
    writing: frozenset[str] = frozenset()
    """Clusters that have yet to answer writes for this application: nothing else is written there until they have."""
    refused: Mapping[WorkloadKey, "Refusal"] = field(default_factory=dict)
    """Workload -> the write that was refused because it changes fields that cannot be changed."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write that an API server did not take, since it changes fields that cannot be changed."""

    digest: str
    """Of the body that was sent."""
    final: bool = False
    """It would not take it in place of the old one either."""


@dataclass(frozen=True, slots=True)
class RevisionData:
    """What a revision holds: the pod template, and what subsets changed in it."""

    template: Mapping[str, Any]
    patches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Subset -> strategic merge patch on the pod template."""
    overrides: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """Subset -> JSON patch operations on the workload that reach the pod template."""
    subsets: frozenset[str] = frozenset()
    """The subsets that there were when the revision was made."""

    def knows(self, subset: str) -> bool:
        """Whether the revision says what a subset's pods are; one that came later has only its present changes."""
        return subset in self.subsets or subset in self.patches or subset in self.overrides
