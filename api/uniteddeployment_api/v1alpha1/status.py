"""What the controller says about a UnitedDeployment: counts, revisions, conditions, and the same for each subset."""

from typing import Annotated

from pydantic import Field

from uniteddeployment_api.v1alpha1.meta import Condition, DnsLabel, Int32, Int64, StatusModel, Time


class RevisionStatus(StatusModel):
    """The pods of one subset that run one revision."""

    revision: Annotated[str, Field(max_length=253)]
    """The revision of the pod template."""
    replicas: Int32 = 0
    """How many pods of the subset run it."""
    ready_replicas: Int32 = 0
    """How many of them are ready."""


class SubsetStatus(StatusModel):
    """What is known of one subset."""

    name: DnsLabel
    """The subset."""
    cluster: str = ""
    """The cluster that runs it, as namespace/name; empty for the one that holds the UnitedDeployment."""
    state: str = ""
    """Stalled, Unknown, Paused, Progressing, Held or Ready."""
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
    reserved_replicas: Int32 = 0
    """How many of them cannot be scheduled, are kept waiting, and have a stand-in in another subset."""
    partition: Int32 = 0
    """How many pods stay at the old revision."""
    revision: str = ""
    """The revision of the pods that are not updated."""
    revisions: tuple[RevisionStatus, ...] = ()
    """For each revision that runs here: how many pods there are and how many of them are ready."""
    ordinals_start: Int32 | None = None
    """The ordinal of the subset's first pod, with the ordinals Disjoint. It stays while the subset exists."""
    reason: Annotated[str, Field(max_length=32768)] = ""
    """Why the subset has this number of replicas, or what keeps it from having them."""
    conditions: tuple[Condition, ...] = ()
    """Schedulable: whether the subset takes further pods, or some of those it has cannot be scheduled."""
    observed_generation: Int64 = 0
    """The generation that the workload got from our last write to it."""
    last_observed_time: Time | None = None
    """When the workload was last heard of. Set while the cluster cannot be reached: the counts are from then."""


class LeftoverStatus(StatusModel):
    """A workload that the topology no longer asks for, and that is, or may be, still there."""

    subset: DnsLabel
    """The subset that it was of."""
    cluster: str = ""
    """The cluster that runs it, as namespace/name; empty for the one that holds the UnitedDeployment."""
    workload: str = ""
    """The workload, as Kind/name."""
    observed_replicas: Int32 = 0
    """How many pods it has, or had when it was last seen."""
    ready_replicas: Int32 = 0
    """How many of them are ready, or were so."""
    reason: Annotated[str, Field(max_length=32768)] = ""
    """Why it is still there, or why that is not known."""
    last_observed_time: Time | None = None
    """When it was last seen. Set while its cluster cannot be seen."""


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
    """Ready, Reconciling and Stalled. The reason of Ready is the state of the application in one word."""
    subset_statuses: tuple[SubsetStatus, ...] = ()
    """Each subset, in the order of the topology."""
    leftovers: tuple[LeftoverStatus, ...] = ()
    """Workloads of subsets that were removed, moved or given another kind, until they are seen to be gone."""
