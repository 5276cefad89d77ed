"""Gates of rollout steps: measurements that decide whether a step may be followed by the next one.

A gate is written in a step of a UnitedRollout. Its measurement is written there as well, or in a GateTemplate that many
rollouts refer to. The rollout controller writes the results to the status of the rollout.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from uniteddeployment_api.duration import Duration
from uniteddeployment_api.v1alpha1.meta import (
    DnsLabel,
    DnsSubdomain,
    FreeForm,
    Int32,
    Model,
    ObjectMeta,
    StatusModel,
    Time,
)

MAX_GATES = 8
"""Maximum number of gates of a step."""
MAX_ARGS = 32
MAX_GATE_ROWS = 320
"""Maximum number of rows in ``status.gates``: a row for each gate, or for each gate and subset."""
MAX_VALUES = 5
"""Number of last values that are kept for a row."""
MAX_VALUE = 48
MAX_MESSAGE = 256

ArgName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]
ArgValue = Annotated[str, Field(max_length=1024)]
Query = Annotated[str, Field(min_length=1, max_length=4096)]
Url = Annotated[str, Field(min_length=1, max_length=2048)]
Expression = Annotated[str, Field(min_length=1, max_length=512)]
Count = Annotated[int, Field(strict=True, ge=1, le=1000, json_schema_extra={"format": "int32"})]
Limit = Annotated[int, Field(strict=True, ge=0, le=1000, json_schema_extra={"format": "int32"})]
Scope = Literal["Subset", "All"]
GateState = Literal["Running", "Passed", "Failed", "Inconclusive", "Error", "Approved"]


class GateArg(Model):
    """The value of an argument."""

    name: ArgName
    """Name of the argument."""
    value: ArgValue
    """Value of the argument."""


class GateParameter(Model):
    """An argument that a GateTemplate accepts."""

    name: ArgName
    """Name of the argument. Texts of the template refer to it as {{args.NAME}}."""
    default: ArgValue | None = None
    """Value if a gate does not give one. Without a default, each gate must give a value."""


class GateTemplateRef(Model):
    """Reference to a GateTemplate in the namespace of the rollout."""

    name: DnsSubdomain
    """Name of the GateTemplate."""


class GateSecretRef(Model):
    """Reference to a Secret in the namespace of the rollout."""

    name: DnsSubdomain
    """Name of the Secret. Its type must be uniteddeployment.io/gate-credentials, and its key server must have the
    scheme, host and port that the credentials are for, such as https://prometheus:9090. The other keys are either
    token, or username and password."""


class ReadinessMeasurement(Model):
    """Readiness and restarts of updated pods, compared with stable pods. Measured in each subset."""

    max_restarts: Int32 = 0
    """Number of restarts of containers of all updated pods of a subset that is accepted."""


class PrometheusMeasurement(Model):
    """A query to a server with the HTTP API of Prometheus. Its result must be one number."""

    address: Url
    """URL of the server, such as http://prometheus.monitoring:9090."""
    query: Query
    """Query for the updated pods. {{revision}} is replaced by the value of their label uniteddeployment.io/revision."""
    baseline: Query | None = None
    """Query for the stable pods. If not set, the query with the revision of the stable pods."""
    scope: Scope = "Subset"
    """Subset: measure each subset that has updated pods. All: measure once for all subsets."""
    success_condition: Expression | None = None
    """The measurement is a success if this is true, such as result < 0.05 or canary <= stable * 1.2."""
    failure_condition: Expression | None = None
    """The measurement is a failure if this is true. If only one of the two conditions is set, the other one is its
    opposite. If both are set and neither is true, the measurement is inconclusive."""
    no_data: Literal["Inconclusive", "Success", "Failure"] = "Inconclusive"
    """Result of a measurement if the query returns nothing or NaN."""
    secret_ref: GateSecretRef | None = None
    """Credentials for the server."""
    ca_bundle: Annotated[str, Field(max_length=131072)] = ""
    """Certificates of the authorities that may sign the certificate of the server: PEM, in base64. If empty, those of
    the system."""
    timeout: Duration = "10s"
    """How long to wait for the answer. At most 60s."""


class WebhookMeasurement(Model):
    """A POST request. An answer with a status of 2xx is a success, unless its JSON body has another result."""

    url: Url
    """URL that is requested."""
    scope: Scope = "All"
    """Subset: send a request for each subset that has updated pods. All: send one request."""
    secret_ref: GateSecretRef | None = None
    """Credentials for the server."""
    ca_bundle: Annotated[str, Field(max_length=131072)] = ""
    """Certificates of the authorities that may sign the certificate of the server: PEM, in base64. If empty, those of
    the system."""
    timeout: Duration = "10s"
    """How long to wait for the answer. At most 60s."""


class JobMeasurement(Model):
    """A Job in the namespace of the rollout. Its success is the success of the measurement."""

    spec: FreeForm
    """Spec of the Job. Texts in it may refer to variables."""
    scope: Scope = "All"
    """Subset: run a Job for each subset that has updated pods. All: run one Job."""
    run_in: Literal["Host", "Member"] = "Host"
    """Host: run Jobs on the host. Member: run the Job of each subset in the cluster of the subset. The scope must be
    Subset, then."""
    timeout: Duration = "10m"
    """How long the Job may run. After this time, the measurement is an error, and the Job is deleted. At most 24h."""


