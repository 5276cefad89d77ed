"""What tools see that know nothing of rollouts: kstatus (Flux, kubectl wait), and the health check for Argo CD."""

import re
from pathlib import Path
from typing import Any

import pytest
from lupa.lua51 import LuaRuntime

from tests.unit.rollout.fleet import Controller, canary

PAGE = (Path(__file__).parents[3] / "docs" / "rollouts.md").read_text()
ARGO = re.search(r"```lua\n(.*?)```", PAGE, re.DOTALL)


def pending() -> Controller:
    fleet, controller = canary()
    fleet.current = ""
    document = controller.rollout.model_dump(by_alias=True, exclude_none=True)
    document["status"] = {}
    controller.rollout = type(controller.rollout).model_validate(document)
    controller.step()
    return controller


def healthy() -> Controller:
    return canary()[1]


def paused() -> Controller:
    fleet, controller = canary()
    fleet.release("v2")
    controller.settle()
    return controller


def timed() -> Controller:
    fleet, controller = canary(steps=[{"replicas": 1, "pause": {"duration": "1h"}}])
    fleet.release("v2")
    controller.settle()
    return controller


def progressing() -> Controller:
    fleet, controller = canary()
    fleet.bad.add("v2")
    fleet.release("v2")
    controller.settle()
    return controller


def degraded() -> Controller:
    controller = progressing()
    controller.wait(3600)
    return controller


def rolling_back() -> Controller:
    controller = paused()
    controller.give("1", "abort")
    controller.step()
    return controller


def disabled() -> Controller:
    controller = healthy()
    controller.edit(disabled=True)
    controller.settle()
    return controller


def disabled_during_a_run() -> Controller:
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
    """The published rules of sigs.k8s.io/cli-utils/pkg/kstatus for objects of any kind, in their order.

    An object is being deleted; its status is about an older generation; the first of its conditions that is
    Reconciling=True or Stalled=True; its condition Ready; and without any of them, it is current.
    """
    status = obj.get("status", {})
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    observed = status.get("observedGeneration")
    if observed is not None and observed != obj["metadata"]["generation"]:
        return "InProgress"
    conditions = [(condition["type"], condition["status"]) for condition in status.get("conditions", ())]
    for condition in conditions:
        if condition == ("Reconciling", "True"):
            return "InProgress"
        if condition == ("Stalled", "True"):
            return "Failed"
    ready = dict(conditions).get("Ready", "True")
    return "Current" if ready == "True" else "InProgress"


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
    phases = type(healthy().status).model_fields["phase"].annotation.__args__[0].__args__
    assert {phase for phase, _, _ in EXPECTED.values()} == set(phases)


@pytest.mark.parametrize("made", EXPECTED, ids=lambda made: made.__name__)
def test_reconciling_and_stalled_are_never_true_together(made: Any) -> None:
    """kstatus would report the one that comes first."""
    conditions = {one["type"]: one["status"] for one in document(made())["status"]["conditions"]}
    assert (conditions["Reconciling"], conditions["Stalled"]) != ("True", "True")


def test_an_object_that_is_being_deleted_is_terminating() -> None:
    obj = document(healthy())
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert kstatus(obj) == "Terminating"


def argo_cd(obj: dict[str, Any]) -> tuple[str, str]:
    """Status and message of the health check on the page, as Lua 5.1 computes them, the version that Argo CD has."""
    assert ARGO is not None
    runtime = LuaRuntime(unpack_returned_tuples=True)
    runtime.globals().obj = runtime.table_from(obj, recursive=True)
    health = runtime.execute(ARGO[1])
    return health["status"], health["message"]


@pytest.mark.parametrize("made", EXPECTED, ids=lambda made: made.__name__)
def test_the_health_check_for_argo_cd_understands_every_phase(made: Any) -> None:
    obj = document(made())
    assert argo_cd(obj) == (EXPECTED[made][2], obj["status"]["message"])


def test_the_health_check_for_argo_cd_trusts_no_status_of_an_older_spec() -> None:
    obj = document(degraded())
    obj["metadata"]["generation"] += 1
    assert argo_cd(obj) == ("Progressing", "waits for the rollout controller")
    del obj["status"]
    assert argo_cd(obj) == ("Progressing", "waits for the rollout controller")
    assert argo_cd({**document(healthy()), "status": {"observedGeneration": 1, "phase": "New"}})[0] == "Progressing"
