"""The workload template: one of four kinds.

Workload specs have an open schema, because a member may run a newer Kubernetes or OpenKruise than this project knows.
The schema declares only the fields that rules read.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from uniteddeployment_api.v1alpha1.meta import Annotations, Labels, Model


def _open(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Schema of an object that preserves unknown fields. ``properties`` are the fields that rules read."""
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
_NUMBER_OR_PERCENT = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_BY_ORDINAL = {
    "replicas": _REPLICAS,
    "template": _POD_TEMPLATE,
    "updateStrategy": _open({"rollingUpdate": _open({"partition": _REPLICAS})}),
}

StatefulSetSpec = Annotated[dict[str, Any], WithJsonSchema(_open(_BY_ORDINAL, "template"))]
DeploymentSpec = Annotated[
    dict[str, Any], WithJsonSchema(_open({"replicas": _REPLICAS, "template": _POD_TEMPLATE}, "template"))
]
CloneSetSpec = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _open(
            {
                "replicas": _REPLICAS,
                "template": _POD_TEMPLATE,
                "updateStrategy": _open({"partition": _NUMBER_OR_PERCENT}),
            },
            "template",
        )
    ),
]


SubsetPatch = Annotated[
    dict[str, Any],
    WithJsonSchema(
        _open(
            {
                "spec": _open(
                    {
                        # In a patch, null deletes a field, so an API server must not drop it.
                        "replicas": _NUMBER_OR_PERCENT | {"nullable": True},
                        "selector": _open({}) | {"nullable": True},
                    }
                )
                | {"nullable": True}
            }
        )
    ),
]


class TemplateMeta(Model):
    """Metadata of the workloads."""

    labels: Labels = Field(default_factory=dict)
    """Labels of the workloads, not of their pods."""
    annotations: Annotations = Field(default_factory=dict)
    """Annotations of the workloads, not of their pods."""


class StatefulSetTemplate(Model):
    """Template of the StatefulSet of each subset."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the StatefulSets, not of their pods."""
    spec: StatefulSetSpec
    """Spec of an apps/v1 StatefulSet. Must not set replicas or partition; selector is ignored."""


class AdvancedStatefulSetTemplate(Model):
    """Template of the OpenKruise Advanced StatefulSet of each subset. The clusters must have OpenKruise installed."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the StatefulSets, not of their pods."""
    spec: StatefulSetSpec
    """Spec of an apps.kruise.io/v1beta1 StatefulSet. Must not set replicas or partition; selector is ignored."""


class CloneSetTemplate(Model):
    """Template of the OpenKruise CloneSet of each subset. The clusters must have OpenKruise installed."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the CloneSets, not of their pods."""
    spec: CloneSetSpec
    """Spec of an apps.kruise.io/v1alpha1 CloneSet. Must not set replicas or partition; selector is ignored."""


class DeploymentTemplate(Model):
    """Template of the Deployments of each subset. A subset has one Deployment for each revision that its pods run."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the Deployments, not of their pods."""
    spec: DeploymentSpec
    """Spec of an apps/v1 Deployment. Must not set replicas; selector is ignored."""


AnyTemplate = StatefulSetTemplate | AdvancedStatefulSetTemplate | CloneSetTemplate | DeploymentTemplate


class WorkloadTemplate(Model):
    """Template of the workload of each subset. Exactly one of its fields must be set."""

    stateful_set_template: StatefulSetTemplate | None = None
    """Each subset runs a StatefulSet."""
    advanced_stateful_set_template: AdvancedStatefulSetTemplate | None = None
    """Each subset runs an OpenKruise Advanced StatefulSet."""
    clone_set_template: CloneSetTemplate | None = None
    """Each subset runs an OpenKruise CloneSet."""
    deployment_template: DeploymentTemplate | None = None
    """Each subset runs one Deployment per revision, so that partitions apply to Deployments too."""

    @property
    def given(self) -> Mapping[str, AnyTemplate]:
        """Templates that are set, by field name. A valid object has exactly one."""
        return {
            field: template
            for field, template in (
                (STATEFUL_SET_TEMPLATE, self.stateful_set_template),
                (ADVANCED_STATEFUL_SET_TEMPLATE, self.advanced_stateful_set_template),
                (CLONE_SET_TEMPLATE, self.clone_set_template),
                (DEPLOYMENT_TEMPLATE, self.deployment_template),
            )
            if template is not None
        }


STATEFUL_SET_TEMPLATE: Final = "statefulSetTemplate"
ADVANCED_STATEFUL_SET_TEMPLATE: Final = "advancedStatefulSetTemplate"
CLONE_SET_TEMPLATE: Final = "cloneSetTemplate"
DEPLOYMENT_TEMPLATE: Final = "deploymentTemplate"
TEMPLATES: Final = (STATEFUL_SET_TEMPLATE, ADVANCED_STATEFUL_SET_TEMPLATE, CLONE_SET_TEMPLATE, DEPLOYMENT_TEMPLATE)
"""The fields of spec.template."""
ORDINAL_TEMPLATES: Final = (STATEFUL_SET_TEMPLATE, ADVANCED_STATEFUL_SET_TEMPLATE)
"""Templates whose pods have ordinals."""
