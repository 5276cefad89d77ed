"""A controller that is killed at any of its writes leaves nothing that the next one does not put right (I9)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from tests.support.kruise import ALL_KINDS
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.watchdog import Watchdog, workloads
from tests.support.world import World
from uniteddeployment_api import names

MOST_WRITES = {
    "statefulSetTemplate": 12,
    "deploymentTemplate": 10,
    "cloneSetTemplate": 6,
    "advancedStatefulSetTemplate": 6,
}
"""The most writes that a step of the story takes; a test sees to it."""
DEPLOYMENT = "deploymentTemplate"
NEXT_KIND = dict(zip(ALL_KINDS, (*ALL_KINDS[1:], ALL_KINDS[0]), strict=True))

Pods = dict[str, dict[str, int]]
"""Member -> image -> pods."""


@dataclass(frozen=True)
class Step:
    """What a user asks for, and what has to run when that is done."""

    name: str
    shares: dict[str, int]
    pods: Pods
    image: str = "app:2"
    partitions: dict[str, int] = field(default_factory=dict)
    home_of_b: str = "member-2"
    policy: str = "Parallel"
    other_kind: bool = False

    def kind(self, first: str) -> str:
        return NEXT_KIND[first] if self.other_kind else first

    def document(self, first: str) -> dict[str, Any]:
        kind = self.kind(first)
        made = manifest(kind=kind, image=self.image, replicas=None, shares=self.shares, partitions=self.partitions)
        for subset in made["spec"]["topology"]["subsets"]:
            subset["targetCluster"] = {"name": "member-1" if subset["name"] == "a" else self.home_of_b}
        made["metadata"]["annotations"] = {names.ANNOTATION_RECREATE: names.RECREATE}
        if kind == "statefulSetTemplate":
            made["spec"]["template"][kind]["spec"]["podManagementPolicy"] = self.policy
        return made

    def workloads(self, first: str, member: str) -> int:
        """How many there are to be in a member: one per subset, or one per subset and revision."""
        homes = {"a": "member-1", "b": self.home_of_b}
        subsets = sum(home == member for home in homes.values())
        return subsets * (len(self.pods[member]) if self.kind(first) == DEPLOYMENT else 1)


def pods(one: dict[str, int], two: dict[str, int]) -> Pods:
    return {"member-1": one, "member-2": two}


SMALL, LARGE = {"a": 3, "b": 2}, {"a": 4, "b": 3}
HALF = pods({"app:1": 2, "app:2": 1}, {"app:1": 1, "app:2": 1})
MORE = pods({"app:1": 2, "app:2": 2}, {"app:1": 2, "app:2": 1})
DONE, MOVED = pods({"app:2": 3}, {"app:2": 2}), pods({"app:2": 5}, {})
STORY = (
    Step("create", SMALL, pods({"app:1": 3}, {"app:1": 2}), "app:1", policy="OrderedReady"),
    # The update strategy is of no importance to a pod; the policy of a StatefulSet cannot be changed.
    Step("canary", SMALL, HALF, partitions={"a": 2, "b": 1}, policy="OrderedReady"),
    Step("scale up", LARGE, MORE, partitions={"a": 2, "b": 2}, policy="OrderedReady"),
    Step("scale down", SMALL, HALF, partitions={"a": 2, "b": 1}, policy="OrderedReady"),
    Step("recreate", SMALL, HALF, partitions={"a": 2, "b": 1}),
    Step("finish", SMALL, DONE),
    Step("move", SMALL, MOVED, home_of_b="member-1"),
    Step("replace the kind", SMALL, MOVED, home_of_b="member-1", other_kind=True),
)


class Story:
    """The story in a world, with a kill at the same write of each of its steps."""

    def __init__(self, world: World, kind: str, write: int | None = None, *, reached: bool = False) -> None:
        self._w = world
        self._kind = kind
        self._write, self._reached = write, reached
        self.most = 0
        """The most writes that a step took."""

    async def tell(self) -> None:
        dog = Watchdog(self._w)
        # The controller notes what it knows of new members, which is no part of the story.
        await self._w.until(lambda: all(self._w.phase(member) == "Running" for member in self._w.members))
        await asyncio.sleep(1)
        for before, step in pairwise((None, *STORY)):
            assert step is not None
            if step.partitions and before is not None:
                most = {one: max(each.pods[one].get("app:2", 0) for each in (before, step)) for one in step.pods}
                dog.allow("app:2", most)
            else:
                dog.allow("app:2", {})
            await self._carried_out(
                step.name,
                partial(self._w.apply, step.document(self._kind)),
                partial(self._settled_with, step.pods),
            )
            for member in step.pods:
                there = len(workloads(self._w, member))
                assert there == step.workloads(self._kind, member), f"{step.name}: {there} workloads in {member}"
        await self._carried_out("delete", self._w.delete, lambda: self._w.ud() is None)
        assert not any(workloads(self._w, member) for member in self._w.members)
        assert not dog.broken

    def _settled_with(self, pods: Pods) -> bool:
        return self._w.settled() and self._runs() == pods

    def _runs(self) -> Pods:
        return {member: self._w.images(member) for member in self._w.members}

    async def _carried_out(self, name: str, edit: Callable[[], object], done: Callable[[], bool]) -> None:
        """Edit, kill the controller in the middle of what it makes of that, and let another one finish."""
        life = self._w.life
        assert life is not None
        before = life.writes
        if self._write is not None:
            life.kill_at(self._write, reached=self._reached)
        edit()
        await self._w.until(lambda: life.dead or done(), what=name, every=0.02)
        await asyncio.sleep(1)
        self.most = max(self.most, life.writes - before)
        if life.dead:
            self._w.start_controller()
            await self._w.until(done, what=f"{name}, after a kill")
        else:
            life.spare()


KILLS = [
    pytest.param(kind, write, reached, id=f"{kind}-{write}-{'reached' if reached else 'not-sent'}")
    for kind, most in MOST_WRITES.items()
    for write in range(1, most + 1)
    for reached in (False, True)
    if kind == "statefulSetTemplate" or reached == bool(write % 2)
]
"""Each write, once before the server has it and once before its answer. A kill after a write leaves almost the same as
one before the next write, so the other kinds take turns."""
SOME_KILLS = [
    *(f"statefulSetTemplate-{write}-{'not-sent' if write % 2 else 'reached'}" for write in range(1, 13)),
    *(f"deploymentTemplate-{write}-reached" for write in range(1, 12, 2)),
    "cloneSetTemplate-2-not-sent",
    "cloneSetTemplate-5-reached",
    "advancedStatefulSetTemplate-3-reached",
    "advancedStatefulSetTemplate-6-not-sent",
]
"""Those that ``make test`` plays: every write of one kind."""


@pytest.mark.parametrize(("kind", "write", "reached"), some(KILLS, [kill for kill in KILLS if kill.id in SOME_KILLS]))
@pytest.mark.fleet(openkruise=True, members=2)
async def test_a_kill_at_any_write_of_any_step_ends_in_the_same_state(
    world: World, kind: str, write: int, reached: bool
) -> None:
    """No second workload, nothing left over, and never more updated pods than the partitions allow (I9, I6)."""
    await Story(world, kind, write, reached=reached).tell()


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.fleet(openkruise=True, members=2)
async def test_there_is_a_kill_for_every_write_of_every_step(world: World, kind: str) -> None:
    """Otherwise the test above would miss the last writes of a step."""
    told = Story(world, kind)
    await told.tell()
    assert told.most == MOST_WRITES[kind]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped"])
@pytest.mark.fleet(openkruise=True, members=2)
async def test_a_killed_controller_writes_nothing_more_and_a_stopped_one_finishes_its_pass(
    world: World, kind: str, killed: bool
) -> None:
    """A stop does not stand for a crash, for it leaves nothing half done (I9)."""
    await present(world.controller).synced.wait()
    for member in world.members.values():
        member.faults.set(latency=0.5)
    world.apply(STORY[0].document(kind))
    await asyncio.sleep(0.4)  # the writes in the members are on their way
    before = world.ud()
    assert before["metadata"]["finalizers"]
    if killed:
        world.kill_controller()
        await asyncio.sleep(120)
        assert world.ud() == before
        assert not any(workloads(world, member) for member in world.members)
    else:
        await world.stop_controller()
        assert all(workloads(world, member) for member in world.members)
        assert world.status()["observedGeneration"] == 1
