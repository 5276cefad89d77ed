"""What no single field can say: the rules between fields, as data.

Each rule has a name, a place in the schema, a message that tells the way out, and, where CEL can say it, the expression
that goes into the CRD. :mod:`uniteddeployment_api.validation` checks every rule (also those without CEL) in Python; the
messages are these.

Hazards of CEL in CRDs that shaped the expressions:

* An int-or-string is costed as if it were a string of three megabytes, so nothing that reads all of it (``matches``,
  ``replace``) fits into the budget inside a list; ``charAt`` does. The pattern of the schema bounds what it can be.
* Rules about the sum of shares must not stand in the way of ``/scale``: an autoscaler has to be able to move the total.
  They are checked at creation and when the topology changes; another total is served as closely as it can be.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. ``at`` is the schema node that ``self`` is, as a dotted path with ``[]`` for the items of a list."""

    name: str
    kind: str = "UnitedDeployment"
    at: str
    message: str
    cel: str = ""
    field_path: str = ""
    """Where the error is reported, relative to ``at``."""
    optional_old_self: bool = False
    """The expression is also evaluated at creation, with ``oldSelf`` an optional value."""
    feasibility: bool = False
    """Broken, the object can still be served as closely as possible: a condition says so and nothing else stops."""


_KEPT = "oldSelf.hasValue() && oldSelf.value().topology == self.topology"
_SUBSETS = "self.topology.subsets"


def _percent(text: str) -> str:
    """CEL: the number of a percentage that matches the pattern of the schema."""
    return (
        f"({text}.size() == 2 ? int({text}.charAt(0)) : "
        f"{text}.size() == 3 ? int({text}.charAt(0)) * 10 + int({text}.charAt(1)) : 100)"
    )


def _hundredths(share: str) -> str:
    """CEL: a fixed share in hundredths of a pod, exactly; 0 if there is none."""
    return f"(has({share}) ? (type({share}) == int ? int({share}) * 100 : {_percent(share)} * self.replicas) : 0)"


def _rounded(share: str) -> str:
    """CEL: a fixed share in pods, percentages rounded half up; 0 if there is none."""
    return (
        f"(has({share}) ? (type({share}) == int ? int({share}) : ({_percent(share)} * self.replicas + 50) / 100) : 0)"
    )


def _sum(of: str) -> str:
    return f"{_SUBSETS}.map(s, {of}).sum()"


def _labels_match(template: str) -> str:
    """CEL: matchLabels are among the labels of the template's pods."""
    labels = f"self.template.{template}.spec.template.metadata.labels"
    return (
        f"!has(self.template.{template}) || !has(self.selector.matchLabels) || "
        f"self.selector.matchLabels.all(k, k in {labels} && {labels}[k] == self.selector.matchLabels[k])"
    )


def _immutable(field: str) -> str:
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"


_NO_PARTITION = (
    "!has(self.updateStrategy) || !has(self.updateStrategy.rollingUpdate) || "
    "!has(self.updateStrategy.rollingUpdate.partition)"
)
_VALUES_FIT = (
    "self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || self.values.size() == 0 : "
    "has(self.values) && (self.operator in ['Gt', 'Lt'] ? self.values.size() == 1 : self.values.size() > 0)"
)
_VALUES_MESSAGE = (
    "In and NotIn need at least one value, Gt and Lt exactly one whole number, Exists and DoesNotExist have none"
)
_LABELS_MESSAGE = "the labels of the pod template have to include everything in spec.selector.matchLabels"
_REPLICAS_MESSAGE = "leave it out here: the number of pods is spec.replicas, divided as spec.topology says"

