"""What the clusters show: the narrow structs that watch bytes are decoded into, and the snapshot made of them.

The structs have the shape of the API's JSON and keep only what a decision reads, so that tens of thousands of them fit
into little memory and no second representation is needed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from uniteddeployment.planning import unready
from uniteddeployment.planning.bounded import LABEL_LENGTH, Count, Generation, Name, Word, check_path, chosen
from uniteddeployment.planning.unready import MESSAGE_LIMIT, REASON_LIMIT, ContainerStatus, Unready
from uniteddeployment.text import shortened
from uniteddeployment_api import names

CONTROLLER_REVISION = "controller-revision-hash"
"""The label by which the controllers of StatefulSets, and OpenKruise's, say which revision they made a pod at."""


_ORDINAL_DIGITS = 10
_POD_LABELS = (names.LABEL_NAME, names.LABEL_SUBSET, names.LABEL_REVISION, CONTROLLER_REVISION)


class Metadata(Struct, rename="camel", frozen=True, gc=False):
    """What is read of an object's metadata: of labels and annotations only those that have a name in ``names``."""

    name: Name
    namespace: Name = ""
    uid: Word = ""
    resource_version: Word = ""
    generation: Generation = 0
    creation_timestamp: Word | None = None
    deletion_timestamp: Word | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._keep(names.LABELS, names.ANNOTATIONS, _LONGEST_ANNOTATION)

    def _keep(self, labels: Collection[str], annotations: Collection[str], longest: int) -> None:
        if self.labels:
            force_setattr(self, "labels", chosen(self.labels, labels, LABEL_LENGTH))
        if self.annotations:
            force_setattr(self, "annotations", chosen(self.annotations, annotations, longest))

    def as_new_as(self, news: "Metadata") -> bool:
        """Whether this is the same object at the same state as ``news``, or at a later one.

        Resource versions of one resource in one cluster are numbers that grow (KEP-5504); others count as news.
        """
        here, there = self.resource_version, news.resource_version
        numbers = here.isascii() and there.isascii() and here.isdecimal() and there.isdecimal()
        return self.uid == news.uid and numbers and int(here) >= int(there)


_LONGEST_ANNOTATION = 1 << 18
_WORKLOAD_ANNOTATIONS = (
    names.ANNOTATION_OWNER,
    names.ANNOTATION_OWNER_UID,
    names.ANNOTATION_CLUSTER,
    names.ANNOTATION_APPLIED,
)
_LONGEST_WORKLOAD_ANNOTATION = 1024


class WorkloadMetadata(Metadata, rename="camel", frozen=True, gc=False):
    """What is read of a workload's metadata. Members write it, so it is bounded more closely."""

    def __post_init__(self) -> None:
        check_path(self.name, self.namespace)
        self._keep(names.LABELS, _WORKLOAD_ANNOTATIONS, _LONGEST_WORKLOAD_ANNOTATION)
        if self.finalizers:
            force_setattr(self, "finalizers", ())


class RollingUpdate(Struct, rename="camel", frozen=True, gc=False):
    """``rollingUpdate`` of a StatefulSet."""

    partition: Count | Word | None = None


class UpdateStrategy(Struct, rename="camel", frozen=True, gc=False):
    """``updateStrategy``. The partition is in one of two places, by kind, as a number or a percentage."""

    type: Word = ""
    rolling_update: RollingUpdate | None = None
    partition: Count | Word | None = None


class Ordinals(Struct, rename="camel", frozen=True, gc=False):
    """``ordinals`` of a StatefulSet."""

    start: Count = 0


class WorkloadSpec(Struct, rename="camel", frozen=True, gc=False):
    """What is read of the spec of a workload."""

    replicas: Count = 1
    update_strategy: UpdateStrategy | None = None
    ordinals: Ordinals | None = None


class WorkloadCondition(Struct, rename="camel", frozen=True, gc=False):
    """One condition of a workload."""

    type: str
    status: str
    reason: str = ""
    message: str = ""

    def bounded(self) -> "WorkloadCondition":
        """The same with texts that can be kept."""
        reason, message = shortened(self.reason, REASON_LIMIT), shortened(self.message, MESSAGE_LIMIT)
        return WorkloadCondition(self.type, self.status, reason, message)


