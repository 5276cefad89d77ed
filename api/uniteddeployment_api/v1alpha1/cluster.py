"""The Cluster: a member cluster that can run subsets, and how to reach it."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from uniteddeployment_api.duration import Duration
from uniteddeployment_api.v1alpha1.meta import (
    Condition,
    DnsSubdomain,
    Int32,
    LabelKey,
    LabelSelector,
    LabelValue,
    Model,
    ObjectMeta,
    StatusModel,
    Taint,
    Time,
)


class SecretReference(Model):
    """Reference to a Secret in the namespace of the Cluster."""

    name: DnsSubdomain
    """Name of the Secret."""
    key: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Key of the kubeconfig in the Secret. Defaults to kubeconfig."""


class Credentials(Model):
    """Credentials for the cluster."""

    secret_ref: SecretReference
    """Secret with the key kubeconfig, or with token, or with tls.crt and tls.key."""


class AllowedNamespaces(Model):
    """Namespaces of the host whose applications may use the cluster."""

    from_: Annotated[Literal["Same", "All", "Selector"], Field(alias="from")] = "Same"
    """Same: only the namespace of the Cluster. All: every namespace. Selector: also the namespaces that match the
    selector."""
    selector: LabelSelector | None = None
    """Labels of the namespaces on the host. Required for Selector; must not be set otherwise."""


class Impersonate(Model):
    """Identity of the writes for applications."""

    service_account: DnsSubdomain
    """Name of a ServiceAccount in the namespace of each application in the cluster."""


class ClusterHealth(Model):
    """Thresholds for the phase of the cluster. They count from times that the status stores."""

    offline_after: Duration = "25s"
    """How long a Running cluster has to fail until it is Offline. Two probes in a row have to fail in any case, which
    takes up to 26 seconds if the cluster hangs."""
    recover_after: Duration = "60s"
    """How long an Offline cluster has to answer without a failure until it is Running. The time doubles each time that
    the cluster is Offline again within stableAfter."""
    max_recover_after: Duration = "10m"
    """Upper limit of the doubled recoverAfter."""
    stable_after: Duration = "10m"
    """How long a cluster has to be Running until its earlier failures no longer prolong recoverAfter."""


class ClusterSpec(Model):
    """How to reach the cluster, and who may use it."""

    server: Annotated[str, Field(max_length=2048, pattern=r"^https?://[^/\s]+")] | None = None
    """URL of the API server. Required unless the Secret has a kubeconfig; takes precedence over its server."""
    ca_bundle: Annotated[str, Field(max_length=1048576, json_schema_extra={"format": "byte"})] | None = None
    """Base64-encoded PEM certificates that verify the certificate of the API server. Takes precedence over the
    certificate authority in the kubeconfig."""
    insecure_skip_tls_verify: Annotated[StrictBool, Field(alias="insecureSkipTLSVerify")] = False
    """Do not verify the certificate of the API server. Not for production. A kubeconfig in the Secret can set this too,
    unless caBundle is set."""
    credentials: Credentials
    """Credentials for the cluster."""
    taints: Annotated[tuple[Taint, ...], Field(max_length=64)] = ()
    """Taints of the cluster. The status shows all taints in effect, with the time when each was first seen."""
    unschedulable: StrictBool = False
    """Cordon the cluster: it gets the taint uniteddeployment.io/cordoned:NoSchedule, and what runs there stays."""
    health: ClusterHealth = ClusterHealth()
    """Thresholds for the phase of the cluster."""
    allowed_namespaces: AllowedNamespaces = AllowedNamespaces()
    """Namespaces of the host whose applications may use the cluster. What already runs there stays when it is no longer
    allowed, and is not changed."""
    namespaces: Literal["Create", "Require"] = "Create"
    """Create: the controller creates the namespace of an application in the cluster if it does not exist, with the
    pod-security.kubernetes.io labels of the namespace on the host, and keeps these labels up to date. Require: it
    creates and labels none, and applications wait until their namespace exists."""
    impersonate: Impersonate | None = None
    """Write the workloads of an application as this ServiceAccount of its namespace, so that the RBAC of the cluster
    bounds each namespace. Reads keep the identity of the credentials."""
    suspended: StrictBool = False
    """Do not connect to the cluster and do not change anything in it."""
    capacity: Literal["Enabled", "Disabled"] = "Enabled"
    """Enabled: the controller watches the nodes and all pods of the cluster, and reports their sums in
    status.capacity. Disabled: it watches neither, and the capacity of the cluster is unknown."""


Quantities = Annotated[dict[str, Annotated[str, Field(max_length=64)]], Field(max_length=64)]
"""Amounts by resource: quantities of Kubernetes, such as ``1500m`` or ``64Gi``."""


