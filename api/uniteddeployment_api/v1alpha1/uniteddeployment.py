"""The UnitedDeployment: one application across clusters and zones.

Fields that OpenKruise also has keep its names. Rules that involve several fields, and their CEL expressions, are in
:mod:`uniteddeployment_api.rules`; :mod:`uniteddeployment_api.validation` checks them.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, WithJsonSchema

from uniteddeployment_api.duration import DURATION_PATTERN
from uniteddeployment_api.names import (
    ANNOTATION_RECREATE,
    API_VERSION,
    CLUSTER_PROFILE_API_VERSION,
    CLUSTER_PROFILE_KIND,
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
    Uid,
)
from uniteddeployment_api.v1alpha1.status import UnitedDeploymentStatus
from uniteddeployment_api.v1alpha1.template import SubsetPatch, WorkloadTemplate

MAX_SUBSETS = 256
MAX_OVERRIDES = 64
NEVER = "Never"
"""The grace period of an application whose replicas stay with a lost cluster."""


class ClusterType(Model):
    """Kind of the objects that represent clusters."""

    api_version: Annotated[str, Field(max_length=317)] = API_VERSION
    """Group and version of the kind."""
    kind: Annotated[str, Field(max_length=63)] = "Cluster"
    """Name of the kind: Cluster of uniteddeployment.io/v1alpha1, or ClusterProfile of
    multicluster.x-k8s.io/v1alpha1."""


CLUSTER_PROFILE = ClusterType(api_version=CLUSTER_PROFILE_API_VERSION, kind=CLUSTER_PROFILE_KIND)


class ClusterRegistry(Model):
    """Restricts the clusters that subsets may target."""

    namespaces: Annotated[tuple[DnsLabel, ...], Field(max_length=64)] = ()
    """Namespaces whose Cluster objects may be targeted. If empty, all namespaces."""
    selector: Labels = Field(default_factory=dict)
    """Labels that a Cluster object must have to be targeted."""
    cluster_type: ClusterType | None = None
    """Kind of the objects that targetCluster names. Defaults to Cluster. For each ClusterProfile that a subset names,
    the controller creates a Cluster of the same name and namespace."""


class TargetCluster(Model):
    """Reference to a Cluster object."""

    namespace: Annotated[str, Field(max_length=63)] | None = None
    """Namespace of the Cluster object. Defaults to the namespace of the UnitedDeployment."""
    name: DnsSubdomain
    """Name of the Cluster object."""


class Adoption(Model):
    """An existing workload that a subset takes over."""

    name: DnsSubdomain
    """Name of the workload. It must have the kind of spec.template and be in the namespace of the UnitedDeployment."""


class FormerOwner(Model):
    """A UnitedDeployment of the same namespace and name that was lost with its host."""

    owner_uid: Annotated[Uid, Field(alias="ownerUID")]
    """uid of the lost UnitedDeployment. Its workloads have it in the annotation uniteddeployment.io/owner-uid."""


class Override(Model):
    """An operation of a JSON patch (RFC 6902)."""

    op: Literal["add", "replace", "remove", "test", "move", "copy"]
    """Operation."""
    path: Annotated[str, Field(min_length=1, max_length=1024)]
    """JSON pointer to the target, from the root of the workload, such as /spec/template/spec/containers/0/image."""
    value: Annotated[Any, WithJsonSchema({"nullable": True, "x-kubernetes-preserve-unknown-fields": True})] = None
    """Value to set (add, replace) or to compare with (test)."""
    from_: Annotated[str, Field(max_length=1024)] | None = Field(default=None, alias="from")
    """JSON pointer to the source (move, copy)."""

    def operation(self) -> dict[str, Any]:
        """The operation in the form of RFC 6902. An explicit null is a value; fields that were not set are omitted."""
        operation: dict[str, Any] = {"op": self.op, "path": self.path}
        if "value" in self.model_fields_set:
            operation["value"] = self.value
        if self.from_ is not None:
            operation["from"] = self.from_
        return operation


class Subset(Model):
    """A part of the application that runs in one cluster, or on some nodes of it."""

    name: DnsLabel
    """Name of the subset, unique in the UnitedDeployment. It is part of the name of the workload."""
    target_cluster: TargetCluster | None = None
    """Cluster that runs the subset. Defaults to the cluster that holds the UnitedDeployment."""
    node_selector_term: NodeSelectorTerm | None = None
    """Nodes of the cluster that the pods of the subset may run on. Immutable. Defaults to all nodes."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=64)] = ()
    """Tolerations that are added to those of the pod template. Immutable."""
    cluster_tolerations: Annotated[tuple[Toleration, ...], Field(max_length=64)] = ()
    """Tolerations of the subset for taints of its cluster. They come before those of spec.topology.tolerations."""
    replicas: IntOrPercent | None = None
    """Fixed share: a number of pods, or a percentage of spec.replicas, rounded half up. Subsets without a fixed share
    divide the remaining pods evenly."""
    min_replicas: IntOrPercent | None = None
    """Lower bound, as a number or a percentage of spec.replicas. Lower bounds are filled first, in list order."""
    max_replicas: IntOrPercent | None = None
    """Upper bound, as a number or a percentage of spec.replicas."""
    weight: Replicas | None = None
    """Share in proportion to the weights of the other subsets. Defaults to 1 if another subset has a weight. A subset
    with weight 0 gets its minReplicas and the pods that no other subset can take."""
    patch: SubsetPatch | None = None
    """Strategic merge patch on the pod template of the subset. If its spec has fields of a workload spec, such as
    template or minReadySeconds, it is applied to the workload. It must not set replicas, selector or partition."""
    overrides: Annotated[tuple[Override, ...], Field(max_length=MAX_OVERRIDES)] = ()
    """JSON patch on the workload of the subset, applied after patch. It must not set replicas, selector or
    partition."""
    adopt: Adoption | None = None
    """Existing workload in the cluster that the subset takes over. The workload keeps its name and selector, and its
    pods are not restarted."""


