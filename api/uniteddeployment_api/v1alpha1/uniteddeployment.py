"""The UnitedDeployment: one application over many clusters and zones.

Field names are OpenKruise's where OpenKruise has the field. Rules that no single field can state (and the CEL that says
them to the API server) are in :mod:`uniteddeployment_api.rules` and :mod:`uniteddeployment_api.validation`.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, WithJsonSchema

from uniteddeployment_api.names import (
    ANNOTATION_RECREATE,
    API_VERSION,
    RECREATE,
)
from uniteddeployment_api.v1alpha1.meta import (
    MAX_REPLICAS,
    DnsLabel,
    DnsSubdomain,
    Int32,
    IntOrPercent,
    Labels,
    LabelSelector,
    Model,
    NodeSelectorTerm,
    ObjectMeta,
    Replicas,
    Toleration,
)
from uniteddeployment_api.v1alpha1.status import UnitedDeploymentStatus
from uniteddeployment_api.v1alpha1.template import SubsetPatch, WorkloadTemplate

MAX_SUBSETS = 256
MAX_OVERRIDES = 64


class ClusterType(Model):
    """The kind of object that stands for a cluster."""

    api_version: Annotated[str, Field(max_length=317)] = API_VERSION
    """Group and version of the kind."""
    kind: Annotated[str, Field(max_length=63)] = "Cluster"
    """The kind."""


class ClusterRegistry(Model):
    """Which clusters the subsets may target."""

    namespaces: Annotated[tuple[DnsLabel, ...], Field(max_length=64)] = ()
    """Namespaces of Cluster objects that may be targeted; any if empty."""
    selector: Labels = Field(default_factory=dict)
    """Labels that a Cluster has to have to be targeted."""
    cluster_type: ClusterType | None = None
    """The kind of object that stands for a cluster; Cluster of this group if not set."""


class TargetCluster(Model):
    """A Cluster object."""

    namespace: Annotated[str, Field(max_length=63)] | None = None
    """Where the Cluster object is; the UnitedDeployment's own namespace if not set."""
    name: DnsSubdomain
    """The name of the Cluster object."""


class Adoption(Model):
    """A workload that was there before the UnitedDeployment."""

    name: DnsSubdomain
    """The name of the workload, which is of the kind of spec.template."""


class Override(Model):
    """One operation of a JSON patch (RFC 6902)."""

    op: Literal["add", "replace", "remove", "test", "move", "copy"]
    """What is done."""
    path: Annotated[str, Field(min_length=1, max_length=1024)]
    """Where, as a JSON pointer from the root of the workload: /spec/template/spec/containers/0/image."""
    value: Annotated[Any, WithJsonSchema({"nullable": True, "x-kubernetes-preserve-unknown-fields": True})] = None
    """What is put there (add, replace) or has to be there (test)."""
    from_: Annotated[str, Field(max_length=1024)] | None = Field(default=None, alias="from")
    """Where it is taken from (move, copy), as a JSON pointer."""

    def operation(self) -> dict[str, Any]:
        """The operation as RFC 6902 writes it. An explicit null is a value; what was not written is left out."""
        operation: dict[str, Any] = {"op": self.op, "path": self.path}
        if "value" in self.model_fields_set:
            operation["value"] = self.value
        if self.from_ is not None:
            operation["from"] = self.from_
        return operation


class Subset(Model):
    """One failure domain: a cluster, or some nodes of it."""

    name: DnsLabel
    """Part of the name of the subset's workload; unique in the UnitedDeployment."""
    target_cluster: TargetCluster | None = None
    """The cluster that runs the subset; the one that holds the UnitedDeployment if not set."""
    node_selector_term: NodeSelectorTerm | None = None
    """The nodes of the cluster that the subset's pods may run on. It may not be changed."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=64)] = ()
    """Tolerations that the subset's pods get in addition. They may not be changed."""
    replicas: IntOrPercent | None = None
    """A fixed share: a number of pods or a percentage of spec.replicas. What is left is divided among the subsets
    that have none."""
    min_replicas: IntOrPercent | None = None
    """As many pods as this are placed here first, in the order of the list."""
    max_replicas: IntOrPercent | None = None
    """No more pods than this are placed here."""
    weight: Replicas | None = None
    """The subset's part of the replicas, in proportion to the weights of the others; 1 if not set and others have one.
    With 0 it gets its minReplicas and what no other subset can take."""
    patch: SubsetPatch | None = None
    """A strategic merge patch on the pod template of the subset's workload; if its spec has fields of a workload's
    spec (such as template or minReadySeconds), on the workload. It cannot set replicas, selector and partition."""
    overrides: Annotated[tuple[Override, ...], Field(max_length=MAX_OVERRIDES)] = ()
    """A JSON patch on the subset's workload, after patch, for what patch cannot say. It cannot set replicas, selector
    and partition."""
    adopt: Adoption | None = None
    """The workload in the subset's cluster that the subset takes over. It keeps its name and selector, and its pods
    are not restarted."""


