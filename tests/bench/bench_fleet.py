"""P0, P1, P2 and P4: the controller on one host and three members without workload controllers, each a process.

Embedded clusters, or real control planes when KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver.

A bare client first makes the same objects on the same servers; the controller's rate is given as a share of its.
"""

import asyncio
import base64
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.bench.definitions import define
from tests.bench.idle import idle
from tests.support import envtest
from tests.support.planning import application, manifest
from tests.support.processes import Process, ud
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube import kubeconfig
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import CONTROLLERREVISIONS, SECRETS, STATEFULSETS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.planning.kinds import workload
from uniteddeployment.planning.observed import Workload
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions

APPLICATIONS = int(os.environ.get("UD_BENCH_APPLICATIONS", "300"))
MEMBERS = ("member-1", "member-2", "member-3")
SINGLE_CHANGES = 40
PAUSE_SECONDS = 0.02
"""Between single changes, so that the status of one is written before the next is measured."""
CONCURRENT = 32
QUIET_SECONDS = 15.0
"""How long a restarted controller is watched for requests that write: the measured period, with one round of probes."""
IDLE_SECONDS = 3.0
"""How long the CPU of a settled controller is measured."""


@dataclass
class Servers:
    host: Client
    members: dict[str, Client]
    folder: Path

    async def close(self) -> None:
        for client in (self.host, *self.members.values()):
            await client.close()


def run() -> list[tuple[str, str]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ud-bench-")))
        start = _control_planes if os.environ.get(envtest.ASSETS) else _embedded
        what, host = start(stack, folder)
        return [("servers", what), *asyncio.run(_measure(folder, stack, host))]


def _embedded(stack: ExitStack, folder: Path) -> tuple[str, Process]:
    """What they are, and the process of the host."""
    processes = []
    for name in ("host", *MEMBERS):
        arguments = ["embedded", "--no-controllers", "--nodes", "1", "--kubeconfig", str(config_of(folder, name))]
        processes.append(stack.enter_context(ud(*arguments, log=folder / f"{name}.log")))
    for process in processes:
        process.wait_for("export KUBECONFIG")
    return "embedded clusters, a process each", processes[0]


def _control_planes(stack: ExitStack, folder: Path) -> tuple[str, Process]:
    """Real ones, without controller managers: objects are only stored."""
    binaries = replace(envtest.find(), controller_manager=None, scheduler=None)
    host, *_ = stack.enter_context(envtest.control_planes(["host", *MEMBERS], folder, binaries))
    assert host.process is not None
    return "real control planes", host.process


def config_of(folder: Path, name: str) -> Path:
    """The kubeconfig of a server."""
    (folder / name).mkdir(exist_ok=True)
    return folder / name / "kubeconfig"


def controller_arguments(folder: Path) -> list[str]:
    """How to run a controller whose metrics can be read."""
    options = ["--no-leader-elect", "--metrics-port", "0", "--metrics-host", "127.0.0.1"]
    return ["controller", "run", "--kubeconfig", str(config_of(folder, "host")), *options]


async def _measure(folder: Path, stack: ExitStack, host: Process) -> list[tuple[str, str]]:
    def client(name: str) -> Client:
        return Client(AiohttpTransport(kubeconfig.load(config_of(folder, name))), name, field_manager="bench")

    servers = Servers(client("host"), {name: client(name) for name in MEMBERS}, folder)
    try:
        await prepare(servers)
        bare = await _bare(servers)
        rows = [(f"bare client: the same objects of {APPLICATIONS} applications", f"{bare:.2f} s")]
        arguments = controller_arguments(folder)
        process = stack.enter_context(ud(*arguments, log=folder / "controller.log"))
        process.wait_for("listening")
        rows += await _controller(servers, process, bare, host)
        process.stop()
        restarted = stack.enter_context(ud(*arguments, log=folder / "restarted.log"))
        return [*rows, ("restart: requests that write, Events among them", await _writes_at_rest(restarted))]
    finally:
        await servers.close()


async def writes_of(process: Process) -> Counter[str]:
    """The requests that write which a controller has sent so far, Events among them."""
    port = process.wait_for(r"listening.*port=(\d+).*what=metrics")[1]
    async with aiohttp.ClientSession() as session:
        text = await (await session.get(f"http://127.0.0.1:{port}/metrics")).text()
    counted = re.findall(r"^rest_client_requests_total\{(.*)\} (\S+)$", text, re.MULTILINE)
    writes: Counter[str] = Counter()
    for labels, count in counted:
        known = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if known["verb"] not in ("get", "list", "watch", "probe"):
            writes[f"{known['verb']} {known['resource']}"] += int(float(count))
    return writes


async def _writes_at_rest(process: Process) -> str:
    """Those of a controller that was restarted, after a while."""
    port = process.wait_for(r"listening.*port=(\d+).*what=metrics")[1]
    await asyncio.sleep(QUIET_SECONDS)
    async with aiohttp.ClientSession() as session:
        assert (await session.get(f"http://127.0.0.1:{port}/readyz")).status == 200
    writes = await writes_of(process)
    return ", ".join(f"{count} {what}" for what, count in sorted(writes.items())) or "none"


async def prepare(servers: Servers) -> None:
    await define(servers.host, custom_resource_definitions(), CLUSTERS, UNITED_DEPLOYMENTS)
    for name in MEMBERS:
        user = yaml.safe_load(config_of(servers.folder, name).read_text())
        secret = {
            "metadata": {"name": name},
            "data": {"kubeconfig": base64.b64encode(yaml.safe_dump(user).encode()).decode()},
        }
        await servers.host.create(
            SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret}, PartialObject, namespace="default"
        )
        spec = {"credentials": {"secretRef": {"name": name}}}
        cluster = {"apiVersion": names.API_VERSION, "kind": "Cluster", "metadata": {"name": name}, "spec": spec}
        await servers.host.create(CLUSTERS, cluster, PartialObject, namespace="default")


