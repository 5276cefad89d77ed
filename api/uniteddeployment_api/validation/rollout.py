"""Parsing and validation of UnitedRollouts from users and API servers."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from uniteddeployment_api.errors import FieldError, from_pydantic
from uniteddeployment_api.int_or_percent import percent_of
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRollout


def parse_united_rollout(obj: Mapping[str, Any]) -> UnitedRollout:
    """Return the object as a model. Raises InvalidObject for unknown fields and for values of the wrong form."""
    try:
        return UnitedRollout.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None


def validate_united_rollout(rollout: UnitedRollout, subsets: Collection[str] | None = None) -> tuple[FieldError, ...]:
    """Return all errors in the steps and, if the names of the target's ``subsets`` are given, in the waves."""
    steps = rollout.spec.steps
    if not steps:
        return (FieldError("spec.steps", "must have at least one step", "rollout-steps-needed"),)
    errors = [*_falling(steps), *_not_positive(steps)]
    if subsets is not None:
        errors += _unknown(steps, subsets)
    return tuple(errors)


def _falling(steps: tuple[RolloutStep, ...]) -> Iterator[FieldError]:
    """Yield steps of the whole application that are smaller than an earlier one: partitions do not revert pods.

    Numbers are compared with numbers and percentages with percentages, because the total is not known here.
    """
    most: dict[type, int] = {int: 0, str: 0}
    for index, step in enumerate(steps):
        if step.wave is not None:
            continue
        form = type(step.replicas)
        value = step.replicas if isinstance(step.replicas, int) else percent_of(step.replicas)
        if value < most[form]:
            message = "must not be less than in an earlier step, because partitions do not revert pods"
            yield FieldError(f"spec.steps[{index}].replicas", message, "rollout-steps-rise")
        most[form] = max(most[form], value)


def _not_positive(steps: tuple[RolloutStep, ...]) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        if step.replicas in (0, "0%"):
            yield FieldError(f"spec.steps[{index}].replicas", "must be more than 0", "rollout-steps-update")


def _unknown(steps: tuple[RolloutStep, ...], subsets: Collection[str]) -> Iterator[FieldError]:
    for index, step in enumerate(steps):
        for place, name in enumerate(step.wave.subsets if step.wave else ()):
            if name not in subsets:
                message = f"the target has no subset {name}"
                yield FieldError(f"spec.steps[{index}].wave.subsets[{place}]", message, "rollout-wave-names-subsets")
