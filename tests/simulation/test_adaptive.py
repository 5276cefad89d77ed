"""Adaptive scheduling end to end under virtual time: nodes come and go, pods move and stay.

These are OpenKruise's own end-to-end scenarios, with a member for each of its subsets, and what may never happen on the
way: a ready pod that goes because another could not be placed (I7).
"""

import asyncio

import pytest

from tests.support.planning import manifest
from tests.support.world import simulate, world

KINDS = ["statefulSetTemplate", "deploymentTemplate"]
UNORDERED = ["deploymentTemplate"]
"""Kinds whose pods can have stand-ins."""


def adaptive(critical=10, duration=10, **more):
    return {
        "type": "Adaptive",
        "adaptive": {"rescheduleCriticalSeconds": critical, "unschedulableDuration": duration, **more},
    }


class Scene:
    """One application whose subset-i runs in member-i+1, and words for what happens to it."""

    def __init__(self, w, kind, bounds, strategy, **more):
        self.w = w
        self.bounds = {f"subset-{index}": one for index, one in enumerate(bounds)}
        self.kind, self.strategy, self.more = kind, strategy, more
        self.image, self.lowest = "app:1", 0
        for member in w.members.values():
            member.access.subscribe("pods", self._look)

    def _look(self, change):
        """The fewest pods that were ready since somebody asked."""
        self.lowest = min(self.lowest, self.ready())

    def ready(self):
        return sum(
            1
            for member in self.w.members
            for pod in self.w.pods(member)
            if "deletionTimestamp" not in pod["metadata"]
            and {"type": "Ready", "status": "True"}.items()
            <= {k: v for c in pod["status"].get("conditions", ()) if c["type"] == "Ready" for k, v in c.items()}.items()
        )

    def ask(self, total, **changed):
        """Change spec.replicas, and other fields of the spec."""
        self.more.update(changed)
        document = manifest(kind=self.kind, image=self.image, replicas=total, shares=self.bounds, **self.more)
        for index, subset in enumerate(document["spec"]["topology"]["subsets"]):
            subset["targetCluster"] = {"name": f"member-{int(subset['name'][-1]) + 1}"}
            assert index == int(subset["name"][-1])
        if self.strategy:
            document["spec"]["topology"]["scheduleStrategy"] = self.strategy
        self.w.apply(document)
        self.lowest = self.ready()

    def cordon(self, *indexes, on=True):
        """Make the nodes of subsets unschedulable, or schedulable again."""
        for index in indexes:
            access = self.w.members[f"member-{index + 1}"].access
            for node in access.list("nodes"):
                access.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": on}}, manager="test")

    def living(self):
        return [
            sum("deletionTimestamp" not in pod["metadata"] for pod in self.w.pods(f"member-{int(name[-1]) + 1}"))
            for name in self.bounds
        ]

    def entries(self):
        return {one["name"]: one for one in self.w.status().get("subsetStatuses", ())}

    def reserved(self):
        return [self.entries().get(name, {}).get("reservedReplicas", 0) for name in self.bounds]

    def unschedulable(self):
        """The indexes of the subsets that are marked."""
        return [
            index
            for index, name in enumerate(self.bounds)
            if [one["status"] for one in self.entries().get(name, {}).get("conditions", ())] == ["False"]
        ]

    async def comes_to(self, *pods, marked=None, reserved=None, seconds=200.0):
        """Wait until the subsets have so many pods each, in the clusters and by status, and stay so for a while."""

        def there():
            given = [self.entries().get(name, {}).get("replicas") for name in self.bounds]
            return (
                self.living() == list(pods) == given
                and (marked is None or self.unschedulable() == marked)
                and (reserved is None or self.reserved() == reserved)
            )

        what = f"{pods}, marked {marked}, reserved {reserved}"
        for _ in range(20):
            await self.w.until(there, seconds, what=what)
            await asyncio.sleep(2)
            if there():
                return
        raise AssertionError(f"{what} does not last: {self.living()} {self.w.status()}")


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_filled_in_the_order_of_the_list(kind):
    """Scenario 37."""

    async def story():
        async with world() as w:
            bounds = [{"minReplicas": 1, "maxReplicas": 2}, {"minReplicas": 1, "maxReplicas": 2}, {"minReplicas": 1}]
            scene = Scene(w, kind, bounds, None)
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
        async with world() as w:
            scene = Scene(w, kind, ["25%", "25%", None], None)
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
        async with world(members=4) as w:
            scene = Scene(w, kind, [{"maxReplicas": 2}, {"maxReplicas": 2}, {}], adaptive())
            scene.cordon(1)
            scene.ask(3)
            await scene.comes_to(2, 0, 1, marked=[1])
            scene.ask(5)
            await scene.comes_to(2, 0, 3, marked=[1])
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
            scene.bounds["subset-3"] = {"minReplicas": 2}
            scene.ask(6)
            await scene.comes_to(2, 0, 2, 2)
            scene.cordon(1, on=False)
            await scene.comes_to(2, 0, 2, 2, marked=[])
            del scene.bounds["subset-3"]
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
        async with world() as w:
            scene = Scene(w, kind, [{"minReplicas": 1, "maxReplicas": 2}, {}], adaptive())
            scene.cordon(0)
            scene.ask(3)
            await scene.comes_to(1, 2, marked=[0])
            scene.ask(4)
            await scene.comes_to(1, 3)
            scene.ask(3)
            await scene.comes_to(1, 2)
            await asyncio.sleep(60)
            assert scene.unschedulable() == [0]
            scene.cordon(0, on=False)
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
        async with world() as w:
            scene = Scene(w, kind, [{}, {}, {}], adaptive(20, 1, reserveUnschedulablePods=True))
            scene.cordon(0, 1)
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
            scene.cordon(0, on=False)
            await scene.comes_to(4, 0, 0, reserved=[0, 0, 0])
            assert scene.lowest == 4
            scene.ask(5)
            await scene.comes_to(5, 0, 0, reserved=[0, 0, 0])

    simulate(story)


@pytest.mark.parametrize("kind", UNORDERED)
def test_minimums_wait_with_stand_ins(kind):
    """Scenario 42."""

    async def story():
        async with world() as w:
            bounds = [{"minReplicas": 1}, {"minReplicas": 1}, {}]
            scene = Scene(w, kind, bounds, adaptive(20, 1, reserveUnschedulablePods=True))
            scene.cordon(0, 1)
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
            scene.cordon(0, on=False)
            await scene.comes_to(4, 1, 0, reserved=[0, 1, 0])
            assert scene.lowest == 4
            scene.ask(5)
            await scene.comes_to(5, 1, 0, reserved=[0, 1, 0])

    simulate(story)
