"""The objects that the controller watches, as narrow structs, and the pure values that decisions are made of."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import force_setattr

from uniteddeployment.kube.resource import Resource
from uniteddeployment_api import names
from uniteddeployment_api.v1alpha1.gates import GateTemplateSpec
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.validation.gates import parse_gate_template
from uniteddeployment_api.validation.rollout import parse_united_rollout
from uniteddeployment_rollout.target import Target, TargetSubset

UNITED_DEPLOYMENTS = Resource(names.GROUP, names.VERSION, names.UNITED_DEPLOYMENT_PLURAL, names.UNITED_DEPLOYMENT_KIND)
CLUSTERS = Resource(names.GROUP, names.VERSION, names.CLUSTER_PLURAL, names.CLUSTER_KIND)
UNITED_ROLLOUTS = Resource(names.GROUP, names.VERSION, names.UNITED_ROLLOUT_PLURAL, names.UNITED_ROLLOUT_KIND)
GATE_TEMPLATES = Resource(names.GROUP, names.VERSION, names.GATE_TEMPLATE_PLURAL, names.GATE_TEMPLATE_KIND)
FIELD_MANAGER = "uniteddeployment-rollout"

Key = tuple[str, str]
"""Namespace and name."""
_EMPTY = Raw(b"{}")
_LONGEST_CAUSE = 1024


class ManagedFields(Struct, rename="camel", frozen=True):
    """One entry of ``metadata.managedFields``: who wrote which fields."""

    manager: str = ""
    time: str = ""
    subresource: str = ""
    fields: Raw = field(default=_EMPTY, name="fieldsV1")


class TargetMetadata(Struct, rename="camel", frozen=True):
    """The metadata of a UnitedDeployment."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    annotations: dict[str, str] = {}
    managed_fields: tuple[ManagedFields, ...] = ()
    """Emptied once it is read: it is larger than the rest."""
    template_by: str = ""
    """The manager that wrote the template last, from ``managed_fields``."""
    partitions_by: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "template_by", _last_writer(self.managed_fields, b'"f:template"'))
        force_setattr(self, "partitions_by", _last_writer(self.managed_fields, b'"f:partitions"'))
        force_setattr(self, "managed_fields", ())
        cause = self.annotations.get(names.ANNOTATION_CHANGE_CAUSE, "")[:_LONGEST_CAUSE]
        force_setattr(self, "annotations", {names.ANNOTATION_CHANGE_CAUSE: cause} if cause else {})


class ManualUpdate(Struct, rename="camel", frozen=True):
    """``spec.updateStrategy.manualUpdate``."""

    partition: int | str = 0
    partitions: dict[str, int | str] = {}
    revision: str = ""
    max_updated: dict[str, int] = {}
    revert: tuple[str, ...] = ()


class UpdateStrategy(Struct, rename="camel", frozen=True):
    """``spec.updateStrategy``."""

    manual_update: ManualUpdate = ManualUpdate()


class TargetSpec(Struct, rename="camel", frozen=True):
    """What is read of the spec of a UnitedDeployment."""

    paused: bool = False
    update_strategy: UpdateStrategy = UpdateStrategy()


class DriftStatus(Struct, frozen=True):
    """Changes of others that the UnitedDeployment controller reverted."""

    time: str = ""
    message: str = ""


class RevisionStatus(Struct, rename="camel", frozen=True):
    """Pods of a subset at one revision."""

    revision: str
    replicas: int = 0
    ready_replicas: int = 0
    restarts: int = 0


_NO_PODS = RevisionStatus("")


class SubsetStatus(Struct, rename="camel", frozen=True):
    """What is read of the status of a subset."""

    name: str
    cluster: str = ""
    state: str = ""
    replicas: int = 0
    observed_replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    updated_ready_replicas: int = 0
    reason: str = ""
    last_observed_time: str = ""
    last_drift: DriftStatus = DriftStatus()
    revision: str = ""
    stable_revision: str = ""
    revisions: tuple[RevisionStatus, ...] = ()

    def at(self, revision: str) -> RevisionStatus:
        """The pods at a revision."""
        return next((pods for pods in self.revisions if pods.revision == revision), _NO_PODS)


class TargetStatus(Struct, rename="camel", frozen=True):
    """What is read of the status of a UnitedDeployment."""

    observed_generation: int = 0
    current_revision: str = ""
    updated_revision: str = ""
    subset_statuses: tuple[SubsetStatus, ...] = ()


class StoredTarget(Struct, rename="camel", frozen=True):
    """A UnitedDeployment as the watch shows it."""

    metadata: TargetMetadata
    spec: TargetSpec = TargetSpec()
    status: TargetStatus = TargetStatus()


class FullTarget(Struct, rename="camel", frozen=True):
    """A UnitedDeployment with its whole spec, for going back to an earlier template."""

    metadata: TargetMetadata
    spec: dict[str, Any]


