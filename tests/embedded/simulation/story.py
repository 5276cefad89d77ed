"""A scenario on three clusters in virtual time: start, canary, rollout, a lost node, deletion of everything.

As a program it prints statistics and the digest of all writes, so that a test can compare processes: ``python -m
tests.embedded.simulation.story SEED``.
"""

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import looptime
import msgspec

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.kubelet.nodes import node_object, set_agent

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "shop"
REPLICAS = 6
SETS = "statefulsets.apps"

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(slots=True)
class Outcome:
    """The result of the scenario."""

    history: list[bytes] = field(default_factory=list)
    seconds: float = 0.0
    """Virtual time."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"\n".join(self.history)).hexdigest()


class Member:
    """One cluster with all of its controllers."""

    def __init__(self, name: str, seed: str, note: Callable[[str, Change], None]) -> None:
        clock = LoopClock(asyncio.get_running_loop(), EPOCH)
        random = Random(f"{seed}/{name}")
        self.cluster = Cluster(name, clock=clock, random=random, nodes=0)
        self.access = self.cluster.access
        self.access.subscribe("*", lambda change: note(name, change))
        self.access.create("namespaces", {"metadata": {"name": NAMESPACE}}, manager="story")
        for i in (1, 2, 3):
            node = node_object(f"{name}-{i}", zone=f"z{i}", ready_after=5)
            self.access.create("nodes", node, manager="story")
        self.cluster.start()

    def set(self, **spec: object) -> None:
        """Change the StatefulSet."""
        obj = self.access.get(SETS, NAMESPACE, "web")
        assert obj is not None
        self.access.update(SETS, {**obj, "spec": {**obj["spec"], **spec}}, manager="story")

    async def updated(self, count: int) -> None:
        """Wait until this many pods are updated and all are ready."""

        def there(status: Obj) -> bool:
            return bool(status.get("updatedReplicas", 0) == count and status.get("readyReplicas") == REPLICAS)

        await self.until(lambda: there((self.access.get(SETS, NAMESPACE, "web") or {}).get("status") or {}))

    async def until(self, met: Callable[[], bool]) -> None:
        """Check a condition once a second until it is true."""
        async with asyncio.timeout(3600):
            while not met():  # noqa: ASYNC110 - virtual time: looking costs nothing
                await asyncio.sleep(1)


def template(image: str) -> Obj:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def partitioned(partition: int) -> Obj:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}


async def roll_out(member: Member) -> None:
    """Six ordered pods; then a new image in steps of one minute."""
    spec = {"replicas": REPLICAS, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}}
    body = {"metadata": {"name": "web", "namespace": NAMESPACE}, "spec": {**spec, "template": template("app:1")}}
    member.access.create(SETS, body, manager="story")
    await member.updated(REPLICAS)
    for partition in (5, 3, 0):
        member.set(template=template("app:2"), updateStrategy=partitioned(partition))
        await member.updated(REPLICAS - partition)
        await asyncio.sleep(60)


async def lose_a_node(member: Member, node: str) -> None:
    """The pods of a lost node are evicted after five minutes and start elsewhere once the node releases them."""
    set_agent(member.access, node, running=False)
    await asyncio.sleep(400)
    set_agent(member.access, node, running=True)
    await member.updated(REPLICAS)


async def play(seed: str) -> Outcome:
    """Run the whole scenario."""
    outcome = Outcome()

    def note(cluster: str, change: Change) -> None:
        outcome.history.append(_encode([cluster, change.type, change.resource, change.obj]))

    members = [Member(name, seed, note) for name in ("a", "b", "c")]
    await asyncio.gather(*(roll_out(member) for member in members))
    await lose_a_node(members[0], "a-1")
    for member in members:
        member.access.delete("namespaces", "", NAMESPACE)
    for member in members:
        await member.until(lambda m=member: m.access.get("namespaces", "", NAMESPACE) is None)  # type: ignore[misc]  # a default argument binds the loop's value
        member.cluster.stop()
    outcome.seconds = asyncio.get_running_loop().time()
    return outcome


def run(seed: str) -> Outcome:
    """Run the scenario on an event loop with virtual time."""
    loop = looptime.new_event_loop()
    try:
        return loop.run_until_complete(play(seed))
    finally:
        loop.close()


if __name__ == "__main__":
    finished = run(sys.argv[1])
    summary = {"digest": finished.digest, "writes": len(finished.history), "seconds": round(finished.seconds)}
    sys.stdout.write(json.dumps(summary))
