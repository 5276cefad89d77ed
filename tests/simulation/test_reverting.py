"""``manualUpdate.revert`` and ``manualUpdate.maxUpdated`` for every kind, over real controllers in virtual time.

Raising a partition takes nothing back (I6). A subset that is named in ``revert`` goes back to the stable revision, and
only that one; ``maxUpdated`` holds a subset that grows.
"""

from typing import Any

import pytest

from tests.support.kruise import ALL_KINDS, kinds, world_for
from tests.support.planning import manifest
from tests.support.world import World

OLD, NEW, BAD = "app:1", "app:2", "fail:2"
SIZES = {"member-1": 4, "member-2": 2}


class Canary:
    """One application in two members."""

    def __init__(self, world: World, kind: str) -> None:
        self.world, self.kind = world, kind

    def write(self, image: str, sizes: dict[str, int] = SIZES, **manual: Any) -> None:
        document = manifest(kind=self.kind, image=image, replicas=None, shares=sizes)
        document["spec"]["updateStrategy"] = {"manualUpdate": manual}
        self.world.apply(document)

    async def apply(self, image: str, sizes: dict[str, int] = SIZES, **manual: Any) -> None:
        """Write it and wait until all is as asked for."""
        self.write(image, sizes, **manual)
        await self.world.until(self.world.settled)

    @property
    def images(self) -> list[dict[str, int]]:
        return [self.world.images(name) for name in SIZES]

    def entry(self, name: str) -> dict[str, Any]:
        return next(entry for entry in self.world.status()["subsetStatuses"] if entry["name"] == name)

    def condition(self, type_: str) -> dict[str, int | str]:
        return next(found for found in self.world.status()["conditions"] if found["type"] == type_)


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_only_the_subset_that_is_named_goes_back_and_it_is_held_until_its_partition_is_lowered(kind: str) -> None:
    async with world_for(kind, members=2) as world:
        canary = Canary(world, kind)
        await canary.apply(OLD)
        stable = world.status()["currentRevision"]
        await canary.apply(NEW, partitions={"member-1": 2, "member-2": 1})
        assert canary.images == [{OLD: 2, NEW: 2}, {OLD: 1, NEW: 1}]

        await canary.apply(NEW, partitions={"member-1": 0, "member-2": 1}, revert=["member-1"])
        assert canary.images == [{OLD: 4}, {OLD: 1, NEW: 1}]
        entry = canary.entry("member-1")
        assert (entry["state"], entry["partition"], entry["updatedReplicas"]) == ("Held", 4, 0)
        assert "reverted to the stable revision" in entry["reason"]
        assert world.status()["currentRevision"] == stable
        assert canary.condition("Ready")["status"] == "True"

        await canary.apply(NEW, {"member-1": 6, "member-2": 2}, partitions={"member-2": 1}, revert=["member-1"])
        assert canary.images[0] == {OLD: 6}, "pods that are created meanwhile are stable ones"

        await canary.apply(NEW, partitions={"member-1": 4, "member-2": 1})
        assert canary.images == [{OLD: 4}, {OLD: 1, NEW: 1}]
        await canary.apply(NEW, partitions={"member-1": 3})
        assert canary.images == [{OLD: 3, NEW: 1}, {NEW: 2}]
        await canary.apply(NEW)
        assert world.status()["currentRevision"] == world.status()["updatedRevision"] != stable


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_a_subset_whose_updated_pods_never_become_ready_is_reverted(kind: str) -> None:
    async with world_for(kind, members=2) as world:
        canary = Canary(world, kind)
        await canary.apply(OLD)
        canary.write(BAD, partitions={"member-1": 3, "member-2": 2})
        await world.until(lambda: canary.images[0].get(BAD))
        await canary.apply(BAD, partitions={"member-1": 3, "member-2": 2}, revert=["member-1"])
        assert canary.images == [{OLD: 4}, {OLD: 2}]


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "cloneSetTemplate"))
async def test_a_list_for_an_earlier_revision_does_not_concern_the_next_template(kind: str) -> None:
    async with world_for(kind, members=2) as world:
        canary = Canary(world, kind)
        await canary.apply(OLD)
        await canary.apply(NEW, partitions={"member-1": 2, "member-2": 2})
        revision = world.status()["updatedRevision"]
        await canary.apply("app:3", partition=0, partitions={"member-2": 1}, revert=["member-1"], revision=revision)
        assert canary.images == [{"app:3": 4}, {"app:3": 2}]


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_a_subset_that_grows_gets_no_more_updated_pods_than_its_maximum(kind: str) -> None:
    async with world_for(kind, members=2) as world:
        canary = Canary(world, kind)
        most = []
        await canary.apply(OLD)
        await canary.apply(NEW, partitions={"member-1": 2, "member-2": 2}, maxUpdated={"member-1": 2})
        world.members["member-1"].access.subscribe("pods", lambda _: most.append(world.images("member-1").get(NEW, 0)))
        partitions = {"member-1": 2, "member-2": 2}
        await canary.apply(NEW, {"member-1": 8, "member-2": 2}, partitions=partitions, maxUpdated={"member-1": 2})
        assert canary.images[0] == {OLD: 6, NEW: 2}
        assert max(most) == 2
        assert canary.entry("member-1")["partition"] == 6
