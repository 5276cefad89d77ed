"""Sets of field paths: text form, set operations, messages."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.managed_fields import field_set as fieldset
from uniteddeployment.embedded.managed_fields.field_set import Fields, FieldsError

Paths = set[tuple[str, ...]]

names = st.text("ab./~", min_size=1, max_size=2).map(fieldset.field)
keys = st.dictionaries(st.sampled_from(["name", "port"]), st.sampled_from(["x", 1, 80, 443]), min_size=1)
elements = names | keys.map(fieldset.key) | st.sampled_from(["a", 1, True]).map(fieldset.value)
path_sets: st.SearchStrategy[Paths] = st.sets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=6)


def built(paths: Paths) -> Fields:
    result: Fields = {}
    for path in paths:
        result = fieldset.insert(result, path)
    return result


def members(fields: Fields) -> Paths:
    return set(fieldset.paths(fields))


@given(path_sets)
def test_printing_and_parsing_gives_the_same_set(paths: Paths) -> None:
    fields = fieldset.canonical(built(paths))
    text = msgspec.json.encode(fields)
    assert msgspec.json.encode(fieldset.parse(msgspec.json.decode(text))) == text
    assert members(fields) == paths


@given(path_sets)
def test_the_order_of_insertion_does_not_show_in_the_text(paths: Paths) -> None:
    forward = built(paths)
    backward: dict[str, Any] = {}
    for path in sorted(paths, reverse=True):
        backward = fieldset.insert(backward, path)
    assert msgspec.json.encode(fieldset.canonical(forward)) == msgspec.json.encode(fieldset.canonical(backward))


@given(path_sets, path_sets)
def test_union_difference_and_intersection_are_those_of_sets(item: Paths, other: Paths) -> None:
    a, b = built(item), built(other)
    assert members(fieldset.union(a, b)) == item | other
    assert members(fieldset.difference(a, b)) == item - other
    assert members(fieldset.intersection(a, b)) == item & other
    assert members(a) == item


@given(path_sets, path_sets)
def test_no_function_changes_its_arguments(item: Paths, other: Paths) -> None:
    a, b = built(item), built(other)
    before = msgspec.json.encode([a, b])
    for function in (fieldset.union, fieldset.difference, fieldset.intersection, fieldset.without):
        function(a, b)
    fieldset.canonical(a)
    assert msgspec.json.encode([a, b]) == before


@given(path_sets, path_sets)
def test_without_removes_members_and_all_below_them(item: Paths, other: Paths) -> None:
    left = {path for path in item if not any(path[: len(deleted)] == deleted for deleted in other)}
    assert members(fieldset.without(built(item), built(other))) == left


@given(path_sets)
def test_leaves_are_members_without_members_below(paths: Paths) -> None:
    wanted = {path for path in paths if not any(len(p) > len(path) and p[: len(path)] == path for p in paths)}
    assert members(fieldset.leaves(built(paths))) == wanted


@given(path_sets, path_sets)
def test_has_finds_members_and_nothing_else(item: Paths, other: Paths) -> None:
    fields = built(item)
    assert all(fieldset.has(fields, path) == (path in item) for path in item | other)


def test_a_set_is_written_fields_first_then_keys_then_values_with_numbers_in_their_order() -> None:
    fields = built(
        {(fieldset.key({"port": port}),) for port in (443, 80)}
        | {("f:z",), ("f:a",), (fieldset.value("b"),), ("i:10",), ("i:9",)}
    )
    assert list(fieldset.canonical(fields)) == [
        "f:a", "f:z", 'k:{"port":80}', 'k:{"port":443}', 'v:"b"', "i:9", "i:10",
    ]  # fmt: skip


def test_a_member_with_members_below_says_so_first() -> None:
    assert fieldset.canonical(built({("f:a",), ("f:a", "f:b")})) == {"f:a": {".": {}, "f:b": {}}}
    assert next(iter(fieldset.canonical(built({("f:a",), ("f:a", "f:b")}))["f:a"])) == "."


def test_foreign_keys_are_put_into_canonical_form() -> None:
    assert fieldset.parse({'k:{"protocol":"TCP", "port":80}': {".": {}}}) == {'k:{"port":80,"protocol":"TCP"}': {}}


@pytest.mark.parametrize("raw", [None, [], {"x:a": {}}, {"a": {}}, {"f:a": 1}, {"k:{}": {}}, {"k:[1]": {}}, {"v:{": {}},
                                 {"i:x": {}}, {"i:true": {}}])  # fmt: skip
def test_invalid_field_sets_are_refused(raw: Any) -> None:
    with pytest.raises(FieldsError):
        fieldset.parse(raw)


def test_paths_are_shown_as_messages_have_them() -> None:
    path = ("f:spec", "f:ports", fieldset.key({"protocol": "TCP", "port": 80}), "f:name")
    assert fieldset.show(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert fieldset.show(("f:set", fieldset.value("b"))) == '.set[="b"]'
    assert fieldset.show(("f:list", "i:3")) == ".list[3]"
