"""Notifications of rollouts: requests to a URL when something happens in a run."""

from typing import Annotated, Literal

from pydantic import Field

from uniteddeployment_api.v1alpha1.meta import DnsLabel, DnsSubdomain, Int32, Int64, Model, StatusModel, Time

MAX_NOTIFICATIONS = 8
MAX_PENDING = 32
"""Number of notifications that may wait in the status. If there are more, the oldest ones are dropped."""
MAX_TEMPLATE = 4096
MAX_MESSAGE = 512
HTTP_URL_PATTERN = r"^https?://[^\s/?#@]+([/?#]\S*)?$"

Trigger = Literal[
    "Started", "StepCompleted", "Paused", "Degraded", "RollingBack", "RolledBack", "Completed", "Superseded"
]
HttpUrl = Annotated[str, Field(max_length=2048, pattern=HTTP_URL_PATTERN)]
SecretKey = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


class SecretKeyRef(Model):
    """Reference to a key of a Secret in the namespace of the rollout."""

    name: DnsSubdomain
    """Name of the Secret."""
    key: SecretKey = "url"
    """Key of the Secret."""


class NotificationUrlSource(Model):
    """Where the URL of a notification is stored."""

    secret_key_ref: SecretKeyRef
    """Key of a Secret that contains the URL. The rollout controller needs the permission to get this Secret."""


class RolloutNotification(Model):
    """A POST request with a JSON body, sent when something happens in a run."""

    name: DnsLabel
    """Name of the notification, unique in the rollout."""
    events: Annotated[tuple[Trigger, ...], Field(max_length=8, json_schema_extra={"minItems": 1})]
    """When to send it. Started: a run starts. StepCompleted: a step is over. Paused: the rollout waits for a time or an
    approval, or was paused. Degraded: somebody has to act. RollingBack: a rollback starts. RolledBack, Completed,
    Superseded: a run ends."""
    url: HttpUrl | None = None
    """URL that the request is sent to. Everybody who may read the rollout can read it."""
    url_from: NotificationUrlSource | None = None
    """Source of the URL, if it is a secret. Exactly one of url and urlFrom must be set."""
    template: Annotated[str, Field(max_length=MAX_TEMPLATE)] = ""
    """Body of the request: JSON in which variables such as ${name} are replaced. If empty, an object with all
    variables."""


class PendingNotification(StatusModel):
    """A notification that has not been delivered yet."""

    id: Int64
    """Number of the notification. It is sent as the header Idempotency-Key, after the uid of the rollout."""
    name: DnsLabel
    """Name in spec.notifications."""
    event: Trigger
    """What happened."""
    time: Time
    """Time when it happened."""
    phase: Annotated[str, Field(max_length=32)] = ""
    """Phase of the rollout at that time."""
    run_id: Annotated[str, Field(alias="runID", max_length=280)] = ""
    """Run that it is about."""
    step: Int32 = 0
    """Step at that time."""
    steps: Int32 = 0
    """Number of steps at that time."""
    replicas: Int32 = 0
    """Desired number of pods at that time."""
    updated_replicas: Int32 = 0
    """Number of updated pods at that time."""
    revision: Annotated[str, Field(max_length=253)] = ""
    """Revision that the run rolls out."""
    stable_revision: Annotated[str, Field(max_length=253)] = ""
    """Revision that the run started from."""
    by: Annotated[str, Field(max_length=256)] = ""
    """Who changed the template."""
    cause: Annotated[str, Field(max_length=MAX_MESSAGE)] = ""
    """Why the template was changed."""
    message: Annotated[str, Field(max_length=MAX_MESSAGE)] = ""
    """What the rollout did or waited for."""
    attempts: Int32 = 0
    """Number of attempts that failed."""
    retry_time: Time | None = None
    """Time of the next attempt."""