RULES: Final[tuple[Rule, ...]] = (
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
        name="template-has-no-replicas",
        at="spec.template.statefulSetTemplate.spec",
        cel="!has(self.replicas)",
        field_path=".replicas",
        message=_REPLICAS_MESSAGE,
    ),
    Rule(
        name="template-has-no-replicas",
        at="spec.template.deploymentTemplate.spec",
        cel="!has(self.replicas)",
        field_path=".replicas",
        message=_REPLICAS_MESSAGE,
    ),
    Rule(
        name="template-has-no-partition",
        at="spec.template.statefulSetTemplate.spec",
        cel=_NO_PARTITION,
        field_path=".updateStrategy.rollingUpdate.partition",
        message="leave it out here: partitions are set in spec.updateStrategy.manualUpdate",
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
        name="selector-matches-labels",
        at="spec",
        cel=_labels_match("statefulSetTemplate"),
        field_path=".template.statefulSetTemplate.spec.template.metadata.labels",
        message=_LABELS_MESSAGE,
    ),
    Rule(
        name="selector-matches-labels",
        at="spec",
        cel=_labels_match("deploymentTemplate"),
        field_path=".template.deploymentTemplate.spec.template.metadata.labels",
        message=_LABELS_MESSAGE,
    ),
    Rule(
        name="selector-matches-expressions",
        at="spec",
        message="the labels of the pod template have to satisfy everything in spec.selector.matchExpressions",
    ),
    Rule(name="pod-template", at="spec.template", message="the pod template needs at least one container"),
    Rule(
        name="shares-not-mixed",
        at="spec.topology",
        cel=(
            "!(self.subsets.exists(s, has(s.replicas)) && "
            "self.subsets.exists(s, has(s.minReplicas) || has(s.maxReplicas) || has(s.weight)))"
        ),
        field_path=".subsets",
        message=(
            "use either replicas, or minReplicas, maxReplicas and weight: they cannot be mixed in one UnitedDeployment"
        ),
    ),
    Rule(
        name="min-not-above-max",
        at="spec.topology.subsets[]",
        cel=(
            "!has(self.minReplicas) || !has(self.maxReplicas) || type(self.minReplicas) != int || "
            "type(self.maxReplicas) != int || int(self.minReplicas) <= int(self.maxReplicas)"
        ),
        field_path=".minReplicas",
        message="minReplicas may not be larger than maxReplicas",
    ),
    Rule(
        name="some-subset-unbounded",
        at="spec.topology",
        cel=(
            "self.subsets.size() == 0 || self.subsets.exists(s, has(s.weight)) || "
            "self.subsets.exists(s, !has(s.maxReplicas))"
        ),
        field_path=".subsets",
        message="at least one subset has to be without maxReplicas, so that every pod has a place",
    ),
    Rule(
        name="total-needed",
        at="spec",
        cel=f"has(self.replicas) || {_SUBSETS}.all(s, has(s.replicas) && type(s.replicas) == int)",
        field_path=".topology.subsets",
        message="without spec.replicas every subset has to say its own number of pods in replicas",
    ),
    Rule(
        name="shares-within-total",
        at="spec",
        cel=(
            f"({_KEPT}) || !has(self.replicas) || "
            f"{_sum(_hundredths('s.replicas'))} <= self.replicas * 100 || "
            f"{_sum(_rounded('s.replicas'))} <= self.replicas"
        ),
        field_path=".topology.subsets",
        optional_old_self=True,
        feasibility=True,
        message="the fixed shares of the subsets add up to more than spec.replicas: lower a share or raise the total",
    ),
    Rule(
        name="shares-reach-total",
        at="spec",
        cel=(
            f"({_KEPT}) || !has(self.replicas) || {_SUBSETS}.size() == 0 || {_SUBSETS}.exists(s, !has(s.replicas)) || "
            f"{_sum(_hundredths('s.replicas'))} >= self.replicas * 100 || "
            f"{_sum(_rounded('s.replicas'))} >= self.replicas"
        ),
        field_path=".topology.subsets",
        optional_old_self=True,
        feasibility=True,
        message=(
            "every subset has a fixed share and they add up to less than spec.replicas: "
            "leave replicas out in one subset, which then takes the rest"
        ),
    ),
    Rule(
        name="bounds-consistent",
        at="spec.topology.subsets[]",
        field_path=".minReplicas",
        feasibility=True,
        message="with this total, minReplicas is larger than maxReplicas",
    ),
    Rule(
        name="partitions-name-subsets",
        at="spec",
        cel=(
            "!has(self.updateStrategy.manualUpdate) || !has(self.updateStrategy.manualUpdate.partitions) || "
            f"self.updateStrategy.manualUpdate.partitions.all(k, {_SUBSETS}.exists(s, s.name == k))"
        ),
        field_path=".updateStrategy.manualUpdate.partitions",
        message="every key has to be the name of a subset",
    ),
    Rule(name="subset-names-unique", at="spec.topology.subsets[]", message="another subset has the same name"),
    Rule(
        name="nodes-immutable",
        at="spec.topology.subsets[]",
        cel=_immutable("nodeSelectorTerm"),
        field_path=".nodeSelectorTerm",
        message="the nodes of a subset may not be changed; add a subset with another name instead",
    ),
    Rule(
        name="tolerations-immutable",
        at="spec.topology.subsets[]",
        cel=_immutable("tolerations"),
        field_path=".tolerations",
        message="the tolerations of a subset may not be changed; add a subset with another name instead",
    ),
    Rule(
        name="node-term-values",
        at="spec.topology.subsets[].nodeSelectorTerm.matchExpressions[]",
        cel=_VALUES_FIT,
        field_path=".values",
        message=_VALUES_MESSAGE,
    ),
    Rule(
        name="node-term-fields",
        at="spec.topology.subsets[].nodeSelectorTerm.matchFields[]",
        cel=(
            "self.key == 'metadata.name' && self.operator in ['In', 'NotIn'] && has(self.values) && "
            "self.values.size() == 1"
        ),
        message="matchFields knows the key metadata.name with In or NotIn and exactly one value",
    ),
    Rule(
        name="toleration-exists",
        at="spec.topology.subsets[].tolerations[]",
        cel=(
            "has(self.operator) && self.operator == 'Exists' ? !has(self.value) || self.value == '' : "
            "has(self.key) && self.key != ''"
        ),
        message="the operator Exists has no value; without it a key is needed",
    ),
    Rule(
        name="toleration-seconds",
        at="spec.topology.subsets[].tolerations[]",
        cel="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        field_path=".effect",
        message="tolerationSeconds needs the effect NoExecute",
    ),
    Rule(
        name="cluster-ca",
        kind="Cluster",
        at="spec",
        cel="!has(self.insecureSkipTLSVerify) || !self.insecureSkipTLSVerify || !has(self.caBundle)",
        field_path=".caBundle",
        message="caBundle is of no use with insecureSkipTLSVerify: leave one of them out",
    ),
)


def rule(name: str) -> Rule:
    """The rule of that name (the first one, if it stands at several places)."""
    return _BY_NAME[name]


_BY_NAME: Final = {entry.name: entry for entry in reversed(RULES)}
