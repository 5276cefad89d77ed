"""The fake kubelet for real control planes, on an embedded cluster whose own kubelets it replaces."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import looptime
import pytest

from tests.support.fake_kubelet import Container, Kubelets, Pod, PodSpec, behaviour, pod_status
from tests.support.inprocess import InProcessTransport
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import ObjectMeta, PartialObject
from uniteddeployment.kube.resource import DEPLOYMENTS, PODS

TOKEN = "T"
ZONES = {"node-1": "z1", "node-2": "z2"}


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[Cluster, Client]]:
    """A cluster without nodes of its own, and a fake kubelet with two."""
    clock = LoopClock(asyncio.get_running_loop())
    made = Cluster("c", clock=clock, random=Random(1), nodes=0, tokens={TOKEN: Identity("admin", ("system:masters",))})
    made.start()
    client = Client(InProcessTransport(made, TOKEN, "c"), "c", field_manager="test")
    running = asyncio.create_task(Kubelets(client, ZONES, ready_after=2.0).run())
    try:
        yield made, client
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        made.stop()


def deployment(image: str, replicas: int = 2) -> dict[str, Any]:
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": image}]},
            },
        },
    }


async def until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        assert loop.time() < deadline, "not in time"
        await asyncio.sleep(0.1)


def simulate(story: Callable[[], Any]) -> None:
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.run(story())


def pods(made: Cluster) -> list[Any]:
    return list(made.access.list("pods", "default"))


def test_bound_pods_get_ready_and_deleted_pods_go_away() -> None:
    async def story() -> None:
        async with cluster() as (made, client):
            await client.create(DEPLOYMENTS, deployment("app:1"), PartialObject, namespace="default")

            def available() -> int:
                found = made.access.get("deployments.apps", "default", "web")
                return int(((found or {}).get("status") or {}).get("availableReplicas", 0))

            began = asyncio.get_running_loop().time()
            await until(lambda: available() == 2)
            assert asyncio.get_running_loop().time() - began >= 2.0, "readiness takes its time"
            names = {pod["metadata"]["name"] for pod in pods(made)}
            gone = names.pop()
            await client.delete(PODS, gone, namespace="default")
            await until(lambda: gone not in {pod["metadata"]["name"] for pod in pods(made)} and available() == 2)
            assert {node["metadata"]["name"] for node in made.access.list("nodes")} == set(ZONES)
            transport = client.transport
            assert isinstance(transport, InProcessTransport)
            transport.sent.clear()
            # A quarter of an hour later its nodes still live, and that is all that was written.
            await asyncio.sleep(900)
            assert available() == 2
            assert {sent.resource for sent in transport.sent if sent.verb != "watch"} == {"leases"}

    simulate(story)


def test_images_steer_what_becomes_of_a_pod() -> None:
    async def story() -> None:
        async with cluster() as (made, client):
            await client.create(DEPLOYMENTS, deployment("fail:1", replicas=1), PartialObject, namespace="default")
            await until(lambda: pods(made) and pods(made)[0]["status"].get("containerStatuses"))
            await asyncio.sleep(5)
            (pod,) = pods(made)
            assert pod["status"]["phase"] == "Running"
            (status,) = pod["status"]["containerStatuses"]
            assert not status["ready"]
            assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            conditions = {one["type"]: one["status"] for one in pod["status"]["conditions"]}
            assert (conditions["PodScheduled"], conditions["Ready"]) == ("True", "False")

    simulate(story)


@pytest.mark.parametrize(
    ("image", "policy", "phase"),
    [
        ("app:1", "Always", "Running"),
        ("registry.example/pullfail:2", "Always", "Pending"),
        ("complete:1", "Never", "Succeeded"),
        ("complete:1", "Always", "Running"),
        ("exit1:1", "OnFailure", "Failed"),
    ],
)
def test_the_phase_follows_from_image_and_restart_policy(image: str, policy: str, phase: str) -> None:
    spec = PodSpec(node_name="n", restart_policy=policy, containers=(Container("app", image),))
    status = pod_status(Pod(ObjectMeta(name="p"), spec), "10.0.0.1", settled=True)
    assert status["phase"] == phase
    ready = status["conditions"][-1]
    assert (ready["type"], ready["status"]) == ("Ready", str(behaviour(image, policy) == "runs"))