def named(number: int, prefix: str = "app", **changes: Any) -> dict[str, Any]:
    document = manifest(**changes)
    document["metadata"]["name"] = f"{prefix}-{number}"
    return document


async def in_turn(calls: list[Any]) -> None:
    limit = asyncio.Semaphore(CONCURRENT)

    async def one(call: Any) -> None:
        async with limit:
            await call

    await asyncio.gather(*(one(call) for call in calls))


async def _bare(servers: Servers) -> float:
    """The same objects by a client that does nothing else; taken away again afterwards."""
    calls, removals = [], []
    for number in range(APPLICATIONS):
        document = named(number, "bare", paused=True)
        app = application(document)
        name = document["metadata"]["name"]
        calls.append(servers.host.create(UNITED_DEPLOYMENTS, document, PartialObject, namespace="default"))
        removals.append(servers.host.delete(UNITED_DEPLOYMENTS, name, namespace="default"))
        revision = {"metadata": {"name": app.revision_name}, "data": {"template": app.pod_template}, "revision": 1}
        calls.append(servers.host.create(CONTROLLERREVISIONS, revision, PartialObject, namespace="default"))
        removals.append(servers.host.delete(CONTROLLERREVISIONS, app.revision_name, namespace="default"))
        for name, subset in app.subsets.items():
            rendered = workload.render(app, subset, app.revision_data, app.revision_of(name))
            body = workload.with_numbers(rendered, replicas=2, partition=0)
            client = servers.members[name]
            calls.append(
                client.apply(
                    STATEFULSETS, rendered.name, body, PartialObject, namespace="default", field_manager="bench"
                )
            )
            removals.append(client.delete(STATEFULSETS, rendered.name, namespace="default"))
    started = time.perf_counter()
    await in_turn(calls)
    took = time.perf_counter() - started
    await in_turn(removals)
    return took


