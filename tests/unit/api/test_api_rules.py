"""API server, webhook and controller reject the same invalid objects, with the path of the field (I11)."""

from collections.abc import Mapping
from typing import Any

import kopf
import msgspec
import pytest

from tests.unit.api.host_kit import Host
from tests.unit.api.rule_cases import (
    ACCEPTED,
    ADAPTIVE,
    ALLOWED_CHANGES,
    BEYOND_CEL,
    BROKEN,
    CHANGES_BEYOND_CEL,
    FORBIDDEN_CHANGES,
    changed,
    manifest,
    subsets,
)
from tests.unit.api.validation_table import table, written
from uniteddeployment.controller.objects import Stored, parse
from uniteddeployment.controller.shell import refuse_united_deployment
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.stored import to_document
from uniteddeployment_api import FieldError, InvalidObject, parse_united_deployment, validate_united_deployment
from uniteddeployment_api.errors import FORMS
from uniteddeployment_api.rules import RULES, rule
from uniteddeployment_api.validation import stored_errors

REMOVAL = {"op": "remove", "path": "/spec/serviceName"}
LOST_UID = "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11"
BROKEN_IDS = [f"{row[0]}-{i}" for i, row in enumerate(BROKEN)]
CHANGE_IDS = [f"{row[0]}-{i}" for i, row in enumerate(FORBIDDEN_CHANGES)]
HAVE_CEL = {entry.name for entry in RULES if entry.cel}


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


