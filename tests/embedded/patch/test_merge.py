"""JSON merge patch."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.patch import merge

scalars = st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
documents = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        if isinstance(value, dict):
            below = old.get(name)
            patch[name] = difference(below if isinstance(below, dict) else {}, value)
        else:
            patch[name] = value
    return patch


@given(documents, documents)
def test_the_difference_of_two_objects_makes_one_of_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merge.apply(old, difference(old, new)) == new


@given(documents, documents)
def test_patching_twice_is_patching_once(doc: dict[str, Any], patch: dict[str, Any]) -> None:
    first = merge.apply(doc, patch)
    assert merge.apply(first, patch) == first


def test_null_deletes_and_lists_replace() -> None:
    doc = {"spec": {"ports": [1, 2], "selector": {"a": "b"}, "gone": 1}}
    patch = {"spec": {"ports": [3], "selector": {"a": None, "c": "d"}, "gone": None, "never": None}}
    assert merge.apply(doc, patch) == {"spec": {"ports": [3], "selector": {"c": "d"}}}
    assert doc["spec"]["gone"] == 1


def test_nulls_in_new_objects_are_dropped_and_in_lists_stay() -> None:
    assert merge.apply({}, {"a": {"b": None, "c": 1}, "d": [{"e": None}]}) == {"a": {"c": 1}, "d": [{"e": None}]}


def test_an_object_replaces_what_is_no_object() -> None:
    assert merge.apply({"a": [1]}, {"a": {"b": 1}}) == {"a": {"b": 1}}
