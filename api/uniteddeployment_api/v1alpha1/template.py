"""What runs in each subset: the template of a workload, of one of four kinds.

The specs are free-form: a member may run a newer Kubernetes, or a newer OpenKruise, than we know of. Their schemas
declare only what the rules look at.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from uniteddeployment_api.v1alpha1.meta import Annotations, Labels, Model


def _open(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """An object that keeps every field; only those that rules look at are declared."""
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
                        # null is not the same as absent here, and may not be dropped.
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
    """Metadata that every workload of the application gets."""

    labels: Labels = Field(default_factory=dict)
    """Labels of the workloads."""
    annotations: Annotations = Field(default_factory=dict)
    """Annotations of the workloads."""


class StatefulSetTemplate(Model):
    """The StatefulSet that each subset gets."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the StatefulSets."""
    spec: StatefulSetSpec
    """The spec of an apps/v1 StatefulSet without replicas, selector and partition."""


class AdvancedStatefulSetTemplate(Model):
    """The StatefulSet of OpenKruise that each subset gets. Its cluster has to have OpenKruise installed."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the StatefulSets."""
    spec: StatefulSetSpec
    """The spec of an apps.kruise.io/v1beta1 StatefulSet without replicas, selector and partition."""


class CloneSetTemplate(Model):
    """The CloneSet of OpenKruise that each subset gets. Its cluster has to have OpenKruise installed."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the CloneSets."""
    spec: CloneSetSpec
    """The spec of an apps.kruise.io/v1alpha1 CloneSet without replicas, selector and partition."""


class DeploymentTemplate(Model):
    """The Deployment that each subset gets, one per revision."""

    metadata: TemplateMeta = TemplateMeta()
    """Labels and annotations of the Deployments."""
    spec: DeploymentSpec
    """The spec of an apps/v1 Deployment without replicas and selector."""


AnyTemplate = StatefulSetTemplate | AdvancedStatefulSetTemplate | CloneSetTemplate | DeploymentTemplate


class WorkloadTemplate(Model):
    """What runs in each subset: exactly one kind of workload."""

    stateful_set_template: StatefulSetTemplate | None = None
    """Each subset runs a StatefulSet."""
    advanced_stateful_set_template: AdvancedStatefulSetTemplate | None = None
    """Each subset runs a StatefulSet of OpenKruise."""
    clone_set_template: CloneSetTemplate | None = None
    """Each subset runs a CloneSet of OpenKruise."""
    deployment_template: DeploymentTemplate | None = None
    """Each subset runs a Deployment."""

    @property
    def given(self) -> Mapping[str, AnyTemplate]:
        """The templates that are set, by the name of their field; exactly one in a valid object."""
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
"""Those whose pods have ordinals."""
