"""docs/uniteddeployment.md: its examples are valid, and it describes every field."""

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
KUBERNETES_OWN = (
    "spec.selector.",
    ".nodeSelectorTerm.",
    ".tolerations[].",
    ".clusterTolerations[].",
    "conditions[].",
    ".metadata.",
)
"""Fields of Kubernetes that the page does not explain again."""


def over_the_first(example: dict[str, Any]) -> dict[str, Any]:
    """Return an example merged into the first one: its fields replace those of the first, field by field in
    topology."""
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
            yield where  # an open schema: it declares only the fields that rules read
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


RESULTS = re.compile(r"Result: ([0-9, and]+) pods\.\s+```yaml\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(("numbers", "example"), RESULTS.findall(PAGE))
def test_a_division_has_the_result_that_the_page_states(numbers: str, example: str) -> None:
    obj = over_the_first(yaml.safe_load(example))
    obj["metadata"]["namespace"] = "default"
    app = application(obj)
    divided = divide(subject(app), app, Observed(now="", members={}))
    assert list(divided.replicas.values()) == [int(number) for number in re.findall("[0-9]+", numbers)]


def test_all_code_blocks_of_the_page_are_tested() -> None:
    """A block in another language would be hidden from the test above."""
    assert len(EXAMPLES) == PAGE.count("```") // 2


@pytest.mark.parametrize("path", DESCRIBED)
def test_the_page_names_every_field(path: str) -> None:
    name = path.rpartition(".")[2]
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`", PAGE), f"{path} is not described"
