"""Gates that read a condition or a field of an object, and the names of their Jobs."""

from typing import Any

import pytest

from tests.support.narrowing import present
from tests.unit.rollout.gates.servers import SUBJECT, probe
from uniteddeployment_api.gate_fields import InvalidPath, steps
from uniteddeployment_api.v1alpha1.gates import ObjectMeasurement
from uniteddeployment_rollout.gates.jobs import job_name, manifest
from uniteddeployment_rollout.gates.objects import measured

FOUND = {
    "spec": {"replicas": 3, "paused": False, "a.b": {"c": ["x", {"y": "z"}]}},
    "status": {"phase": "Ready", "conditions": [{"type": "Ready", "status": "False"}, "odd", {"type": "Synced"}]},
}


@pytest.mark.parametrize(
    ("fields", "outcome", "value"),
    [
        ({"jsonPath": ".status.phase", "value": "Ready"}, "Success", "Ready"),
        ({"jsonPath": "{.status.phase}", "value": "Failed"}, "Failure", "Ready"),
        ({"jsonPath": ".spec.replicas", "value": "3"}, "Success", "3"),
        ({"jsonPath": ".spec.paused", "value": "false"}, "Success", "false"),
        ({"jsonPath": ".spec['a.b'].c[1].y"}, "Success", "z"),
        ({"jsonPath": ".spec['a.b'].c[2]"}, "Failure", "none"),
        ({"jsonPath": ".status.phase.x"}, "Failure", "none"),
        ({"condition": {"type": "Ready", "status": "False"}}, "Success", "False"),
        ({"condition": {"type": "Ready"}}, "Failure", "False"),
        ({"condition": {"type": "Synced"}}, "Failure", "null"),
        ({"condition": {"type": "Missing"}}, "Failure", "none"),
    ],
)
def test_a_field_or_a_condition_decides(fields: dict[str, Any], outcome: str, value: str) -> None:
    measurement = ObjectMeasurement.model_validate({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", **fields})
    found = measured(measurement, FOUND, "ConfigMap x")
    assert (found.outcome, found.value) == (outcome, value)
    assert outcome == "Success" or "ConfigMap x" in found.message


@pytest.mark.parametrize("path", ["", "{}", "status", ".a..b", ".a[x]", ".a['", "[*]", ".a[?(@.b)]"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(InvalidPath):
        steps(path)


def test_a_job_has_a_name_of_its_own_for_each_measurement_that_every_process_finds_again() -> None:
    gate = {"job": {"spec": {"template": {"spec": {}}, "backoffLimit": 2}, "timeout": "1m"}}
    first, again = probe(**gate), probe(**gate)
    assert job_name(SUBJECT, first) == job_name(SUBJECT, again)
    long = type(SUBJECT)("default", "web." + "x" * 200, "uid-2")
    assert job_name(long, first) != job_name(SUBJECT, first)
    assert len(job_name(long, first)) <= 63
    spec = manifest(SUBJECT, first, present(present(first.gate.measurement).job))["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (2, 60)
