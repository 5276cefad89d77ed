"""The kind UnitedRollout: what an API server takes, and what is wrong with the path of the field (I11)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kopf
import pytest
import yaml

from tests.unit.api.host_kit import HEADERS, Host
from uniteddeployment.controller.shell import refuse_united_rollout
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions, schema_of
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.errors import InvalidObject
from uniteddeployment_api.rules import RULES, rule
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout

PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_ROLLOUT_PLURAL}"
CONFIG = Path(__file__).parents[3] / "config"
PAGE = (CONFIG.parent / "docs" / "rollouts.md").read_text()
EXAMPLE = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])


def rollout(**spec: Any) -> dict[str, Any]:
    return {**EXAMPLE, "spec": {**EXAMPLE["spec"], **spec}}


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


def refused(host: Host, document: dict[str, Any]) -> list[str]:
    status, answer = host.ask("POST", PATH, document)
    host.ask("DELETE", f"{PATH}/web")
    return [] if status == 201 else [cause["field"] for cause in answer["details"]["causes"]]


def test_the_example_of_the_page_is_taken_and_read_back(host: Host) -> None:
    assert refused(host, EXAMPLE) == []
    assert validate_united_rollout(parse_united_rollout(EXAMPLE), {"member-1": {}}) == ()


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"steps": [{"replicas": "101%"}]}, "spec.steps[0].replicas"),
        ({"steps": [{"replicas": -1}]}, "spec.steps[0].replicas"),
        ({"steps": [{"pause": {}}]}, "spec.steps[0].replicas"),
        ({"steps": [{"replicas": 1, "bake": "soon"}]}, "spec.steps[0].bake"),
        ({"steps": [{"replicas": 1, "pause": {"duration": ""}}]}, "spec.steps[0].pause.duration"),
        ({"steps": [{"replicas": 1, "maxConcurrentClusters": 0}]}, "spec.steps[0].maxConcurrentClusters"),
        ({"maxUnavailable": "110%"}, "spec.maxUnavailable"),
        ({"onFailure": "Explode"}, "spec.onFailure"),
        ({"targetRef": {"name": "No Name"}}, "spec.targetRef.name"),
    ],
)
def test_a_value_of_the_wrong_form_is_refused_by_the_api_server_and_by_us(
    host: Host, spec: dict[str, Any], path: str
) -> None:
    assert path in refused(host, rollout(**spec))
    with pytest.raises(InvalidObject) as caught:
        parse_united_rollout(rollout(**spec))
    assert [error.path for error in caught.value.errors] == [path]


def test_an_api_server_refuses_a_rollout_without_steps(host: Host) -> None:
    assert refused(host, rollout(steps=[])) == ["spec.steps"]


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"spec.steps\[0\].wiggle: unknown field"):
        parse_united_rollout(rollout(steps=[{"replicas": 1, "wiggle": 1}]))


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ([], "spec.steps"),
        ([{"replicas": 3}, {"replicas": 2}], "spec.steps[1].replicas"),
        ([{"replicas": "30%"}, {"replicas": 40}, {"replicas": "20%"}], "spec.steps[2].replicas"),
        ([{"replicas": 0}], "spec.steps[0].replicas"),
        ([{"replicas": "0%"}], "spec.steps[0].replicas"),
        ([{"wave": {"subsets": ["a", "x"]}, "replicas": 1}], "spec.steps[0].wave.subsets[1]"),
        (
            [{"wave": {"clusterSelector": {"matchLabels": {"zone": "y"}}}, "replicas": 1}],
            "spec.steps[0].wave.clusterSelector",
        ),
    ],
)
def test_a_broken_rule_is_reported_with_the_path_of_the_field(steps: list[dict[str, Any]], path: str) -> None:
    errors = validate_united_rollout(parse_united_rollout(rollout(steps=steps)), {"a": {"zone": "x"}, "b": {}})
    assert [error.path for error in errors] == [path]


def changed_steps(*steps: Any) -> dict[str, Any]:
    return {**EXAMPLE, "spec": {**EXAMPLE["spec"], "steps": list(steps)}}


BROKEN = {
    "falling numbers": ("rollout-steps-rise", changed_steps({"replicas": 3}, {"replicas": 2})),
    "falling percentages": (
        "rollout-steps-rise",
        changed_steps({"replicas": "100%"}, {"replicas": 40}, {"replicas": "20%"}),
    ),
    "no pods": ("rollout-steps-update", changed_steps({"replicas": 0})),
    "a selector without values": (
        "selector-values",
        changed_steps(
            {"wave": {"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "replicas": 1}
        ),
    ),
    "no URL": ("notification-url", rollout(notifications=[{"name": "chat", "events": ["Paused"]}])),
    "no percentage": ("rollout-steps-update", changed_steps({"replicas": "0%"}, {"replicas": "5%"})),
}


@pytest.mark.parametrize(("name", "document"), BROKEN.values(), ids=BROKEN)
def test_the_api_server_alone_and_the_webhook_refuse_steps_that_cannot_work(
    host: Host, name: str, document: dict[str, Any]
) -> None:
    """The rules are part of the CRD, so they hold without the webhook."""
    causes = host.causes(document)
    assert causes
    assert all(cause["message"].endswith(rule(name).message) for cause in causes)
    with pytest.raises(kopf.AdmissionError, match=re.escape(rule(name).message)) as caught:
        refuse_united_rollout(document, None)
    assert caught.value.code == 422


@pytest.mark.parametrize(
    "steps",
    [
        [{"replicas": "9%"}, {"replicas": "10%"}, {"replicas": "10%"}, {"replicas": "100%"}],
        [{"replicas": 9}, {"replicas": "5%"}, {"replicas": 10}],
        [{"replicas": 3}, {"wave": {"subsets": ["a"]}, "replicas": 1}],
    ],
)
def test_steps_of_different_forms_are_not_compared_and_percentages_are_compared_as_numbers(
    host: Host, steps: list[dict[str, Any]]
) -> None:
    assert host.causes(changed_steps(*steps)) == []
    refuse_united_rollout(changed_steps(*steps), None)


def test_the_target_of_a_rollout_cannot_be_changed(host: Host) -> None:
    """The partitions of the old target would stay as they are, and nobody would look after them."""
    other = rollout(targetRef={"name": "api"})
    message = rule("rollout-target-immutable").message
    assert [cause["message"] for cause in host.causes(other, EXAMPLE)] == [f"Invalid value: {message}"]
    with pytest.raises(kopf.AdmissionError, match=f"spec.targetRef.name: {message}"):
        refuse_united_rollout(other, EXAMPLE)
    assert host.causes(rollout(paused=True), EXAMPLE) == []
    refuse_united_rollout(rollout(paused=True), EXAMPLE)


def test_admission_lets_a_rollout_be_deleted_and_corrected_whatever_is_stored() -> None:
    """A rollout can have been stored before a rule existed."""
    broken = changed_steps({"replicas": 0, "unknown": 1})
    refuse_united_rollout({**broken, "metadata": {"name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, broken)
    refuse_united_rollout(EXAMPLE, broken)


def test_the_webhook_is_called_for_every_kind_that_it_knows() -> None:
    """An API server calls it only for the resources in the configuration."""
    documents = yaml.safe_load_all((CONFIG / "manager" / "webhooks.yaml").read_text())
    (webhook,) = next(entry for entry in documents if entry["kind"] == "ValidatingWebhookConfiguration")["webhooks"]
    (configured,) = webhook["rules"]
    kinds = {definition["spec"]["names"]["plural"] for definition in custom_resource_definitions()}
    assert set(configured["resources"]) == kinds


@pytest.mark.parametrize(
    ("notification", "path"),
    [
        ({"events": []}, "spec.notifications[0].events"),
        ({"events": ["Bored"]}, "spec.notifications[0].events[0]"),
        ({"events": ["Paused", "Paused"]}, "spec.notifications[0].events[1]"),
        ({"url": "ftp://x"}, "spec.notifications[0].url"),
        ({"url": "https://user:password@x"}, "spec.notifications[0].url"),
    ],
)
def test_an_api_server_refuses_a_notification_that_cannot_be_sent(
    host: Host, notification: dict[str, Any], path: str
) -> None:
    document = rollout(notifications=[{"name": "chat", "events": ["Paused"], "url": "https://x/y", **notification}])
    assert path in refused(host, document)


def test_every_rule_about_rollouts_has_a_case() -> None:
    tested = {name for name, _ in BROKEN.values()} | {"rollout-target-immutable"}
    assert {entry.name for entry in RULES if entry.kind == "UnitedRollout" and entry.cel} == tested


def test_a_wave_may_ask_for_less_than_a_step_before() -> None:
    steps = [{"replicas": 3}, {"wave": {"subsets": ["a"]}, "replicas": 1}]
    assert validate_united_rollout(parse_united_rollout(rollout(steps=steps)), {"a": {}}) == ()


@pytest.mark.parametrize(("text", "expected"), [("0s", 0), ("90s", 90), ("10m", 600), ("1h", 3600), ("1h0m5s", 3605)])
def test_durations_are_read(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "5", "5m1h", "-5s", "1d"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(text)


def test_a_command_is_added_with_one_patch_that_leaves_others_alone(host: Host) -> None:
    """Any client can give commands, ``kubectl patch --subresource=status`` included, and two can at the same time."""
    host.ask("POST", PATH, EXAMPLE)
    for id_, verb in (("1", "approve"), ("2", "pause")):
        status, answer = _merge(host, {"status": {"commands": {id_: {"verb": verb, "runID": "web-1.1", "step": 1}}}})
        assert status == 200, answer
    assert set(answer["status"]["commands"]) == {"1", "2"}
    status, answer = _merge(host, {"status": {"commands": {"3": {"verb": "explode"}}}})
    assert status == 422
    host.ask("DELETE", f"{PATH}/web")


def _merge(host: Host, patch: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    kept = dict(HEADERS)
    HEADERS["content-type"] = "application/merge-patch+json"
    try:
        return host.ask("PATCH", f"{PATH}/web/status", patch)
    finally:
        HEADERS.update(kept)


def test_the_status_has_no_defaults_that_a_client_would_write() -> None:
    def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield schema
        for child in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
            if isinstance(child, dict):
                yield from nodes(child)

    assert not [node for node in nodes(schema_of(UnitedRollout)["properties"]["status"]) if "default" in node]


def test_the_page_describes_every_field_that_users_write() -> None:
    """Only the target is named without a word about it."""
    spec = schema_of(UnitedRollout)["properties"]["spec"]["properties"]
    fields = {*spec, *spec["steps"]["items"]["properties"]} - {"steps"}
    assert not [field for field in sorted(fields) if field not in PAGE]
