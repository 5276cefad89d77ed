"""What no single field can say: the rules between fields, as data.

Each rule has a name, a place in the schema, a message that tells the way out, and, where CEL can say it, the expression
that goes into the CRD. :mod:`uniteddeployment_api.validation` checks every rule (also those without CEL) in Python; the
messages are these.
"""

from typing import Final

from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.rules.sizes import SIZE_RULES
from uniteddeployment_api.rules.subsets import SUBSET_RULES
from uniteddeployment_api.rules.template import TEMPLATE_RULES
from uniteddeployment_api.rules.topology import SCHEDULE_RULES, SHARE_RULES

RULES: Final[tuple[Rule, ...]] = (
    *SIZE_RULES,
    *TEMPLATE_RULES,
    *SHARE_RULES,
    *SCHEDULE_RULES,
    *SUBSET_RULES,
    Rule(
        name="annotation-recreate",
        at="metadata",
        message='uniteddeployment.io/recreate is "true" or "false"',
    ),
    Rule(
        name="annotation-ignore-differences",
        at="metadata",
        message=(
            "uniteddeployment.io/ignore-differences is a list of dotted paths below spec, metadata.labels or "
            "metadata.annotations of a workload, with commas between them, such as spec.replicas"
        ),
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

__all__ = ["RULES", "Rule", "rule"]
