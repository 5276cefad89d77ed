"""Partitions while subsets are scaled, emptied and held again: which revision is a pod created at, and what stays.

One rule for every kind: a partition caps how many pods are updated, and how many are created at the new revision when
a subset grows. Raising it takes nothing back.
"""

import asyncio
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.kruise import ALL_KINDS, PATHS, RESOURCES, kinds, world_for
from tests.support.planning import manifest
from tests.support.stories import EVERY, some
from tests.support.virtual_time import simulate
from tests.support.watchdog import Watchdog, workloads
from tests.support.world import World
from uniteddeployment.embedded.access import Change
from uniteddeployment_api import names

pytestmark = pytest.mark.fleet(members=2)

KINDS = ALL_KINDS
PARTITIONED = [kind for kind in ALL_KINDS if kind != "deploymentTemplate"]
TWO = {"member-1": None, "member-2": 1}
"""A second subset that stays behind keeps the first version the stable one."""

# A CloneSet and an Advanced StatefulSet are planned as a StatefulSet is, up to the order of their pods.
GROWING = [
    ("statefulSetTemplate", "100%"),
    ("statefulSetTemplate", 4),
    ("statefulSetTemplate", 3),
    ("deploymentTemplate", 3),
    ("cloneSetTemplate", 4),
    ("advancedStatefulSetTemplate", 3),
]
RAISED = [
    ("statefulSetTemplate", "100%"),
    ("deploymentTemplate", "100%"),
    ("cloneSetTemplate", 3),
    ("advancedStatefulSetTemplate", 3),
]
EMPTIED = [
    ("statefulSetTemplate", "zero"),
    ("deploymentTemplate", "deleted"),
    ("cloneSetTemplate", "deleted"),
    ("advancedStatefulSetTemplate", "zero"),
]


class Canary:
    """One application in two members; the test watches the first, the second holds all of its pods."""

    def __init__(self, world: World, kind: str) -> None:
        self.world, self.kind = world, kind
        self.image, self.size = "app:1", 4
        self.held: int | str = 0

    def write(self, **changes: Any) -> None:
        """Change ``image``, ``size`` or ``held`` and apply the application."""
        for name, value in changes.items():
            setattr(self, name, value)
        partitions: dict[str, int | str] = {"member-1": self.held, "member-2": "100%"}
        self.world.apply(
            manifest(kind=self.kind, image=self.image, replicas=self.size + 1, shares=TWO, partitions=partitions)
        )

    async def apply(self, what: str, **changes: Any) -> None:
        """Write them and wait until all is as asked for."""
        self.write(**changes)
        await self.world.until(self.world.settled, what=what)

    @property
    def images(self) -> dict[str, int]:
        return self.world.images("member-1")

    def has(self, size: int) -> bool:
        """Whether there are so many pods."""
        return len(self.pods) == size

    @property
    def pods(self) -> dict[str, str]:
        """Name -> uid of the pods that are not going away."""
        pods = [pod["metadata"] for pod in self.world.pods("member-1")]
        return {pod["name"]: pod["uid"] for pod in pods if "deletionTimestamp" not in pod}

    def uids(self, image: str) -> set[str]:
        pods = [pod for pod in self.world.pods("member-1") if pod["spec"]["containers"][0]["image"] == image]
        return {pod["metadata"]["uid"] for pod in pods} & set(self.pods.values())

    @property
    def entry(self) -> dict[str, Any]:
        return next(one for one in self.world.status()["subsetStatuses"] if one["name"] == "member-1")


@pytest.fixture
def canary(world: World, kind: str) -> Canary:
    """The application of a test, in its fleet."""
    return Canary(world, kind)


