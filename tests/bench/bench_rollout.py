"""The rollout controller with 100 rollouts over 50 clusters and 2000 pods each: latency, requests, CPU, sizes.

The benchmark plays the controller of UnitedDeployments: it reports pods as updated and ready as soon as partitions
allow it. So the figures are those of the rollout controller and of the API server, which is embedded or, when
KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver, a real one.
"""

import asyncio
import os
import statistics
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.bench_host import server
from tests.bench.definitions import define
from tests.bench.idle import idle
from tests.support.planning import manifest
from tests.support.processes import Process, ud
from uniteddeployment.kube import kubeconfig
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions
from uniteddeployment_rollout.loop.objects import (
    UNITED_DEPLOYMENTS,
    UNITED_ROLLOUTS,
    StoredRollout,
    StoredTarget,
    target_of,
)

ROLLOUTS = int(os.environ.get("UD_BENCH_ROLLOUTS", "100"))
CLUSTERS, PODS = 50, 40
STEPS = [{"replicas": f"{percent}%"} for percent in range(10, 101, 10)]
MEASURED = 10
"""Rollouts that are brought through all of their steps."""
IDLE_SECONDS = 10
"""How long the CPU of an idle controller is measured."""
WRITES_SECONDS = 0.02
"""How long the writes that follow a step are counted."""
LIMIT = 100_000
"""Bytes that a status may have."""


def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory(prefix="ud-bench-") as folder, server(Path(folder)) as (_, config):
        return asyncio.run(_measure(Path(folder), config))


