"""Reading the capacity of a large member: 5,000 nodes and 50,000 pods, from memory. CPU, memory, events, room."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import msgspec

from uniteddeployment.fleet.capacity.figures import figures
from uniteddeployment.fleet.capacity.reader import CapacityReader
from uniteddeployment.fleet.capacity.room import room
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer, Stream

NODES, PODS, EVENTS = 5_000, 50_000, 20_000
_CHUNK = 1 << 16
_END = {"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}
_FIELDS: dict[str, Any] = {f"f:field{i}": {".": {}, "f:a": {}, "f:b": {}, f"f:c{i}": {}} for i in range(40)}
_ENV = [{"name": f"SETTING_{i}", "value": f"value-{i}-{'x' * 40}"} for i in range(12)]
_SIZES = ("50m", "100m", "250m", "500m", "1")


def _node(number: int) -> dict[str, Any]:
    """A node of about 5 KB."""
    images = [
        {"names": [f"registry.example.com/team/image-{i}@sha256:{'a' * 64}"], "sizeBytes": 1 << 28} for i in range(25)
    ]
    conditions = [{"type": kind, "status": "False"} for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")]
    allocatable = {"cpu": "15890m", "memory": "64000000Ki", "pods": "110", "ephemeral-storage": "94992122264"}
    return {
        "metadata": {
            "name": f"node-{number:05d}.compute.internal",
            "resourceVersion": str(number + 1),
            "labels": {"topology.kubernetes.io/zone": f"zone-{number % 3}", "kubernetes.io/arch": "amd64"},
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": allocatable,
            "conditions": [*conditions, {"type": "Ready", "status": "True"}],
            "images": images,
        },
    }


def _pod(number: int, version: int = 1, node: int | None = None) -> dict[str, Any]:
    """A pod of about 5 KB with two containers and managedFields."""
    requests = {"cpu": _SIZES[number % 5], "memory": f"{128 << number % 4}Mi"}
    container = {"name": "c", "image": "registry.example.com/app/web:v1.2.3", "env": _ENV}
    own = {"resources": {"requests": requests, "limits": {"cpu": "2", "memory": "2Gi"}}}
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "metadata": {
            "name": f"web-{number // 30:05d}-5d4f8c7b9-{number:06d}",
            "namespace": f"team-{number % 300}",
            "uid": f"00000000-0000-0000-0000-{number:012d}",
            "resourceVersion": str(number + version),
            "labels": {"app": f"web-{number // 30}", "pod-template-hash": "5d4f8c7b9"},
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": _FIELDS}}],
        },
        "spec": {
            "nodeName": f"node-{number % NODES if node is None else node:05d}.compute.internal",
            "containers": [container | own, container | own],
        },
        "status": {"phase": "Running", "conditions": [{"type": kind, "status": "True"} for kind in kinds]},
    }


class _Cluster:
    """A transport with a streaming list of nodes and one of pods, from files, so that the answers take no memory."""

    def __init__(self) -> None:
        self._lists = {
            "nodes": _file(_line("ADDED", _node(i)) for i in range(NODES)),
            "pods": _file(_line("ADDED", _pod(i)) for i in range(PODS)),
        }
        self.bytes = sum(file.seek(0, SEEK_END) for file in self._lists.values())
        self.go, self.read = asyncio.Event(), asyncio.Event()

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
        return Answer(404, {})

    @asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # as above
        yield Stream(200, {}, self._feed(request.path.rpartition("/")[2]))

    async def _feed(self, resource: str) -> AsyncIterator[bytes]:
        for chunk in _chunks(self._lists[resource]):
            yield chunk
        yield _line("BOOKMARK", _END)
        if resource == "pods":
            await self.go.wait()
            moves = (_pod(i % PODS, PODS + i, node=(i * 7) % NODES) for i in range(EVENTS))
            with _file(_line("MODIFIED", pod) for pod in moves) as changes:
                self.started = time.process_time()
                for chunk in _chunks(changes):
                    yield chunk
            self.read.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        for file in self._lists.values():
            file.close()


def _file(lines: Iterator[bytes]) -> BinaryIO:
    file = TemporaryFile()  # noqa: SIM115  # whoever reads it closes it
    file.writelines(lines)
    return file


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(_CHUNK):
        yield chunk


def _line(kind: str, thing: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": thing}) + b"\n"


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@asynccontextmanager
async def _reading(cluster: _Cluster) -> AsyncIterator[tuple[CapacityReader, float]]:
    """A reader that has read the cluster, and the CPU that this took in seconds."""
    counted = asyncio.Event()
    reader = CapacityReader("bench", Client(cluster, "bench"), enabled=True, on_change=counted.set)
    started = time.process_time()
    task = asyncio.create_task(reader.run())
    await counted.wait()
    try:
        yield reader, time.process_time() - started
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _measure() -> list[tuple[str, str]]:
    cluster = _Cluster()
    gc.collect()
    before = _resident()
    async with _reading(cluster) as (_, first):
        gc.collect()
        memory = _resident() - before
    async with _reading(cluster) as (_, second):
        pass
    async with _reading(cluster) as (reader, third):
        rows = await _rows(cluster, reader, min(first, second, third), memory)
    await cluster.close()
    return rows


async def _rows(cluster: _Cluster, reader: CapacityReader, read: float, memory: int) -> list[tuple[str, str]]:
    rows = [
        ("objects", f"{NODES:,} nodes, {PODS:,} pods, {cluster.bytes / 1e6:,.0f} MB of JSON"),
        ("CPU to read them, least of three times", f"{read:.2f} s (under 1)"),
        ("resident memory", f"{memory / 1e6:.0f} MB (under 100)"),
    ]
    cluster.go.set()
    await cluster.read.wait()
    rows.append(("events that move a pod", f"{EVENTS / (time.process_time() - cluster.started):,.0f}/s per core"))
    wanted = (("cpu", 500), ("memory", 512 << 20))
    rows += [
        ("figures for the status, at most every 10 s", _milliseconds(lambda: figures(reader.sums), 5)),
        ("room for a new kind of pod", _milliseconds(lambda: room(reader.sums, wanted, None), 1)),
        ("room when nothing has changed", _milliseconds(lambda: room(reader.sums, wanted, None), 1000)),
    ]
    return rows


def _milliseconds(call: Callable[[], object], times: int) -> str:
    started = time.process_time()
    for _ in range(times):
        call()
    return f"{(time.process_time() - started) / times * 1000:.3f} ms of CPU"


def run() -> list[tuple[str, str]]:
    """The figures, as rows of a name and a value."""
    return asyncio.run(_measure())
