"""Adaptive scheduling end to end under virtual time: nodes come and go, pods move and stay.

These are OpenKruise's own end-to-end scenarios, with a member for each of its subsets, and what may never happen on the
way: a ready pod that goes because another could not be placed (I7).
"""

import asyncio

import pytest

from tests.simulation.scene import Scene
from tests.support.kruise import ALL_KINDS, world_for
from tests.support.world import simulate

KINDS = ALL_KINDS
UNORDERED = ["deploymentTemplate", "cloneSetTemplate"]
"""Kinds whose pods can have stand-ins."""


def adaptive(critical=10, duration=10, **more):
    return {
        "type": "Adaptive",
        "adaptive": {"rescheduleCriticalSeconds": critical, "unschedulableDuration": duration, **more},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_filled_in_the_order_of_the_list(kind):
    """Scenario 37."""

    async def story():
        async with world_for(kind) as w:
            limited = {"minReplicas": 1, "maxReplicas": 2}
            scene = Scene(w, kind, {"a": limited, "b": limited, "c": {"minReplicas": 1}})
            scene.ask(3)
            await scene.comes_to(1, 1, 1)
            scene.ask(7)
            await scene.comes_to(2, 2, 3)
            scene.ask(1)
            await scene.comes_to(1, 0, 0)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_percentages_are_rounded_and_the_rest_is_for_the_last(kind):
    """Scenario 38."""

    async def story():
        async with world_for(kind) as w:
            scene = Scene(w, kind, {"a": "25%", "b": "25%", "c": None})
            scene.ask(3)
            await scene.comes_to(1, 1, 1)
            scene.ask(4)
            await scene.comes_to(1, 1, 2)
            scene.ask(1)
            await scene.comes_to(0, 0, 1)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_pods_move_away_from_a_subset_without_nodes_and_new_ones_are_tried_there_later(kind):
    """Scenario 39; on the way no ready pod ever goes but those that are too many (I7)."""

    async def story():
        async with world_for(kind, members=4) as w:
            scene = Scene(w, kind, {"a": {"maxReplicas": 2}, "b": {"maxReplicas": 2}, "c": {}}, strategy=adaptive())
            scene.cordon("b")
            scene.ask(3)
            await scene.comes_to(2, 0, 1, marked=["b"])
            scene.ask(5)
            await scene.comes_to(2, 0, 3, marked=["b"])
            scene.ask(4)
            await scene.comes_to(2, 0, 2)
            await scene.comes_to(2, 0, 2, marked=[])
            scene.ask(5)
            await scene.comes_to(2, 1, 2, seconds=5)
            scene.ask(4)
            await scene.comes_to(2, 0, 2)
            assert scene.lowest == 4
            scene.ask(3)
            await scene.comes_to(2, 0, 1)
            scene.subsets["d"] = {"minReplicas": 2}
            scene.ask(6)
            await scene.comes_to(2, 0, 2, 2)
            scene.cordon("b", on=False)
            await scene.comes_to(2, 0, 2, 2, marked=[])
            del scene.subsets["d"]
            scene.ask(6)
            await scene.comes_to(2, 2, 2)
            await w.until(lambda: not w.pods("member-4"), what="the removed subset is gone")
            scene.ask(3)
            await scene.comes_to(2, 1, 0)
            scene.ask(5)
            await scene.comes_to(2, 2, 1)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_minimum_waits_where_it_was_asked_for_and_the_mark_lasts_as_long(kind):
    """Scenario 40."""

    async def story():
        async with world_for(kind) as w:
            scene = Scene(w, kind, {"a": {"minReplicas": 1, "maxReplicas": 2}, "b": {}}, strategy=adaptive())
            scene.cordon("a")
            scene.ask(3)
            await scene.comes_to(1, 2, marked=["a"])
            scene.ask(4)
            await scene.comes_to(1, 3)
            scene.ask(3)
            await scene.comes_to(1, 2)
            await asyncio.sleep(60)
            assert scene.unschedulable() == ["a"]
            scene.cordon("a", on=False)
            await scene.comes_to(1, 2, marked=[])
            scene.ask(5)
            await scene.comes_to(2, 3)
            scene.ask(4)
            await scene.comes_to(2, 2)
            scene.ask(3)
            await scene.comes_to(2, 1)
            scene.ask(1)
            await scene.comes_to(1, 0)

    simulate(story)


@pytest.mark.parametrize("kind", UNORDERED)
def test_stand_ins_run_while_pods_wait_and_go_when_those_are_ready(kind):
    """Scenario 41: the pods that wait stay where they are, and the total serves all the time (I7)."""

    async def story():
        async with world_for(kind) as w:
            scene = Scene(w, kind, {"a": {}, "b": {}, "c": {}}, strategy=adaptive(20, 1, reserveUnschedulablePods=True))
            scene.cordon("a", "b")
            scene.ask(2)
            await scene.comes_to(2, 2, 2, reserved=[2, 2, 0])
            assert w.status()["replicas"] == w.status()["readyReplicas"] == 2
            await w.until(w.settled, what="an application that has what it needs")
            scene.ask(4)
            await scene.comes_to(2, 2, 4, reserved=[2, 2, 0])
            scene.ask(2)
            await scene.comes_to(2, 2, 2, reserved=[2, 2, 0])
            scene.ask(4)
            await scene.comes_to(2, 2, 4, reserved=[2, 2, 0])
            scene.image = "app:2"
            scene.ask(4)
            await w.until(lambda: all(set(w.images(member)) == {"app:2"} for member in w.members), what="the update")
            await scene.comes_to(2, 2, 4, reserved=[2, 2, 0])
            assert scene.lowest >= 3, "maxUnavailable and maxSurge of the template are kept"
            await w.until(lambda: w.status()["currentRevision"] == w.status()["updatedRevision"])
            scene.lowest = 4
            scene.cordon("a", on=False)
            await scene.comes_to(4, 0, 0, reserved=[0, 0, 0])
            assert scene.lowest == 4
            scene.ask(5)
            await scene.comes_to(5, 0, 0, reserved=[0, 0, 0])

    simulate(story)


@pytest.mark.parametrize("kind", UNORDERED)
def test_minimums_wait_with_stand_ins(kind):
    """Scenario 42."""

    async def story():
        async with world_for(kind) as w:
            bounds = {"a": {"minReplicas": 1}, "b": {"minReplicas": 1}, "c": {}}
            scene = Scene(w, kind, bounds, strategy=adaptive(20, 1, reserveUnschedulablePods=True))
            scene.cordon("a", "b")
            scene.ask(2)
            await scene.comes_to(1, 1, 2, reserved=[1, 1, 0])
            scene.ask(4)
            await scene.comes_to(1, 1, 4, reserved=[1, 1, 0])
            scene.ask(2)
            await scene.comes_to(1, 1, 2, reserved=[1, 1, 0])
            scene.ask(4)
            await scene.comes_to(1, 1, 4, reserved=[1, 1, 0])
            scene.image = "app:2"
            scene.ask(4)
            await w.until(lambda: all(set(w.images(member)) == {"app:2"} for member in w.members), what="the update")
            await scene.comes_to(1, 1, 4, reserved=[1, 1, 0])
            scene.lowest = 4
            scene.cordon("a", on=False)
            await scene.comes_to(4, 1, 0, reserved=[0, 1, 0])
            assert scene.lowest == 4
            scene.ask(5)
            await scene.comes_to(5, 1, 0, reserved=[0, 1, 0])

    simulate(story)
