"""Checks of spec.template and spec.selector."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.pods import labels_of, pod_template_errors
from uniteddeployment_api.selectors import requirement_values_fit, selector_matches
from uniteddeployment_api.v1alpha1.meta import LabelSelector
from uniteddeployment_api.v1alpha1.template import CLONE_SET_TEMPLATE, ORDINAL_TEMPLATES
from uniteddeployment_api.validation.candidate import Candidate, Check, spec_path, violation


def _template(candidate: Candidate) -> Iterator[FieldError]:
    if candidate.template is None:
        yield violation("exactly-one-template", "spec.template")
        return
    field, spec = candidate.template
    path = spec_path(field)
    if spec.get("replicas") is not None:
        yield violation("template-has-no-replicas", f"{path}.replicas")
    for steps in _PARTITIONS.get(field, ()):
        if _at(spec, steps) is not None:
            yield violation("template-has-no-partition", f"{path}.{'.'.join(steps)}")
    for where in pod_template_errors(spec.get("template")):
        yield violation("pod-template", f"{path}.template{where}")


_ROLLING: Final = (("updateStrategy", "rollingUpdate", "partition"),)
_PARTITIONS: Final = dict.fromkeys(ORDINAL_TEMPLATES, _ROLLING) | {
    CLONE_SET_TEMPLATE: (("updateStrategy", "partition"),)
}


def _at(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _selector(candidate: Candidate) -> Iterator[FieldError]:
    selector = candidate.ud.spec.selector
    if not selector.match_labels and not selector.match_expressions:
        yield violation("selector-not-empty", "spec.selector")
    if candidate.old is not None and candidate.old.spec.selector != selector:
        yield violation("selector-immutable", "spec.selector")
    if any(key.startswith(f"{names.GROUP}/") for key in selector.match_labels):
        yield violation("selector-not-ours", "spec.selector.matchLabels")
    for index, requirement in enumerate(selector.match_expressions):
        if not requirement_values_fit(requirement.operator, requirement.values):
            yield violation("selector-values", f"spec.selector.matchExpressions[{index}].values")


def _selector_matches(candidate: Candidate) -> Iterator[FieldError]:
    if candidate.template is None:
        return
    field, spec = candidate.template
    labels = labels_of(spec.get("template"))
    if labels is not None:  # otherwise _template reports them
        where = f"{spec_path(field)}.template.metadata.labels"
        for name, detail in selector_errors(candidate.ud.spec.selector, labels):
            yield violation(name, where, detail)


def selector_errors(selector: LabelSelector, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the rules that pod labels violate, with details."""
    missing = [f"{key}={value}" for key, value in selector.match_labels.items() if labels.get(key) != value]
    if missing:
        yield "selector-matches-labels", ", ".join(missing)
    well_formed = tuple(e for e in selector.match_expressions if requirement_values_fit(e.operator, e.values))
    if not selector_matches(LabelSelector(match_expressions=well_formed), labels):
        yield "selector-matches-expressions", ""


TEMPLATE_CHECKS: Final[tuple[Check, ...]] = (_template, _selector, _selector_matches)
