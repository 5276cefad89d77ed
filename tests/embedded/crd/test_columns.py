"""Printer columns with their JSONPath, and selectable fields."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.embedded.crd_kit import resource, thing
from uniteddeployment.embedded.apimachinery.duration import human
from uniteddeployment.embedded.crd.jsonpath import JSONPathError, compile_path

NOW = datetime(2026, 1, 1, 0, 1, 0, tzinfo=UTC)
OBJ = thing(
    {"n": 3, "f": 1.5, "s": "x", "b": True, "list": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "m": {"a.b": "dotted"}}
)


def cell(path: str, type_: str) -> Any:
    column = {"name": "C", "type": type_, "jsonPath": path, "priority": 1}
    created = resource(additionalPrinterColumns=[column]).columns[1]
    assert created.priority == 1
    return created.cell(OBJ, NOW)


@pytest.mark.parametrize(
    ("path", "type_", "shown"),
    [
        (".spec.s", "string", "x"),
        (".spec.n", "integer", 3),
        (".spec.f", "number", 1.5),
        (".spec.b", "boolean", True),
        (".spec.absent", "string", None),
        (".spec.s", "integer", None),
        (".spec.n", "string", "3"),
        (".spec.b", "string", "true"),
        (".spec.list[*].k", "string", "a"),
        ('.spec.list[?(@.k=="b")].v', "integer", 2),
        (".spec.list[?(@.v>1)].k", "string", "b"),
        (".spec.list[-1].k", "string", "b"),
        (".spec.list[1:2].k", "string", "b"),
        (".spec.list[0]", "string", '{"k":"a","v":1}'),
        (r".spec.m.a\.b", "string", "dotted"),
        (".spec.m['a.b']", "string", "dotted"),
        ("..k", "string", "a"),
    ],
)
def test_cells_have_the_type_of_their_column(path: str, type_: str, shown: Any) -> None:
    assert cell(path, type_) == shown


def test_a_path_that_cannot_be_read_is_an_error_and_an_empty_cell() -> None:
    with pytest.raises(JSONPathError):
        compile_path(".spec[")
    assert cell(".spec[", "string") is None


def test_a_kind_without_columns_shows_name_and_age() -> None:
    name, age = resource().columns
    obj = thing({})
    obj["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert (name.name, name.cell(obj, NOW), age.name, age.cell(obj, NOW)) == ("Name", "t", "Age", "60s")
    assert age.cell(thing({}), NOW) is None


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (3600, "60m"),
        (5 * 3600 + 720, "5h12m"),
        (30 * 3600, "30h"),
        (3 * 86400 + 4 * 3600, "3d4h"),
        (100 * 86400, "100d"),
        (800 * 86400, "2y70d"),
    ],
)
def test_ages_are_as_short_as_kubectl_shows_them(seconds: int, shown: str) -> None:
    assert human(seconds) == shown


def test_selectable_fields_select_by_text() -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "boolean"}}
    selectable = [{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.b"}]
    created = resource({"type": "object", "properties": fields}, selectableFields=selectable)
    assert created.field_selectors["spec.a"](thing({"a": "x"})) == "x"
    assert created.field_selectors["spec.b"](thing({"b": True})) == "true"
    assert created.field_selectors["spec.a"](thing({})) == ""