class AdaptiveStrategy(Model):
    """When pods that cannot be scheduled are moved to other subsets."""

    reschedule_critical_seconds: Int32 = 30
    """How long a pod may be without a node before its subset counts as unschedulable."""
    unschedulable_duration: Int32 = 300
    """How many seconds a subset counts as unschedulable before new pods are tried there again."""
    reserve_unschedulable_pods: StrictBool = False
    """Keep the pods that cannot be scheduled waiting, and run a stand-in for each in another subset until they are
    ready. Not for kinds whose pods have ordinals."""


def _or(default: str) -> BeforeValidator:
    """An empty text, which OpenKruise takes for the default."""
    return BeforeValidator(lambda value: default if value == "" else value)


class ScheduleStrategy(Model):
    """What happens to pods that cannot be scheduled in their subset."""

    type: Annotated[
        Literal["Fixed", "Adaptive"],
        _or("Fixed"),
        WithJsonSchema({"type": "string", "enum": ["Fixed", "Adaptive", ""]}),
    ] = "Fixed"
    """Fixed: they wait. Adaptive: other subsets run them."""
    adaptive: AdaptiveStrategy = AdaptiveStrategy()
    """When they are moved, for Adaptive."""


class Topology(Model):
    """Where the application runs."""

    cluster_registry: ClusterRegistry | None = None
    """Which clusters the subsets may target."""
    subsets: Annotated[tuple[Subset, ...], Field(max_length=MAX_SUBSETS)] = ()
    """The subsets, in order of preference."""
    schedule_strategy: ScheduleStrategy = ScheduleStrategy()
    """What happens to pods that cannot be scheduled in their subset."""
    max_unavailable: IntOrPercent = "25%"
    """How many of all pods may be missing while subsets are removed, moved or change their kind of workload: a number
    or a percentage of spec.replicas."""
    ordinals: Literal["Shared", "Disjoint"] = "Shared"
    """Shared: the pods of each StatefulSet are counted from 0. Disjoint: each subset has a range of its own, so that
    no two pods of the application have the same ordinal."""
    ordinal_block: (
        Annotated[int, Field(strict=True, ge=1, le=MAX_REPLICAS, json_schema_extra={"format": "int32"})] | None
    ) = None
    """How many ordinals a subset without a whole number as maxReplicas has, with the ordinals Disjoint."""


class ManualUpdate(Model):
    """How many pods stay at the old revision."""

    partitions: Annotated[dict[str, IntOrPercent], Field(max_length=MAX_SUBSETS)] = Field(default_factory=dict)
    """For each subset by name: how many of its pods stay at the old revision, as a number or a percentage."""
    partition: IntOrPercent = 0
    """The partition of the subsets that partitions does not name; "100%" holds every new template back."""


class UpdateStrategy(Model):
    """How a new template is rolled out."""

    type: Annotated[Literal["Manual"], _or("Manual"), WithJsonSchema({"type": "string", "enum": ["Manual", ""]})] = (
        "Manual"
    )
    """Manual: partitions decide how far the update goes."""
    manual_update: ManualUpdate = ManualUpdate()
    """The partitions."""


class UnitedDeploymentSpec(Model):
    """What the application is to be."""

    replicas: Replicas | None = None
    """Pods in total, at most 1000000. If not set, every subset says its own number."""
    selector: LabelSelector
    """Selects the application's pods. It has to match the labels of the pod template, and may not be changed."""
    template: WorkloadTemplate
    """What runs in each subset."""
    topology: Topology = Topology()
    """Where the application runs."""
    update_strategy: UpdateStrategy = UpdateStrategy()
    """How a new template is rolled out."""
    paused: StrictBool = False
    """While true, nothing but the status is changed."""
    revision_history_limit: Annotated[int, Field(strict=True, ge=0, le=1000, json_schema_extra={"format": "int32"})] = (
        10
    )
    """How many revisions that nothing runs any more are kept, to go back to."""
    deletion_policy: Literal["Delete", "Orphan"] = "Delete"
    """What happens to the workloads when the UnitedDeployment is deleted. Delete: they are deleted with their pods,
    unless the deletion itself asks to orphan them. Orphan: they stay in any case, and belong to nobody."""


class UnitedDeployment(Model):
    """One application over many clusters and zones."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["UnitedDeployment"] = "UnitedDeployment"
    metadata: ObjectMeta = ObjectMeta()
    spec: UnitedDeploymentSpec
    """What the application is to be."""
    status: UnitedDeploymentStatus = UnitedDeploymentStatus()
    """What is known of the application."""

    @property
    def recreates(self) -> bool:
        """Whether workloads are recreated for changes that an API server refuses."""
        return self.metadata.annotations.get(ANNOTATION_RECREATE) == RECREATE
