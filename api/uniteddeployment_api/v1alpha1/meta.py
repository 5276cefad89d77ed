"""Types shared by all kinds of the group: base models, metadata, selectors, tolerations, conditions and value types.

Attributes are snake_case; JSON is camelCase. Models are frozen. Spec models reject unknown fields. Status models ignore
them, so that this version can read an object whose status a newer version wrote.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

INT32_MAX = 2**31 - 1
MAX_REPLICAS = 1_000_000
"""Upper limit of spec.replicas and of each share, bound, partition and weight."""
PERCENT_PATTERN = r"^(100|[1-9]?[0-9])%$"
DNS_LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
UID_PATTERN = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
LABEL_KEY_PATTERN = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"

_PERCENT = re.compile(PERCENT_PATTERN)


class Model(BaseModel):
    """Base model of the fields that users write. Unknown fields are rejected."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )


class StatusModel(Model):
    """Base model of the fields that the controller writes. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


def _int_or_percent(value: Any) -> Any:
    if isinstance(value, str):
        if _PERCENT.fullmatch(value):
            return value
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_REPLICAS:
        return value
    raise PydanticCustomError("int_or_percent", "not a number of pods")


Int32 = Annotated[int, Field(strict=True, ge=0, le=INT32_MAX, json_schema_extra={"format": "int32"})]
"""An integer from 0 to 2**31 - 1."""

Replicas = Annotated[int, Field(strict=True, ge=0, le=MAX_REPLICAS, json_schema_extra={"format": "int32"})]
"""A desired number of pods."""

Int64 = Annotated[int, Field(strict=True, ge=0, json_schema_extra={"format": "int64"})]

IntOrPercent = Annotated[
    int | str,
    BeforeValidator(_int_or_percent),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": PERCENT_PATTERN,
            "minimum": 0,
            "maximum": MAX_REPLICAS,
        }
    ),
]
"""A number of pods (``2``), or a percentage of a total (``"25%"``)."""

Uid = Annotated[str, Field(max_length=36, pattern=UID_PATTERN)]
"""The uid that an API server gave to an object (``metadata.uid``)."""
DnsLabel = Annotated[str, Field(min_length=1, max_length=63, pattern=DNS_LABEL_PATTERN)]
DnsSubdomain = Annotated[str, Field(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN_PATTERN)]
LabelKey = Annotated[str, Field(max_length=317, pattern=LABEL_KEY_PATTERN)]
LabelValue = Annotated[str, Field(max_length=63, pattern=LABEL_VALUE_PATTERN)]
NodeValue = Annotated[str, Field(max_length=253)]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=128)]
Annotations = dict[str, str]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time as RFC 3339 text, in the form that Kubernetes uses."""
FreeForm = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]
"""An object without a schema. All its fields are preserved."""


class ObjectMeta(BaseModel):
    """The part of an object's metadata that this project reads."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel, validate_by_name=True)

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """Drop null fields, such as the ``creationTimestamp: null`` that serializers write. Kubernetes ignores them
        too."""
        if isinstance(value, dict):
            return {key: entry for key, entry in value.items() if entry is not None}
        return value


class LabelSelectorRequirement(Model):
    """A requirement on a label."""

    key: LabelKey
    """Label key that the requirement applies to."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """Relation of the label to the values."""
    values: Annotated[tuple[LabelValue, ...], Field(max_length=64)] = ()
    """Values of the label. Required for In and NotIn; must be empty for Exists and DoesNotExist."""


class LabelSelector(Model):
    """A label selector. All requirements must be satisfied."""

    match_labels: Labels = Field(default_factory=dict)
    """Labels that the object must have with exactly these values."""
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], Field(max_length=64)] = ()
    """Further requirements on labels."""


class NodeSelectorRequirement(Model):
    """A requirement on a label or a field of a node."""

    key: LabelKey
    """Label key or field that the requirement applies to."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """Relation of the label or field to the values."""
    values: Annotated[tuple[NodeValue, ...], Field(max_length=64)] = ()
    """Values to compare with. Required for In and NotIn; exactly one whole number for Gt and Lt; must be empty for
    Exists and DoesNotExist."""


class NodeSelectorTerm(Model):
    """A node selector term. All requirements must be satisfied."""

    match_expressions: Annotated[tuple[NodeSelectorRequirement, ...], Field(max_length=32)] = ()
    """Requirements on labels of the node."""
    match_fields: Annotated[tuple[NodeSelectorRequirement, ...], Field(max_length=32)] = ()
    """Requirements on fields of the node. The only supported field is metadata.name."""


class Toleration(Model):
    """Allows pods on nodes, or replicas in clusters, that have a matching taint."""

    key: Annotated[str, Field(max_length=317)] | None = None
    """Key of the taint. If not set, the operator must be Exists, and every key matches."""
    operator: Literal["Exists", "Equal"] | None = None
    """Relation of the key to the value. Defaults to Equal."""
    value: LabelValue | None = None
    """Value of the taint, for the operator Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint. If not set, every effect matches."""
    toleration_seconds: Annotated[int, Field(strict=True, json_schema_extra={"format": "int64"})] | None = None
    """Seconds that pods stay after a NoExecute taint was added. If not set, they stay without a limit. Zero and
    negative values mean not at all."""


class Taint(Model):
    """A taint of a cluster."""

    key: LabelKey
    """Key of the taint."""
    value: LabelValue = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """Effect on what does not tolerate the taint."""


class Condition(StatusModel):
    """A condition, in the form that Kubernetes tools such as kubectl wait read."""

    type: Annotated[str, Field(max_length=316)]
    """Type of the condition."""
    status: Literal["True", "False", "Unknown"]
    """Status of the condition."""
    observed_generation: Int64 | None = None
    """Generation of the object that the condition describes."""
    last_transition_time: Time | None = None
    """Time when the status of the condition last changed."""
    reason: Annotated[str, Field(max_length=1024)] = ""
    """Reason for the status, as one word for programs."""
    message: Annotated[str, Field(max_length=32768)] = ""
    """Details for people."""


__all__ = [
    "INT32_MAX",
    "MAX_REPLICAS",
    "Annotations",
    "Condition",
    "DnsLabel",
    "DnsSubdomain",
    "FreeForm",
    "Int32",
    "Int64",
    "IntOrPercent",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Labels",
    "Model",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "ObjectMeta",
    "Replicas",
    "StatusModel",
    "StrictBool",
    "Taint",
    "Time",
    "Toleration",
]