@pytest.mark.parametrize("kind", KINDS)
async def test_pods_held_when_a_subset_leaves_zero_are_stable_ones_and_not_those_of_an_abandoned_canary(
    canary: Canary, world: World
) -> None:
    """The workload has seen nothing but the abandoned revision since it had no pods (I6)."""
    await canary.apply("creation", size=3)
    canary.write(image="fail:2", held=2)
    await world.until(lambda: canary.images.get("fail:2"), what="the canary")
    canary.write(size=0)
    await world.until(lambda: not world.pods("member-1"), what="zero")
    await asyncio.sleep(30)
    dog = Watchdog(world)
    dog.allow("fail:2", {"member-1": 0})
    dog.allow("app:3", {"member-1": 1})
    await canary.apply("the way back", image="app:3", size=3)
    assert canary.images == {"app:1": 2, "app:3": 1}
    assert not dog.broken


@pytest.mark.parametrize("kind", KINDS)
async def test_zero_and_back_while_pods_still_go_away_keeps_to_the_partition(canary: Canary, world: World) -> None:
    """Its controller forgets the stable revision at any moment from then on (I6)."""
    await canary.apply("creation")
    await canary.apply("the canary", image="app:2", held=3)
    canary.write(size=0)
    await world.until(
        lambda: (
            any("deletionTimestamp" in pod["metadata"] for pod in world.pods("member-1")) or not world.pods("member-1")
        ),
        what="the first pod to go",
    )
    dog = Watchdog(world)
    dog.allow("app:2", {"member-1": 0})
    dog.allow("app:3", {"member-1": 1})
    await canary.apply("the way back", image="app:3", size=4)
    assert canary.images == {"app:1": 3, "app:3": 1}
    assert not dog.broken


@pytest.mark.parametrize(("kind", "held"), some(list(product(KINDS, ["100%", 4, 3])), GROWING))
async def test_pods_that_scaling_up_adds_to_an_updated_subset_are_stable_when_its_partition_was_raised(
    canary: Canary, held: int | str
) -> None:
    """I6: its controller has forgotten the stable revision. What is updated stays, and nothing is restarted."""
    await canary.apply("creation", size=2)
    await canary.apply("the update", image="app:2")
    assert canary.images == {"app:2": 2}
    kept = canary.uids("app:2")
    dog = Watchdog(canary.world)
    allowed = {"100%": 2, 4: 2, 3: 3}[held]
    dog.allow("app:2", {"member-1": allowed})
    await canary.apply("scaling up", size=6, held=held)
    await asyncio.sleep(60)
    assert canary.images == {"app:2": allowed, "app:1": 6 - allowed}
    assert kept <= canary.uids("app:2")
    assert not dog.broken
    assert canary.world.settled()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_subset_that_was_held_again_goes_on_with_the_update_step_by_step(canary: Canary, world: World) -> None:
    """From there the partition is lowered, pods are lost, and it ends with all of them updated (I6)."""
    await canary.apply("creation", size=2)
    await canary.apply("the update", image="app:2")
    await canary.apply("scaling up", size=6, held="100%")
    for held in (4, 3, 2):
        dog = Watchdog(world)
        dog.allow("app:2", {"member-1": 6 - held})
        await canary.apply("a step", held=held)
        assert canary.images == {"app:1": held, "app:2": 6 - held}
        for name in (min(canary.pods), max(canary.pods)):
            world.members["member-1"].access.delete("pods", "default", name)
            await asyncio.sleep(10)
            await world.until(world.settled, what="its replacement")
            assert canary.images == {"app:1": held, "app:2": 6 - held}
        assert not dog.broken
    await canary.apply("the rest", held=0)
    assert canary.images == {"app:2": 6}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_third_version_finds_an_updated_subset_that_was_forgotten_at_the_stable_one_when_it_grows(
    canary: Canary,
) -> None:
    """Pods that are added are stable, although the subset itself has completed another revision since (I6)."""
    await canary.apply("creation", size=2)
    await canary.apply("the update", image="app:2")
    await canary.apply("a third version", image="app:3", held="100%")
    assert canary.images == {"app:2": 2}
    dog = Watchdog(canary.world)
    dog.allow("app:2", {"member-1": 2})
    dog.allow("app:3", {"member-1": 1})
    await canary.apply("scaling up", size=5)
    assert canary.images == {"app:2": 2, "app:1": 3}
    await canary.apply("a step", held=4)
    assert canary.images["app:3"] == 1
    assert not dog.broken
    await canary.apply("the rest", held=0)
    assert canary.images == {"app:3": 5}


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "deploymentTemplate"))
async def test_an_update_that_is_held_again_can_be_taken_back(canary: Canary) -> None:
    """Undo needs no partition (I6)."""
    await canary.apply("creation", size=2)
    await canary.apply("the update", image="app:2")
    await canary.apply("scaling up", size=4, held="100%")
    await canary.apply("undo", image="app:1")
    assert canary.images == {"app:1": 4}


