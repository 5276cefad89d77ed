"""The UnitedRollout: how a new template of a UnitedDeployment reaches its pods, step by step.

Users write ``spec``. The rollout controller writes ``status``, with one exception: ``status.commands`` is where clients
put commands such as an approval. It is in the status because GitOps tools leave the status alone, and because the right
to patch ``unitedrollouts/status`` can be granted without the right to change the plan.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from uniteddeployment_api.duration import DURATION_PATTERN
from uniteddeployment_api.v1alpha1.meta import (
    Condition,
    DnsLabel,
    DnsSubdomain,
    Int32,
    Int64,
    IntOrPercent,
    Model,
    ObjectMeta,
    StatusModel,
    Time,
)

MAX_STEPS = 64
MAX_WAVE = 256
MAX_COMMANDS = 32
MAX_HISTORY = 10
MAX_ANSWERS = 20

Duration = Annotated[str, Field(min_length=2, max_length=20, pattern=DURATION_PATTERN)]
"""A duration such as 90s, 10m or 1h30m."""
Text = Annotated[str, Field(max_length=1024)]
Revision = Annotated[str, Field(max_length=253)]
RunID = Annotated[str, Field(alias="runID", max_length=280)]
Verb = Literal["approve", "pause", "resume", "abort", "retry", "undo", "skip", "promote"]
Phase = Literal["Pending", "Healthy", "Progressing", "Paused", "Degraded", "RollingBack"]
StepState = Literal["Updating", "Baking", "Paused"]


class RolloutTarget(Model):
    """A UnitedDeployment in the namespace of the rollout."""

    name: DnsSubdomain
    """The name of the UnitedDeployment. Only one UnitedRollout may name it."""


class RolloutWave(Model):
    """Some subsets that a step is about."""

    subsets: Annotated[tuple[DnsLabel, ...], Field(max_length=MAX_WAVE)] = ()
    """The names of the subsets; all subsets if empty."""


class RolloutPause(Model):
    """A stop after the pods of a step are ready."""

    duration: Duration | None = None
    """How long to wait, such as 10m; until somebody approves if not set."""


class RolloutStep(Model):
    """How far to update, and what to wait for before the next step."""

    replicas: IntOrPercent
    """How many pods of the whole application are to be updated, as a number or a percentage of all pods. With a wave:
    how many pods of each of its subsets."""
    wave: RolloutWave | None = None
    """Update only these subsets in this step."""
    max_concurrent_clusters: (
        Annotated[int, Field(strict=True, ge=1, le=MAX_WAVE, json_schema_extra={"format": "int32"})] | None
    ) = None
    """In how many clusters pods may be restarted at the same time; any number if not set."""
    bake: Duration | None = None
    """How long all updated pods have to be ready without interruption. The time starts again when one is not."""
    pause: RolloutPause | None = None
    """Stop when the pods are ready and the bake time is over."""


class UnitedRolloutSpec(Model):
    """How a new template is rolled out."""

    target_ref: RolloutTarget
    """The UnitedDeployment. It cannot be changed."""
    max_unavailable: IntOrPercent = "25%"
    """How many pods of the whole application, over all clusters, may be unavailable because of a rollout: a number, or
    a percentage that is rounded down, but at least 1. Pods that are unavailable for another reason count, too, and so
    do all pods in clusters that cannot be reached."""
    steps: Annotated[tuple[RolloutStep, ...], Field(max_length=MAX_STEPS, json_schema_extra={"minItems": 1})]
    """The steps in their order. After the last one all pods are updated."""
    distribution: Literal["Even", "FirstCanaryEverywhere", "LargestFirst"] = "Even"
    """How a number of pods is divided among subsets. Even: the same share of each, as closely as possible.
    FirstCanaryEverywhere: every subset gets its first updated pod early. LargestFirst: large subsets come first."""
    on_failure: Literal["Hold", "Rollback"] = "Hold"
    """When updated pods do not become ready in time. Hold: stop. Rollback: go back to the stable revision."""
    on_unreachable: Literal["Hold", "Skip"] = "Hold"
    """When a cluster cannot be reached. Hold: wait for it. Skip: go on with the other clusters, and update it later."""
    progress_deadline: Duration = "10m"
    """How long updated pods may take to become ready, measured from the last one that did."""
    rollback_window: Int32 = 0
    """A template whose revision was among this many last stable revisions is rolled out without steps."""
    paused: StrictBool = False
    """While true, no further pod is updated."""


class RolloutCommand(StatusModel):
    """A command for the rollout controller. The key in status.commands is its id: an id is carried out once."""

    verb: Verb
    """approve: end the pause of the step. pause and resume: stop and go on. skip: end the waiting of the step.
    promote: update everything without further steps. abort: go back to the stable revision. retry: try again after a
    failure. undo: go back to the previous stable revision."""
    run_id: RunID = ""
    """The run that it is for; required for approve, skip, promote, abort and retry."""
    step: Int32 = 0
    """The step that it is for; required for approve and skip."""
    by: Text = ""
    """Who gives the command."""


class RolloutAnswer(StatusModel):
    """What became of a command."""

    id: Text
    """The id of the command."""
    verb: Verb
    """Its verb."""
    by: Text = ""
    """Who gave it."""
    result: Literal["Done", "Refused"]
    """Whether it was carried out."""
    message: Text = ""
    """Why it was refused."""
    time: Time
    """When it was answered."""


class RolloutFailure(StatusModel):
    """Why a run does not go on, or why it is rolled back."""

    reason: Text
    """The cause as one word: ProgressDeadlineExceeded, RolledBackBefore, Aborted or Reverted."""
    message: Text = ""
    """The cause as a sentence."""
    by: Text = ""
    """Who asked for it, if somebody did."""
    time: Time
    """When it was noticed."""


class RolloutSubsetStatus(StatusModel):
    """One subset of the target during a run."""

    name: DnsLabel
    """The subset."""
    cluster: Annotated[str, Field(max_length=317)] = ""
    """The cluster that runs it, as namespace/name; empty for the host."""
    replicas: Int32 = 0
    """How many pods it is to have."""
    updated_replicas: Int32 = 0
    """How many of its pods are at the update revision."""
    updated_ready_replicas: Int32 = 0
    """How many of those are ready."""
    target_replicas: Int32 = 0
    """How many of its pods are to be updated in this step."""
    partition: Int32 = 0
    """How many of its pods are held at the stable revision now."""
    state: Text = ""
    """The state of the subset in the status of the UnitedDeployment."""
    reason: Text = ""
    """What the subset waits for."""


class RolloutRun(StatusModel):
    """A run that is over."""

    run_id: RunID
    """The run."""
    stable_revision: Revision = ""
    """The revision that it started from."""
    update_revision: Revision = ""
    """The revision that it rolled out."""
    outcome: Literal["Completed", "RolledBack", "Superseded"]
    """How it ended. Superseded: by another template."""
    reason: Text = ""
    """Why it was rolled back."""
    cause: Text = ""
    """The annotation kubernetes.io/change-cause of the UnitedDeployment at that time."""
    by: Text = ""
    """Who changed the template, as the field manager of the change."""
    step: Int32 = 0
    """The step that it reached."""
    start_time: Time
    """When it started."""
    finish_time: Time
    """When it ended."""


class UnitedRolloutStatus(StatusModel):
    """What the rollout controller knows, has decided, and is asked to do."""

    observed_generation: Int64 = 0
    """The generation of the spec that this status is about."""
    phase: Phase | None = None
    """Pending: the target has no stable revision yet. Healthy: all pods run the stable revision. Progressing: pods are
    being updated. Paused: waits for a time or an approval, or somebody has paused it. Degraded: somebody has to act.
    RollingBack: pods go back to the stable revision."""
    message: Text = ""
    """What the rollout does or waits for."""
    run_id: RunID = ""
    """The present run; empty if there is none."""
    run_count: Int64 = 0
    """How many runs there have been."""
    stable_revision: Revision = ""
    """The revision that was last rolled out completely."""
    update_revision: Revision = ""
    """The revision that is being rolled out; the stable one without a run."""
    rejected_revision: Revision = ""
    """The revision that was last rolled back. It is not rolled out again without the command retry."""
    cause: Text = ""
    """The annotation kubernetes.io/change-cause of the UnitedDeployment when the run started."""
    started_by: Text = ""
    """Who changed the template, as the field manager of the change."""
    step: Int32 = 0
    """The present step, counted from 1."""
    steps: Int32 = 0
    """How many steps there are."""
    step_state: StepState | None = None
    """Updating: pods of the step are being updated. Baking and Paused: they are ready."""
    full: StrictBool = False
    """Whether the run goes on without steps."""
    approved: StrictBool = False
    """Whether the pause of the present step is over."""
    skipped: StrictBool = False
    """Whether the present step waits for nothing but its pods."""
    paused_by: Text = ""
    """Who paused the rollout with a command."""
    replicas: Int32 = 0
    """How many pods the target is to have."""
    target_replicas: Int32 = 0
    """How many of them are to be updated in this step."""
    updated_replicas: Int32 = 0
    """How many of them are at the update revision."""
    updated_ready_replicas: Int32 = 0
    """How many of those are ready."""
    start_time: Time | None = None
    """When the run started."""
    step_start_time: Time | None = None
    """When the step started."""
    progress_time: Time | None = None
    """Since when updated pods have not become ready; the progress deadline is measured from here."""
    ready_time: Time | None = None
    """Since when the pods of the step are ready; the bake time is measured from here."""
    pause_time: Time | None = None
    """Since when the step is paused."""
    failure: RolloutFailure | None = None
    """Why the run does not go on."""
    rollback: RolloutFailure | None = None
    """Why the run is being rolled back."""
    restore: Revision = ""
    """The revision whose template is to be written to the target, until it is seen there."""
    partitions: Annotated[dict[str, Int32], Field(max_length=MAX_WAVE)] = Field(default_factory=dict)
    """The partitions that the target is to have, by subset. They are stored here before they are written there."""
    previous_partitions: Annotated[dict[str, Int32], Field(max_length=MAX_WAVE)] = Field(default_factory=dict)
    """The partitions that the target had before, until the present ones are seen there. Others are drift."""
    subsets: tuple[RolloutSubsetStatus, ...] = ()
    """Each subset of the target during a run."""
    history: Annotated[tuple[RolloutRun, ...], Field(max_length=MAX_HISTORY)] = ()
    """The last runs, the newest first."""
    commands: Annotated[dict[str, RolloutCommand], Field(max_length=MAX_COMMANDS)] = Field(default_factory=dict)
    """Commands by id, which clients add and the controller removes when it has answered them."""
    answers: Annotated[tuple[RolloutAnswer, ...], Field(max_length=MAX_ANSWERS)] = ()
    """What became of the last commands, the newest first."""
    conditions: tuple[Condition, ...] = ()
    """Ready, Reconciling and Stalled, as kstatus defines them."""


class UnitedRollout(Model):
    """How new templates of one UnitedDeployment are rolled out."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["UnitedRollout"] = "UnitedRollout"
    metadata: ObjectMeta = ObjectMeta()
    spec: UnitedRolloutSpec
    """How a new template is rolled out."""
    status: UnitedRolloutStatus = UnitedRolloutStatus()
    """How the rollout is doing."""
