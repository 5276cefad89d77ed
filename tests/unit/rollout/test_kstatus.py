"""What tools see that know nothing of rollouts: kstatus (Flux, kubectl wait), and the health check for Argo CD."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.rollout.fleet import canary

PAGE = (Path(__file__).parents[3] / "docs" / "rollouts.md").read_text()
ARGO = re.search(r"```lua\n(.*?)```", PAGE, re.DOTALL)


def pending():
    fleet, controller = canary()
    fleet.current = ""
    document = controller.rollout.model_dump(by_alias=True, exclude_none=True)
    document["status"] = {}
    controller.rollout = type(controller.rollout).model_validate(document)
    controller.step()
    return controller


def healthy():
    return canary()[1]


def paused():
    fleet, controller = canary()
    fleet.release("v2")
    controller.settle()
    return controller


def timed():
    fleet, controller = canary(steps=[{"replicas": 1, "pause": {"duration": "1h"}}])
    fleet.release("v2")
    controller.settle()
    return controller


def progressing():
    fleet, controller = canary()
    fleet.bad.add("v2")
    fleet.release("v2")
    controller.settle()
    return controller


def degraded():
    controller = progressing()
    controller.wait(3600)
    return controller


def rolling_back():
    controller = paused()
    controller.give("1", "abort")
    controller.step()
    return controller


def disabled():
    controller = healthy()
    controller.edit(disabled=True)
    controller.settle()
    return controller


def disabled_during_a_run():
    controller = paused()
    controller.edit(disabled=True)
    controller.settle()
    return controller


EXPECTED = {
    pending: ("Pending", "InProgress", "Progressing"),
    healthy: ("Healthy", "Current", "Healthy"),
    paused: ("Paused", "InProgress", "Suspended"),
    timed: ("Paused", "InProgress", "Suspended"),
    progressing: ("Progressing", "InProgress", "Progressing"),
    degraded: ("Degraded", "Failed", "Degraded"),
    disabled: ("Disabled", "Current", "Suspended"),
    disabled_during_a_run: ("Disabled", "InProgress", "Suspended"),
    rolling_back: ("RollingBack", "InProgress", "Progressing"),
}


def kstatus(obj: dict[str, Any]) -> str:
    """The rules of sigs.k8s.io/cli-utils/pkg/kstatus for objects of any kind, in their order."""
    status = obj.get("status", {})
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    observed = status.get("observedGeneration")
    if observed is not None and observed != obj["metadata"]["generation"]:
        return "InProgress"
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    if conditions.get("Ready") in ("False", "Unknown"):
        return "InProgress"
    return "Current"


def document(controller: Any) -> dict[str, Any]:
    found: dict[str, Any] = controller.rollout.model_dump(by_alias=True, exclude_none=True)
    return found


@pytest.mark.parametrize("made", EXPECTED, ids=lambda made: made.__name__)
def test_kstatus_understands_every_phase(made: Any) -> None:
    obj = document(made())
    phase, expected, _ = EXPECTED[made]
    assert (obj["status"]["phase"], kstatus(obj)) == (phase, expected)


def test_an_edit_that_no_controller_has_seen_is_in_progress() -> None:
    obj = document(healthy())
    obj["metadata"]["generation"] += 1
    assert kstatus(obj) == "InProgress"


def test_every_phase_is_among_the_examples() -> None:
    phases = type(healthy().status).model_fields["phase"].annotation.__args__[0].__args__  # type: ignore[union-attr]
    assert {phase for phase, _, _ in EXPECTED.values()} == set(phases)


@pytest.mark.parametrize("made", EXPECTED, ids=lambda made: made.__name__)
def test_the_health_check_for_argo_cd_maps_every_phase(made: Any) -> None:
    """The Lua of the page is a table from phases to the words of Argo CD, so it is read and not run."""
    assert ARGO is not None
    table = dict(re.findall(r"(\w+) = \"(\w+)\"", ARGO[1]))
    phase, _, expected = EXPECTED[made]
    assert table[phase] == expected