@pytest.mark.parametrize(("kind", "held"), some(list(product(KINDS, ["100%", 3])), RAISED))
async def test_raising_a_partition_takes_nothing_back(canary: Canary, held: int | str) -> None:
    """The rule for every kind: it limits what is updated or created from then on."""
    await canary.apply("creation")
    await canary.apply("the canary", image="app:2", held=1)
    assert canary.images == {"app:1": 1, "app:2": 3}
    before = set(canary.pods.values())
    await canary.apply("the raised partition", held=held)
    await asyncio.sleep(60)
    assert set(canary.pods.values()) == before
    assert canary.entry["reason"].startswith(
        f"3 pods are updated where the partition allows {0 if held == '100%' else 1}"
    )
    ready = next(one for one in canary.world.status()["conditions"] if one["type"] == "Ready")
    assert ready["message"].endswith("2 held by partitions"), "one in each subset; the others are updated"
    assert canary.world.settled()


@pytest.mark.parametrize("kind", KINDS)
async def test_scaling_up_above_the_cap_creates_stable_pods_until_the_cap_is_met_again(canary: Canary) -> None:
    """New pods are stable while more are updated than the raised partition allows (I6)."""
    await canary.apply("creation")
    await canary.apply("the canary", image="app:2", held=1)
    dog = Watchdog(canary.world)
    dog.allow("app:2", {"member-1": 3})
    await canary.apply("the raised partition", held=3)
    await canary.apply("scaling up", size=6, held=5)
    assert canary.images == {"app:1": 3, "app:2": 3}
    assert not dog.broken
    dog.allow("app:2", {"member-1": 4})
    await canary.apply("the cap is met again", size=8, held=4)
    assert canary.images == {"app:1": 4, "app:2": 4}
    assert not dog.broken


@pytest.mark.parametrize("kind", KINDS)
async def test_scaling_down_above_the_cap_removes_updated_pods_first(canary: Canary) -> None:
    """Scaling down brings a subset back under the cap of its raised partition (I6)."""
    await canary.apply("creation", size=6)
    await canary.apply("the canary", image="app:2", held=2)
    await canary.apply("the raised partition", held="100%")
    await canary.apply("scaling down", size=4)
    assert canary.images == {"app:1": 2, "app:2": 2}
    await canary.apply("scaling down further", size=2)
    assert canary.images == {"app:1": 2}


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_a_template_that_is_changed_before_any_version_was_complete_is_held_and_ready(
    canary: Canary, world: World, kind: str
) -> None:
    """Held pods without a stable revision are as they were asked for."""
    broken = manifest(kind=kind, image="app:1", replicas=2, shares={"member-1": 1, "member-2": 1})
    broken["spec"]["topology"]["subsets"][1]["nodeSelectorTerm"] = {
        "matchExpressions": [{"key": "no-such-label", "operator": "Exists"}]
    }
    world.apply(broken)
    await world.until(lambda: world.images("member-1") == {"app:1": 1}, what="a first version that stays incomplete")
    await asyncio.sleep(30)
    next_one = manifest(
        kind=kind,
        image="app:2",
        replicas=1,
        shares={"member-1": 1},
        updateStrategy={"manualUpdate": {"partition": "100%"}},
    )
    world.apply(next_one)
    await world.until(world.settled, what="the held pod")
    assert world.images("member-1") == {"app:1": 1}
    assert world.status()["currentRevision"] == ""
    assert "held" in canary.entry["reason"]
    assert "no version" in canary.entry["reason"]
    next_one["spec"]["updateStrategy"] = {}
    world.apply(next_one)
    await world.until(lambda: world.settled() and world.images("member-1") == {"app:2": 1}, what="the update")
    assert world.status()["currentRevision"] == world.status()["updatedRevision"]