class ZoneCapacity(StatusModel):
    """Capacity of the nodes of one zone."""

    name: Annotated[str, Field(max_length=63)] = ""
    """Value of the label topology.kubernetes.io/zone; empty for nodes without it, and for the nodes of the zones that
    the list has no room for."""
    nodes: Int32 = 0
    """Number of nodes."""
    ready_nodes: Int32 = 0
    """Number of nodes that are ready."""
    schedulable_nodes: Int32 = 0
    """Number of nodes that are ready, not cordoned, and without a taint NoSchedule or NoExecute."""
    allocatable: Quantities = Field(default_factory=dict)
    """Resources of the schedulable nodes for pods."""
    requested: Quantities = Field(default_factory=dict)
    """Resources that pods on the schedulable nodes request."""
    available: Quantities = Field(default_factory=dict)
    """Resources of the schedulable nodes that no pod requests."""


class ClusterCapacity(StatusModel):
    """Resources of the schedulable nodes: those that are ready, not cordoned, and without a taint NoSchedule or
    NoExecute. Written at most every 10 seconds, and only when a figure has changed by more than 1 %."""

    allocatable: Quantities = Field(default_factory=dict)
    """Resources of the schedulable nodes for pods."""
    requested: Quantities = Field(default_factory=dict)
    """Resources that pods on the schedulable nodes request."""
    available: Quantities = Field(default_factory=dict)
    """Resources of the schedulable nodes that no pod requests."""
    largest_free_node: Quantities = Field(default_factory=dict)
    """Free resources of one node, the one with the largest share of both free cpu and free memory. A pod that requests
    more than this may fit on no node."""
    pending_pods: Int32 = 0
    """Number of pods that the scheduler has yet to place."""
    unschedulable_pods: Int32 = 0
    """Number of pods for which the scheduler found no node."""
    zones: Annotated[tuple[ZoneCapacity, ...], Field(max_length=64)] = ()
    """Capacity by zone, sorted by name."""
    observed_time: Time | None = None
    """Time of these figures."""


class ClusterTaint(StatusModel):
    """A taint in effect."""

    key: LabelKey
    """Key of the taint."""
    value: LabelValue = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """Effect on what does not tolerate the taint."""
    time_added: Time | None = None
    """Time when the controller first saw the taint. Toleration seconds count from it."""


class HealthStatus(StatusModel):
    """State of the thresholds, which the next process of the controller continues from."""

    reason: Annotated[str, Field(max_length=64)] = ""
    """Why the cluster fails, or why it was Offline until it recovers."""
    failing_since: Time | None = None
    """Time since when the cluster fails."""
    answering_since: Time | None = None
    """Time since when a cluster that failed answers again."""
    outages: Int32 | None = None
    """How often in a row the cluster was Offline without being Running for stableAfter in between."""


class ClusterStatus(StatusModel):
    """Observed state of the cluster."""

    phase: Literal["Pending", "Running", "Offline", "Terminated"] | None = None
    """Pending: new, not usable, or suspended. Running: fit to hold replicas. Offline: was Running, and fails.
    Terminated: is being deleted, and leaves the fleet. The condition Ready gives the reason."""
    phase_transition_time: Time | None = None
    """Time when the phase last changed."""
    conditions: tuple[Condition, ...] = ()
    """Ready: whether the cluster is fit to hold replicas; Unknown if it does not answer. Schedulable: whether it takes
    new replicas, apart from the taints of its spec. Capacity: whether status.capacity is current."""
    taints: Annotated[tuple[ClusterTaint, ...], Field(max_length=128)] = ()
    """Taints in effect: those of the spec, and those that the controller sets."""
    health: HealthStatus = HealthStatus()
    """State of the thresholds."""
    last_contact_time: Time | None = None
    """Time of the last good answer, as of the last write. Only set while the cluster fails or recovers."""
    cluster_uid: Annotated[str, Field(alias="clusterUID", max_length=128)] = ""
    """UID of the namespace kube-system, which identifies the cluster. Only one Cluster object is used for each UID."""
    kubernetes_version: str = ""
    """Version of the API server."""
    nodes: Int32 | None = None
    """Number of nodes when the cluster was last connected. Not set if the credentials may not list nodes."""
    ready_nodes: Int32 | None = None
    """Number of nodes that are ready. Only set with capacity."""
    schedulable_nodes: Int32 | None = None
    """Number of nodes that are ready, not cordoned, and without a taint NoSchedule or NoExecute. Only set with
    capacity."""
    capacity: ClusterCapacity | None = None
    """Resources of the schedulable nodes. Not set while they are unknown; the condition Capacity says why."""
    last_probe_time: Time | None = None
    """Time when this status was last written. It is written when something else in it changes, not after each probe."""


class Cluster(Model):
    """A member cluster: its address, and the Secret with the credentials for it."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["Cluster"] = "Cluster"
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterSpec
    """How to reach the cluster."""
    status: ClusterStatus = ClusterStatus()
    """Observed state of the cluster."""
