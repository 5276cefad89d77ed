"""JSON patch with the real server's results."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.patch import json_patch

DOC = {"metadata": {"name": "one", "annotations": {"a/b": "c"}}, "data": {"k": "v"}, "list": [1, 2]}


def patched(*operations: dict[str, Any]) -> dict[str, Any]:
    return json_patch.apply(DOC, list(operations))


def refused(body: object) -> StatusError:
    with pytest.raises(StatusError) as caught:
        json_patch.apply(DOC, body)
    return caught.value


def test_operations_are_done_in_their_order_on_a_copy() -> None:
    result = patched(
        {"op": "add", "path": "/data/n", "value": "1"},
        {"op": "copy", "from": "/data/n", "path": "/data/m"},
        {"op": "move", "from": "/data/k", "path": "/data/kk"},
        {"op": "test", "path": "/data/kk", "value": "v"},
        {"op": "remove", "path": "/data/n"},
        {"op": "add", "path": "/list/-", "value": 3},
        {"op": "add", "path": "/list/0", "value": 0},
        {"op": "replace", "path": "/metadata/annotations/a~1b", "value": "slash"},
    )
    assert result["data"] == {"m": "1", "kk": "v"}
    assert result["list"] == [0, 1, 2, 3]
    assert result["metadata"]["annotations"] == {"a/b": "slash"}
    assert DOC["data"] == {"k": "v"}


def test_replacing_a_missing_key_adds_it() -> None:
    assert patched({"op": "replace", "path": "/data/absent", "value": "x"})["data"] == {"k": "v", "absent": "x"}


def test_the_whole_object_can_be_replaced() -> None:
    assert patched({"op": "replace", "path": "", "value": {"data": {}}}) == {"data": {}}


def test_no_operations_change_nothing() -> None:
    assert patched() == DOC
    assert json_patch.apply(DOC, None) == DOC


def test_testing_for_null_finds_what_is_missing() -> None:
    assert patched({"op": "test", "path": "/data/absent", "value": None}) == DOC


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/k", "value": "other"},
        {"op": "test", "path": "/list/0", "value": True},
        {"op": "test", "path": "/nowhere/absent", "value": 1},
        {"op": "remove", "path": "/data/absent"},
        {"op": "remove", "path": "/list/7"},
        {"op": "add", "path": "/nowhere/absent", "value": 1},
        {"op": "add", "path": "/list/9", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "", "value": [1]},
        {"op": "move", "from": "/data/absent", "path": "/data/x"},
        {"op": "wrong", "path": "/data/k", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "add", "path": "/data/x"},
        {"path": "/data/x"},
    ],
)
def test_operations_that_fail_are_422_without_details(operation: dict[str, Any]) -> None:
    error = refused([operation])
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize(
    ("body", "kind"),
    [({"data": 1}, "object"), ("x", "string"), (5, "number"), (True, "bool")],
)
def test_a_body_that_is_no_list_is_400(body: object, kind: str) -> None:
    error = refused(body)
    assert error.code == 400
    assert error.message == (
        f"error decoding patch: json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
    )


def test_an_operation_that_is_not_an_object_is_400() -> None:
    assert refused([1]).message.endswith("cannot unmarshal number into Go value of type handlers.jsonPatchOp")


def test_too_many_operations_are_413() -> None:
    assert refused([{"op": "test", "path": ""}] * 10_001).code == 413


values = st.recursive(st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3), max_leaves=8)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["x", "y"]), values), values)
def test_an_added_value_tests_equal(doc: dict[str, Any], value: Any) -> None:
    operations = [{"op": "add", "path": "/x", "value": value}, {"op": "test", "path": "/x", "value": value}]
    assert json_patch.apply(doc, operations) == {**doc, "x": value}
