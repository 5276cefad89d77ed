"""Status of a UnitedDeployment: counts, revisions and conditions, for the application and for each subset."""

from typing import Annotated

from pydantic import Field

from uniteddeployment_api.v1alpha1.meta import Condition, DnsLabel, Int32, Int64, StatusModel, Time


class RevisionStatus(StatusModel):
    """Pods of one subset that run the same revision."""

    revision: Annotated[str, Field(max_length=253)]
    """Hash of the revision, as in the label uniteddeployment.io/revision of the pods."""
    replicas: Int32 = 0
    """Number of pods of the subset that run this revision."""
    ready_replicas: Int32 = 0
    """Number of these pods that are ready."""
    restarts: Int32 = 0
    """Restarts of the containers of these pods; of each pod, at most 100 are counted."""


class DriftStatus(StatusModel):
    """Changes of others to a workload that the controller reverted."""

    time: Time
    """Time when the controller reverted them."""
    message: Annotated[str, Field(max_length=32768)] = ""
    """The changed fields, and who changed them, as far as managedFields show it."""


class SubsetStatus(StatusModel):
    """Observed state of one subset."""

    name: DnsLabel
    """Name of the subset."""
    cluster: str = ""
    """Cluster that runs the subset, as namespace/name of the Cluster object. Empty for the cluster that holds the
    UnitedDeployment."""
    state: str = ""
    """State of the subset: Stalled, Unknown, Paused, Progressing, Held or Ready."""
    workload: str = ""
    """Workload of the subset, as Kind/name. Of several Deployments, the one at the target revision if it exists."""
    replicas: Int32 = 0
    """Number of pods that the subset is assigned now."""
    desired_replicas: Int32 | None = None
    """Number of pods that the subset will have when those that move away from it are ready elsewhere. Only set while it
    differs from replicas."""
    moved_replicas: Int32 = 0
    """Number of pods that moved away because the cluster was lost or has a taint, and that failback returns."""
    possibly_running: Int32 = 0
    """Number of pods that the cluster may still run while it cannot be observed."""
    observed_replicas: Int32 = 0
    """Number of pods that exist."""
    ready_replicas: Int32 = 0
    """Number of pods that are ready."""
    updated_replicas: Int32 = 0
    """Number of pods at the target revision."""
    updated_ready_replicas: Int32 = 0
    """Number of pods that are at the target revision and ready."""
    reserved_replicas: Int32 = 0
    """Number of assigned pods that stay pending while other subsets run stand-ins for them, as far as there is room.
    Only with reserveUnschedulablePods."""
    partition: Int32 = 0
    """Number of pods that the partition holds at the old revision."""
    revision: str = ""
    """Hash of the target revision: the revision of the subset's updated pods."""
    stable_revision: str = ""
    """Hash of the stable revision: the revision of pods that the partition holds. Only set while it is not the target
    revision."""
    revisions: tuple[RevisionStatus, ...] = ()
    """Pods by revision. At most the 16 revisions with the most pods."""
    ordinals_start: Int32 | None = None
    """First ordinal of the subset's range, with Disjoint ordinals. It does not change while the subset exists."""
    reason: Annotated[str, Field(max_length=32768)] = ""
    """What the subset waits for or what blocks it; otherwise, why it is assigned this number of pods."""
    conditions: tuple[Condition, ...] = ()
    """Schedulable (only with Adaptive): whether the subset accepts more pods and all its pods can be scheduled. Served
    (only while False): whether the cluster serves the kind of the workload."""
    observed_generation: Int64 = 0
    """Generation of the workload after the controller's last write; the sum of them for several Deployments."""
    last_observed_time: Time | None = None
    """Time when the cluster was last observed. Only set while the cluster cannot be reached; the counts are from that
    time."""
    last_drift: DriftStatus | None = None
    """Last changes of others to the workload of the subset that the controller reverted."""


class LeftoverStatus(StatusModel):
    """A workload that the topology no longer includes and that exists, or may exist, in a cluster."""

    subset: DnsLabel
    """Subset that the workload belonged to."""
    cluster: str = ""
    """Cluster that runs the workload, as namespace/name of the Cluster object. Empty for the cluster that holds the
    UnitedDeployment."""
    workload: str = ""
    """The workload, as Kind/name."""
    observed_replicas: Int32 = 0
    """Number of its pods when it was last observed."""
    ready_replicas: Int32 = 0
    """Number of its ready pods when it was last observed."""
    reason: Annotated[str, Field(max_length=32768)] = ""
    """Why the workload still exists, or why its state is unknown."""
    last_observed_time: Time | None = None
    """Time when the cluster was last observed. Only set while the cluster cannot be observed."""


class UnitedDeploymentStatus(StatusModel):
    """Observed state of the application."""

    observed_generation: Int64 = 0
    """Generation of the spec that this status describes."""
    replicas: Int32 = 0
    """Number of pods that exist in all subsets, without pending pods that have stand-ins in other subsets."""
    ready_replicas: Int32 = 0
    """Number of pods that are ready."""
    updated_replicas: Int32 = 0
    """Number of pods at the updated revision."""
    updated_ready_replicas: Int32 = 0
    """Number of pods that are at the updated revision and ready."""
    unplaced_replicas: Int32 = 0
    """Number of pods of spec.replicas that no subset can take. The condition Stalled gives the reason."""
    possibly_running_replicas: Int32 = 0
    """Number of pods that clusters which cannot be observed may still run. Those that run elsewhere by now are not
    included in the other counts."""
    last_move_time: Time | None = None
    """Time when replicas last began to move because of the state of a cluster."""
    current_revision: str = ""
    """Name of the ControllerRevision that was last rolled out completely: the stable revision."""
    updated_revision: str = ""
    """Name of the ControllerRevision of the present template: the target revision."""
    label_selector: str = ""
    """spec.selector in text form, for the scale subresource."""
    conditions: tuple[Condition, ...] = ()
    """Ready, Reconciling and Stalled. The reason of Ready is the state of the application. Moving is only set while
    replicas move between subsets, or would if not too many clusters were lost at once."""
    subset_statuses: tuple[SubsetStatus, ...] = ()
    """Status of each subset, in the order of spec.topology.subsets."""
    leftovers: tuple[LeftoverStatus, ...] = ()
    """Workloads of subsets that were removed, moved to another cluster or given another kind, until the controller has
    observed that they are gone."""
