"""The UnitedRollout, which rolls out new templates of a UnitedDeployment in steps.

Users write ``spec``. The rollout controller writes ``status``, with one exception: ``status.commands`` is where clients
put commands such as an approval. It is in the status because GitOps tools leave the status alone, and because the right
to patch ``unitedrollouts/status`` can be granted without the right to change the plan.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from uniteddeployment_api.duration import Duration
from uniteddeployment_api.v1alpha1.gates import MAX_GATE_ROWS, MAX_GATES, RolloutGate, RolloutGateStatus
from uniteddeployment_api.v1alpha1.meta import (
    Condition,
    DnsLabel,
    DnsSubdomain,
    Int32,
    Int64,
    IntOrPercent,
    LabelSelector,
    Model,
    ObjectMeta,
    StatusModel,
    Time,
)
from uniteddeployment_api.v1alpha1.notifications import (
    MAX_NOTIFICATIONS,
    MAX_PENDING,
    PendingNotification,
    RolloutNotification,
)

MAX_STEPS = 64
MAX_WAVE = 256
MAX_COMMANDS = 32
MAX_HISTORY = 10
MAX_ANSWERS = 20

Text = Annotated[str, Field(max_length=1024)]
Revision = Annotated[str, Field(max_length=253)]
RunID = Annotated[str, Field(alias="runID", max_length=280)]
Verb = Literal["approve", "pause", "resume", "abort", "retry", "undo", "skip", "promote"]
Phase = Literal["Pending", "Healthy", "Progressing", "Paused", "Degraded", "RollingBack", "Disabled"]
StepState = Literal["Updating", "Baking", "Measuring", "Paused"]


class RolloutTarget(Model):
    """Reference to a UnitedDeployment in the namespace of the rollout."""

    name: DnsSubdomain
    """Name of the UnitedDeployment. Only one UnitedRollout may refer to it."""


class RolloutWave(Model):
    """The subsets that a step applies to."""

    subsets: Annotated[tuple[DnsLabel, ...], Field(max_length=MAX_WAVE)] = ()
    """Names of the subsets. If empty, all subsets."""
    cluster_selector: LabelSelector | None = None
    """Labels of the Cluster objects of the subsets. With names, both must apply. A subset in the cluster that holds the
    UnitedDeployment has no labels."""


class RolloutPause(Model):
    """A pause after the pods of a step are ready."""

    duration: Duration | None = None
    """How long to wait, such as 10m. If not set, the pause lasts until a command approves it."""


class RolloutStep(Model):
    """One step of a rollout: how many pods to update, and what to wait for before the next step."""

    replicas: IntOrPercent
    """Number of pods of the whole application to update, as a number or a percentage of all pods, rounded up. With a
    wave, the number of pods of each of its subsets."""
    wave: RolloutWave | None = None
    """Limits the step to these subsets."""
    max_concurrent_clusters: (
        Annotated[int, Field(strict=True, ge=1, le=MAX_WAVE, json_schema_extra={"format": "int32"})] | None
    ) = None
    """Number of clusters in which pods may restart at the same time. If not set, there is no limit."""
    bake: Duration | None = None
    """How long all updated pods must be ready without interruption."""
    pause: RolloutPause | None = None
    """Pause after the pods are ready, the bake time is over, and the gates have passed."""
    gates: Annotated[tuple[RolloutGate, ...], Field(max_length=MAX_GATES)] = ()
    """Measurements after the pods are ready and the bake time is over. The next step needs all of them to pass."""


class UnitedRolloutSpec(Model):
    """How a new template is rolled out."""

    target_ref: RolloutTarget
    """UnitedDeployment to roll out. Immutable."""
    max_unavailable: IntOrPercent = "25%"
    """Number of pods of the whole application, in all clusters, that may be unavailable during a rollout: a number, or
    a percentage, rounded down, and at least 1. Pods that are unavailable for other reasons count too, and so do all
    pods in clusters that cannot be reached."""
    steps: Annotated[tuple[RolloutStep, ...], Field(max_length=MAX_STEPS, json_schema_extra={"minItems": 1})]
    """Steps, in order. After the last one, the remaining pods are updated."""
    distribution: Literal["Even", "FirstCanaryEverywhere", "LargestFirst"] = "Even"
    """How the pods of a step are divided among subsets. Even: a similar share of each subset. FirstCanaryEverywhere:
    each subset gets its first updated pod early. LargestFirst: large subsets come first."""
    on_failure: Literal["Hold", "RollbackCluster", "Rollback"] = "Hold"
    """What to do if updated pods do not become ready in time, or a gate fails. Hold: stop. RollbackCluster: stop, and
    return the subsets in the clusters that failed to the stable revision. Rollback: return all subsets to the stable
    revision."""
    on_unreachable: Literal["Hold", "Skip"] = "Hold"
    """What to do if a cluster cannot be reached. Hold: wait for it. Skip: continue with the other clusters, and update
    it later."""
    progress_deadline: Duration = "10m"
    """How long updated pods may take to become ready, counted from the last pod that became ready."""
    rollback_window: Int32 = 0
    """Number of last stable revisions whose templates are rolled out without steps."""
    paused: StrictBool = False
    """While true, no further pods are updated."""
    notifications: Annotated[tuple[RolloutNotification, ...], Field(max_length=MAX_NOTIFICATIONS)] = ()
    """Requests to send when something happens in a run."""
    disabled: StrictBool = False
    """While true, the rollout does not write to its target. Without a run, the default partition of the target gets the
    value back that it had before. During a run, the partitions stay as they are."""


class RolloutCommand(StatusModel):
    """A command for the rollout controller. Its key in status.commands is its id. Each id is executed once."""

    verb: Verb
    """approve: end the pause of the step, or accept the result of inconclusive gates. pause, resume: stop and continue.
    skip: wait only for the pods of the step.
    promote: update all pods without further steps. abort: return to the stable revision. retry: try again after a
    failure. undo: return to the previous stable revision."""
    run_id: RunID = ""
    """Run that the command applies to. Required for approve, skip, promote, abort and retry."""
    step: Int32 = 0
    """Step that the command applies to. Required for approve and skip."""
    by: Text = ""
    """Who gave the command."""


class RolloutAnswer(StatusModel):
    """Result of a command."""

    id: Text
    """Id of the command."""
    verb: Verb
    """Verb of the command."""
    by: Text = ""
    """Who gave the command."""
    result: Literal["Done", "Refused"]
    """Whether the command was executed."""
    message: Text = ""
    """Why the command was refused."""
    time: Time
    """Time of the result."""


class RolloutFailure(StatusModel):
    """Why a run does not continue, or why it is rolled back."""

    reason: Text
    """Cause, as one word: ProgressDeadlineExceeded, GateFailed, Drift, MemberDrift, RolledBackBefore, Aborted or
    Reverted."""
    message: Text = ""
    """Cause, for people."""
    by: Text = ""
    """Who requested it, if a person did."""
    time: Time
    """Time when it was detected."""


class RolloutSubsetStatus(StatusModel):
    """One subset of the target during a run."""

    name: DnsLabel
    """Name of the subset."""
    cluster: Annotated[str, Field(max_length=317)] = ""
    """Cluster that runs the subset, as namespace/name. Empty for the host."""
    replicas: Int32 = 0
    """Desired number of pods of the subset."""
    updated_replicas: Int32 = 0
    """Number of pods at the update revision."""
    updated_ready_replicas: Int32 = 0
    """Number of pods that are at the update revision and ready."""
    target_replicas: Int32 = 0
    """Number of pods to update by the end of this step."""
    revision: Revision = ""
    """Value of the label uniteddeployment.io/revision of pods at the update revision."""
    stable_revision: Revision = ""
    """Value of that label of pods at the stable revision. Empty if there are none."""
    partition: Int32 = 0
    """Number of pods that the partition holds at present."""
    state: Text = ""
    """State of the subset in the status of the UnitedDeployment."""
    reason: Text = ""
    """What the subset waits for."""


class RolloutRun(StatusModel):
    """A run that ended."""

    run_id: RunID
    """Id of the run."""
    stable_revision: Revision = ""
    """Revision that the run started from."""
    update_revision: Revision = ""
    """Revision that the run rolled out."""
    outcome: Literal["Completed", "RolledBack", "Superseded"]
    """How the run ended. Superseded: by another template."""
    reason: Text = ""
    """Why the run was rolled back."""
    cause: Text = ""
    """Annotation kubernetes.io/change-cause of the UnitedDeployment at that time."""
    by: Text = ""
    """Who changed the template, as the field manager of the change."""
    step: Int32 = 0
    """Last step of the run."""
    start_time: Time
    """Time when the run started."""
    finish_time: Time
    """Time when the run ended."""


class UnitedRolloutStatus(StatusModel):
    """Observed state and decisions of the rollout controller, and commands of clients."""

    observed_generation: Int64 = 0
    """Generation of the spec that this status describes."""
    phase: Phase | None = None
    """Pending: the target has no stable revision yet. Healthy: all pods run the stable revision. Progressing: pods are
    being updated. Paused: waits for a time or an approval, or paused by a command. Degraded: somebody has to act.
    RollingBack: pods return to the stable revision. Disabled: spec.disabled is set."""
    message: Text = ""
    """What the rollout does or waits for."""
    run_id: RunID = ""
    """Id of the present run. Empty if there is none."""
    run_count: Int64 = 0
    """Number of runs so far."""
    stable_revision: Revision = ""
    """Last revision that was rolled out completely."""
    update_revision: Revision = ""
    """Revision that is being rolled out. Without a run, the stable revision."""
    rejected_revision: Revision = ""
    """Revision that was last rolled back. It is not rolled out again without the command retry."""
    cause: Text = ""
    """Annotation kubernetes.io/change-cause of the UnitedDeployment when the run started."""
    started_by: Text = ""
    """Who changed the template, as the field manager of the change."""
    step: Int32 = 0
    """Present step, counted from 1."""
    steps: Int32 = 0
    """Number of steps."""
    step_state: StepState | None = None
    """Updating: pods of the step are being updated. Baking, Measuring and Paused: they are ready."""
    full: StrictBool = False
    """Whether the run continues without steps."""
    approved: StrictBool = False
    """Whether the pause of the present step is over."""
    skipped: StrictBool = False
    """Whether the present step waits only for its pods."""
    paused_by: Text = ""
    """Who paused the rollout with a command."""
    replicas: Int32 = 0
    """Desired number of pods of the target."""
    target_replicas: Int32 = 0
    """Number of pods to update by the end of this step."""
    updated_replicas: Int32 = 0
    """Number of pods at the update revision."""
    updated_ready_replicas: Int32 = 0
    """Number of pods that are at the update revision and ready."""
    start_time: Time | None = None
    """Time when the run started."""
    step_start_time: Time | None = None
    """Time when the step started."""
    progress_time: Time | None = None
    """Time from which the progress deadline counts. Not set while no pods are awaited."""
    ready_time: Time | None = None
    """Time since when the pods of the step are ready. The bake time counts from here."""
    pause_time: Time | None = None
    """Time since when the step is paused."""
    gates: Annotated[tuple[RolloutGateStatus, ...], Field(max_length=MAX_GATE_ROWS)] = ()
    """Results of the gates of the present step."""
    gate_attempt: Int32 = 0
    """How many times the gates of the present step were measured again from the start."""
    failure: RolloutFailure | None = None
    """Why the run does not continue."""
    rollback: RolloutFailure | None = None
    """Why the run is being rolled back."""
    restore: Revision = ""
    """Revision whose template the controller writes to the target. Set until the target has it."""
    partitions: Annotated[dict[str, Int32], Field(max_length=MAX_WAVE)] = Field(default_factory=dict)
    """Desired partitions of the target, by subset. They are stored here before they are written to the target."""
    reverted: Annotated[tuple[DnsLabel, ...], Field(max_length=MAX_WAVE)] = ()
    """Subsets that return to the stable revision because pods in their clusters failed. The command retry empties the
    list."""
    previous_partitions: Annotated[dict[str, IntOrPercent], Field(max_length=MAX_WAVE)] = Field(default_factory=dict)
    """Previous partitions of the target, until it has the present ones. Any others are drift."""
    drift_time: Time | None = None
    """Time of the newest change of others in a member that is known. A later one stops the run."""
    former_partition: IntOrPercent | None = None
    """Default partition of the target before the rollout changed it. It gets this value back when the rollout is
    disabled."""
    subsets: tuple[RolloutSubsetStatus, ...] = ()
    """Status of each subset of the target during a run."""
    history: Annotated[tuple[RolloutRun, ...], Field(max_length=MAX_HISTORY)] = ()
    """Last runs, newest first."""
    commands: Annotated[dict[str, RolloutCommand], Field(max_length=MAX_COMMANDS)] = Field(default_factory=dict)
    """Commands by id. Clients add them, and the controller removes them when it has answered them."""
    notifications: Annotated[tuple[PendingNotification, ...], Field(max_length=MAX_PENDING)] = ()
    """Notifications that have not been delivered yet, oldest first."""
    notification_count: Int64 = 0
    """Number of notifications so far."""
    answers: Annotated[tuple[RolloutAnswer, ...], Field(max_length=MAX_ANSWERS)] = ()
    """Results of the last commands, newest first."""
    conditions: tuple[Condition, ...] = ()
    """Ready, Reconciling and Stalled, as kstatus defines them."""


class UnitedRollout(Model):
    """Rolls out new templates of one UnitedDeployment in steps."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["UnitedRollout"] = "UnitedRollout"
    metadata: ObjectMeta = ObjectMeta()
    spec: UnitedRolloutSpec
    """How a new template is rolled out."""
    status: UnitedRolloutStatus = UnitedRolloutStatus()
    """Observed state of the rollout."""
