"""Two controllers and one Lease: a leader is frozen in the middle of its work, and resumes when another one leads."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.support.cluster_images import TOKEN
from tests.support.freezing import Frozen, outside
from tests.support.inprocess import InProcessTransport
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.world import World
from uniteddeployment.controller.controller import Controller
from uniteddeployment.embedded import http
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.election import Elector, LostLeadership
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment_api import names

APPLICATIONS = [f"web-{number}" for number in range(4)]


class Wire(InProcessTransport):
    """The server goes on when the process that asked is frozen; what it was sent before that counts."""

    async def _ask(self, request: Any, seconds: float) -> http.Response:
        return await outside(super()._ask(request, seconds))


class Candidate:
    """A controller process, wired as ``run.serve`` does it."""

    def __init__(self, world: World, identity: str) -> None:
        self.process = Frozen()
        self.transports: list[InProcessTransport] = []
        self._world = world
        self.elector = Elector(self._client(world.host, None), "default", "lead", identity)
        client = self._client(world.host, self.elector.check)
        recorder = Recorder(client, names.MANAGER, identity, wall=world.clock.now)
        self.controller = Controller(client, self._connect, workers=16, recorder=recorder, now=world.clock.now)
        self.task = self.process.start(self.elector.run(self.controller.run))

    def _client(self, cluster: Cluster, guard: Callable[[], None] | None) -> Client:
        transport = Wire(cluster, TOKEN, cluster.name)
        self.transports.append(transport)
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER, guard=guard)

    def _connect(self, connection: Connection) -> Client:
        name = connection.server.removeprefix("https://").partition(".")[0]
        return self._client(self._world.members[name], self.elector.check)

    def writes(self) -> int:
        """Everything that it sent and that is no question, to any cluster; the Lease included."""
        return sum(not request.reads for transport in self.transports for request in transport.sent)


def applications(image: str) -> list[dict[str, Any]]:
    documents = [manifest(image=image) for _ in APPLICATIONS]
    for document, name in zip(documents, APPLICATIONS, strict=True):
        document["metadata"]["name"] = name
    return documents


@pytest.mark.freezable
@pytest.mark.fleet(controller=False)
@pytest.mark.parametrize("moment", some([0.02, 0.1], [0.1]))
async def test_a_leader_that_was_frozen_past_its_lease_writes_nothing_when_it_resumes(
    world: World, moment: float
) -> None:
    """A frozen leader whose Lease has expired sends no write to any cluster, whatever it was in the middle of (I1)."""
    for cluster in world.clusters.values():
        cluster.faults.set(latency=0.02, jitter=0.02)
    first = Candidate(world, "first")
    await world.until(lambda: first.elector.is_leader, what="the first one leads")
    second = Candidate(world, "second")
    for document in applications("app:1"):
        world.apply(document)
    await world.until(lambda: all(map(world.settled, APPLICATIONS)), what="creation", every=0.5)

    for document in applications("app:2"):
        world.apply(document)
    await asyncio.sleep(moment)
    first.process.freeze()
    before = first.writes()
    await world.until(lambda: second.elector.is_leader, what="the second one leads", every=0.5)
    for document in applications("app:3"):
        world.apply(document)
    await world.until(lambda: all(map(world.settled, APPLICATIONS)), what="the next version", every=0.5)
    assert first.writes() == before, "it is frozen"
    assert not first.task.done()

    first.process.resume()
    with pytest.raises(LostLeadership):
        await first.task
    assert first.writes() == before
    assert all(set(world.images(member)) == {"app:3"} for member in world.members)
    second.task.cancel()
    with suppress(asyncio.CancelledError):
        await second.task
