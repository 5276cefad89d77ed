"""``ud convert``: the converted manifests and the notes."""

import contextlib
import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from uniteddeployment.cli.convert import openkruise as converter
from uniteddeployment.cli.output import documents
from uniteddeployment.cli.program import app
from uniteddeployment_api import InvalidObject, parse_united_deployment, validate_united_deployment

POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}


def openkruise(
    *,
    version: str = "v1alpha1",
    template: str = "statefulSetTemplate",
    subsets: list[dict[str, Any]] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    return {
        "apiVersion": f"apps.kruise.io/{version}",
        "kind": "UnitedDeployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {template: {"spec": {"template": copy.deepcopy(POD)}}},
            "topology": {"subsets": subsets if subsets is not None else [{"name": "a"}, {"name": "b"}]},
            **spec,
        },
    }


def converted(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The document and its notes; what comes out is valid, and what went in is as it was."""
    before = copy.deepcopy(document)
    made = converter.convert(document)
    assert document == before
    assert validate_united_deployment(parse_united_deployment(made.document)) == ()
    return made.document, made.notes


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize(
    "template", ["statefulSetTemplate", "deploymentTemplate", "cloneSetTemplate", "advancedStatefulSetTemplate"]
)
def test_all_templates_of_both_versions_stay_as_they_are(version: str, template: str) -> None:
    document = openkruise(version=version, template=template)
    made, _ = converted(document)
    assert made["apiVersion"] == "uniteddeployment.io/v1alpha1"
    assert made["spec"] == document["spec"]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"updateStrategy": {"type": "Rolling"}}, "spec.updateStrategy.type: changed from Rolling to Manual"),
        (
            {"updateStrategy": {"manualUpdate": {"partitions": {"gone": 1}}}},
            "spec.updateStrategy.manualUpdate.partitions[gone]: removed: there is no such subset",
        ),
        (
            {"updateStrategy": {"manualUpdate": {"partitions": {"a": -1}}}},
            "spec.updateStrategy.manualUpdate.partitions[a]: changed to 0: it cannot be negative",
        ),
        ({"revisionHistoryLimit": -1}, "spec.revisionHistoryLimit: removed, so it is 10"),
        ({"paused": False, "minReadySeconds": 3}, "spec.minReadySeconds: removed: there is no such field"),
        ({"subsets": [{"name": "a", "weigth": 3}]}, "spec.topology.subsets[0].weigth: removed"),
        (
            {"subsets": [{"name": "a", "patch": {"spec": {"replicas": 2}}}]},
            "spec.topology.subsets[0].patch.spec.replicas: removed",
        ),
        (
            {"subsets": [{"name": "a", "patch": {"metadata": {"labels": {"x": "y"}}}}]},
            "spec.topology.subsets[0].patch: a change creates a revision of the subset",
        ),
        (
            {
                "subsets": [
                    {
                        "name": "a",
                        "nodeSelectorTerm": {
                            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
                        },
                    }
                ]
            },
            "spec.topology.subsets[0].nodeSelectorTerm.matchFields: takes effect",
        ),
        (
            {"subsets": [{"name": "a", "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": []}]}}]},
            "spec.topology.subsets[0].nodeSelectorTerm: renamed from nodeSelector",
        ),
        ({"subsets": [{"name": "a", "replicas": "50%"}, {"name": "b"}]}, "subsets[].replicas: if they do not add up"),
        ({}, "spec.topology.subsets: a remainder goes to"),
        ({}, "spec.selector: is immutable here"),
        (
            {
                "template": "deploymentTemplate",
                "updateStrategy": {"type": "Manual", "manualUpdate": {"partitions": {"a": 1}}},
            },
            "spec.updateStrategy.manualUpdate.partitions: also hold the pods of Deployments",
        ),
    ],
)
def test_each_difference_is_noted_with_its_path(change: dict[str, Any], note: str) -> None:
    _, notes = converted(openkruise(**change))
    assert [one for one in notes if note in one], notes


def test_fields_that_the_controller_sets_are_removed_from_templates() -> None:
    document = openkruise()
    document["spec"]["template"]["statefulSetTemplate"] = {
        "metadata": {"name": "x", "labels": {"app": "web", "team": "shop"}, "creationTimestamp": None},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
            "template": POD,
        },
    }
    made, notes = converted(document)
    assert made["spec"]["template"]["statefulSetTemplate"] == {
        "metadata": {"labels": {"team": "shop"}},
        "spec": {"updateStrategy": {"type": "RollingUpdate"}, "template": POD},
    }
    path = "spec.template.statefulSetTemplate"
    told = [note.partition(": ")[0] for note in notes if note.startswith(f"{path}.")]
    assert told == [
        f"{path}.metadata.name",
        f"{path}.spec.replicas",
        f"{path}.spec.selector",
        f"{path}.spec.updateStrategy.rollingUpdate.partition",
        f"{path}.metadata.labels",
    ]


def test_metadata_of_the_old_object_is_removed() -> None:
    document = openkruise()
    document["status"] = {"replicas": 4}
    document["metadata"] |= {
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "7",
        "labels": {"team": "shop"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "ownerReferences": [{"kind": "App", "name": "x"}],
    }
    made, notes = converted(document)
    assert made["metadata"] == {"name": "web", "namespace": "shop", "labels": {"team": "shop"}}
    assert "status" not in made
    assert notes[0].startswith("metadata.ownerReferences: removed")


def test_a_null_in_a_patch_is_kept_because_it_deletes() -> None:
    patch = {"spec": {"containers": [{"name": "app", "env": None}]}}
    made, _ = converted(openkruise(subsets=[{"name": "a", "patch": patch, "tolerations": None}]))
    assert made["spec"]["topology"]["subsets"] == [{"name": "a", "patch": patch}]


def test_a_missing_total_is_the_default_of_openkruise() -> None:
    document = openkruise(version="v1beta1")
    del document["spec"]["replicas"]
    made, notes = converted(document)
    assert made["spec"]["replicas"] == 1
    assert notes[0].startswith("spec.replicas: set to 1")
    each = openkruise(subsets=[{"name": "a", "replicas": 2}, {"name": "b", "replicas": 3}])
    del each["spec"]["replicas"]
    assert "replicas" not in converted(each)[0]["spec"]


def test_an_invalid_manifest_is_refused_with_the_path() -> None:
    with pytest.raises(InvalidObject) as caught:
        converter.convert(openkruise(subsets=[{"name": "a", "replicas": 9}]))
    assert "spec.topology.subsets" in str(caught.value)


PATHS = st.sampled_from(
    [
        ("metadata",),
        ("spec",),
        ("spec", "selector"),
        ("spec", "template"),
        ("spec", "template", "statefulSetTemplate"),
        ("spec", "template", "statefulSetTemplate", "spec"),
        ("spec", "topology"),
        ("spec", "topology", "subsets"),
        ("spec", "updateStrategy"),
        ("spec", "updateStrategy", "manualUpdate"),
        ("spec", "replicas"),
    ]
)
JUNK = st.none() | st.integers() | st.text(max_size=4) | st.lists(st.integers() | st.none(), max_size=2)
OBJECTS = st.dictionaries(st.sampled_from(["name", "labels", "patch", "spec", "partitions", "metadata"]), JUNK)


@given(PATHS, JUNK | OBJECTS | st.lists(OBJECTS, max_size=2))
@settings(deadline=None)
def test_arbitrary_values_are_refused_and_nothing_crashes(path: tuple[str, ...], value: Any) -> None:
    """I11"""
    document = openkruise(updateStrategy={"manualUpdate": {"partitions": {"a": 1}}})
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    with contextlib.suppress(InvalidObject):
        converted(document)


def run(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["convert", "-f", "-", *arguments], input=text)


def test_other_objects_pass_through_and_lists_are_opened() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "annotations": {"on": "1e3"}}}
    ours = {"apiVersion": "uniteddeployment.io/v1alpha1", "kind": "UnitedDeployment", "metadata": {"name": "new"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [openkruise(), service]}
    result = run(yaml.safe_dump_all([listed, ours]))
    assert result.exit_code == 0
    made = list(yaml.safe_load_all(result.stdout))
    assert [one["kind"] for one in made] == ["UnitedDeployment", "Service", "UnitedDeployment"]
    assert made[1:] == [service, ours]
    notes = result.stderr.splitlines()
    assert "note: Service web: not changed" in notes
    assert "note: UnitedDeployment new: not changed" in notes
    as_json = json.loads(run(yaml.safe_dump_all([listed, ours]), "-o", "json").stdout)
    assert as_json["kind"] == "List"
    assert as_json["items"] == made
    assert json.loads(run(yaml.safe_dump(openkruise()), "-o", "json").stdout)["kind"] == "UnitedDeployment"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Service", "-: no UnitedDeployment of apps.kruise.io/v1alpha1 or apps.kruise.io/v1beta1"),
        ("- 1", "standard input contains a document that is not an object"),
        ("{", "standard input is not YAML"),
        (
            yaml.safe_dump(openkruise(subsets=[{"name": "A"}])),
            "UnitedDeployment web cannot be converted: spec.topology",
        ),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(text: str, message: str) -> None:
    result = run(text)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {message}")


def test_strings_that_look_like_other_types_are_quoted() -> None:
    texts = ["1e3", "0o17", "y", "no", "1.5", "2024-01-01", "null", "12e4567", "plain", "1_000", ""]
    printed = documents.to_yaml(texts).splitlines()
    assert [line for line in printed if "'" not in line] == ["- plain"]


def test_dates_stay_strings() -> None:
    document = openkruise()
    text = yaml.safe_dump(document).replace("name: web", "name: web\n  annotations: {since: 2024-01-02}", 1)
    made = yaml.safe_load(run(text).stdout)
    assert made["metadata"]["annotations"] == {"since": "2024-01-02"}
