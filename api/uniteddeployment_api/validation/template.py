"""Checks of spec.template and spec.selector."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.pods import labels_of, pod_template_errors
from uniteddeployment_api.selectors import requirement_values_fit, selector_matches
from uniteddeployment_api.v1alpha1.meta import LabelSelector
from uniteddeployment_api.v1alpha1.template import CLONE_SET_TEMPLATE, ORDINAL_TEMPLATES
from uniteddeployment_api.validation.seen import Check, Seen, broken, spec_path


def _template(seen: Seen) -> Iterator[FieldError]:
    if seen.template is None:
        yield broken("exactly-one-template", "spec.template")
        return
    field, spec = seen.template
    path = spec_path(field)
    if spec.get("replicas") is not None:
        yield broken("template-has-no-replicas", f"{path}.replicas")
    for steps in _PARTITIONS.get(field, ()):
        if _at(spec, steps) is not None:
            yield broken("template-has-no-partition", f"{path}.{'.'.join(steps)}")
    for where in pod_template_errors(spec.get("template")):
        yield broken("pod-template", f"{path}.template{where}")


_ROLLING: Final = (("updateStrategy", "rollingUpdate", "partition"),)
_PARTITIONS: Final = dict.fromkeys(ORDINAL_TEMPLATES, _ROLLING) | {
    CLONE_SET_TEMPLATE: (("updateStrategy", "partition"),)
}


def _at(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _selector(seen: Seen) -> Iterator[FieldError]:
    selector = seen.ud.spec.selector
    if not selector.match_labels and not selector.match_expressions:
        yield broken("selector-not-empty", "spec.selector")
    if seen.old is not None and seen.old.spec.selector != selector:
        yield broken("selector-immutable", "spec.selector")
    if any(key.startswith(f"{names.GROUP}/") for key in selector.match_labels):
        yield broken("selector-not-ours", "spec.selector.matchLabels")
    for index, requirement in enumerate(selector.match_expressions):
        if not requirement_values_fit(requirement.operator, requirement.values):
            yield broken("selector-values", f"spec.selector.matchExpressions[{index}].values")


def _selector_matches(seen: Seen) -> Iterator[FieldError]:
    if seen.template is None:
        return
    field, spec = seen.template
    labels = labels_of(spec.get("template"))
    if labels is not None:  # otherwise the template's own check told of it
        where = f"{spec_path(field)}.template.metadata.labels"
        for name, detail in selector_errors(seen.ud.spec.selector, labels):
            yield broken(name, where, detail)


def selector_errors(selector: LabelSelector, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The rules that labels of pods break, with details."""
    missing = [f"{key}={value}" for key, value in selector.match_labels.items() if labels.get(key) != value]
    if missing:
        yield "selector-matches-labels", ", ".join(missing)
    well_formed = tuple(e for e in selector.match_expressions if requirement_values_fit(e.operator, e.values))
    if not selector_matches(LabelSelector(match_expressions=well_formed), labels):
        yield "selector-matches-expressions", ""


TEMPLATE_CHECKS: Final[tuple[Check, ...]] = (_template, _selector, _selector_matches)
