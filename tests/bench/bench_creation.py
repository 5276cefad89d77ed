"""P0 and P1: what new applications cost until their pods are ready, and the writes that they take.

The host is a real API server when KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver, else an embedded one.
The three members are embedded clusters whose pods start at once. To compare two versions, run both in turn: other
programs on the machine change the times, and much less the CPU.
"""

import asyncio
import os
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec

from tests.bench import bench_fleet as fleet
from tests.bench.idle import idle
from tests.support import envtest
from tests.support.processes import Process, ud
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored
from uniteddeployment.kube import kubeconfig
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.planning.stored import read_status

WARM_UP = 20
"""Applications before the measured ones: connections are opened, and the server knows the kind."""


def run() -> list[tuple[str, str]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ud-bench-")))
        host = _host(stack, folder)
        members = [_embedded(stack, folder, name, "--nodes", "20") for name in fleet.MEMBERS]
        for process in members:
            process.wait_for("export KUBECONFIG")
        return asyncio.run(_measure(folder, stack, host, members))


def _host(stack: ExitStack, folder: Path) -> Process:
    if not os.environ.get(envtest.ASSETS):
        process = _embedded(stack, folder, "host", "--no-controllers")
        process.wait_for("export KUBECONFIG")
        return process
    binaries = replace(envtest.find(), controller_manager=None, scheduler=None)
    (plane,) = stack.enter_context(envtest.control_planes(["host"], folder, binaries))
    assert plane.process is not None
    return plane.process


def _embedded(stack: ExitStack, folder: Path, name: str, *options: str) -> Process:
    arguments = ["embedded", *options, "--kubeconfig", str(fleet.config_of(folder, name))]
    return stack.enter_context(ud(*arguments, log=folder / f"{name}.log"))


async def _measure(folder: Path, stack: ExitStack, host: Process, members: list[Process]) -> list[tuple[str, str]]:
    clients = {
        name: Client(AiohttpTransport(kubeconfig.load(fleet.config_of(folder, name))), name, field_manager="bench")
        for name in ("host", *fleet.MEMBERS)
    }
    servers = fleet.Servers(clients.pop("host"), clients, folder)
    try:
        await fleet.prepare(servers)
        controller = stack.enter_context(ud(*fleet.controller_arguments(folder), log=folder / "controller.log"))
        controller.wait_for("listening")
        ready = _Ready(servers.host)
        await _create(servers, ready, "warm", WARM_UP)
        await idle(controller, host, *members)
        processes = {"host's API server": [host], "controller": [controller], "members": members}
        before = {what: _cpu(running) for what, running in processes.items()}
        writes = await fleet.writes_of(controller)
        started = time.perf_counter()
        await _create(servers, ready, "app", fleet.APPLICATIONS)
        took = time.perf_counter() - started
        await idle(controller, host, *members)
        spent = {what: (_cpu(running) - before[what]) * 1000 for what, running in processes.items()}
        rows = [(f"P1 {fleet.APPLICATIONS} applications ready", f"{took:.2f} s")]
        rows += [(f"P0 CPU per application: {what}", f"{ms / fleet.APPLICATIONS:.1f} ms") for what, ms in spent.items()]
        rows.append(("P3 writes per application", _per_application(await fleet.writes_of(controller) - writes)))
        ready.task.cancel()
        return rows
    finally:
        await servers.close()


def _cpu(processes: list[Process]) -> float:
    return sum(process.cpu_seconds() for process in processes)


def _per_application(writes: Counter[str]) -> str:
    return ", ".join(f"{count / fleet.APPLICATIONS:.2f} {what}" for what, count in sorted(writes.items()))


class _Ready:
    """Follows the applications of the host, and knows those that are ready."""

    def __init__(self, host: Client) -> None:
        self._names: set[str] = set()
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(Reflector(host, UNITED_DEPLOYMENTS, Stored, Cache[Stored](self._note)).run())

    def _note(self, _old: Stored | None, new: Stored | None) -> None:
        condition = read_status(msgspec.json.decode(new.status)).condition("Ready") if new is not None else None
        if new is not None and condition is not None and condition.status == "True":
            self._names.add(new.metadata.name)
            self._changed.set()

    async def until(self, names: set[str], seconds: float = 300.0) -> None:
        """Wait until all of these are ready."""
        async with asyncio.timeout(seconds):
            while not names <= self._names:
                self._changed.clear()
                await self._changed.wait()


async def _create(servers: fleet.Servers, ready: _Ready, prefix: str, count: int) -> None:
    """Create applications, a replica in each member, and wait until they are ready."""
    shares = dict.fromkeys(fleet.MEMBERS)
    documents = [fleet.named(number, prefix, replicas=3, shares=shares) for number in range(count)]
    calls = [servers.host.create(UNITED_DEPLOYMENTS, one, PartialObject, namespace="default") for one in documents]
    await asyncio.gather(fleet.in_turn(calls), ready.until({one["metadata"]["name"] for one in documents}))