class AdaptiveStrategy(Model):
    """Settings for the type Adaptive."""

    reschedule_critical_seconds: Int32 = 30
    """Seconds that a pod may stay unschedulable before the controller marks its subset as unschedulable."""
    unschedulable_duration: Int32 = 300
    """Seconds until an unschedulable subset may get new pods again, if none of its pods is unschedulable by then."""
    reserve_unschedulable_pods: StrictBool = False
    """Keep unschedulable pods pending, and run a stand-in for each in another subset until the pod has been ready for
    unschedulableDuration. Only for Deployments and CloneSets."""


def _or(default: str) -> BeforeValidator:
    """Replace an empty string, which OpenKruise accepts as the default, by ``default``."""
    return BeforeValidator(lambda value: default if value == "" else value)


class ScheduleStrategy(Model):
    """What happens to pods that cannot be scheduled."""

    type: Annotated[
        Literal["Fixed", "Adaptive"],
        _or("Fixed"),
        WithJsonSchema({"type": "string", "enum": ["Fixed", "Adaptive", ""]}),
    ] = "Fixed"
    """Fixed: unschedulable pods stay pending. Adaptive: other subsets run them instead."""
    adaptive: AdaptiveStrategy = AdaptiveStrategy()
    """Settings for the type Adaptive."""


class Failover(Model):
    """What happens to the replicas of a cluster that is lost. Only with the schedule strategy Adaptive."""

    grace_period: Annotated[
        str, Field(min_length=2, max_length=20, pattern=f"^({NEVER}|{DURATION_PATTERN.strip('^$')})$")
    ] = "5m"
    """Duration for which a cluster has to be Offline before other subsets run its replicas, such as 90s or 1h30m, or
    Never."""
    stateful_sets: Literal["Never", "Allowed"] = "Never"
    """Whether pods with volumes of their own, and StatefulSet pods with Disjoint ordinals, may be started elsewhere
    although the lost cluster may still run them. Allowed: they start with new, empty volumes."""
    failback: Literal["Never", "Damped", "Immediate"] = "Damped"
    """How replicas return to a cluster that has recovered. Damped: in rounds of topology.maxUnavailable pods, at least
    one, each after the pods of the round before are ready. Immediate: in one round. Never: they stay where they are."""


