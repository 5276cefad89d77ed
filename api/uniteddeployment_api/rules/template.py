"""Rules about spec.template and spec.selector."""

from collections.abc import Iterator
from typing import Final

from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.v1alpha1.template import CLONE_SET_TEMPLATE, ORDINAL_TEMPLATES, TEMPLATES

_PARTITIONS: Final = dict.fromkeys(ORDINAL_TEMPLATES, ".updateStrategy.rollingUpdate.partition") | {
    CLONE_SET_TEMPLATE: ".updateStrategy.partition"
}


def _labels() -> str:
    """CEL: the pod labels of the template that is set. Without a template, labels that match the selector."""
    cases = (f"has(self.template.{name}) ? self.template.{name}.spec.template.metadata.labels : " for name in TEMPLATES)
    return "".join(cases) + "wanted"


def _by_template() -> Iterator[Rule]:
    """Rules that apply to each of the four templates."""
    for template in TEMPLATES:
        spec = f"spec.template.{template}.spec"
        yield Rule(
            name="template-has-no-replicas",
            at=spec,
            cel="!has(self.replicas)",
            field_path=".replicas",
            message="must not be set here; set spec.replicas, which spec.topology divides among the subsets",
        )
        if template in _PARTITIONS:
            yield Rule(
                name="template-has-no-partition",
                at=spec,
                field_path=_PARTITIONS[template],
                message="must not be set here; set partitions in spec.updateStrategy.manualUpdate",
            )


TEMPLATE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="exactly-one-template",
        at="spec.template",
        cel=(
            "[has(self.statefulSetTemplate), has(self.advancedStatefulSetTemplate), has(self.cloneSetTemplate), "
            "has(self.deploymentTemplate)].filter(given, given).size() == 1"
        ),
        message=(
            "set exactly one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate "
            "and deploymentTemplate"
        ),
    ),
    Rule(
        name="selector-not-empty",
        at="spec.selector",
        cel=(
            "(has(self.matchLabels) && self.matchLabels.size() > 0) || "
            "(has(self.matchExpressions) && self.matchExpressions.size() > 0)"
        ),
        message=(
            "must not be empty, because an empty selector matches every pod; set matchLabels to labels of the pod "
            "template"
        ),
    ),
    Rule(
        name="selector-immutable",
        at="spec.selector",
        cel="self == oldSelf",
        change=True,
        message="the selector is immutable; delete the UnitedDeployment and create it with the new selector",
    ),
    Rule(
        name="selector-values",
        at="spec.selector.matchExpressions[]",
        cel=(
            "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : "
            "!has(self.values) || self.values.size() == 0"
        ),
        field_path=".values",
        message="In and NotIn require at least one value; Exists and DoesNotExist must not have values",
    ),
    Rule(
        name="selector-not-ours",
        at="spec.selector",
        field_path=".matchLabels",
        message="must not contain labels with the prefix uniteddeployment.io/, which the controller sets",
    ),
    *_by_template(),
    Rule(
        name="selector-matches-labels",
        at="spec",
        cel=(
            f"!has(self.selector.matchLabels) || [self.selector.matchLabels].all(wanted, [{_labels()}].all(labels, "
            "wanted.all(k, k in labels && labels[k] == wanted[k])))"
        ),
        field_path=".template",
        message="the labels of the pod template must include all of spec.selector.matchLabels",
    ),
    Rule(
        name="selector-matches-expressions",
        at="spec",
        field_path=".template",
        message="the labels of the pod template must satisfy spec.selector.matchExpressions",
    ),
    Rule(
        name="pod-template",
        at="spec.template",
        schema=True,
        message=(
            "the pod template requires labels and at least one container with a name and an image; "
            "tolerations must be a list, and affinity an object"
        ),
    ),
    Rule(
        name="workload-immutable",
        at="spec.template",
        change=True,
        message=(
            "API servers do not allow this field of a StatefulSet to change; set the annotation "
            'uniteddeployment.io/recreate: "true" to recreate the StatefulSets one subset at a time'
        ),
    ),
)