class ClusterMetadata(Struct, rename="camel", frozen=True):
    """The metadata of a Cluster."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class StoredCluster(Struct, frozen=True):
    """A Cluster: waves select subsets by its labels."""

    metadata: ClusterMetadata


class TemplateMetadata(Struct, rename="camel", frozen=True):
    """The metadata of a GateTemplate."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class StoredGateTemplate(Struct, frozen=True):
    """A GateTemplate as the watch shows it."""

    metadata: TemplateMetadata
    spec: dict[str, Any] = {}

    def model(self) -> GateTemplateSpec:
        """Raises InvalidObject."""
        return parse_gate_template({"metadata": {"name": self.metadata.name}, "spec": self.spec}).spec


class RolloutMetadata(Struct, rename="camel", frozen=True):
    """The metadata of a UnitedRollout."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class StoredRollout(Struct, rename="camel", frozen=True):
    """A UnitedRollout as the watch shows it. Decisions read it as a model, which checks it."""

    metadata: RolloutMetadata
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    @property
    def key(self) -> Key:
        return self.metadata.namespace, self.metadata.name

    @property
    def selects_clusters(self) -> bool:
        """Whether a wave selects subsets by the labels of their clusters."""
        steps = self.spec.get("steps")
        waves = [step.get("wave") for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
        return any(isinstance(wave, Mapping) and "clusterSelector" in wave for wave in waves)

    @property
    def target(self) -> Key:
        """The UnitedDeployment that it names."""
        reference = self.spec.get("targetRef")
        name = reference.get("name") if isinstance(reference, Mapping) else ""
        return self.metadata.namespace, str(name or "")

    def model(self) -> UnitedRollout:
        """Raises InvalidObject."""
        metadata = msgspec.to_builtins(self.metadata)
        return parse_united_rollout({"metadata": metadata, "spec": self.spec, "status": self.status})


class Revision(Struct, frozen=True):
    """``data`` of a ControllerRevision: a pod template, and what subsets changed in it."""

    template: dict[str, Any] = {}
    patches: dict[str, dict[str, Any]] = {}
    overrides: dict[str, tuple[dict[str, Any], ...]] = {}
    subsets: frozenset[str] = frozenset()

    def knows(self, subset: str) -> bool:
        """Whether the subset existed when the revision was stored."""
        return subset in self.subsets or subset in self.patches or subset in self.overrides


class StoredRevision(Struct, frozen=True):
    """A ControllerRevision."""

    data: Revision = Revision()


def no_labels(_: str) -> Mapping[str, str]:
    """The labels of Clusters that are not known."""
    return {}


def target_of(stored: StoredTarget, labels: Callable[[str], Mapping[str, str]] = no_labels) -> Target:
    """The target as decisions read it. ``labels`` returns those of a Cluster, which is named ``namespace/name``."""
    meta, status, manual = stored.metadata, stored.status, stored.spec.update_strategy.manual_update
    own = manual if manual.revision in ("", status.updated_revision) else ManualUpdate(manual.partition)
    return Target(
        name=meta.name,
        namespace=meta.namespace,
        generation=meta.generation,
        observed_generation=status.observed_generation,
        paused=stored.spec.paused,
        current_revision=status.current_revision,
        updated_revision=status.updated_revision,
        default_partition=manual.partition,
        partitions=manual.partitions,
        partitions_revision=manual.revision,
        max_updated=manual.max_updated,
        revert=manual.revert,
        subsets=tuple(_subset(subset, own, labels(subset.cluster)) for subset in status.subset_statuses),
        cause=meta.annotations.get(names.ANNOTATION_CHANGE_CAUSE, ""),
        template_by=meta.template_by,
        partitions_by=meta.partitions_by,
    )


def _subset(status: SubsetStatus, manual: ManualUpdate, labels: Mapping[str, str]) -> TargetSubset:
    stable = status.at(status.stable_revision)
    return TargetSubset(
        name=status.name,
        cluster=status.cluster,
        replicas=status.replicas,
        observed=status.observed_replicas,
        ready=status.ready_replicas,
        updated=status.updated_replicas,
        updated_ready=status.updated_ready_replicas,
        restarts=status.at(status.revision).restarts,
        revision=status.revision,
        stable=stable.replicas,
        stable_ready=stable.ready_replicas,
        stable_restarts=stable.restarts,
        stable_revision=status.stable_revision,
        state=status.state,
        last_observed=status.last_observed_time,
        reason=status.reason,
        partition=manual.partitions.get(status.name),
        default=manual.partition,
        max_updated=manual.max_updated.get(status.name),
        reverted=status.name in manual.revert,
        labels=labels,
        drift=status.last_drift.message,
        drift_time=status.last_drift.time,
    )


def _last_writer(entries: tuple[ManagedFields, ...], fields: bytes) -> str:
    """The manager that wrote some of these fields last, as far as the API server recorded it.

    Times are in seconds: of two in the same second, the one that is not us is the one to know of.
    """
    writers = [entry for entry in entries if not entry.subresource and fields in bytes(entry.fields)]
    last = max(writers, key=lambda entry: (entry.time, entry.manager != FIELD_MANAGER), default=ManagedFields())
    return last.manager[:256]
