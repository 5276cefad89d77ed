"""Checks of the size and depth of fields with an open schema. They run first, because the others rely on the limits."""

from collections.abc import Iterator
from typing import Any, Final

from uniteddeployment_api import limits
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.validation.candidate import SUBSETS, Candidate, Check, spec_path, violation


def _nesting(candidate: Candidate) -> Iterator[FieldError]:
    for path, value in _open_values(candidate):
        if limits.deeper_than(value, limits.MAX_DEPTH):
            yield violation("nesting", path)


def _sizes(candidate: Candidate) -> Iterator[FieldError]:
    template = sum(limits.size(given.spec) for given in candidate.ud.spec.template.given.values())
    if template > limits.MAX_WORKLOAD_BYTES:
        yield violation("template-size", "spec.template")
    changes = sum(limits.size(value) for path, value in _open_values(candidate) if path.startswith(SUBSETS))
    if template * len(candidate.subsets) + changes > limits.MAX_RENDERED_BYTES:
        yield violation("total-size", SUBSETS)


def _open_values(candidate: Candidate) -> Iterator[tuple[str, Any]]:
    """Yield the values of fields with an open schema, with their paths."""
    for field, given in candidate.ud.spec.template.given.items():
        yield spec_path(field), given.spec
    for index, subset in enumerate(candidate.subsets):
        if subset.patch is not None:
            yield f"{SUBSETS}[{index}].patch", subset.patch
        for place, operation in enumerate(subset.overrides):
            yield f"{SUBSETS}[{index}].overrides[{place}].value", operation.value


SIZE_CHECKS: Final[tuple[Check, ...]] = (_nesting, _sizes)
