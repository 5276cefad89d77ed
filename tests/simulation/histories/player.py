"""Plays a story in a fleet of its own and returns the first invariant that it breaks."""

import asyncio
import copy
import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import structlog

from tests.simulation.histories.breach import Breach, Breaches, Circumstances
from tests.simulation.histories.desired import ORDINAL_KINDS, Desired
from tests.simulation.histories.ending import Ending, running
from tests.simulation.histories.enforced import Enforced
from tests.simulation.histories.fleet_rules import FleetRules
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.losses import Figures, Losses
from tests.simulation.histories.pod_rules import PodRules
from tests.simulation.histories.status_rules import StatusRules
from tests.simulation.histories.story import (
    SETTLED,
    Action,
    Change,
    Cordon,
    Delete,
    Drain,
    Edit,
    Incident,
    Kill,
    LosePod,
    LoseRevisions,
    Quota,
    Recover,
    Restart,
    Scale,
    Step,
    Story,
    Taint,
    Tamper,
)
from tests.simulation.histories.tampering import change_cluster, limit, lose_revisions, tamper
from tests.simulation.histories.troubles import Troubles
from tests.simulation.histories.workload_rules import WorkloadRules
from tests.support.kruise import world_for
from tests.support.virtual_time import simulate
from tests.support.world import World
from uniteddeployment_api import names

LONGEST_WAIT = 90.0
SCARCE = {"nodes": 2, "cpu": "3"}
"""What a member has where room is scarce: six pods fit, of the eight that an application may have."""
CPU = "1"
READY_AFTER = 2.0
PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/web"


def play(story: Story, figures: Figures | None = None) -> Breach | None:
    """The first breach of an invariant in a story, or None. What is measured is added to ``figures``."""

    async def played() -> Breach | None:
        options: dict[str, Any] = {"ready_after": READY_AFTER if story.slow_pods else 0.0, "nodes": 1}
        if story.members:
            options |= {"members": story.members, "health": {}}
        if story.capacity:
            options |= {"capacity": True, **SCARCE}
        async with world_for(story.kind, **options) as world:
            await asyncio.sleep(0.1)  # kinds are served a moment after their definitions are created
            return await _Player(world, story, figures or Figures()).play()

    with _reproducible():
        breach: Breach | None = simulate(played)
    return breach


@contextmanager
def _reproducible() -> Iterator[None]:
    """The same random numbers each time, and no logs."""
    state, config = random.getstate(), structlog.get_config()
    random.seed(1)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        random.setstate(state)
        structlog.configure(**config)


def desired_of(story: Story) -> Desired:
    """The application that a story begins with."""
    desired = Desired(story.kind, story.ordered, story.history, adaptive=story.adaptive, disjoint=story.disjoint)
    if story.members:
        desired.spread(story.members)
    desired.cpu = CPU if story.capacity else ""
    return desired


def _moves(step: Step) -> bool:
    """Return True if a step changes whether a cluster is fit to hold replicas."""
    return isinstance(step.action, Incident | Taint | Cordon | Drain)


