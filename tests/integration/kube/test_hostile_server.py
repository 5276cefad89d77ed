"""A member that sends whatever it likes: what is kept of it is counted, and it ends as a reason of its own (I16)."""

import asyncio
import contextlib
import gzip
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
import pytest
import structlog

from tests.integration.kube.hostile_server import (
    OK,
    Answer,
    Asked,
    HostileServer,
    end_of_list,
    endless,
    event,
    watch,
    whole,
)
from uniteddeployment.fleet import cache as member_cache
from uniteddeployment.fleet import member as member_module
from uniteddeployment.fleet.member import Member
from uniteddeployment.kube import requests
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.errors import KubeError, TooLarge
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.kube.watch import MAX_LINE_BYTES
from uniteddeployment.planning.observed import Pod, Reach
from uniteddeployment_api import names

MIB = 1 << 20
SOCKETS = 8 * MIB
"""What buffers of sockets and of the HTTP parser may hold beside what is kept."""


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with structlog.testing.capture_logs():
        yield


@contextlib.asynccontextmanager
async def connected(answers: dict[str, Answer]) -> AsyncIterator[tuple[HostileServer, Member]]:
    """A member of such a server, followed as the controller does."""
    async with HostileServer(answers).serving() as server:
        client = Client(AiohttpTransport(Connection(f"http://127.0.0.1:{server.port}", name="evil")), "evil")
        member = Member("default/evil", client, on_change=lambda _: None, on_reach_changed=lambda _: None)
        running = asyncio.create_task(member.run())
        try:
            yield server, member
            assert not running.done()
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            await client.close()


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # what is waited for are states of code that knows no test
            await asyncio.sleep(0.01)


def kept_bytes(*roots: object) -> int:
    """The memory of all that can be reached from some objects: of what is kept, and of nothing else in the process."""
    seen: set[int] = set()
    waiting = list(roots)
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type) or callable(one):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif isinstance(one, msgspec.Struct):
            waiting += [getattr(one, field) for field in one.__struct_fields__]
        elif hasattr(one, "__dict__") and type(one).__module__.startswith("uniteddeployment"):
            waiting += vars(one).values()
    return total


def kept(member: Member) -> int:
    caches = [reflector.cache for reflector in member._reflectors]
    return kept_bytes(member.cache, member.facts, member.detail, *caches)


def pod(number: int, **more: Any) -> dict[str, Any]:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: "a", **more.pop("labels", {})}
    meta = {"name": f"web-{number}", "namespace": "default", "uid": f"u{number}", "resourceVersion": str(number + 2)}
    return {"metadata": {**meta, "labels": labels, **more.pop("metadata", {})}, **more}


async def test_of_a_flood_of_labels_annotations_and_conditions_only_what_is_read_is_kept() -> None:
    flood = {f"label-{n}": "x" * 50 for n in range(5000)}
    conditions = [{"type": f"Type-{n}", "status": "True", "message": "x" * 1000} for n in range(300)]
    conditions += [{"type": "Ready", "status": "False", "reason": "r" * 5000, "message": "m" * 200_000}]
    containers = [
        {"name": f"c{n}", "state": {"waiting": {"reason": "R" * 9000, "message": "M" * 9000}}} for n in range(50)
    ]
    status = {"conditions": conditions, "containerStatuses": containers}
    pods = [pod(n, labels=flood, metadata={"annotations": flood}, status=status) for n in range(40)]
    sent = [event("ADDED", one) for one in pods]
    assert sum(map(len, sent)) > 50 * MIB
    async with connected({"pods": watch(end_of_list(), *sent)}) as (_, member):
        await until(lambda: len(member._reflectors[-1].cache.objects) == 40)
        assert kept(member) < 40 * 12_000
        (tally,) = member.cache.pods(("default", "web")).values()
        assert tally.total == 40


async def test_of_workloads_only_what_is_read_is_kept() -> None:
    flood = {f"{names.GROUP}/x{n}": "x" * 1000 for n in range(1000)}
    long = {names.ANNOTATION_OWNER_UID: "x" * 200_000, names.ANNOTATION_APPLIED: "digest"}
    workload = {
        "metadata": {
            **pod(0)["metadata"],
            "annotations": flood | long,
            "finalizers": ["x" * 100] * 1000,
            "managedFields": [flood],
        },
        "spec": {"replicas": 1},
        "status": {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": "m" * 100_000}] * 5},
    }
    async with connected({"statefulsets": watch(end_of_list(), event("ADDED", workload))}) as (_, member):
        await until(lambda: member.cache.workloads(("default", "web")))
        (found, *_) = member.cache.workloads(("default", "web"))
        assert found.metadata.annotations == {names.ANNOTATION_APPLIED: "digest"}
        assert kept(member) < 60_000


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ({"name": "../../secrets/x"}, "cannot be part of a path"),
        ({"name": "x" * 300}, "length <= 253"),
        ({"resourceVersion": "9" * 5000}, "length <= 128"),
        ({"uid": "u" * 5000}, "length <= 128"),
        ({"deletionTimestamp": "t" * 5000}, "length <= 128"),
    ],
)
async def test_a_pod_with_a_name_that_is_none_is_not_taken(broken: dict[str, str], complaint: str) -> None:
    lines = [event("ADDED", pod(1, metadata=broken)), event("ADDED", pod(2))]
    async with connected({"pods": watch(end_of_list(), *lines)}) as (_, member):
        pods = member._reflectors[-1]
        await until(lambda: len(pods.cache.objects) == 1)
        ((key, why),) = pods.cache.undecodable.items()
        assert complaint in why
        assert kept_bytes(key, why) < 2000