class ObjectCondition(Model):
    """A condition of an object."""

    type: Annotated[str, Field(min_length=1, max_length=316)]
    """Type of the condition."""
    status: Literal["True", "False", "Unknown"] = "True"
    """Status that the condition must have."""


class ObjectMeasurement(Model):
    """An object in the namespace of the rollout, on the host. Success if it has a condition, or a value in a field."""

    api_version: Annotated[str, Field(min_length=1, max_length=317)]
    """API version of the object."""
    kind: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]+$")]
    """Kind of the object."""
    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Name of the object."""
    condition: ObjectCondition | None = None
    """Condition that the object must have in status.conditions."""
    json_path: Annotated[str, Field(max_length=256)] = ""
    """Field of the object, such as .status.phase or .status.items[0]['a.b']."""
    value: Annotated[str, Field(max_length=1024)] | None = None
    """Value that the field must have, as text. If not set, the field must exist."""


class Measurement(Model):
    """What is measured, and how often. Exactly one kind of measurement must be set."""

    readiness: ReadinessMeasurement | None = None
    """Readiness and restarts of updated pods, compared with stable pods."""
    prometheus: PrometheusMeasurement | None = None
    """A query to a Prometheus server."""
    webhook: WebhookMeasurement | None = None
    """A POST request."""
    job: JobMeasurement | None = None
    """A Job on the host, or in the cluster of each subset."""
    object_: Annotated[ObjectMeasurement | None, Field(alias="object")] = None
    """A condition or a field of an object on the host."""
    count: Count | None = None
    """Number of measurements. Defaults to 1. Errors do not count."""
    interval: Duration | None = None
    """Time between two measurements, and after an error. Defaults to 30s."""
    initial_delay: Duration | None = None
    """Time before the first measurement. It counts from the end of the bake time."""
    failure_limit: Limit | None = None
    """Number of failures that are accepted. Defaults to 0."""
    inconclusive_limit: Limit | None = None
    """Number of inconclusive measurements that are accepted. Defaults to 0."""
    error_limit: Limit | None = None
    """Number of errors in a row that are accepted before the rollout is Degraded. Defaults to 4. An error means that it
    was not possible to measure. Measuring continues, and so does the run when it succeeds."""


class RolloutGate(Measurement):
    """A gate of a step. It has a measurement of its own, or that of a GateTemplate."""

    name: DnsLabel
    """Name of the gate, unique in its step. Without a measurement and without a templateRef, it is also the name of a
    GateTemplate."""
    template_ref: GateTemplateRef | None = None
    """GateTemplate that has the measurement. Counts and limits that are set in the gate take precedence."""
    args: Annotated[tuple[GateArg, ...], Field(max_length=MAX_ARGS)] = ()
    """Values of arguments."""
    dry_run: StrictBool = False
    """Measure and record the results, but do not act on them."""


class GateTemplateSpec(Measurement):
    """A measurement that gates refer to."""

    args: Annotated[tuple[GateParameter, ...], Field(max_length=MAX_ARGS)] = ()
    """Arguments."""


class GateTemplate(Model):
    """A reusable measurement for the gates of rollouts in its namespace."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["GateTemplate"] = "GateTemplate"
    metadata: ObjectMeta = ObjectMeta()
    spec: GateTemplateSpec
    """The measurement."""


class RolloutGateStatus(StatusModel):
    """Results of a gate of the present step: for one subset, or for all of them."""

    name: DnsLabel
    """Name of the gate."""
    subset: Annotated[str, Field(max_length=63)] = ""
    """Subset that was measured. Empty if all subsets are measured together."""
    cluster: Annotated[str, Field(max_length=317)] = ""
    """Cluster of the subset, as namespace/name. Empty for the host."""
    dry_run: StrictBool = False
    """Whether the results are recorded only."""
    state: GateState = "Running"
    """Running: more measurements are needed. Passed, Failed, Inconclusive: the result. Error: it was not possible to
    measure, and measuring continues. Approved: the result was Inconclusive, and a command has approved it."""
    successes: Int32 = 0
    """Number of successful measurements."""
    failures: Int32 = 0
    """Number of failed measurements."""
    inconclusive: Int32 = 0
    """Number of inconclusive measurements."""
    errors: Int32 = 0
    """Number of errors."""
    consecutive_errors: Int32 = 0
    """Number of errors since the last measurement."""
    values: Annotated[tuple[Annotated[str, Field(max_length=MAX_VALUE)], ...], Field(max_length=MAX_VALUES)] = ()
    """Last values, newest last. A value of updated pods that is compared with one of stable pods is written as
    canary/stable."""
    message: Annotated[str, Field(max_length=MAX_MESSAGE)] = ""
    """Details of the last measurement."""
    start_time: Time | None = None
    """Time when measuring started."""
    time: Time | None = None
    """Time of the last measurement."""
    first_restarts: Annotated[tuple[Int32, ...], Field(max_length=2)] = ()
    """Restarts of updated and of stable pods at the first measurement of readiness."""

    @property
    def number(self) -> int:
        """Number of measurements so far, with errors."""
        return self.successes + self.failures + self.inconclusive + self.errors
