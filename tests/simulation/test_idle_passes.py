"""A controller with nothing to do makes no passes (I3)."""

import asyncio

import pytest

from tests.simulation.scene import Scene
from tests.support.world import World
from uniteddeployment.controller import planner as planner_module
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.plan import Plan, plan


@pytest.mark.parametrize("cordoned", [True, False])
@pytest.mark.parametrize("duration", [0, 10])
@pytest.mark.parametrize("reserve", [True, False])
async def test_durations_that_are_over_cause_no_passes(
    world: World, monkeypatch: pytest.MonkeyPatch, reserve: bool, duration: int, cordoned: bool
) -> None:
    """A subset without nodes waits for a watch event, not for the clock, also if a duration is 0."""
    rules = {
        "rescheduleCriticalSeconds": 10,
        "unschedulableDuration": duration,
        "reserveUnschedulablePods": reserve,
    }
    strategy = {"type": "Adaptive", "adaptive": rules}
    scene = Scene(world, "deploymentTemplate", {"a": {"maxReplicas": 2}, "b": {}}, strategy=strategy)
    if cordoned:
        scene.cordon("a")
    scene.ask(3)
    members = ("member-1", "member-2")
    await world.until(lambda: sum(len(world.pods(member)) for member in members) >= 3, 60, what="pods")
    await asyncio.sleep(120)
    passes = []

    def counted(subject: Subject, observed: Observed) -> Plan:
        passes.append(subject)
        return plan(subject, observed)

    monkeypatch.setattr(planner_module, "plan", counted)
    await asyncio.sleep(100)
    assert len(passes) <= 1
