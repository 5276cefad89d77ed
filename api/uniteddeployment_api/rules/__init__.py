"""Validation rules that involve several fields or a change, as data.

Each rule has a name, a location in the schema, and a message that says how to correct the error. Some also have a CEL
expression, which becomes part of the CRD. :mod:`uniteddeployment_api.validation` checks every rule in Python, with the
same messages.
"""

from typing import Final

from uniteddeployment_api.limits import MAX_IGNORED_PATH_LENGTH, MAX_IGNORED_PATHS
from uniteddeployment_api.names import UNITED_ROLLOUT_KIND
from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.rules.rollout import ROLLOUT_RULES
from uniteddeployment_api.rules.sizes import SIZE_RULES
from uniteddeployment_api.rules.subsets import SUBSET_RULES
from uniteddeployment_api.rules.template import TEMPLATE_RULES
from uniteddeployment_api.rules.topology import SCHEDULE_RULES, SHARE_RULES

_SELECTOR_VALUES: Final = next(entry for entry in TEMPLATE_RULES if entry.name == "selector-values")

RULES: Final[tuple[Rule, ...]] = (
    *SIZE_RULES,
    *TEMPLATE_RULES,
    *SHARE_RULES,
    *SCHEDULE_RULES,
    *SUBSET_RULES,
    Rule(
        name="annotation-recreate",
        at="metadata",
        message='must be "true" or "false"',
    ),
    Rule(
        name="annotation-ignore-differences",
        at="metadata",
        message=(
            "must be a comma-separated list of field paths below spec, metadata.labels or metadata.annotations of a "
            "workload, such as spec.replicas"
        ),
    ),
    Rule(
        name="annotation-ignore-differences-size",
        at="metadata",
        message=f"must not have more than {MAX_IGNORED_PATHS} paths of up to {MAX_IGNORED_PATH_LENGTH} characters each",
    ),
    Rule(
        name="cluster-ca",
        kind="Cluster",
        at="spec",
        cel="!has(self.insecureSkipTLSVerify) || !self.insecureSkipTLSVerify || !has(self.caBundle)",
        field_path=".caBundle",
        message="caBundle has no effect with insecureSkipTLSVerify; remove one of them",
    ),
    Rule(
        name="allowed-selector",
        kind="Cluster",
        at="spec.allowedNamespaces",
        cel="has(self.selector) == (self.from == 'Selector')",
        field_path=".selector",
        message="selector is required if from is Selector, and must not be set otherwise",
    ),
    Rule(
        name="selector-values",
        kind="Cluster",
        at="spec.allowedNamespaces.selector.matchExpressions[]",
        cel=_SELECTOR_VALUES.cel,
        field_path=_SELECTOR_VALUES.field_path,
        message=_SELECTOR_VALUES.message,
    ),
    *ROLLOUT_RULES,
    Rule(
        name="selector-values",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.steps[].wave.clusterSelector.matchExpressions[]",
        cel=_SELECTOR_VALUES.cel,
        field_path=_SELECTOR_VALUES.field_path,
        message=_SELECTOR_VALUES.message,
    ),
)


def rule(name: str) -> Rule:
    """Return the rule with this name. Of rules at several locations, which share their message, return the first."""
    return _BY_NAME[name]


_BY_NAME: Final = {entry.name: entry for entry in reversed(RULES)}

__all__ = ["RULES", "Rule", "rule"]
