"""Parsing and validating any object returns errors and never fails in another way (I11)."""

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.api.rule_cases import ACCEPTED, BROKEN
from uniteddeployment_api import InvalidObject, parse_united_deployment, validate_united_deployment
from uniteddeployment_api.rules import RULES

OBJECTS = [*ACCEPTED, *(row[2] for row in BROKEN)]
NAMES = {entry.name for entry in RULES}

scalars = (
    st.none() | st.booleans() | st.integers(-5, 2**33) | st.sampled_from(["", "x", "50%", "/spec/template", "web"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "spec", "$patch"]), inner),
    max_leaves=6,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in entries:
        yield from places(child, (*path, key))


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(st.sampled_from(OBJECTS), st.integers(0, 10**6), values, st.sampled_from(OBJECTS))
@example(OBJECTS[0], 0, None, OBJECTS[0])
def test_validating_any_object_returns_errors_or_nothing(
    base: dict[str, Any], place: int, value: Any, old: dict[str, Any]
) -> None:
    obj = copy.deepcopy(base)
    found = list(places(obj))
    *steps, last = found[place % len(found)]
    node: Any = obj
    for step in steps:
        node = node[step]
    node[last] = value
    with suppress(InvalidObject):
        model = parse_united_deployment(obj)
        before = parse_united_deployment(old)
        for error in (*validate_united_deployment(model), *validate_united_deployment(model, before)):
            assert error.rule in NAMES
            assert error.path
            assert error.message