class _Player:
    """One story in a world."""

    def __init__(self, world: World, story: Story, figures: Figures) -> None:
        self._world = world
        self._story = story
        self._desired = desired_of(story)
        self._ledger = Ledger(world, story.kind, moves=story.adaptive or any(map(_moves, story.steps)))
        self._circumstances = Circumstances()
        self._breaches = Breaches(self._ledger)
        enforced = Enforced(self._ledger)
        shared = self._ledger, enforced, self._circumstances, self._breaches
        PodRules(*shared)
        self._status_rules = StatusRules(*shared, WorkloadRules(*shared, figures))
        FleetRules(*shared, disjoint=story.disjoint and story.kind in ORDINAL_KINDS)
        self._losses = Losses(world, self._ledger, self._circumstances, figures)
        self._troubles = Troubles(world, self._ledger, self._circumstances, self._losses)

    async def play(self) -> Breach | None:
        self._troubles.calm()
        if self._story.members:
            await self._world.until(lambda: all(map(running, self._ledger.health.values())), what="the fleet")
        self._world.apply(self._desired.document())
        await self._wait(self._story.begun)
        for step in self._story.steps:
            self._circumstances.by_user = True
            self._losses.disturbed()
            await self._act(step.action)
            self._circumstances.by_user = False
            await self._wait(step.wait)
            if self._breaches.first:
                return self._breaches.first
        self._losses.disturbed()
        ending = Ending(self._story, self._desired, self._ledger, self._breaches, self._troubles)
        await ending.play(orphan=self._story.orphan)
        return self._breaches.first

    async def _wait(self, seconds: float | None) -> None:
        """Let time pass, or wait until everything is as requested."""
        if seconds is not SETTLED:
            await asyncio.sleep(seconds)
            return
        deadline, life = self._world.loop.time() + LONGEST_WAIT, self._world.life
        while self._world.loop.time() < deadline and not self._breaches.first:
            await asyncio.sleep(0.5)
            if self._ledger.settled:
                self._circumstances.tampered.clear()
                return
        if life is not None and life is self._world.life:
            self._status_rules.check_promptness()

    async def _act(self, action: Action) -> None:
        match action:
            case Edit(changes):
                self._edit(changes)
            case Scale(replicas):
                self._scale(replicas)
            case Delete():
                self._world.delete()
            case Kill(write, reached, down):
                self._kill(write, reached=reached, down=down)
            case Restart():
                if self._world.life is not None:
                    await self._world.stop_controller()
                    self._world.start_controller()
            case Recover(member):
                self._troubles.recover(member)
            case Drain(member, on):
                self._troubles.drain(member, on=on)
            case Quota(member, pods):
                limit(self._world, self._troubles.member(member), pods)
                full = self._circumstances.full
                (full.discard if pods is None else full.add)(self._troubles.member(member))
            case Tamper(member, workload, what):
                place = tamper(self._world, self._story.kind, self._troubles.member(member), workload, what)
                if place is not None:
                    self._circumstances.tampered.add(place)
                    self._circumstances.ever_tampered.add(place)
            case Taint(member, effect):
                entries = [{"key": "maintenance", "effect": effect}] if effect else []
                change_cluster(self._world, self._troubles.member(member), taints=entries)
            case Cordon(member, on):
                change_cluster(self._world, self._troubles.member(member), unschedulable=on)
            case LosePod(member, index):
                self._lose_pod(self._troubles.member(member), index)
            case LoseRevisions(revisions_of):
                lose_revisions(self._world, None if revisions_of is None else self._troubles.member(revisions_of))
            case _:
                self._troubles.happen(action)

    def _edit(self, changes: Sequence[Change]) -> None:
        """Write an edit. What the API server refuses is not wanted any more."""
        before = copy.deepcopy(self._desired)
        for change in changes:
            self._desired.change(change)
        if self._ledger.deleting:
            return
        try:
            self._world.apply(self._desired.document())
        except AssertionError:
            self._desired = before

    def _scale(self, replicas: int) -> None:
        if self._ledger.generations and not self._ledger.deleting:
            self._desired.total = replicas
            scale = self._world.request(self._world.host, "GET", f"{PATH}/scale")
            self._world.request(self._world.host, "PUT", f"{PATH}/scale", {**scale, "spec": {"replicas": replicas}})

    def _kill(self, write: int, *, reached: bool, down: float) -> None:
        life = self._world.life
        if life is None:
            return

        def died() -> None:
            if self._world.life is life:
                self._world.life = self._world.controller = None
            self._world.loop.call_later(down, start)

        def start() -> None:
            if self._world.life is None:
                self._world.start_controller()

        life.on_death = died
        if write:
            life.kill_at(write, reached=reached)
        else:
            self._world.kill_controller()

    def _lose_pod(self, member: str, index: int) -> None:
        pods = [pod for pod in self._world.pods(member) if "deletionTimestamp" not in pod["metadata"]]
        if pods:
            name = pods[index % len(pods)]["metadata"]["name"]
            self._world.members[member].access.delete("pods", "default", name)
