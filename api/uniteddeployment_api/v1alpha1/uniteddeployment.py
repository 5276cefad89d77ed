"""The UnitedDeployment: one application over many clusters and zones.

Field names are OpenKruise's where OpenKruise has the field. Rules that no single field can state (and the CEL that says
them to the API server) are in :mod:`uniteddeployment_api.rules` and :mod:`uniteddeployment_api.validation`.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, WithJsonSchema

from uniteddeployment_api.names import API_VERSION
from uniteddeployment_api.v1alpha1.meta import (
    Annotations,
    Condition,
    DnsLabel,
    DnsSubdomain,
    FreeForm,
    Int32,
    Int64,
    IntOrPercent,
    Labels,
    LabelSelector,
    Model,
    NodeSelectorTerm,
    ObjectMeta,
    StatusModel,
    Time,
    Toleration,
)

MAX_SUBSETS = 256


def _open(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """An object that keeps every field; only those that rules look at are declared."""
    schema: dict[str, Any] = {"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": True}
    return schema | ({"required": list(required)} if required else {})


_POD_TEMPLATE = _open(
    {
        "metadata": _open(
            {
                "labels": {
                    "type": "object",
                    "additionalProperties": {"type": "string", "maxLength": 63},
                    "maxProperties": 128,
                }
            },
            "labels",
        ),
        "spec": _open(
            {
                "containers": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                }
            },
            "containers",
        ),
    },
    "metadata",
    "spec",
)
_REPLICAS = {"type": "integer", "format": "int32"}

StatefulSetSpec = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _open(
            {
                "replicas": _REPLICAS,
                "template": _POD_TEMPLATE,
                "updateStrategy": _open({"rollingUpdate": _open({"partition": _REPLICAS})}),
            },
            "template",
        )
    ),
]
DeploymentSpec = Annotated[
    dict[str, Any], WithJsonSchema(_open({"replicas": _REPLICAS, "template": _POD_TEMPLATE}, "template"))
]


class TemplateMeta(Model):
    """Metadata that every workload of the application gets."""

    labels: Labels = Field(default_factory=dict)
    """Labels of the workloads."""
    annotations: Annotations = Field(default_factory=dict)
    """Annotations of the workloads."""


class StatefulSetTemplate(Model):
    """The StatefulSet that each subset gets."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the StatefulSets."""
    spec: StatefulSetSpec
    """The spec of an apps/v1 StatefulSet without replicas, selector and partition."""


class DeploymentTemplate(Model):
    """The Deployment that each subset gets, one per revision."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the Deployments."""
    spec: DeploymentSpec
    """The spec of an apps/v1 Deployment without replicas and selector."""


class WorkloadTemplate(Model):
    """What runs in each subset: exactly one kind of workload."""

    stateful_set_template: StatefulSetTemplate | None = None
    """Each subset runs a StatefulSet."""
    deployment_template: DeploymentTemplate | None = None
    """Each subset runs a Deployment."""


class ClusterType(Model):
    """The kind of object that stands for a cluster."""

    api_version: Annotated[str, Field(max_length=317)] = API_VERSION
    """Group and version of the kind."""
    kind: Annotated[str, Field(max_length=63)] = "Cluster"
    """The kind."""


class ClusterRegistry(Model):
    """Which clusters the subsets may target."""

    namespaces: Annotated[tuple[DnsLabel, ...], Field(max_length=64)] = ()
    """Namespaces of Cluster objects that may be targeted; the UnitedDeployment's own if empty."""
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
    weight: Int32 | None = None
    """The subset's part of the replicas, in proportion to the weights of the others; 1 if not set and others have one.
    With 0 it gets its minReplicas and what no other subset can take."""
    patch: FreeForm | None = None
    """A strategic merge patch on the pod template of the subset's workload."""


class Topology(Model):
    """Where the application runs."""

    cluster_registry: ClusterRegistry | None = None
    """Which clusters the subsets may target."""
    subsets: Annotated[tuple[Subset, ...], Field(max_length=MAX_SUBSETS)] = ()
    """The subsets, in order of preference."""


class ManualUpdate(Model):
    """How many pods stay at the old revision."""

    partitions: Annotated[dict[str, IntOrPercent], Field(max_length=MAX_SUBSETS)] = Field(default_factory=dict)
    """For each subset by name: how many of its pods stay at the old revision, as a number or a percentage."""
    partition: IntOrPercent = 0
    """The partition of the subsets that partitions does not name; "100%" holds every new template back."""


class UpdateStrategy(Model):
    """How a new template is rolled out."""

    type: Literal["Manual"] = "Manual"
    """Manual: partitions decide how far the update goes."""
    manual_update: ManualUpdate = ManualUpdate()
    """The partitions."""


class UnitedDeploymentSpec(Model):
    """What the application is to be."""

    replicas: Int32 | None = None
    """Pods in total. If not set, every subset says its own number."""
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


class SubsetStatus(StatusModel):
    """What is known of one subset."""

    name: DnsLabel
    """The subset."""
    cluster: str = ""
    """The cluster that runs it, as namespace/name; empty for the one that holds the UnitedDeployment."""
    workload: str = ""
    """The workload that runs its pods, as Kind/name."""
    replicas: Int32 = 0
    """How many pods the subset is to have."""
    observed_replicas: Int32 = 0
    """How many pods the workload has."""
    ready_replicas: Int32 = 0
    """How many of them are ready."""
    updated_replicas: Int32 = 0
    """How many of them are at the updated revision."""
    updated_ready_replicas: Int32 = 0
    """How many of them are ready at the updated revision."""
    partition: Int32 = 0
    """How many pods stay at the old revision."""
    revision: str = ""
    """The revision of the pods that are not updated."""
    reason: Annotated[str, Field(max_length=32768)] = ""
    """Why the subset has this number of replicas, or what keeps it from having them."""
    observed_generation: Int64 = 0
    """The generation that the workload got from our last write to it."""
    last_observed_time: Time | None = None
    """When the workload was last heard of. Set while the cluster cannot be reached: the counts are from then."""


class UnitedDeploymentStatus(StatusModel):
    """What is known of the application."""

    observed_generation: Int64 = 0
    """The generation of the spec that this status is about."""
    replicas: Int32 = 0
    """How many pods there are."""
    ready_replicas: Int32 = 0
    """How many pods are ready."""
    updated_replicas: Int32 = 0
    """How many pods are at the updated revision."""
    updated_ready_replicas: Int32 = 0
    """How many pods are ready at the updated revision."""
    unplaced_replicas: Int32 = 0
    """How many of spec.replicas no subset takes; the condition says why."""
    current_revision: str = ""
    """The revision that was last rolled out completely."""
    updated_revision: str = ""
    """The revision of the template as it is now."""
    label_selector: str = ""
    """spec.selector as text, for the scale subresource."""
    conditions: tuple[Condition, ...] = ()
    """Ready, Reconciling and Stalled."""
    subset_statuses: tuple[SubsetStatus, ...] = ()
    """Each subset, in the order of the topology."""


class UnitedDeployment(Model):
    """One application over many clusters and zones."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["UnitedDeployment"] = "UnitedDeployment"
    metadata: ObjectMeta = ObjectMeta()
    spec: UnitedDeploymentSpec
    """What the application is to be."""
    status: UnitedDeploymentStatus = UnitedDeploymentStatus()
    """What is known of the application."""
