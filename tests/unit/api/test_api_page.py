"""The page that describes the fields: its examples are real, and no field is left out."""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.planning import application, subject
from tests.unit.api.host_kit import Host
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.replicas.divide import divide
from uniteddeployment_api import parse_united_deployment, validate_united_deployment
from uniteddeployment_api.crd import schema_of
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment

PAGE = (Path(__file__).parents[3] / "docs" / "uniteddeployment.md").read_text()
FIRST, *OTHERS = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
KUBERNETES_OWN = ("spec.selector.", ".nodeSelectorTerm.", ".tolerations[].", "conditions[].", ".metadata.")
"""What is known from elsewhere and not explained again."""


def over_the_first(example: dict[str, Any]) -> dict[str, Any]:
    """An example as a whole object: each of its fields in place of the first example's, topology field by field."""
    obj = copy.deepcopy(FIRST)
    obj["metadata"] |= example.get("metadata", {})
    spec = example.get("spec", {})
    obj["spec"] |= {**spec, "topology": obj["spec"]["topology"] | spec.get("topology", {})}
    return {**obj, "spec": {key: value for key, value in obj["spec"].items() if value is not None}}


EXAMPLES = [FIRST, *map(over_the_first, OTHERS)]


def fields(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, child in schema.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        if child.get("x-kubernetes-preserve-unknown-fields"):
            yield where  # free-form: what is declared inside is for rules
            continue
        yield where
        yield from fields(child, where)
        if "items" in child:
            yield from fields(child["items"], f"{where}[]")


DESCRIBED = sorted(
    path
    for path in fields(schema_of(UnitedDeployment))
    if path.startswith(("spec.", "status.")) and not any(known in path for known in KUBERNETES_OWN)
)


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_can_be_applied(example: dict[str, Any], host: Host) -> None:
    assert host.causes(example) == []
    assert validate_united_deployment(parse_united_deployment(example)) == ()


TOLD = re.compile(r"Result: ([0-9, and]+) pods\.\s+```yaml\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(("numbers", "example"), TOLD.findall(PAGE))
def test_a_division_is_as_the_page_tells_it(numbers: str, example: str) -> None:
    obj = over_the_first(yaml.safe_load(example))
    obj["metadata"]["namespace"] = "default"
    app = application(obj)
    divided = divide(subject(app), app, Observed(now="", members={}))
    assert list(divided.replicas.values()) == [int(number) for number in re.findall("[0-9]+", numbers)]


def test_the_examples_are_many() -> None:
    """A fence that is spelled otherwise would hide an example from the test above."""
    assert len(EXAMPLES) == PAGE.count("```") // 2


@pytest.mark.parametrize("path", DESCRIBED)
def test_the_page_names_every_field(path: str) -> None:
    name = path.rpartition(".")[2]
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`", PAGE), f"{path} is not described"