def python_errors(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> tuple[FieldError, ...]:
    before = None if old is None else parse_united_deployment(old)
    return validate_united_deployment(parse_united_deployment(obj), before)


@pytest.mark.parametrize(("name", "path", "obj"), BROKEN, ids=BROKEN_IDS)
def test_an_error_names_the_violated_rule_and_the_path_of_the_field(name: str, path: str, obj: dict[str, Any]) -> None:
    assert [(error.rule, error.path) for error in python_errors(obj)] == [(name, path)] * len(python_errors(obj))
    assert python_errors(obj)


@pytest.mark.parametrize("obj", ACCEPTED, ids=range(len(ACCEPTED)))
def test_a_valid_object_is_accepted_by_all(obj: dict[str, Any], host: Host) -> None:
    assert python_errors(obj) == ()
    assert host.causes(obj) == []
    refuse_united_deployment(obj, None)
    assert conditions(obj) == {}


@pytest.mark.parametrize(("name", "path", "obj"), BROKEN, ids=BROKEN_IDS)
def test_the_api_server_alone_enforces_schema_and_cel(name: str, path: str, obj: dict[str, Any], host: Host) -> None:
    """Python and CEL report the same rule, and no other."""
    causes = host.causes(obj)
    if name in HAVE_CEL and (name, path, obj) not in BEYOND_CEL:
        messages = [cause["message"] for cause in causes]
        assert messages
        assert all(message.endswith(rule(name).message) for message in messages)
    elif not rule(name).schema:
        assert causes == []


@pytest.mark.parametrize(("name", "path", "obj"), BROKEN, ids=BROKEN_IDS)
def test_the_webhook_rejects_a_violated_rule_with_path_and_message(name: str, path: str, obj: dict[str, Any]) -> None:
    with pytest.raises(kopf.AdmissionError) as caught:
        refuse_united_deployment(obj, None)
    assert caught.value.code == 422
    assert f"{path}: {rule(name).message}" in str(caught.value)


@pytest.mark.parametrize(("name", "path", "obj"), BROKEN, ids=BROKEN_IDS)
def test_the_controller_stalls_on_a_violated_rule_unless_it_can_continue(
    name: str, path: str, obj: dict[str, Any]
) -> None:
    """An error that gets past admission becomes a condition, and nothing changes in members (I7)."""
    stalled = conditions(obj).get("Stalled")
    if rule(name).feasibility or rule(name).retained or rule(name).at == "metadata":
        assert stalled is None  # the controller continues; an invalid annotation or name has no effect
    else:
        assert stalled is not None
        assert stalled["status"] == "True"
        assert f"{path}: {rule(name).message}" in stalled["message"]


@pytest.mark.parametrize(("name", "old", "new"), FORBIDDEN_CHANGES, ids=CHANGE_IDS)
def test_a_forbidden_change_is_rejected_by_the_webhook_and_by_cel(
    name: str, old: dict[str, Any], new: dict[str, Any], host: Host
) -> None:
    assert {error.rule for error in python_errors(new, old)} == {name}
    with pytest.raises(kopf.AdmissionError) as caught:
        refuse_united_deployment(new, old)
    assert rule(name).message in str(caught.value)
    messages = [cause["message"] for cause in host.causes(new, old)]
    assert bool(messages) == (name in HAVE_CEL and (name, old, new) not in CHANGES_BEYOND_CEL)
    assert all(message.endswith(rule(name).message) for message in messages)


@pytest.mark.parametrize(("old", "new"), ALLOWED_CHANGES, ids=range(len(ALLOWED_CHANGES)))
def test_an_allowed_change_and_any_scaling_are_accepted(old: dict[str, Any], new: dict[str, Any], host: Host) -> None:
    assert python_errors(new, old) == ()
    assert host.causes(new, old) == []
    refuse_united_deployment(new, old)


@pytest.mark.parametrize(
    "manual", [{"partitions": {"a": 1, "b": 1}}, {"maxUpdated": {"a": 1, "b": 1}}, {"revert": ["a", "b"]}]
)
def test_the_name_of_a_removed_subset_hinders_no_later_edit(manual: dict[str, Any], host: Host) -> None:
    """The controller ignores it, and the next edits need not remove it (I11)."""
    both, one = ({"topology": {"subsets": [{"name": name} for name in letters]}} for letters in ("ab", "a"))
    strategy = {"updateStrategy": {"manualUpdate": manual}}
    stored = manifest(**one, **strategy)
    for later in (manifest(**one, **strategy, paused=True), manifest(**both, **strategy)):
        assert python_errors(later, stored) == ()
        assert host.causes(later, manifest(**both, **strategy), stored) == []
    assert stored_errors(parse_united_deployment(stored)) == ()
    assert conditions(stored) == {}


def test_a_total_that_does_not_fit_the_shares_after_scaling_is_reported_to_the_controller() -> None:
    """The error is marked as one with which the controller continues (I4)."""
    (error,) = python_errors(subsets({"replicas": 4}, {"replicas": 6}, replicas=3))
    assert error.feasibility


def test_the_page_lists_every_rule_with_its_message_and_where_it_is_checked() -> None:
    assert written() == table(), "run `python -m tests.unit.api.validation_table`"


def test_every_rule_has_a_case() -> None:
    covered = {row[0] for row in BROKEN} | {row[0] for row in FORBIDDEN_CHANGES}
    assert {rule.name for rule in RULES if rule.kind == "UnitedDeployment"} == covered


def test_rules_about_changes_are_marked() -> None:
    """The table in the documentation is generated from these marks."""
    assert {entry.name for entry in RULES if entry.change and entry.kind == "UnitedDeployment"} == {
        row[0] for row in FORBIDDEN_CHANGES
    } - {row[0] for row in BROKEN}


@pytest.mark.parametrize(
    ("path", "value", "where", "words"),
    [
        ("spec.topology.subsets.0.minReplicas", "bad%", "spec.topology.subsets[0].minReplicas", "percentage"),
        ("spec.topology.subsets.1.maxReplicas", "bad%", "spec.topology.subsets[1].maxReplicas", "percentage"),
        ("spec.topology.ordinalBlock", 0, "spec.topology.ordinalBlock", "1 or more"),
        ("spec.topology.ordinals", "Other", "spec.topology.ordinals", "'Shared' or 'Disjoint'"),
        ("spec.topology.maxUnavailable", "x", "spec.topology.maxUnavailable", "percentage"),
        (f"{ADAPTIVE}.unschedulableDuration", -1, f"{ADAPTIVE}.unschedulableDuration", "0 or more"),
        (f"{ADAPTIVE}.rescheduleCriticalSeconds", -1, f"{ADAPTIVE}.rescheduleCriticalSeconds", "0 or more"),
        ("spec.topology.scheduleStrategy.type", "Elastic", "spec.topology.scheduleStrategy.type", "'Adaptive'"),
        ("spec.topology.subsets.0.adopt", {"name": ""}, "spec.topology.subsets[0].adopt.name", "empty"),
        ("spec.topology.adopt", {}, "spec.topology.adopt.ownerUID", "required"),
        ("spec.topology.adopt", {"ownerUID": "web"}, "spec.topology.adopt.ownerUID", "must match"),
        ("spec.topology.adopt", {"ownerUID": LOST_UID.upper()}, "spec.topology.adopt.ownerUID", "must match"),
        ("spec.topology.adopt", {"ownerUID": f"{LOST_UID}0"}, "spec.topology.adopt.ownerUID", "at most 36 characters"),
        ("spec.topology.adopt", {"ownerUID": 5}, "spec.topology.adopt.ownerUID", "string"),
        ("spec.topology.subsets.0.overrides", [REMOVAL] * 65, "spec.topology.subsets[0].overrides", "at most 64"),
        ("spec.topology.subsets.0.patch", [], "spec.topology.subsets[0].patch", "object"),
        ("spec.paused", "yes", "spec.paused", "true or false"),
        ("spec.replicas", 1_000_001, "spec.replicas", "1000000 or less"),
        ("spec.topology.subsets.0.replicas", 1_000_001, "spec.topology.subsets[0].replicas", "from 0 to 1000000"),
        ("spec.topology.subsets.0.minReplicas", 1_000_001, "spec.topology.subsets[0].minReplicas", "from 0 to 1000000"),
        ("spec.topology.subsets.0.maxReplicas", 1_000_001, "spec.topology.subsets[0].maxReplicas", "from 0 to 1000000"),
        ("spec.topology.subsets.0.weight", 1_000_001, "spec.topology.subsets[0].weight", "1000000 or less"),
        ("spec.topology.ordinalBlock", 1_000_001, "spec.topology.ordinalBlock", "1000000 or less"),
        ("spec.replicas", -1, "spec.replicas", "0 or more"),
        ("spec.replicas", "3", "spec.replicas", "whole number"),
        ("spec.replicas", True, "spec.replicas", "whole number"),
        ("spec.topology.subsets.1.replicas", "25", "spec.topology.subsets[1].replicas", "percentage"),
        ("spec.topology.subsets.1.replicas", "101%", "spec.topology.subsets[1].replicas", "percentage"),
        ("spec.topology.subsets.1.replicas", -1, "spec.topology.subsets[1].replicas", "from 0 to 1000000"),
        ("spec.topology.subsets.1.name", "A_b", "spec.topology.subsets[1].name", "must match"),
        ("spec.topology.subsets.0.name", ..., "spec.topology.subsets[0].name", "required"),
        ("spec.topology.subsets.0.colour", 1, "spec.topology.subsets[0].colour", "unknown field"),
        ("spec.topology.subsets.0.targetCluster", {}, "spec.topology.subsets[0].targetCluster.name", "required"),
        ("spec.selector", ..., "spec.selector", "required"),
        ("spec.selector.matchLabels", {"app": "a b"}, "spec.selector.matchLabels[app]", "must match"),
        ("spec.selector.matchLabels", {"a b": "x"}, "spec.selector.matchLabels[a b]", "must match"),
        ("spec.topology.subsets.0.replicas", 1.5, "spec.topology.subsets[0].replicas", "whole number"),
        ("spec.revisionHistoryLimit", -1, "spec.revisionHistoryLimit", "0 or more"),
        ("spec.updateStrategy.type", "Auto", "spec.updateStrategy.type", "'Manual'"),
        (
            "spec.updateStrategy.manualUpdate.partitions",
            {"a": -1},
            "spec.updateStrategy.manualUpdate.partitions[a]",
            "from 0 to 1000000",
        ),
    ],
)
def test_a_value_of_the_wrong_form_is_rejected_by_all_with_its_path(
    path: str, value: Any, where: str, words: str, host: Host
) -> None:
    obj = changed(manifest(), path, value)
    assert bool(host.causes(obj)) == (words != "unknown field")  # the API server drops unknown fields
    with pytest.raises(kopf.AdmissionError):
        refuse_united_deployment(obj, None)
    assert where in conditions(obj)["Stalled"]["message"]
    with pytest.raises(InvalidObject) as caught:
        parse_united_deployment(obj)
    (error,) = caught.value.errors
    assert error.path == where
    assert words in error.message
    assert error.rule in FORMS


def test_an_error_about_patched_labels_names_the_field_of_the_selector() -> None:
    """It does not show the internal name of the rule."""
    expressions = [{"key": "tier", "operator": "DoesNotExist"}]
    obj = subsets(
        {"patch": {"metadata": {"labels": {"tier": "x"}}}},
        selector={"matchLabels": {"app": "web"}, "matchExpressions": expressions},
    )
    (error,) = python_errors(obj)
    assert error.path == "spec.topology.subsets[0]"
    assert "template.metadata.labels: the labels of the pod template must satisfy spec.selector.m" in error.message
    assert "selector-matches" not in error.message


def test_the_api_server_rejects_scaling_beyond_the_maximum(host: Host) -> None:
    """Webhooks do not see writes to ``/scale``, so the schema must limit the total (I16)."""
    path = "/apis/uniteddeployment.io/v1alpha1/namespaces/default/uniteddeployments"
    status, answer = host.ask("POST", path, manifest())
    assert status == 201, answer
    try:
        status, scale = host.ask("GET", f"{path}/web/scale")
        assert status == 200
        status, answer = host.ask("PUT", f"{path}/web/scale", {**scale, "spec": {"replicas": 1_000_001}})
        assert status == 422, answer
        assert "1000000" in answer["message"]
        status, answer = host.ask("PUT", f"{path}/web/scale", {**scale, "spec": {"replicas": 1_000_000}})
        assert status == 200, answer
    finally:
        host.ask("DELETE", f"{path}/web")


def conditions(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions of an object that got past admission; empty if the controller starts to work on it."""
    raw = {"metadata": obj["metadata"] | {"uid": "u", "generation": 1}, "spec": obj["spec"]}
    stored = msgspec.json.decode(msgspec.json.encode(raw), type=Stored)
    app, errors = parse(stored)
    if app is not None:
        assert errors == ()
        return {}
    subject = Subject("default", "web", "u", 1, app=None, errors=errors)
    made = plan(subject, Observed(now="2026-01-01T00:00:00Z", members={}))
    assert not made.writes
    assert made.status is not None
    return {entry["type"]: entry for entry in to_document(made.status)["conditions"]}
