"""Checks of the size and the depth of what the schema leaves open. They come first: the others rely on them."""

from collections.abc import Iterator
from typing import Any, Final

from uniteddeployment_api import limits
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.validation.seen import SUBSETS, Check, Seen, broken, spec_path


def _nesting(seen: Seen) -> Iterator[FieldError]:
    for path, value in _open_values(seen):
        if limits.deeper_than(value, limits.MAX_DEPTH):
            yield broken("nesting", path)


def _sizes(seen: Seen) -> Iterator[FieldError]:
    template = sum(limits.size(given.spec) for given in seen.ud.spec.template.given.values())
    if template > limits.MAX_WORKLOAD_BYTES:
        yield broken("template-size", "spec.template")
    changes = sum(limits.size(value) for path, value in _open_values(seen) if path.startswith(SUBSETS))
    if template * len(seen.subsets) + changes > limits.MAX_RENDERED_BYTES:
        yield broken("total-size", SUBSETS)


def _open_values(seen: Seen) -> Iterator[tuple[str, Any]]:
    """What the schema leaves open, with its path."""
    for field, given in seen.ud.spec.template.given.items():
        yield spec_path(field), given.spec
    for index, subset in enumerate(seen.subsets):
        if subset.patch is not None:
            yield f"{SUBSETS}[{index}].patch", subset.patch
        for place, operation in enumerate(subset.overrides):
            yield f"{SUBSETS}[{index}].overrides[{place}].value", operation.value


SIZE_CHECKS: Final[tuple[Check, ...]] = (_nesting, _sizes)