class Watcher:
    """Follows the StatefulSets of all members."""

    def __init__(self, servers: Servers) -> None:
        self.seen: dict[tuple[str, str], Workload] = {}
        self.updated: set[tuple[str, str]] = set()
        self.changed = asyncio.Event()
        self.tasks = []
        for name, client in servers.members.items():

            def note(old: Workload | None, new: Workload | None, name: str = name) -> None:
                one = new or old
                assert one is not None
                if new is None:
                    self.seen.pop((name, one.metadata.name), None)
                else:
                    self.seen[name, one.metadata.name] = new
                    if new.metadata.generation > 1:
                        self.updated.add((name, one.metadata.name))
                self.changed.set()

            self.tasks.append(
                asyncio.create_task(Reflector(client, STATEFULSETS, Workload, Cache[Workload](note)).run())
            )

    async def until(self, condition: Any, seconds: float = 120.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


async def _controller(servers: Servers, process: Process, bare: float, host: Process) -> list[tuple[str, str]]:
    watcher = Watcher(servers)
    total = APPLICATIONS * len(MEMBERS)
    empty = process.memory_mib("VmRSS")
    cpu, host_cpu = process.cpu_seconds(), host.cpu_seconds()
    started = time.perf_counter()
    creations = [
        servers.host.create(UNITED_DEPLOYMENTS, named(number), PartialObject, namespace="default")
        for number in range(APPLICATIONS)
    ]
    await asyncio.gather(in_turn(creations), watcher.until(lambda: len(watcher.seen) >= total))
    created = time.perf_counter() - started
    rows = [
        ("P4 controller, empty", f"{empty:.0f} MiB"),
        (
            f"P1 controller: {APPLICATIONS} applications complete",
            f"{created:.2f} s, {bare / created:.0%} of the bare rate",
        ),
    ]
    await idle(process, host)
    before = process.cpu_seconds()
    spent = (host.cpu_seconds() - host_cpu) * 1000 / APPLICATIONS
    rows.append(("P0 CPU of the host's API server per application", f"{spent:.1f} ms"))
    rows.append(("P1 CPU of the controller for it", f"{before - cpu:.2f} s"))
    await asyncio.sleep(IDLE_SECONDS)
    rows.append(("P4 CPU when settled", f"{(process.cpu_seconds() - before) / IDLE_SECONDS:.1%}"))
    started = time.perf_counter()
    updates = [
        servers.host.merge_patch(
            UNITED_DEPLOYMENTS, f"app-{number}", _image("app:2"), PartialObject, namespace="default"
        )
        for number in range(APPLICATIONS)
    ]

    def updated() -> bool:
        return len(watcher.updated) >= total

    await asyncio.gather(in_turn(updates), watcher.until(updated))
    rows.append(("P1 a new image for all, complete", f"{time.perf_counter() - started:.2f} s"))
    await idle(process, host)
    rows += await _latency(servers, watcher)
    rows.append(("P4 peak memory of the controller", f"{process.memory_mib():.0f} MiB"))
    for task in watcher.tasks:
        task.cancel()
    return rows


def _image(image: str) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}}
    return {"spec": {"template": {"statefulSetTemplate": {"spec": {"template": pod}}}}}


async def _latency(servers: Servers, watcher: Watcher) -> list[tuple[str, str]]:
    """One change at a time on an idle fleet: from the write on the host until the last member has it."""
    times = []
    for number in range(SINGLE_CHANGES):
        name = f"app-{number % APPLICATIONS}"
        before = {member: watcher.seen[member, f"{name}-{member}"].metadata.generation for member in MEMBERS}
        started = time.perf_counter()
        await servers.host.merge_patch(
            UNITED_DEPLOYMENTS, name, _image(f"app:{number + 10}"), PartialObject, namespace="default"
        )

        def there(name: str = name, before: dict[str, int] = before) -> bool:
            return all(
                watcher.seen[member, f"{name}-{member}"].metadata.generation > before[member] for member in MEMBERS
            )

        await watcher.until(there)
        times.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(PAUSE_SECONDS)
    times.sort()
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    return [
        ("P2 a single change until the last member has it", f"p50 {statistics.median(times):.1f} ms, p99 {p99:.1f} ms")
    ]