_FAILURES = ("ReplicaFailure", "FailedScale")
"""The conditions of a Deployment and of a CloneSet that cannot create pods."""


class WorkloadStatus(Struct, rename="camel", frozen=True, gc=False):
    """What is read of the status of a workload."""

    observed_generation: Generation = 0
    replicas: Count = 0
    ready_replicas: Count = 0
    available_replicas: Count = 0
    updated_replicas: Count = 0
    current_revision: Name = ""
    update_revision: Name = ""
    conditions: tuple[WorkloadCondition, ...] = ()
    """Only those that say that pods cannot be created."""

    def __post_init__(self) -> None:
        if self.conditions:
            failures = [one.bounded() for one in self.conditions if one.type in _FAILURES and one.status == "True"]
            force_setattr(self, "conditions", tuple(failures[: len(_FAILURES)]))

    @property
    def failure(self) -> str:
        """Why pods cannot be created; nothing if they can, or if the workload is of a kind that does not say."""
        return next((one.message or one.reason for one in self.conditions), "")


class Workload(Struct, rename="camel", frozen=True, gc=False):
    """A workload in a cluster."""

    metadata: WorkloadMetadata
    kind: Word = ""
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    @property
    def subset(self) -> str:
        return self.metadata.labels.get(names.LABEL_SUBSET, "")

    @property
    def applied_through(self) -> str | None:
        """The Cluster (``namespace/name``; the host is ``""``) that it was applied through; None if it does not say."""
        return self.metadata.annotations.get(names.ANNOTATION_CLUSTER)

    @property
    def revision(self) -> str:
        """Hash of the pod template that we put into it."""
        return self.metadata.labels.get(names.LABEL_REVISION, "")

    @property
    def partition(self) -> int:
        """How many pods it keeps at the old revision."""
        strategy = self.spec.update_strategy
        if strategy is None:
            return 0
        rolling = strategy.rolling_update.partition if strategy.rolling_update else None
        return _number(rolling if strategy.partition is None else strategy.partition, self.spec.replicas)

    @property
    def first_ordinal(self) -> int:
        return self.spec.ordinals.start if self.spec.ordinals else 0

    def going(self) -> "Workload":
        """The same, once its deletion was asked for."""
        metadata = replace(self.metadata, deletion_timestamp=self.metadata.deletion_timestamp or "requested")
        return replace(self, metadata=metadata)

    @property
    def observed(self) -> bool:
        """Whether the status speaks of the spec as it is now."""
        return self.status.observed_generation >= self.metadata.generation


