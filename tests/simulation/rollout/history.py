"""Random histories of one rollout over real controllers, and what must hold at each write of anybody."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from tests.simulation.rollout.kit import Rollouts, rollouts
from uniteddeployment_api import names
from uniteddeployment_api.int_or_percent import held_back

UDS = f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}"
SIZES = {"a": 3, "b": 2, "c": 1}
STEPS = [
    {"replicas": 1, "pause": {}},
    {"replicas": "50%", "bake": "20s"},
    {"replicas": "80%", "pause": {"duration": "30s"}},
]
MOST_DOWN = 1


class Rules:
    """Watches the host and the members, and notes what must not happen."""

    def __init__(self, kit: Rollouts) -> None:
        self.kit = kit
        self.broken: list[str] = []
        self.disturbed = False
        """Whether something else than the rollout takes pods down, so that the budget is not the rollout's alone."""
        self._rolling_back = False
        self._most: dict[str, int] = {}
        self._spec: dict[str, Any] = {}
        self._status: dict[str, Any] = {}
        kit.world.host.access.subscribe(UDS, self._target_changed)
        for member in kit.world.members.values():
            member.access.subscribe("pods", lambda _: self._pods_changed())

    def _target_changed(self, change: Any) -> None:
        document = change.obj
        old, new = self._spec, document["spec"].get("updateStrategy", {}).get("manualUpdate", {})
        status, self._spec, self._status = self._status, new, document.get("status", {})
        writer: dict[str, Any] = max(
            document["metadata"].get("managedFields", ()), key=lambda entry: entry.get("time", ""), default={}
        )
        if new == old or writer.get("manager") == "test":
            return
        if new.get("partition") != "100%":
            self.broken.append(f"I7: the default partition is {new.get('partition')}")
        if "partitions" not in new:
            return
        rollout = self.kit.status
        subsets = {subset["name"]: subset for subset in status.get("subsetStatuses", ())}
        if set(new["partitions"]) != set(SIZES):
            self.broken.append(f"I7: partitions of {sorted(new['partitions'])} only")
        if rollout.get("rollback"):
            return
        lowered = [
            name
            for name, subset in subsets.items()
            if subset["replicas"] - held_back(new["partitions"].get(name, "100%"), subset["replicas"])
            > max(subset.get("updatedReplicas", 0), self._allowed(old, name, subset["replicas"]))
        ]
        unknown = [name for name, subset in subsets.items() if subset.get("lastObservedTime")]
        if lowered and (unknown or rollout.get("pausedBy") or rollout.get("failure")):
            self.broken.append(f"I4: {lowered} are lowered, unknown are {unknown}: {rollout.get('message')}")

    def _allowed(self, manual: dict[str, Any], name: str, size: int) -> int:
        return size - held_back(manual.get("partitions", {}).get(name, "100%"), size)

    def _pods_changed(self) -> None:
        kit, status = self.kit, self.kit.status
        run, image = status.get("runID", ""), kit.scene.image
        self._most[run] = max(self._most.get(run, 0), status.get("targetReplicas", 0))
        updated = sum(kit.running(image))
        present = status.get("updateRevision") == self._status.get("updatedRevision")
        if run and present and not status.get("rollback") and updated > self._most[run]:
            self.broken.append(f"I1: {updated} pods are updated, step {status['step']} asks for {self._most[run]}")
        down = sum(SIZES.values()) - kit.scene.ready()
        # A rollback does not wait for the budget.
        self._rolling_back = bool(status.get("rollback")) or (self._rolling_back and down > 0)
        if not self.disturbed and not self._rolling_back and down > MOST_DOWN:
            self.broken.append(f"I3: {down} pods are down")


class Story:
    """The actions of one history."""

    def __init__(self, kit: Rollouts, random: Random) -> None:
        self.kit, self.random, self.rules = kit, random, Rules(kit)
        self.told: list[str] = []
        self._version = 1
        self._disturbs = random.random() < 0.5

    async def play(self, actions: int) -> None:
        """Do some actions, then put all right, and wait for the end."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self._release,
            self._command,
            self._command,
            self._restart,
            self._pause,
        ]
        if self._disturbs:
            kinds += [self._lose, self._delete_pod]
        await self._release()
        for _ in range(actions):
            await asyncio.sleep(self.random.choice([0.1, 1, 5, 30]))
            await self.random.choice(kinds)()
        await self._end()

    async def _release(self) -> None:
        self._version += 1
        self.told.append(f"release {self._version}")
        self.kit.release(f"app:{self._version}")

    async def _command(self) -> None:
        verb = self.random.choice(["approve", "approve", "promote", "abort", "retry", "skip"])
        self.told.append(verb)
        self.kit.give(verb)

    async def _pause(self) -> None:
        self.told.append("pause")
        self.kit.give("pause")
        await asyncio.sleep(40)
        self.kit.give("resume")

    async def _restart(self) -> None:
        write, reached = self.random.randint(1, 3), self.random.random() < 0.5
        self.told.append(f"kill at write {write}, {'before the answer' if reached else 'before the server has it'}")
        assert self.kit.life is not None
        self.kit.life.kill_at(write, reached=reached)
        self.kit.give("approve")
        await asyncio.sleep(20)
        self.kit.kill()
        self.kit.start()

    async def _lose(self) -> None:
        name = self.random.choice(list(self.kit.world.members))
        self.told.append(f"lose {name}")
        self.rules.disturbed = True
        self.kit.world.members[name].faults.set(black_hole=True)
        await asyncio.sleep(90)
        self.kit.world.members[name].faults.clear()

    async def _delete_pod(self) -> None:
        subset = self.random.choice(list(SIZES))
        pods = self.kit.scene.pods(subset)
        if pods:
            name = self.random.choice(pods)["metadata"]["name"]
            self.told.append(f"delete {name}")
            self.rules.disturbed = True
            member = self.kit.world.members[self.kit.scene.home(subset)]
            self.kit.world.request(member, "DELETE", f"/api/v1/namespaces/default/pods/{name}")

    async def _end(self) -> None:
        self._version += 1
        self.kit.release(f"app:{self._version}")
        await asyncio.sleep(5)
        for _ in range(4):
            self.kit.give("promote")
            await asyncio.sleep(60)
            if self.kit.status.get("phase") == "Healthy":
                break
        final = self.kit.running(f"app:{self._version}")
        if self.kit.status.get("phase") != "Healthy" or final != list(SIZES.values()):
            self.rules.broken.append(f"the end: {final} {self.kit.status.get('message')}")
        runs = [run["runID"] for run in self.kit.status.get("history", ())]
        if len(runs) != len(set(runs)):
            self.rules.broken.append(f"a run ends twice: {runs}")


async def play(seed: int, actions: int = 5) -> tuple[list[str], list[str]]:
    """Play one history; return what must not happen and did, and the story."""
    async with rollouts(subsets=SIZES, steps=STEPS, maxUnavailable=MOST_DOWN) as kit:
        story = Story(kit, Random(seed))
        await story.play(actions)
        return story.rules.broken, story.told
