"""The data of the built-in kinds is complete and consistent."""

from datetime import UTC, datetime
from importlib import resources as package
from typing import Any

import msgspec
import pytest

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.builtin import resources, shapes, strategy_for
from uniteddeployment.embedded.builtin.defaults import _COMPUTED
from uniteddeployment.embedded.builtin.rules import _RULES
from uniteddeployment.embedded.schema.wire import wire

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = [pytest.param(one, id=f"{one.key}-{one.version}") for one in resources()]


def data(file: str) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(
        package.files("uniteddeployment.embedded.builtin").joinpath(file).read_bytes()
    )
    return decoded


def short_names() -> dict[str, str]:
    return {".".join(name.split(".")[-3:]): name for name in shapes.definitions()}


@pytest.mark.parametrize("resource", KINDS)
def test_an_empty_object_passes_all_steps(resource: Resource) -> None:
    """No step of a strategy and no table cell requires a field that a client may omit."""
    obj: dict[str, Any] = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {"name": "a"}}
    strategy = resource.strategy
    assert list(strategy.conform(obj)) == []
    strategy.default(obj)
    obj["metadata"]["uid"] = "u"
    strategy.prepare_create(obj)
    strategy.validate_create(obj)
    for column in resource.columns:
        column.cell(obj, NOW)
        column.cell({"metadata": {"name": "a"}}, NOW)
    for select in resource.field_selectors.values():
        assert isinstance(select(obj), str)


@pytest.mark.parametrize("resource", KINDS)
def test_an_update_that_changes_nothing_changes_nothing(resource: Resource) -> None:
    """Preparing an unchanged object leaves it as it is, including its generation (I3)."""
    strategy = resource.strategy
    obj: dict[str, Any] = {"metadata": {"name": "a", "uid": "u"}}
    strategy.conform(obj)
    strategy.default(obj)
    strategy.prepare_create(obj)
    for subresource in ("", "status"):
        new = msgspec.json.decode(msgspec.json.encode(obj))
        strategy.conform(new)
        strategy.default(new)
        strategy.prepare_update(new, obj, subresource)
        assert new == obj


@pytest.mark.parametrize("resource", KINDS)
def test_every_kind_names_itself_as_its_definition_does(resource: Resource) -> None:
    known = resource.schema.get("x-kubernetes-group-version-kind")
    assert known is None or {"group": resource.group, "version": resource.version, "kind": resource.kind} in known
    assert resource.resolve("io.k8s.api.core.v1.PodSpec")["properties"]
    assert resource.columns[0].name in ("Name", "Last Seen")


def test_the_preferred_version_comes_first() -> None:
    versions = [item.version for item in resources() if item.plural == "horizontalpodautoscalers"]
    assert versions == ["v2", "v1"]


def test_the_facts_about_encoding_name_existing_fields() -> None:
    known = short_names()
    for name, message in wire().items():
        fields = shapes.definitions()[known[name]]["properties"]
        assert set(message.get("zero", ())) <= set(fields), name
        assert set(message.get("always", ())) <= set(fields), name


def test_defaults_and_rules_are_for_definitions_that_exist() -> None:
    known = short_names()
    for name, constants in data("defaults.json").items():
        assert set(constants) <= set(shapes.definitions()[known[name]]["properties"]), name
    assert set(_COMPUTED) <= set(known)
    assert set(_RULES) <= set(known)


def test_every_reference_leads_to_a_definition() -> None:
    def references(schema: Any) -> Any:
        if isinstance(schema, dict):
            if isinstance(schema.get("$ref"), str):
                yield schema["$ref"]
            for inner in schema.values():
                yield from references(inner)
        elif isinstance(schema, list):
            for inner in schema:
                yield from references(inner)

    known = shapes.definitions()
    assert all(name in known for schema in known.values() for name in references(schema))


def test_a_strategy_can_be_replaced_and_wrapped() -> None:
    key = "configmaps"
    mine = strategy_for(key)
    results = next(item for item in resources({key: mine}) if item.key == key)
    assert results.strategy is mine
    with pytest.raises(KeyError):
        strategy_for("nothings")
