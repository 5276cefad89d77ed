"""Rules about single subsets: nodes, patches, overrides and adoption."""

from typing import Final

from uniteddeployment_api.patches import ANYTHING_ELSE_MESSAGE, PROTECTED, PROTECTED_MESSAGE
from uniteddeployment_api.rules.base import Rule

_SUBSET: Final = "spec.topology.subsets[]"
_OVERRIDE: Final = f"{_SUBSET}.overrides[]"
_VALUES_FIT = (
    "self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || self.values.size() == 0 : "
    "has(self.values) && (self.operator in ['Gt', 'Lt'] ? self.values.size() == 1 : self.values.size() > 0)"
)
_VALUES_MESSAGE = (
    "In and NotIn require at least one value; Gt and Lt require exactly one whole number; "
    "Exists and DoesNotExist must not have values"
)


def _within(field: str) -> str:
    """CEL: a JSON pointer refers to a field that overrides may change."""
    inside = " || ".join(
        f"self.{field} == '{place}' || self.{field}.startsWith('{place}/')"
        for place in ("/metadata/labels", "/metadata/annotations")
    )
    return f"(self.{field}.startsWith('/spec/') || {inside})"


def _free(field: str) -> str:
    """CEL: a JSON pointer does not refer to a field that the controller sets."""
    taken = ("/" + "/".join(path) for path in PROTECTED)
    return "!(" + " || ".join(f"self.{field} == '{p}' || self.{field}.startsWith('{p}/')" for p in taken) + ")"


def _pointers(condition: str) -> str:
    """CEL: a condition on ``path``, and on ``from`` if it is set."""
    return f"{condition} && (!has(self.from) || {condition.replace('self.path', 'self.from')})"


_TOLERATIONS: Final = (
    "spec.topology.subsets[].tolerations[]",
    "spec.topology.subsets[].clusterTolerations[]",
    "spec.topology.tolerations[]",
)

SUBSET_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="subset-names-unique",
        at="spec.topology.subsets[]",
        schema=True,
        message="must be unique; another subset has the same name",
    ),
    *(
        Rule(
            name="nodes-immutable",
            at=f"{_SUBSET}.{field}",
            # The expression sees values that change. Those that come or go would cost every write of every subset.
            cel="self == oldSelf",
            change=True,
            message=(
                "nodeSelectorTerm and tolerations of a subset are immutable; add a subset with another name instead"
            ),
        )
        for field in ("nodeSelectorTerm", "tolerations")
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
        message="only the key metadata.name is supported, with the operator In or NotIn and exactly one value",
    ),
    *(
        Rule(
            name="toleration-exists",
            at=at,
            cel=(
                "has(self.operator) && self.operator == 'Exists' ? !has(self.value) || self.value == '' : "
                "has(self.key) && self.key != ''"
            ),
            message="with the operator Exists, value must be empty; with any other operator, key is required",
        )
        for at in _TOLERATIONS
    ),
    *(
        Rule(
            name="toleration-seconds",
            at=at,
            cel="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            field_path=".effect",
            message="tolerationSeconds requires the effect NoExecute",
        )
        for at in _TOLERATIONS
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
        message="required for move and copy, and not allowed for other operations",
    ),
    Rule(
        name="override-value",
        at=_OVERRIDE,
        field_path=".value",
        message="required for add, replace and test, and not allowed for other operations",
    ),
    Rule(name="override-applies", at=_OVERRIDE, message="the override cannot be applied"),
    Rule(
        name="patched-template",
        at=_SUBSET,
        message="after patch and overrides, the pod template is invalid or does not match spec.selector",
    ),
    Rule(
        name="adopt-unique",
        at=_SUBSET,
        field_path=".adopt.name",
        message="another subset in the same cluster uses this workload",
    ),
)
