"""Rules on single subsets: their nodes, what makes their workloads differ, and what they adopt."""

from typing import Final

from uniteddeployment_api.patches import ANYTHING_ELSE_MESSAGE, PROTECTED, PROTECTED_MESSAGE
from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.rules.cel import immutable

_SUBSET: Final = "spec.topology.subsets[]"
_OVERRIDE: Final = f"{_SUBSET}.overrides[]"
_VALUES_FIT = (
    "self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || self.values.size() == 0 : "
    "has(self.values) && (self.operator in ['Gt', 'Lt'] ? self.values.size() == 1 : self.values.size() > 0)"
)
_VALUES_MESSAGE = (
    "In and NotIn need at least one value, Gt and Lt exactly one whole number, Exists and DoesNotExist have none"
)


def _within(field: str) -> str:
    """CEL: a JSON pointer goes to where overrides may."""
    inside = " || ".join(
        f"self.{field} == '{place}' || self.{field}.startsWith('{place}/')"
        for place in ("/metadata/labels", "/metadata/annotations")
    )
    return f"(self.{field}.startsWith('/spec/') || {inside})"


def _free(field: str) -> str:
    """CEL: a JSON pointer goes to nothing that belongs to the controller."""
    taken = ("/" + "/".join(path) for path in PROTECTED)
    return "!(" + " || ".join(f"self.{field} == '{p}' || self.{field}.startsWith('{p}/')" for p in taken) + ")"


def _pointers(condition: str) -> str:
    """CEL: a condition on ``path``, and on ``from`` if it is there."""
    return f"{condition} && (!has(self.from) || {condition.replace('self.path', 'self.from')})"


SUBSET_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="subset-names-unique",
        at="spec.topology.subsets[]",
        schema=True,
        message="another subset has the same name",
    ),
    Rule(
        name="nodes-immutable",
        at="spec.topology.subsets[]",
        cel=f"{immutable('nodeSelectorTerm')} && {immutable('tolerations')}",
        change=True,
        message=(
            "nodeSelectorTerm and tolerations of a subset may not be changed; add a subset with another name instead"
        ),
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
        name="patch-protected",
        at=f"{_SUBSET}.patch",
        cel="!has(self.spec) || (!has(self.spec.replicas) && !has(self.spec.selector))",
        field_path=".spec",
        message=PROTECTED_MESSAGE,
    ),
    Rule(name="patch-applies", at=_SUBSET, field_path=".patch", message="the patch cannot be applied"),
    Rule(
        name="override-within",
        at=_OVERRIDE,
        cel=_pointers(_within("path")),
        message=ANYTHING_ELSE_MESSAGE,
    ),
    Rule(
        name="override-protected",
        at=_OVERRIDE,
        cel=_pointers(_free("path")),
        message=PROTECTED_MESSAGE,
    ),
    Rule(
        name="override-from",
        at=_OVERRIDE,
        cel="has(self.from) == (self.op in ['move', 'copy'])",
        field_path=".from",
        message="move and copy need it, the other operations do not have it",
    ),
    Rule(
        name="override-value",
        at=_OVERRIDE,
        field_path=".value",
        message="add, replace and test need it, the other operations do not have it",
    ),
    Rule(name="override-applies", at=_OVERRIDE, message="the override cannot be applied"),
    Rule(
        name="patched-template",
        at=_SUBSET,
        message="with patch and overrides, the pods of the subset are none that spec.selector and an API server take",
    ),
    Rule(
        name="adopt-unique",
        at=_SUBSET,
        field_path=".adopt.name",
        message="another subset in the same cluster has this workload",
    ),
)