def delete_stable_revision(world: World) -> str:
    name = world.status()["currentRevision"]
    world.host.access.delete("controllerrevisions.apps", "default", name)
    return str(name)


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "cloneSetTemplate"))
async def test_a_canary_whose_stable_revision_was_deleted_is_ready_as_long_as_nothing_has_to_be_created(
    canary: Canary,
) -> None:
    await canary.apply("creation")
    await canary.apply("the canary", image="app:2", held=2)
    delete_stable_revision(canary.world)
    await asyncio.sleep(60)
    assert canary.world.settled()
    assert canary.images == {"app:1": 2, "app:2": 2}


@pytest.mark.parametrize(("kind", "emptied"), some(list(product(KINDS, ["deleted", "zero"])), EMPTIED))
async def test_a_member_that_is_emptied_when_the_stable_revision_was_deleted_waits_and_says_so(
    canary: Canary, world: World, kind: str, emptied: str
) -> None:
    """No pod more than allowed is created at the new revision, and the message tells the way out (I6, I7)."""
    await canary.apply("creation")
    await canary.apply("the canary", image="app:2", held=3)
    dog = Watchdog(world)
    dog.allow("app:2", {"member-1": 1})
    if emptied == "deleted":
        name = delete_stable_revision(world)
        access = world.members["member-1"].access
        for child in workloads(world, "member-1"):
            access.delete(RESOURCES[kind], "default", child)
    else:
        canary.write(size=0)
        await world.until(lambda: not world.pods("member-1"), what="zero")
        name = delete_stable_revision(world)
        canary.write(size=4)
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    await asyncio.sleep(120)
    assert world.images("member-1").get("app:2", 0) <= 1
    assert name in canary.entry["reason"]
    assert "partition" in canary.entry["reason"]
    before = world.requests()
    await asyncio.sleep(600)
    assert world.requests() == before, "I3"
    # The way out that the message tells: the earlier template, then the new one again.
    await canary.apply("the earlier template", image="app:1")
    await canary.apply("the canary again", image="app:2")
    assert canary.images == {"app:1": 3, "app:2": 1}
    assert not dog.broken


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "deploymentTemplate"))
async def test_a_revision_label_that_somebody_changes_is_put_back_once(canary: Canary, world: World, kind: str) -> None:
    """A label costs neither a second workload nor a write every minute (I3)."""
    await canary.apply("creation")
    await canary.apply("the canary", image="app:2", held=2)
    pods = canary.pods
    for value in ("garbage", world.status()["updatedRevision"].removeprefix("web-")):
        for name in workloads(world, "member-1"):
            label = {"metadata": {"labels": {names.LABEL_REVISION: value}}}
            path = f"{PATHS[kind]}/{name}"
            world.request(world.members["member-1"], "PATCH", path, label, content_type="application/merge-patch+json")
        await asyncio.sleep(60)
        await world.until(world.settled, what="the repair")
        assert canary.pods == pods
        found = [one["metadata"]["labels"][names.LABEL_REVISION] for one in workloads(world, "member-1").values()]
        assert "garbage" not in found
        assert len(set(found)) == len(found)
        before = world.requests()
        await asyncio.sleep(600)
        assert world.requests() == before


def partition_of(child: dict[str, Any]) -> int:
    strategy = child["spec"].get("updateStrategy") or {}
    return int(strategy.get("partition", (strategy.get("rollingUpdate") or {}).get("partition", 0)))


