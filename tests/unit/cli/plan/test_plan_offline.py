"""``ud plan --offline``: input, output and exit codes."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from typer.testing import CliRunner, Result

from tests.support.applications import application
from uniteddeployment.cli.plan.steps import _VERBS
from uniteddeployment.cli.program import app
from uniteddeployment.planning.steps import HostStep, MemberStep


def plan(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["plan", "--offline", *arguments], input=stdin)


def named(name: str, **metadata: Any) -> dict[str, Any]:
    document = application()
    document["metadata"] = {"name": name, **metadata}
    return document


def planned(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [line.split()[1] for line in result.stdout.splitlines() if line.startswith("UnitedDeployment ")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files with manifests, a text file, and a directory with one more manifest."""
    (tmp_path / "1.yaml").write_text(yaml.safe_dump_all([named("one"), {"kind": "Service"}, named("two")]))
    (tmp_path / "2.json").write_text(json.dumps({"kind": "List", "items": [named("three")]}))
    (tmp_path / "readme.txt").write_text("[not a manifest")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "4.yml").write_text(yaml.safe_dump(named("four")))
    return tmp_path


def test_all_documents_of_all_files_are_planned_in_their_order(folder: Path) -> None:
    first, second = str(folder / "1.yaml"), str(folder / "2.json")
    assert planned(plan("-f", second, "-f", first)) == ["three", "one", "two"]
    assert planned(plan("-f", str(folder))) == ["one", "two", "three"]
    assert planned(plan("-f", str(folder), "-R")) == ["one", "two", "three", "four"]
    assert planned(plan("-f", "-", "-f", second, stdin=yaml.safe_dump(named("zero")))) == ["zero", "three"]


def test_the_namespace_is_that_of_the_object_or_of_the_option(folder: Path) -> None:
    def namespaces(*arguments: str) -> list[str]:
        return [one["namespace"] for one in json.loads(plan(*arguments, "-o", "json").stdout)]

    other = yaml.safe_dump(named("web", namespace="shop"))
    (folder / "shop.yaml").write_text(other)
    assert namespaces("-f", str(folder / "2.json")) == ["default"]
    assert namespaces("-f", str(folder / "2.json"), "-n", "shop") == ["shop"]
    assert namespaces("-f", str(folder / "shop.yaml")) == ["shop"]
    refused = plan("-f", str(folder / "shop.yaml"), "-n", "another")
    assert refused.exit_code == 2
    assert "UnitedDeployment web is in namespace shop, not in another" in refused.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no UnitedDeployment in standard input"),
        ("kind: [1]", "no UnitedDeployment in standard input"),
        ("[]", "contains a document that is not an object"),
        ("{", "standard input is not YAML"),
        ("a: 2026-02-30T00:00:00Z\n? [x]\n: 1", "is not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("kind: List\nitems: [1]", "an item that is not an object"),
        ("kind: UnitedDeployment\napiVersion: apps.kruise.io/v1alpha1", "ud convert converts manifests of OpenKruise"),
        ("kind: UnitedDeployment\napiVersion: 5", "has apiVersion 5, not uniteddeployment.io/v1alpha1"),
        ("kind: UnitedDeployment\napiVersion: uniteddeployment.io/v1alpha1\nmetadata: 5", "metadata.name: required"),
        ("kind: UnitedDeployment\napiVersion: uniteddeployment.io/v1alpha1\nmetadata: {name: 5}", "metadata.name"),
        ("kind: UnitedDeployment\napiVersion: uniteddeployment.io/v1alpha1\nmetadata: {name: w}", "spec: required"),
        ("kind: UnitedDeployment\napiVersion: uniteddeployment.io/v1alpha1\nmetadata: {name: W/}\nspec: 1", "invalid"),
    ],
)
def test_an_invalid_manifest_is_exit_code_2(text: str, said: str) -> None:
    """I11"""
    result = plan("-f", "-", stdin=text)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "unexpected" not in result.stderr


@pytest.mark.parametrize("file", ["/does/not/exist", "https://example.com/web.yaml"])
def test_an_unreadable_file_is_exit_code_2(file: str) -> None:
    result = plan("-f", file)
    assert result.exit_code == 2
    assert file in result.stderr


def test_standard_input_can_be_read_once_and_a_directory_must_contain_manifests(tmp_path: Path) -> None:
    assert "only once" in plan("-f", "-", "-f", "-").stderr
    assert "contains no files that end with .yaml, .yml, .json" in plan("-f", str(tmp_path)).stderr


def test_invalid_objects_are_reported_and_the_others_are_planned(folder: Path) -> None:
    bad = named("bad")
    bad["spec"]["topology"]["subsets"][0]["replicas"] = "half"
    result = plan("-f", "-", "-f", str(folder / "2.json"), stdin=yaml.safe_dump(bad))
    assert result.exit_code == 2
    assert "error: UnitedDeployment bad (namespace default) is invalid: spec.topology.subsets[0].replicas" in (
        result.stderr
    )
    assert "UnitedDeployment three" in result.stdout


def test_unplaced_replicas_are_exit_code_4() -> None:
    """I4"""
    document = named("web")
    document["spec"]["topology"]["subsets"] = [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 3}]
    result = plan("-f", "-", "-o", "json", stdin=yaml.safe_dump(document))
    assert result.exit_code == 4
    assert "1 part of the plan cannot be carried out" in result.stderr
    troubles = json.loads(result.stdout)[0]["troubles"]
    assert [(one["subset"], "spec.topology.subsets" in one["message"]) for one in troubles] == [("", True)]


def test_steps_are_printed_as_words(folder: Path) -> None:
    steps = json.loads(plan("-f", str(folder / "2.json"), "-o", "json").stdout)[0]
    assert {step["do"] for step in steps["steps"]} == {"create"}
    assert [step["do"] for step in steps["host"]] == ["add finalizer", "create revision"]
    text = plan("-f", str(folder / "2.json")).stdout
    assert "create StatefulSet three-member-1" in text
    assert not [kind for kind in ("AddFinalizer", "CreateRevision", "Apply") if kind in text]


def test_every_kind_of_step_has_a_word() -> None:
    assert set(_VERBS) == {*get_args(MemberStep), *get_args(HostStep)}
    assert all(word.islower() for word in _VERBS.values())
