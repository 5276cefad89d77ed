"""How many watch events a second one core takes in: decode, copy, tell. The bytes come from memory, in large chunks."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import ObjectMeta
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import STATEFULSETS
from uniteddeployment.kube.transport import Answer, Stream

OBJECTS = 5_000
EVENTS = 40_000
_CHUNK = 1 << 18


class Spec(msgspec.Struct, gc=False):
    """What a controller reads of a workload's spec."""

    replicas: int | None = None


class Counts(msgspec.Struct, gc=False, rename="camel"):
    """What a controller reads of a workload's status."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0


class Workload(msgspec.Struct, gc=False):
    """A narrow StatefulSet."""

    metadata: ObjectMeta
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Counts = msgspec.field(default_factory=Counts)


def _statefulset(number: int, version: int) -> dict[str, object]:
    """A StatefulSet as API servers send it: 5 to 6 KB with two containers and managedFields."""
    name = f"web-{number:05d}"
    env = [{"name": f"SETTING_{i}", "value": f"value-{i}-{'x' * 40}"} for i in range(12)]
    container = {"image": "registry.example.com/app/web:v1.2.3", "env": env, "resources": {"limits": {"cpu": "1"}}}
    fields: dict[str, Any] = {f"f:field{i}": {".": {}, "f:a": {}, "f:b": {}, f"f:c{i}": {}} for i in range(40)}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"00000000-0000-0000-0000-{number:012d}",
            "resourceVersion": str(version),
            "generation": 1,
            "creationTimestamp": "2024-01-01T00:00:00Z",
            "labels": {"app": name, "tier": "web"},
            "managedFields": [{"manager": "bench", "operation": "Apply", "fieldsV1": {"f:spec": fields}}],
        },
        "spec": {
            "replicas": 3,
            "template": {"spec": {"containers": [container | {"name": "web"}, container | {"name": "side"}]}},
        },
        "status": {"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3},
    }


def _line(kind: str, thing: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": thing}) + b"\n"


class _Memory:
    """A transport that has one stream ready and says when it has been read."""

    def __init__(self, initial: bytes, changes: bytes) -> None:
        self._initial = initial
        self._changes = changes
        self.go = asyncio.Event()
        self.read = asyncio.Event()

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
        return Answer(404, {})

    @asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # as above
        yield Stream(200, {}, self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        for part in (self._initial, self._changes):
            for start in range(0, len(part), _CHUNK):
                yield part[start : start + _CHUNK]
            if part is self._initial:
                await self.go.wait()
        self.read.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing is open."""


async def _measure() -> tuple[float, float, int]:
    end = {"metadata": {"resourceVersion": "5000", "annotations": {"k8s.io/initial-events-end": "true"}}}
    initial = b"".join(_line("ADDED", _statefulset(i, i)) for i in range(OBJECTS)) + _line("BOOKMARK", end)
    changes = b"".join(_line("MODIFIED", _statefulset(i % OBJECTS, OBJECTS + i)) for i in range(EVENTS))
    transport = _Memory(initial, changes)
    keys: set[str] = set()

    def changed(old: Workload | None, new: Workload | None) -> None:
        if new is not None:
            keys.add(new.metadata.name)

    reflector = Reflector(Client(transport, "bench"), STATEFULSETS, Workload, Cache[Workload](changed))
    started = time.process_time()
    task = asyncio.create_task(reflector.run())
    await reflector.synced.wait()
    listed = time.process_time()
    transport.go.set()
    await transport.read.wait()
    done = time.process_time()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return OBJECTS / (listed - started), EVENTS / (done - listed), len(changes) // EVENTS


def run() -> list[tuple[str, str]]:
    """The figures, as rows of a name and a value."""
    listed, changed, size = asyncio.run(_measure())
    return [
        ("reflector: objects of an initial list", f"{listed:,.0f}/s per core"),
        (f"reflector: events of {size:,} bytes", f"{changed:,.0f}/s per core"),
    ]


if __name__ == "__main__":
    for name, value in run():
        print(f"{name:45} {value}")
