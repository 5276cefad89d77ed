"""Plays a story in a fleet of its own and returns the first invariant that it breaks."""

import asyncio
import copy
import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import structlog

from tests.simulation.histories.breach import Breach, Breaches, Circumstances
from tests.simulation.histories.desired import Desired
from tests.simulation.histories.ending import Ending
from tests.simulation.histories.enforced import Enforced
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.pod_rules import PodRules
from tests.simulation.histories.status_rules import StatusRules
from tests.simulation.histories.story import (
    SETTLED,
    Action,
    Change,
    Cordon,
    Delete,
    Edit,
    Fault,
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
from tests.simulation.histories.workload_rules import WorkloadRules
from tests.support.kruise import world_for
from tests.support.virtual_time import simulate
from tests.support.world import World
from uniteddeployment_api import names

LONGEST_WAIT = 90.0
NETWORK = {"latency": 0.003, "jitter": 0.02, "slow_watch": 0.005}
"""Time passes between any two events, as on any network."""
FAULTS = {
    "cut off": {"cut_off": True},
    "black hole": {"black_hole": True},
    "slow": {"latency": 2.0, "slow_watch": 1.0},
    "errors": {"error_rate": 0.4},
}
READY_AFTER = 2.0
PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/web"


def play(story: Story) -> Breach | None:
    """The first breach of an invariant in a story, or None."""

    async def played() -> Breach | None:
        ready_after = READY_AFTER if story.slow_pods else 0.0
        async with world_for(story.kind, nodes=1, ready_after=ready_after) as world:
            await asyncio.sleep(0.1)  # kinds are served a moment after their definitions are created
            return await _Player(world, story).play()

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


def _moves(step: Step) -> bool:
    """Return True if a step changes whether a cluster is fit to hold replicas."""
    return isinstance(step.action, Fault | Taint | Cordon)


class _Player:
    """One story in a world."""

    def __init__(self, world: World, story: Story) -> None:
        self._world = world
        self._story = story
        self._desired = Desired(story.kind, story.ordered, story.history, adaptive=story.adaptive)
        self._ledger = Ledger(world, story.kind, moves=story.adaptive or any(map(_moves, story.steps)))
        self._circumstances = Circumstances()
        self._breaches = Breaches(self._ledger)
        enforced = Enforced(self._ledger)
        shared = self._ledger, enforced, self._circumstances, self._breaches
        PodRules(*shared)
        self._status_rules = StatusRules(*shared, WorkloadRules(*shared))
        self._members = list(world.members)

    async def play(self) -> Breach | None:
        for cluster in self._world.clusters.values():
            cluster.faults.set(**NETWORK)
        self._world.apply(self._desired.document())
        await self._wait(self._story.begun)
        for step in self._story.steps:
            self._circumstances.by_user = True
            await self._act(step.action)
            self._circumstances.by_user = False
            await self._wait(step.wait)
            if self._breaches.first:
                return self._breaches.first
        ending = Ending(self._world, self._desired, self._ledger, self._circumstances, self._breaches)
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
            if self._world.settled():
                self._circumstances.tampered.clear()
                return
        if life is not None and life is self._world.life:
            self._status_rules.check_promptness()

    def _member(self, index: int) -> str:
        return self._members[index % len(self._members)]

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
            case Fault() | Recover():
                self._set_faults(self._member(action.member), action.what if isinstance(action, Fault) else "")
            case Quota(member, pods):
                limit(self._world, self._member(member), pods)
                full = self._circumstances.full
                (full.discard if pods is None else full.add)(self._member(member))
            case Tamper(member, workload, what):
                place = tamper(self._world, self._story.kind, self._member(member), workload, what)
                if place is not None:
                    self._circumstances.tampered.add(place)
                    self._circumstances.ever_tampered.add(place)
            case Taint(member, effect):
                entries = [{"key": "maintenance", "effect": effect}] if effect else []
                change_cluster(self._world, self._member(member), taints=entries)
            case Cordon(member, on):
                change_cluster(self._world, self._member(member), unschedulable=on)
            case LosePod(member, index):
                self._lose_pod(self._member(member), index)
            case LoseRevisions(member):
                lose_revisions(self._world, None if member is None else self._member(member))

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

    def _set_faults(self, member: str, what: str) -> None:
        """Give a member one kind of fault, or none."""
        circumstances = self._circumstances
        faults = self._world.members[member].faults
        faults.clear()
        faults.set(**NETWORK)
        faults.set(**FAULTS.get(what, {}))
        (circumstances.slow.add if what else circumstances.slow.discard)(member)
        if what in ("cut off", "black hole"):
            circumstances.dark.setdefault(member, self._world.loop.time())
        else:
            circumstances.dark.pop(member, None)

    def _lose_pod(self, member: str, index: int) -> None:
        pods = [pod for pod in self._world.pods(member) if "deletionTimestamp" not in pod["metadata"]]
        if pods:
            name = pods[index % len(pods)]["metadata"]["name"]
            self._world.members[member].access.delete("pods", "default", name)
