"""Workloads as clusters show them: narrow structs that the bytes of a watch are decoded into.

The structs have the shape of the API's JSON and keep only what a decision reads, so that tens of thousands of them fit
into little memory and no second representation is needed.
"""

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from uniteddeployment.planning.observed.values import (
    LABEL_LENGTH,
    MESSAGE_LIMIT,
    REASON_LIMIT,
    Count,
    Generation,
    Name,
    Word,
    check_path,
    chosen,
)
from uniteddeployment.text import shortened
from uniteddeployment_api import names


class Metadata(Struct, rename="camel", frozen=True, gc=False):
    """The parts of an object's metadata that are read. Of labels and annotations, only those listed in ``names``."""

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


_LONGEST_ANNOTATION = 1 << 18
_WORKLOAD_ANNOTATIONS = (
    names.ANNOTATION_OWNER,
    names.ANNOTATION_OWNER_UID,
    names.ANNOTATION_CLUSTER,
    names.ANNOTATION_APPLIED,
)
_LONGEST_WORKLOAD_ANNOTATION = 1024


class WorkloadMetadata(Metadata, rename="camel", frozen=True, gc=False):
    """The parts of a workload's metadata that are read. Members write it, so its bounds are lower."""

    def __post_init__(self) -> None:
        check_path(self.name, self.namespace)
        self._keep(names.LABELS, _WORKLOAD_ANNOTATIONS, _LONGEST_WORKLOAD_ANNOTATION)
        if self.finalizers:
            force_setattr(self, "finalizers", ())


class RollingUpdate(Struct, rename="camel", frozen=True, gc=False):
    """``rollingUpdate`` of a StatefulSet."""

    partition: Count | Word | None = None


class UpdateStrategy(Struct, rename="camel", frozen=True, gc=False):
    """``updateStrategy``. The kind decides in which of two fields the partition is. It is a number or a percentage."""

    type: Word = ""
    rolling_update: RollingUpdate | None = None
    partition: Count | Word | None = None


class Ordinals(Struct, rename="camel", frozen=True, gc=False):
    """``ordinals`` of a StatefulSet."""

    start: Count = 0


class WorkloadSpec(Struct, rename="camel", frozen=True, gc=False):
    """The parts of a workload's spec that are read."""

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
        """Return the condition with its texts cut to what is kept."""
        reason, message = shortened(self.reason, REASON_LIMIT), shortened(self.message, MESSAGE_LIMIT)
        return WorkloadCondition(self.type, self.status, reason, message)


_FAILURES = ("ReplicaFailure", "FailedScale")
"""The conditions with which a Deployment and a CloneSet report that they cannot create pods."""


class WorkloadStatus(Struct, rename="camel", frozen=True, gc=False):
    """The parts of a workload's status that are read."""

    observed_generation: Generation = 0
    replicas: Count = 0
    ready_replicas: Count = 0
    available_replicas: Count = 0
    updated_replicas: Count = 0
    current_revision: Name = ""
    update_revision: Name = ""
    conditions: tuple[WorkloadCondition, ...] = ()
    """Only the conditions that report that pods cannot be created."""

    def __post_init__(self) -> None:
        if self.conditions:
            failing = [item for item in self.conditions if item.type in _FAILURES and item.status == "True"]
            failures = [condition.bounded() for condition in failing]
            force_setattr(self, "conditions", tuple(failures[: len(_FAILURES)]))

    @property
    def failure(self) -> str:
        """Why pods cannot be created; empty if they can, or if workloads of this kind do not report it."""
        return next((condition.message or condition.reason for condition in self.conditions), "")


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
        """The Cluster that it was applied through (``namespace/name``; ``""`` for the host); None if unknown."""
        return self.metadata.annotations.get(names.ANNOTATION_CLUSTER)

    @property
    def revision(self) -> str:
        """The hash of the pod template that we applied."""
        return self.metadata.labels.get(names.LABEL_REVISION, "")

    @property
    def partition(self) -> int:
        """Number of pods that it holds at the old revision."""
        strategy = self.spec.update_strategy
        if strategy is None:
            return 0
        rolling = strategy.rolling_update.partition if strategy.rolling_update else None
        return _number(rolling if strategy.partition is None else strategy.partition, self.spec.replicas)

    @property
    def first_ordinal(self) -> int:
        return self.spec.ordinals.start if self.spec.ordinals else 0

    def being_deleted(self) -> "Workload":
        """Return the workload as it looks once its deletion was requested."""
        metadata = replace(self.metadata, deletion_timestamp=self.metadata.deletion_timestamp or "requested")
        return replace(self, metadata=metadata)

    @property
    def observed(self) -> bool:
        """Whether the status describes the present generation of the spec."""
        return self.status.observed_generation >= self.metadata.generation


def _number(partition: int | str | None, replicas: int) -> int:
    """A partition as a number of pods. Percentages are rounded up; anything else holds no pods."""
    if isinstance(partition, int):
        return partition
    percent = (partition or "").removesuffix("%")
    return -(-int(percent) * replicas // 100) if percent.isascii() and percent.isdecimal() else 0
