"""Rules on spec.template and spec.selector."""

from collections.abc import Iterator
from typing import Final

from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.v1alpha1.template import CLONE_SET_TEMPLATE, ORDINAL_TEMPLATES, TEMPLATES

_OWN_LABELS: Final = "uniteddeployment.io/"


def _labels(template: str) -> str:
    return f"self.template.{template}.spec.template.metadata.labels"


def _labels_match(template: str) -> str:
    """CEL: matchLabels are among the labels of the template's pods."""
    labels = _labels(template)
    return (
        f"!has(self.template.{template}) || !has(self.selector.matchLabels) || "
        f"self.selector.matchLabels.all(k, k in {labels} && {labels}[k] == self.selector.matchLabels[k])"
    )


def _expressions_match(template: str) -> str:
    """CEL: the labels of the template's pods satisfy matchExpressions."""
    labels = _labels(template)
    return (
        f"!has(self.template.{template}) || !has(self.selector.matchExpressions) || "
        "self.selector.matchExpressions.all(e, "
        # Which operators have values is another rule.
        "e.operator in ['In', 'NotIn'] != (has(e.values) && e.values.size() > 0) || ("
        f"e.operator == 'In' ? e.key in {labels} && e.values.exists(v, v == {labels}[e.key]) : "
        f"e.operator == 'NotIn' ? !(e.key in {labels}) || !e.values.exists(v, v == {labels}[e.key]) : "
        f"(e.key in {labels}) == (e.operator == 'Exists')))"
    )


def _by_template() -> Iterator[Rule]:
    """What is said of each of the four templates."""
    for template in TEMPLATES:
        spec = f"spec.template.{template}.spec"
        labels = f".template.{template}.spec.template.metadata.labels"
        yield Rule(
            name="template-has-no-replicas",
            at=spec,
            cel="!has(self.replicas)",
            field_path=".replicas",
            message="leave it out here: the number of pods is spec.replicas, divided as spec.topology says",
        )
        if template in (*ORDINAL_TEMPLATES, CLONE_SET_TEMPLATE):
            steps = ["updateStrategy", *([] if template == CLONE_SET_TEMPLATE else ["rollingUpdate"]), "partition"]
            yield Rule(
                name="template-has-no-partition",
                at=spec,
                cel=" || ".join(f"!has(self.{'.'.join(steps[: n + 1])})" for n in range(len(steps))),
                field_path=f".{'.'.join(steps)}",
                message="leave it out here: partitions are set in spec.updateStrategy.manualUpdate",
            )
        yield Rule(
            name="selector-matches-labels",
            at="spec",
            cel=_labels_match(template),
            field_path=labels,
            message="the labels of the pod template have to include everything in spec.selector.matchLabels",
        )
        yield Rule(
            name="selector-matches-expressions",
            at="spec",
            cel=_expressions_match(template),
            field_path=labels,
            message="the labels of the pod template have to satisfy everything in spec.selector.matchExpressions",
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
        message="an empty selector would select every pod: set matchLabels to labels of the pod template",
    ),
    Rule(
        name="selector-immutable",
        at="spec.selector",
        cel="self == oldSelf",
        change=True,
        message="the selector may not be changed; delete the UnitedDeployment and create it with the other selector",
    ),
    Rule(
        name="selector-values",
        at="spec.selector.matchExpressions[]",
        cel=(
            "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : "
            "!has(self.values) || self.values.size() == 0"
        ),
        field_path=".values",
        message="In and NotIn need at least one value, Exists and DoesNotExist have none",
    ),
    Rule(
        name="selector-not-ours",
        at="spec.selector",
        cel=f"!has(self.matchLabels) || self.matchLabels.all(k, !k.startsWith('{_OWN_LABELS}'))",
        field_path=".matchLabels",
        message="labels of uniteddeployment.io are set by the controller, differently in each subset",
    ),
    *_by_template(),
    Rule(
        name="pod-template",
        at="spec.template",
        schema=True,
        message="the pod template needs labels, and at least one container with a name and an image",
    ),
    Rule(
        name="workload-immutable",
        at="spec.template",
        change=True,
        message=(
            "an API server refuses to change this in a StatefulSet; with the annotation uniteddeployment.io/recreate: "
            '"true" the StatefulSets are recreated, one subset at a time'
        ),
    ),
)