class Topology(Model):
    """Where the application runs and how its pods are divided."""

    cluster_registry: ClusterRegistry | None = None
    """Restricts the clusters that subsets may target."""
    subsets: Annotated[tuple[Subset, ...], Field(max_length=MAX_SUBSETS)] = ()
    """Subsets, in order of preference."""
    schedule_strategy: ScheduleStrategy = ScheduleStrategy()
    """What happens to pods that cannot be scheduled."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=64)] = ()
    """Tolerations of all subsets for taints of their clusters. They are not added to the pods."""
    max_unavailable: IntOrPercent = "25%"
    """Number of pods of the application that may be unavailable because replicas move between subsets, as a number or a
    percentage of all pods, rounded down. Replicas move if shares change, if a cluster is lost or has a taint, and if a
    subset is removed, moved or converted."""
    adopt: FormerOwner | None = None
    """The lost UnitedDeployment whose workloads this one takes over after its host was rebuilt. Pods are not
    restarted."""
    ordinals: Literal["Shared", "Disjoint"] = "Shared"
    """Shared: the ordinals of each StatefulSet start at the same number. Disjoint: each subset has its own range, so
    that no two pods of the application have the same ordinal. Immutable."""
    ordinal_block: (
        Annotated[int, Field(strict=True, ge=1, le=MAX_REPLICAS, json_schema_extra={"format": "int32"})] | None
    ) = None
    """Size of the ordinal range of each subset whose maxReplicas is not a whole number, with Disjoint ordinals."""


class ManualUpdate(Model):
    """Partitions: how many pods stay at the old revision."""

    partitions: Annotated[dict[str, IntOrPercent], Field(max_length=MAX_SUBSETS)] = Field(default_factory=dict)
    """Number or percentage of pods that stay at the old revision, by subset name. Percentages are rounded up."""
    partition: IntOrPercent = 0
    """Partition of the subsets that partitions does not name. With 100%, a new template updates no pods."""
    revision: Annotated[str, Field(max_length=253)] = ""
    """The revision that partitions, maxUpdated and revert are for, as status.updatedRevision names it; any if empty.
    While the template has another revision, only partition applies."""
    max_updated: Annotated[dict[str, Replicas], Field(max_length=MAX_SUBSETS)] = Field(default_factory=dict)
    """Maximum number of updated pods, by subset name. A partition lets a subset that grows have more updated pods; with
    this limit, further pods are created at the old revision. It does not revert pods."""
    revert: Annotated[tuple[DnsLabel, ...], Field(max_length=MAX_SUBSETS)] = ()
    """Names of subsets whose updated pods are reverted to the stable revision. All pods of such a subset stay at the
    stable revision until its name is removed from this list."""


class UpdateStrategy(Model):
    """How a new template is rolled out."""

    type: Annotated[Literal["Manual"], _or("Manual"), WithJsonSchema({"type": "string", "enum": ["Manual", ""]})] = (
        "Manual"
    )
    """Manual, the only type: partitions limit how many pods are updated."""
    manual_update: ManualUpdate = ManualUpdate()
    """Partitions of the subsets."""


class UnitedDeploymentSpec(Model):
    """Desired state of the application."""

    replicas: Replicas | None = None
    """Total number of pods, at most 1000000. If not set, each subset must have a whole number as replicas."""
    selector: LabelSelector
    """Label selector for the pods of the application. It must match the labels of the pod template. Immutable."""
    template: WorkloadTemplate
    """Template of the workload of each subset."""
    topology: Topology = Topology()
    """Where the application runs and how its pods are divided."""
    failover: Failover = Failover()
    """What happens to the replicas of a cluster that is lost. Only with the schedule strategy Adaptive."""
    update_strategy: UpdateStrategy = UpdateStrategy()
    """How a new template is rolled out."""
    paused: StrictBool = False
    """While true, the controller updates the status but changes no workload. Deletion is not paused."""
    revision_history_limit: Annotated[int, Field(strict=True, ge=0, le=1000, json_schema_extra={"format": "int32"})] = (
        10
    )
    """Number of old revisions to keep for rollbacks, in addition to those that are in use."""
    deletion_policy: Literal["Delete", "Orphan"] = "Delete"
    """What happens to the workloads when the UnitedDeployment is deleted. Delete: they are deleted with their pods,
    unless the deletion itself orphans dependents. Orphan: they keep running without an owner."""


class UnitedDeployment(Model):
    """One application across several clusters and zones."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["UnitedDeployment"] = "UnitedDeployment"
    metadata: ObjectMeta = ObjectMeta()
    spec: UnitedDeploymentSpec
    """Desired state of the application."""
    status: UnitedDeploymentStatus = UnitedDeploymentStatus()
    """Observed state of the application."""

    @property
    def recreates(self) -> bool:
        """Whether the annotation allows the controller to recreate workloads to change immutable fields."""
        return self.metadata.annotations.get(ANNOTATION_RECREATE) == RECREATE
