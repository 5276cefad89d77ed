"""Parsing and validation of UnitedRollouts from users and API servers."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from uniteddeployment_api.errors import FieldError, from_pydantic
from uniteddeployment_api.int_or_percent import percent_of
from uniteddeployment_api.selectors import requirement_values_fit, selector_matches
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRollout
from uniteddeployment_api.validation.candidate import violation
from uniteddeployment_api.validation.gates import gate_errors, too_many_rows
from uniteddeployment_api.validation.notifications import notification_errors

Subsets = Mapping[str, Mapping[str, str]]
"""Name of each subset of a target -> labels of its Cluster object."""


def parse_united_rollout(obj: Mapping[str, Any]) -> UnitedRollout:
    """Return the object as a model. Raises InvalidObject for unknown fields and for values of the wrong form."""
    try:
        return UnitedRollout.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None


def validate_united_rollout(
    rollout: UnitedRollout, subsets: Subsets | None = None, *, old: UnitedRollout | None = None
) -> tuple[FieldError, ...]:
    """Return all rules that ``rollout`` violates and, if ``old`` is given, that the change from ``old`` violates.

    Names of subsets and labels of clusters in waves are checked only if the target's ``subsets`` are given.
    """
    errors = []
    if old is not None and old.spec.target_ref != rollout.spec.target_ref:
        errors.append(violation("rollout-target-immutable", "spec.targetRef.name"))
    steps = rollout.spec.steps
    if not steps:
        return (*errors, violation("rollout-steps-needed", "spec.steps"))
    errors += [*_falling(steps), *_not_positive(steps), *_selectors(steps), *_gates(steps)]
    errors += notification_errors(rollout.spec.notifications)
    if subsets is not None:
        errors += _unknown(steps, subsets)
        errors += _gate_results(steps, len(subsets))
    return tuple(errors)


def _falling(steps: tuple[RolloutStep, ...]) -> Iterator[FieldError]:
    """Yield steps of the whole application that are smaller than an earlier one.

    Numbers are compared with numbers and percentages with percentages, because the total is not known here.
    """
    most: dict[type, int] = {int: 0, str: 0}
    for index, step in enumerate(steps):
        if step.wave is not None:
            continue
        form = type(step.replicas)
        value = step.replicas if isinstance(step.replicas, int) else percent_of(step.replicas)
        if value < most[form]:
            yield violation("rollout-steps-rise", f"spec.steps[{index}].replicas")
        most[form] = max(most[form], value)


def _not_positive(steps: tuple[RolloutStep, ...]) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        if step.replicas in (0, "0%"):
            yield violation("rollout-steps-update", f"spec.steps[{index}].replicas")


def _selectors(steps: tuple[RolloutStep, ...]) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        selector = step.wave.cluster_selector if step.wave else None
        for place, requirement in enumerate(selector.match_expressions if selector else ()):
            if not requirement_values_fit(requirement.operator, requirement.values):
                path = f"spec.steps[{index}].wave.clusterSelector.matchExpressions[{place}].values"
                yield violation("selector-values", path)


def _unknown(steps: tuple[RolloutStep, ...], subsets: Subsets) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        for place, name in enumerate(step.wave.subsets if step.wave else ()):
            if name not in subsets:
                path = f"spec.steps[{index}].wave.subsets[{place}]"
                yield violation("rollout-wave-names-subsets", path, f"there is no {name}")
        selector = step.wave.cluster_selector if step.wave else None
        if selector is not None and not any(selector_matches(selector, labels) for labels in subsets.values()):
            yield violation("rollout-wave-selects-subsets", f"spec.steps[{index}].wave.clusterSelector")


def _gates(steps: tuple[RolloutStep, ...]) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        yield from gate_errors(f"spec.steps[{index}].gates", step.gates)


def _gate_results(steps: tuple[RolloutStep, ...], subsets: int) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        yield from too_many_rows(f"spec.steps[{index}].gates", step, subsets)
