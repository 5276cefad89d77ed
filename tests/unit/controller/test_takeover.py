"""Which refusals of a change mean that a workload would have to be recreated for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from uniteddeployment.controller.takeover import immutable
from uniteddeployment.kube import errors

RECORDINGS = Path(__file__).parents[2] / "conformance" / "recordings" / "golden"


def _refusals(part: Any) -> Iterator[dict[str, Any]]:
    """Every refusal of a workload as invalid, anywhere in a recording."""
    if isinstance(part, dict):
        details = part.get("details") or {}
        if part.get("code") == 422 and details.get("kind") in ("StatefulSet", "Deployment"):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for child in part:
            yield from _refusals(child)


RECORDED = [
    refusal for file in sorted(RECORDINGS.glob("*.json")) for refusal in _refusals(json.loads(file.read_text()))
]


def error(status: dict[str, Any]) -> errors.ApiError:
    return errors.from_status(status["code"], status["reason"], status["message"], status["details"])


def test_refusals_of_a_real_api_server_are_told_apart() -> None:
    """Its messages name the rule; the decision follows from the fields and the reasons alone."""
    by_text = [status for status in RECORDED if "immutable" in status["message"] or "updates to" in status["message"]]
    found = [status for status in RECORDED if immutable(error(status), status["details"]["kind"])]
    assert found == by_text
    assert {status["details"]["kind"] for status in found} == {"StatefulSet", "Deployment"}
    assert len(RECORDED) > len(found), "the recordings have other refusals of workloads as well"


SELECTOR = {"reason": "FieldValueInvalid", "field": "spec.selector", "message": "Invalid value: {}: in other words"}
REPLICAS = {"reason": "FieldValueInvalid", "field": "spec.replicas", "message": "Invalid value: -1: field is immutable"}


@pytest.mark.parametrize(
    ("causes", "expected"), [([SELECTOR], True), ([SELECTOR, SELECTOR], True), ([SELECTOR, REPLICAS], False)]
)
def test_every_cause_has_to_be_of_a_field_that_cannot_be_changed(causes: list[Any], expected: bool) -> None:
    """A recreation would not help against the other one."""
    refused = errors.from_status(422, "Invalid", "it is invalid", {"causes": causes})
    assert immutable(refused, "Deployment") is expected


@pytest.mark.parametrize(
    ("kind", "expected"), [("CloneSet", True), ("AdvancedStatefulSet", True), ("StatefulSet", False)]
)
def test_webhooks_of_openkruise_give_no_causes(kind: str, expected: bool) -> None:
    """For other kinds, an answer without causes is from somebody else's webhook."""
    refused = errors.from_status(422, "", 'admission webhook "vcloneset.kb.io" denied the request: spec: Forbidden')
    assert immutable(refused, kind) is expected


@pytest.mark.parametrize(
    "refused",
    [
        errors.from_status(403, "Forbidden", "field is immutable"),
        errors.from_status(400, "BadRequest", "updates to it are forbidden"),
        errors.from_status(409, "Conflict", "field is immutable"),
        errors.Unreachable("member-1", "field is immutable"),
    ],
)
def test_no_other_error_is_about_fields_that_cannot_be_changed(refused: errors.KubeError) -> None:
    assert not immutable(refused, "CloneSet")
