"""What all kinds of the group share: the base model, metadata, selectors, tolerations, conditions and value types.

Attributes are snake_case, the wire is camelCase. Models are frozen. What users write refuses unknown fields; what
we write ourselves (status) ignores them, so that an object that a newer version wrote can still be read.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

INT32_MAX = 2**31 - 1
MAX_REPLICAS = 1_000_000
"""The largest number of pods that can be asked for, in total or for a subset; weights are not larger either."""
PERCENT_PATTERN = r"^(100|[1-9]?[0-9])%$"
DNS_LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL_KEY_PATTERN = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"

_PERCENT = re.compile(PERCENT_PATTERN)


class Model(BaseModel):
    """Base of what users write: unknown fields are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )


class StatusModel(Model):
    """Base of what the controller writes: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


def _int_or_percent(value: Any) -> Any:
    if isinstance(value, str):
        if _PERCENT.fullmatch(value):
            return value
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_REPLICAS:
        return value
    raise PydanticCustomError("int_or_percent", "not a number of pods")


Int32 = Annotated[int, Field(strict=True, ge=0, le=INT32_MAX, json_schema_extra={"format": "int32"})]
"""A whole number that is not negative."""

Replicas = Annotated[int, Field(strict=True, ge=0, le=MAX_REPLICAS, json_schema_extra={"format": "int32"})]
"""A number of pods that somebody asks for."""

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
"""A number of pods, or a percentage of a total (``"25%"``)."""

DnsLabel = Annotated[str, Field(min_length=1, max_length=63, pattern=DNS_LABEL_PATTERN)]
DnsSubdomain = Annotated[str, Field(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN_PATTERN)]
LabelKey = Annotated[str, Field(max_length=317, pattern=LABEL_KEY_PATTERN)]
LabelValue = Annotated[str, Field(max_length=63, pattern=LABEL_VALUE_PATTERN)]
NodeValue = Annotated[str, Field(max_length=253)]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=128)]
Annotations = dict[str, str]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A point in time as RFC 3339 text, as Kubernetes writes it."""
FreeForm = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]
"""An object that we carry without looking into it: every field of it is preserved."""


class ObjectMeta(BaseModel):
    """What we read of an object's metadata; the API server owns the rest."""

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
        """Serialisers write ``creationTimestamp: null`` and the like; to Kubernetes that is a field left out."""
        if isinstance(value, dict):
            return {key: entry for key, entry in value.items() if entry is not None}
        return value


class LabelSelectorRequirement(Model):
    """One condition on a label."""

    key: LabelKey
    """The label that the condition is about."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label relates to the values."""
    values: Annotated[tuple[LabelValue, ...], Field(max_length=64)] = ()
    """What the label may be (In) or may not be (NotIn); empty for Exists and DoesNotExist."""


class LabelSelector(Model):
    """Selects objects by their labels; all conditions have to hold."""

    match_labels: Labels = Field(default_factory=dict)
    """Labels that the object has to have with exactly these values."""
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], Field(max_length=64)] = ()
    """Further conditions on labels."""


class NodeSelectorRequirement(Model):
    """One condition on a label or a field of a node."""

    key: LabelKey
    """The label or the field that the condition is about."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the label relates to the values."""
    values: Annotated[tuple[NodeValue, ...], Field(max_length=64)] = ()
    """What the label may be (In) or may not be (NotIn); one whole number for Gt and Lt; empty for the others."""


class NodeSelectorTerm(Model):
    """Selects nodes; all conditions have to hold."""

    match_expressions: Annotated[tuple[NodeSelectorRequirement, ...], Field(max_length=32)] = ()
    """Conditions on labels of the node."""
    match_fields: Annotated[tuple[NodeSelectorRequirement, ...], Field(max_length=32)] = ()
    """Conditions on fields of the node. Kubernetes knows one: metadata.name."""


class Toleration(Model):
    """Lets pods onto nodes that have a taint."""

    key: Annotated[str, Field(max_length=317)] | None = None
    """The key of the taint; every key if not set, with the operator Exists."""
    operator: Literal["Exists", "Equal"] | None = None
    """How the value relates to the taint's: Equal if not set."""
    value: LabelValue | None = None
    """The value of the taint, for the operator Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The effect of the taint; every effect if not set."""
    toleration_seconds: Annotated[int, Field(strict=True, json_schema_extra={"format": "int64"})] | None = None
    """How long pods stay on a node that got a NoExecute taint; for ever if not set."""


class Taint(Model):
    """Keeps away what does not tolerate it."""

    key: LabelKey
    """The name of the taint."""
    value: LabelValue = ""
    """The value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What happens to that which does not tolerate the taint."""


class Condition(StatusModel):
    """One aspect of the state of an object, in the form that kubectl wait understands."""

    type: Annotated[str, Field(max_length=316)]
    """The aspect."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    observed_generation: Int64 | None = None
    """The generation of the object that this was said about."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    reason: Annotated[str, Field(max_length=1024)] = ""
    """Why, as one word for programs."""
    message: Annotated[str, Field(max_length=32768)] = ""
    """Why, as a sentence for people."""


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
