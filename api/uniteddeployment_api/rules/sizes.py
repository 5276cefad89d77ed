"""Rules on the size of what the schema leaves open."""

from typing import Final

from uniteddeployment_api.limits import MAX_DEPTH, MAX_RENDERED_BYTES, MAX_WORKLOAD_BYTES, mebibytes
from uniteddeployment_api.rules.base import Rule

_NESTING: Final = f"lists and objects are nested deeper than {MAX_DEPTH} levels"

SIZE_RULES: Final[tuple[Rule, ...]] = (
    Rule(name="nesting", at="spec.template", message=_NESTING),
    Rule(name="nesting", at="spec.topology.subsets[]", field_path=".patch", message=_NESTING),
    Rule(name="nesting", at="spec.topology.subsets[].overrides[]", field_path=".value", message=_NESTING),
    Rule(
        name="template-size",
        at="spec.template",
        message=f"the workload is larger than {mebibytes(MAX_WORKLOAD_BYTES)} as JSON, more than API servers store",
    ),
    Rule(
        name="total-size",
        at="spec.topology",
        field_path=".subsets",
        message=(
            f"the template, with patch and overrides, once for each subset, is larger than "
            f"{mebibytes(MAX_RENDERED_BYTES)} as JSON: put what is large into ConfigMaps"
        ),
    ),
)