def _number(partition: int | str | None, replicas: int) -> int:
    """A partition as a number of pods. A percentage is rounded up; what is neither holds nothing."""
    if isinstance(partition, int):
        return partition
    percent = (partition or "").removesuffix("%")
    return -(-int(percent) * replicas // 100) if percent.isascii() and percent.isdecimal() else 0


class PodCondition(Struct, rename="camel", frozen=True, gc=False):
    """One condition of a pod."""

    type: str
    status: Word
    reason: str = ""
    message: str = ""
    last_transition_time: Word | None = None

    def bounded(self) -> "PodCondition":
        """The same with texts that can be kept."""
        if len(self.reason) <= REASON_LIMIT and len(self.message) <= MESSAGE_LIMIT:
            return self
        reason, message = shortened(self.reason, REASON_LIMIT), shortened(self.message, MESSAGE_LIMIT)
        return PodCondition(self.type, self.status, reason, message, self.last_transition_time)


_READ_CONDITIONS = ("Ready", "PodScheduled")
_MOST_CONTAINERS = 8
"""Containers of a pod that are kept although they do not run; one of them is told."""


class PodStatus(Struct, rename="camel", frozen=True, gc=False):
    """What is read of a pod's status."""

    phase: Word = ""
    conditions: tuple[PodCondition, ...] = ()
    """Only those that are read."""
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    """Only of containers that do not run: most do, and there are many."""

    def __post_init__(self) -> None:
        if self.conditions:
            read = [one.bounded() for one in self.conditions if one.type in _READ_CONDITIONS]
            force_setattr(self, "conditions", tuple(read[: len(_READ_CONDITIONS)]))
        for field_ in ("init_container_statuses", "container_statuses"):
            found = getattr(self, field_)
            if found:
                stopped = [one for one in found if not one.runs]
                force_setattr(self, field_, tuple(stopped[:_MOST_CONTAINERS]))


class PodMetadata(Struct, rename="camel", frozen=True, gc=False):
    """What is read of a pod's metadata."""

    name: Name
    namespace: Name = ""
    uid: Word = ""
    resource_version: Word = ""
    deletion_timestamp: Word | None = None
    labels: dict[str, str] = {}

    def __post_init__(self) -> None:
        check_path(self.name, self.namespace)
        if self.labels:
            force_setattr(self, "labels", chosen(self.labels, _POD_LABELS, LABEL_LENGTH))


class Pod(Struct, rename="camel", frozen=True, gc=False):
    """A pod of a workload of ours."""

    metadata: PodMetadata
    status: PodStatus = PodStatus()

    @property
    def subset(self) -> str:
        return self.metadata.labels.get(names.LABEL_SUBSET, "")

    @property
    def revision(self) -> str:
        return self.metadata.labels.get(names.LABEL_REVISION, "")

    @property
    def ordinal(self) -> int:
        """The number at the end of a StatefulSet pod's name; -1 where there is none."""
        tail = self.metadata.name.rpartition("-")[2]
        return int(tail) if tail.isascii() and tail.isdecimal() and len(tail) <= _ORDINAL_DIGITS else -1

    @property
    def controller_revision(self) -> str:
        """What the controller of its workload calls the revision that it was made at."""
        return self.metadata.labels.get(CONTROLLER_REVISION, "")

    @property
    def living(self) -> bool:
        """Whether it is neither over nor going away."""
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Failed", "Succeeded")

    @property
    def ready(self) -> bool:
        return self.metadata.deletion_timestamp is None and any(
            condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions
        )

    @property
    def unready(self) -> Unready | None:
        """Why it is not ready, as far as the cluster says."""
        conditions = {condition.type: condition for condition in self.status.conditions}
        scheduled, ready = conditions.get("PodScheduled"), conditions.get("Ready")
        if scheduled is not None and scheduled.status == "False":
            return Unready(scheduled.reason or "Unschedulable", scheduled.message)
        containers = (*self.status.init_container_statuses, *self.status.container_statuses)
        found = unready.of_containers(containers)
        if found is not None or ready is None:
            return found
        begun = ready.last_transition_time
        return unready.starting(containers, reason=ready.reason, message=ready.message, begun=begun)

    @property
    def unscheduled_since(self) -> str | None:
        """Since when the scheduler has found no node for it, if it has looked for one; None if it is not so."""
        for condition in self.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == "Unschedulable":
                return condition.last_transition_time or ""
        return None

    @property
    def ready_since(self) -> str | None:
        """When it got ready."""
        return next((one.last_transition_time for one in self.status.conditions if one.type == "Ready"), None)


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

    @property
    def known(self) -> bool:
        """Whether there is a last word of it at all: its caches were complete once."""
        return self.reach in (Reach.READY, Reach.OFFLINE)


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
    generations: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """(cluster, kind, name) -> the generation that our last write of this workload got, where we know it."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Subset -> why the last write for it failed, for people."""
    stalled: frozenset[str] = frozenset()
    """Subsets whose last write was refused for good: waiting will not mend it."""
    orphaning_checked: bool = False
    """Whether the revisions were read since the application is being deleted."""
    writing: frozenset[str] = frozenset()
    """Clusters that have yet to answer writes for this application: nothing else is written there until they have."""
    refused: Mapping[tuple[str, str, str], "Refusal"] = field(default_factory=dict)
    """(cluster, kind, name) -> what was refused there because it changes what cannot be changed."""


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