@pytest.mark.parametrize("field", ["replicas", "readyReplicas", "observedGeneration"])
@pytest.mark.parametrize("number", [-1, 10**30])
async def test_numbers_that_no_status_takes_are_not_taken(field: str, number: int) -> None:
    broken = {**pod(1), "status": {field: number}}
    async with connected({"statefulsets": watch(end_of_list(), event("ADDED", broken))}) as (_, member):
        sets = next(one for one in member._reflectors if one._resource.plural == "statefulsets")
        await until(lambda: sets.cache.undecodable)
        assert not sets.cache.objects


async def test_a_line_without_an_end_is_given_up_and_the_member_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_module, "WATCH_GRACE_SECONDS", 0.5)
    line = endless(lambda number: b'{"type":"ADDED","object":{"metadata":{"name":"' if not number else b"x" * 60_000)
    async with connected({"pods": line}) as (server, member):
        await until(lambda: server.of("pods") and member.reach is Reach.PENDING and "4 MiB" in member.detail)
        assert all(asked.taken < MAX_LINE_BYTES + SOCKETS for asked in server.of("pods"))
        assert kept(member) < 20_000


async def test_an_endless_list_is_bounded_by_the_number_of_its_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_cache, "MOST_PODS", 2000)
    pods = endless(lambda number: b"".join(event("ADDED", pod(100 * number + n)) for n in range(100)))
    async with connected({"pods": pods}) as (server, member):
        await until(lambda: "more than 2000 objects" in member.detail)
        assert member.reach is Reach.PENDING
        assert member._reflectors[-1].cache.objects == {}
        assert len(server.of("pods")) == 1, "it is not asked for again at once"
        assert kept(member) < 20_000