class Fleet:
    """The UnitedDeployments as their watch shows them, and their status as the benchmark reports it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._changed = asyncio.Event()
        self.targets: Cache[StoredTarget] = Cache(lambda _old, _new: self._changed.set())
        self.rollouts: Cache[StoredRollout] = Cache(lambda _old, _new: self._changed.set())
        self.reflectors: list[Reflector[StoredTarget] | Reflector[StoredRollout]] = [
            Reflector(client, UNITED_DEPLOYMENTS, StoredTarget, self.targets),
            Reflector(client, UNITED_ROLLOUTS, StoredRollout, self.rollouts),
        ]

    def target(self, name: str) -> Any:
        found = self.targets.get(("default", name))
        return target_of(found) if found is not None else None

    async def until(self, reached: Any) -> None:
        async with asyncio.timeout(120):
            while not reached():
                self._changed.clear()
                await self._changed.wait()

    async def report(self, name: str, current: str, updated: str) -> None:
        """Report all pods as ready, and as updated as far as the partitions allow."""
        found = self.target(name)
        rows = []
        for index in range(CLUSTERS):
            old = found.subsets[index] if found.subsets else None
            done = PODS if current == updated else old.allowed if old is not None else 0
            rows.append(
                {
                    "name": f"member-{index}",
                    "cluster": f"default/member-{index}",
                    "state": "Ready",
                    "replicas": PODS,
                    "observedReplicas": PODS,
                    "readyReplicas": PODS,
                    "updatedReplicas": done,
                    "updatedReadyReplicas": done,
                }
            )
        status = {
            "observedGeneration": found.generation,
            "currentRevision": current,
            "updatedRevision": updated,
            "subsetStatuses": rows,
        }
        await self.client.merge_patch(
            UNITED_DEPLOYMENTS, name, {"status": status}, PartialObject, namespace="default", subresource="status"
        )


async def _measure(folder: Path, config: Path) -> list[tuple[str, str]]:
    client = Client(AiohttpTransport(kubeconfig.load(config)), "host", field_manager="bench")
    fleet = Fleet(client)
    applications = [f"app-{number}" for number in range(ROLLOUTS)]
    watches: list[asyncio.Task[None]] = []
    try:
        await define(client, custom_resource_definitions(), UNITED_DEPLOYMENTS, UNITED_ROLLOUTS)
        watches += [asyncio.create_task(reflector.run()) for reflector in fleet.reflectors]
        for name in applications:
            await _create(client, name)
        await fleet.until(lambda: len(fleet.targets.objects) == ROLLOUTS)
        for name in applications:
            await fleet.report(name, "v1", "v1")
        arguments = ["rollout", "controller", "run", "--kubeconfig", str(config), "--no-leader-elect"]
        with ud(*arguments, "--metrics-port", "0", log=folder / "rollout.log") as process:
            port = _port(process, folder / "rollout.log")
            await fleet.until(lambda: all(fleet.target(name).default_partition == "100%" for name in applications))
            for name in applications:
                await fleet.report(name, "v1", "v1")
            await fleet.until(
                lambda: all(found.status.get("phase") == "Healthy" for found in fleet.rollouts.objects.values())
            )
            rows = [("idle CPU with all rollouts healthy", await _idle(process))]
            rows += await _steps(fleet, process, port, applications[:MEASURED])
            process.stop()
        return rows
    finally:
        for watch in watches:
            watch.cancel()
        for watch in watches:
            with suppress(asyncio.CancelledError):
                await watch
        await client.close()


async def _create(client: Client, name: str) -> None:
    document = manifest(replicas=None, shares={f"member-{index}": PODS for index in range(CLUSTERS)})
    document["metadata"]["name"] = name
    await client.create(UNITED_DEPLOYMENTS, document, PartialObject, namespace="default")
    rollout = {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_ROLLOUT_KIND,
        "metadata": {"name": name},
        "spec": {"targetRef": {"name": name}, "maxUnavailable": "100%", "steps": STEPS},
    }
    await client.create(UNITED_ROLLOUTS, rollout, PartialObject, namespace="default")


def _port(process: Process, log: Path) -> int:
    process.wait_for("what=metrics")
    line = next(line for line in log.read_text().splitlines() if "what=metrics" in line)
    return int(line.split("port=")[1].split()[0])


async def _idle(process: Process) -> str:
    await idle(process)
    before = process.cpu_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    return f"{(process.cpu_seconds() - before) / IDLE_SECONDS:.2%}"


async def _requests(port: int) -> float:
    """Requests of the controller so far, without watches."""

    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    text = await asyncio.to_thread(read)
    lines = [line for line in text.splitlines() if line.startswith("rest_client_requests_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'verb="watch"' not in line)


async def _steps(fleet: Fleet, process: Process, port: int, applications: list[str]) -> list[tuple[str, str]]:
    """Bring some rollouts through all steps, one after the other."""
    waits, writes, sizes = [], [], []
    requests, cpu = await _requests(port), process.cpu_seconds()
    for name in applications:
        await fleet.report(name, "v1", "v2")
        await fleet.until(lambda name=name: fleet.target(name).partitions_revision == "v2")
        for step in range(len(STEPS)):
            before = fleet.target(name)
            last = step + 1 == len(STEPS)
            await fleet.report(name, "v2" if last else "v1", "v2")
            ready = time.perf_counter()
            await fleet.until(lambda name=name, before=before: fleet.target(name).generation > before.generation)
            waits.append(time.perf_counter() - ready)
            await asyncio.sleep(WRITES_SECONDS)
            writes.append(fleet.target(name).generation - before.generation)
            found = fleet.rollouts.get(("default", name))
            sizes.append(len(msgspec.json.encode(found.status)) if found is not None else 0)
    steps = len(applications) * len(STEPS)
    spent = await _requests(port) - requests
    quantiles = statistics.quantiles(waits, n=100)
    return [
        (f"last pod ready until the next partitions are visible, {steps} steps", ""),
        ("  p50", f"{statistics.median(waits) * 1000:.1f} ms"),
        ("  p99", f"{quantiles[98] * 1000:.1f} ms"),
        ("requests of the controller for a step", f"{spent / steps:.2f}"),
        ("CPU of the controller for a step", f"{(process.cpu_seconds() - cpu) / steps * 1000:.1f} ms"),
        ("most writes of a target for a step", str(max(writes))),
        (f"largest status, of {LIMIT} bytes", str(max(sizes))),
    ]