class Writes:
    """The partitions that a member's workload is set to, one after the other."""

    def __init__(self, world: World, kind: str, member: str = "member-1") -> None:
        self.seen: list[Any] = []
        self._kind = kind
        world.members[member].access.subscribe(RESOURCES[kind], self._note)

    def _note(self, change: Change) -> None:
        new = partition_of(change.obj)
        if not self.seen or self.seen[-1] != new:
            self.seen.append(new)


@pytest.mark.parametrize("kind", PARTITIONED)
@pytest.mark.fleet(ready_after=30.0)
async def test_each_edit_of_a_partition_in_the_middle_of_an_update_is_one_write(
    canary: Canary, world: World, kind: str
) -> None:
    """Only one pod is being updated when the partition is raised, so there is nothing to be careful about (I3)."""
    await canary.apply("creation")
    canary.write(image="app:2", held=1)
    await asyncio.sleep(0.7)
    writes = Writes(world, kind)
    for held in (2, 3, 4, 1):
        canary.write(held=held)
        await asyncio.sleep(0.7)
    await world.until(world.settled, what="the end")
    assert writes.seen == [2, 3, 4, 1]
    assert canary.images == {"app:1": 1, "app:2": 3}


@pytest.mark.parametrize("kind", PARTITIONED)
@pytest.mark.fleet(ready_after=30.0)
async def test_growing_in_the_middle_of_an_update_holds_all_first_and_then_as_many_as_asked_for(
    canary: Canary, kind: str
) -> None:
    """I6: until its controller sees that it grows, it may update pods that then count; that is what the first write is
    for. A CloneSet needs none of that."""
    await canary.apply("creation")
    canary.write(image="app:2", held=2)
    await asyncio.sleep(0.7)
    dog = Watchdog(canary.world)
    dog.allow("app:2", {"member-1": 2})
    writes = Writes(canary.world, kind)
    await canary.apply("growing", size=8, held=6)
    assert canary.images == {"app:1": 6, "app:2": 2}
    assert writes.seen == ([6] if kind == "cloneSetTemplate" else [8, 7])
    assert not dog.broken


edits = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=5)
"""The size of the subset and its partition, one after the other."""


def kept(canary: Canary, size: int, held: int) -> int:
    """How many updated pods stay whatever is asked for: a StatefulSet removes its last pods, the others these first."""
    old, new = canary.images.get("app:1", 0), canary.images.get("app:2", 0)
    if canary.kind in ("statefulSetTemplate", "advancedStatefulSetTemplate"):
        updated = canary.uids("app:2")
        return sum(uid in updated and int(name.rpartition("-")[2]) < size for name, uid in canary.pods.items())
    return min(new, size - min(old, held))


async def keeps_to_the_rule(kind: str, asked: list[tuple[int, int]]) -> None:
    """Play one list of edits in a fleet of its own."""
    async with world_for(kind, members=2) as world:
        canary = Canary(world, kind)
        await canary.apply("creation", size=3)
        canary.image, canary.held = "app:2", "100%"
        for size, partition in asked:
            held = min(size, partition)
            before, updated = kept(canary, size, held), canary.uids("app:2")
            most = max(before, size - held)
            dog = Watchdog(canary.world)
            dog.allow("app:2", {"member-1": max(most, len(updated))})
            await canary.apply("an edit", size=size, held=held)
            await canary.world.until(partial(canary.has, size), what="its pods")
            assert canary.images.get("app:2", 0) == most
            assert len(updated & canary.uids("app:2")) >= before
            assert not dog.broken


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20 if EVERY else 3, derandomize=True, deadline=None)
@given(edits)
def test_whatever_partition_and_size_are_asked_for_the_rule_holds(kind: str, asked: list[tuple[int, int]]) -> None:
    """As many pods are updated as the partition allows, and those beyond that were updated before and stayed (I6)."""

    simulate(lambda: keeps_to_the_rule(kind, asked))