async def test_endless_pages_are_bounded_by_the_number_of_their_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a server without streaming lists."""
    monkeypatch.setattr(member_cache, "MOST_PODS", 2000)
    numbers = iter(range(10**9))

    async def pages(asked: Asked) -> AsyncIterator[bytes]:
        if "sendInitialEvents" in asked.query:
            yield b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}"
            return
        items = [pod(next(numbers)) for _ in range(500)]
        async for piece in whole({"metadata": {"continue": "more"}, "items": items})(asked):
            yield piece

    async with connected({"pods": pages}) as (server, member):
        await until(lambda: "more than 2000 objects" in member.detail)
        assert len(server.of("pods")) == 6
        assert kept(member) < 20_000


async def test_changes_beyond_the_number_of_objects_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """I8: the member is no more shown as it was."""
    monkeypatch.setattr(member_cache, "MOST_PODS", 100)
    monkeypatch.setattr(member_module, "WATCH_GRACE_SECONDS", 0.5)
    monkeypatch.setattr(member_module, "PROBE_INTERVAL", 0.5)
    lines = [end_of_list(), *[event("ADDED", pod(n)) for n in range(500)]]
    async with connected({"pods": watch(*lines)}) as (_, member):
        await until(lambda: "more than 100 objects" in member.detail)
        assert member.reach is not Reach.READY
        assert len(member._reflectors[-1].cache.objects) == 100


async def test_a_version_of_half_a_megabyte_is_cut_and_in_one_line() -> None:
    """It landed in the status of the Cluster."""
    async with connected({"version": whole({"gitVersion": "v1\n\x1b[31m" * 60_000})}) as (_, member):
        await until(lambda: member.reach is Reach.READY)
        assert len(member.facts.version) <= 64
        assert member.facts.version.isprintable()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"[" * 100_000, "does not answer like a Kubernetes API server"),
        (b'{"gitVersion":"\xff"}', "does not answer like a Kubernetes API server"),
        (b'{"gitVersion":5}', "does not answer like a Kubernetes API server"),
        (b"", "does not answer like a Kubernetes API server"),
    ],
)
async def test_a_version_that_is_none_is_the_reason_of_the_member(body: bytes, complaint: str) -> None:
    async def answer(_: Asked) -> AsyncIterator[bytes]:
        yield OK + b"content-length: %d\r\n\r\n%s" % (len(body), body)

    async with connected({"version": answer}) as (_, member):
        await until(lambda: complaint in member.detail)
        assert member.reach is not Reach.READY


@pytest.mark.parametrize("nodes", [10**9, -1, 10**40, "x"])
async def test_a_number_of_nodes_that_is_none_is_the_reason_of_the_member(nodes: Any) -> None:
    listed = {"metadata": {"remainingItemCount": nodes}, "items": []}
    async with connected({"nodes": whole(listed)}) as (_, member):
        await until(lambda: "does not answer like" in member.detail)


@pytest.mark.parametrize("announced", [True, False])
async def test_an_answer_is_read_up_to_a_size(announced: bool) -> None:
    head = OK + (b"content-length: 9999999999\r\n\r\n" if announced else b"\r\n")
    async with HostileServer({"web-0": endless(lambda _: b"x" * 60_000, head)}).serving() as server:
        client = Client(AiohttpTransport(Connection(f"http://127.0.0.1:{server.port}", name="evil")), "evil")
        with pytest.raises(TooLarge, match="larger than 4096 KiB"):
            await client.get(PODS, "web-0", PartialObject, namespace="default")
        assert server.asked[0].taken < requests.MAX_OBJECT_BYTES + SOCKETS
        assert client.limiter.free == Client(AiohttpTransport(Connection("http://x")), "x").limiter.free
        await client.close()


async def test_a_compressed_answer_is_not_unpacked() -> None:
    """A few kilobytes would be gigabytes."""
    packed = gzip.compress(b" " * 50 * MIB + b"{}")

    async def answer(_: Asked) -> AsyncIterator[bytes]:
        yield OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(packed), packed)

    async with HostileServer({"web-0": answer}).serving() as server:
        client = Client(AiohttpTransport(Connection(f"http://127.0.0.1:{server.port}", name="evil")), "evil")
        with pytest.raises(KubeError, match="not as expected"):
            await client.get(PODS, "web-0", PartialObject, namespace="default")
        await client.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02",
        b"HTTP/1.1 99999 X\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000 + b"\r\n",
        b"HTTP/1.1 429 X\r\nretry-after: " + b"9" * 5000 + b"\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
        b"HTTP/1.1 401 X\r\nwww-authenticate: \xff\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 302 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    ],
    ids=range(10),
)
async def test_answers_that_are_no_http_are_typed_errors(raw: bytes) -> None:
    async def answer(_: Asked) -> AsyncIterator[bytes]:
        yield raw

    async with HostileServer({"web-0": answer, "pods": answer}).serving() as server:
        client = Client(AiohttpTransport(Connection(f"http://127.0.0.1:{server.port}", name="evil")), "evil", timeout=1)
        with pytest.raises(KubeError):
            await client.get(PODS, "web-0", PartialObject, namespace="default")
        with contextlib.suppress(KubeError):
            await _read(client)
        await client.close()


async def _read(client: Client) -> None:
    async with client.stream(requests.watch(PODS)) as stream:
        async for _ in stream.chunks:
            pass


async def test_a_flood_of_events_leaves_others_their_turn() -> None:
    """I10: what one member sends is read in pieces, and between two pieces it is everybody else's turn."""
    flood = endless(
        lambda number: b"".join(event("MODIFIED", pod(n % 50)) for n in range(200)) if number else end_of_list()
    )
    async with connected({"pods": flood}) as (_, member):
        await until(member._reflectors[-1].synced.is_set)
        loop = asyncio.get_running_loop()
        late = []
        for _ in range(50):
            due = loop.time() + 0.02
            await asyncio.sleep(0.02)
            late.append(loop.time() - due)
        assert sorted(late)[len(late) // 2] < 0.5
        assert len(member._reflectors[-1].cache.objects) == 50


async def test_the_reflector_itself_is_what_counts() -> None:
    """That the measure of this module sees what is kept: without narrow structs there is a lot."""
    sent = [event("ADDED", pod(n, labels={f"l{m}": "x" * 50 for m in range(1000)})) for n in range(5)]
    async with HostileServer({"pods": watch(end_of_list(), *sent)}).serving() as server:
        client = Client(AiohttpTransport(Connection(f"http://127.0.0.1:{server.port}", name="evil")), "evil")
        whole_objects: Reflector[PartialObject] = Reflector(client, PODS, PartialObject, Cache())
        narrow: Reflector[Pod] = Reflector(client, PODS, Pod, Cache())
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one.run()) for one in (whole_objects, narrow)]
            await until(lambda: len(whole_objects.cache.objects) == len(narrow.cache.objects) == 5)
            assert kept_bytes(whole_objects.cache.objects) > 5 * 50_000
            assert kept_bytes(narrow.cache.objects) < 5 * 5_000
            for task in running:
                task.cancel()
        await client.close()
