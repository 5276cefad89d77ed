"""Rules about the size of fields with an open schema."""

from typing import Final

from uniteddeployment_api.limits import MAX_DEPTH, MAX_RENDERED_BYTES, MAX_WORKLOAD_BYTES, mebibytes
from uniteddeployment_api.rules.base import Rule

_NESTING: Final = f"must not be nested more than {MAX_DEPTH} levels deep"

SIZE_RULES: Final[tuple[Rule, ...]] = (
    Rule(name="nesting", at="spec.template", message=_NESTING),
    Rule(name="nesting", at="spec.topology.subsets[]", field_path=".patch", message=_NESTING),
    Rule(name="nesting", at="spec.topology.subsets[].overrides[]", field_path=".value", message=_NESTING),
    Rule(
        name="template-size",
        at="spec.template",
        message=f"must not exceed {mebibytes(MAX_WORKLOAD_BYTES)} as JSON, or API servers may not store the workload",
    ),
    Rule(
        name="total-size",
        at="spec.topology",
        field_path=".subsets",
        message=(
            f"the template multiplied by the number of subsets, plus all patches and overrides, must not exceed "
            f"{mebibytes(MAX_RENDERED_BYTES)} as JSON; move large data into ConfigMaps"
        ),
    ),
)
