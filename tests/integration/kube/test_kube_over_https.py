"""Client, reflector, election and recorder against a Kubernetes-compatible cluster over real HTTPS."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import msgspec
import pytest

from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.serving import server
from uniteddeployment.embedded.storage.store import HistoryLimits
from uniteddeployment.kube import credentials, errors
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.election import Elector
from uniteddeployment.kube.meta import ObjectMeta, ObjectReference, PartialObject
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import CONFIGMAPS, EVENTS, LEASES, NAMESPACES, STATEFULSETS
from uniteddeployment.kube.transport import AiohttpTransport

TOKEN = "t0ken"
ADMIN = Identity("admin", ("system:masters",))


class Config(msgspec.Struct):
    """A ConfigMap."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None


class Place:
    """A served cluster and a client of it."""

    def __init__(self, cluster: Cluster, running: server.RunningServer) -> None:
        self.cluster = cluster
        self.running = running
        self.client = self.make_client(TOKEN)

    def make_client(self, token: str, **options: Any) -> Client:
        connection = credentials.from_values(self.running.url, ca=self.running.ca, token=token, name="member-1")
        return Client(AiohttpTransport(connection), "member-1", **options)

    async def put(self, name: str, *, namespace: str = "default", **labels: str) -> Config:
        body = {"metadata": {"name": name, "labels": labels}, "data": {"k": "v"}}
        return await self.client.create(CONFIGMAPS, body, Config, namespace=namespace)

    async def set(self, name: str, value: str) -> Config:
        return await self.client.merge_patch(CONFIGMAPS, name, {"data": {"k": value}}, Config, namespace="default")

    def reflector(self, cache: Cache[Config] | None = None, **options: Any) -> Reflector[Config]:
        options = {"namespace": "default"} | options
        backoff = Backoff(first=0.02, longest=0.05)
        return Reflector(self.client, CONFIGMAPS, Config, cache or Cache(), backoff=backoff, **options)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    clock = LoopClock(asyncio.get_running_loop())
    history = HistoryLimits(events=50)
    chance = Random(1)
    tokens = {TOKEN: ADMIN}
    cluster = Cluster("member-1", clock=clock, random=chance, tokens=tokens, controllers=False, history=history)
    running = await server.start(cluster)
    made = Place(cluster, running)
    try:
        yield made
    finally:
        await made.client.close()
        cluster.stop()
        await running.close()


@contextlib.asynccontextmanager
async def following(reflector: Reflector[Config]) -> AsyncIterator[Reflector[Config]]:
    """A reflector that runs and has its first list."""
    task = asyncio.create_task(reflector.run())
    try:
        async with asyncio.timeout(10):
            await reflector.synced.wait()
        yield reflector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], object]) -> None:
    """Waits for a condition that other tasks and a real server bring about."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # the condition has no event of its own
            await asyncio.sleep(0.005)


def names(reflector: Reflector[Config]) -> list[str]:
    return sorted(name for _, name in reflector.cache.objects)


async def test_the_life_of_an_object_and_every_typed_error_on_the_way(place: Place) -> None:
    client = place.client
    made = await place.put("a")
    assert made.metadata.uid
    with pytest.raises(errors.AlreadyExists, match='configmaps "a" already exists'):
        await place.put("a")
    with pytest.raises(errors.NotFound, match='configmaps "b" not found'):
        await client.get(CONFIGMAPS, "b", Config, namespace="default")
    changed = await place.set("a", "w")
    assert changed.data == {"k": "w"}
    body = {
        "metadata": {"name": "a", "resourceVersion": made.metadata.resource_version},
        "data": {"k": "x"},
    }
    with pytest.raises(errors.Conflict, match="the object has been modified"):
        await client.replace(CONFIGMAPS, "a", body, Config, namespace="default")
    body["metadata"]["resourceVersion"] = changed.metadata.resource_version
    assert (await client.replace(CONFIGMAPS, "a", body, Config, namespace="default")).data == {"k": "x"}
    operations = [{"op": "test", "path": "/data/k", "value": "x"}, {"op": "add", "path": "/data/l", "value": "y"}]
    patched = await client.json_patch(CONFIGMAPS, "a", operations, Config, namespace="default")
    assert patched.data == {"k": "x", "l": "y"}
    with pytest.raises(errors.Invalid):
        await client.json_patch(CONFIGMAPS, "a", [operations[0] | {"value": "?"}], Config, namespace="default")
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIGMAPS, "a", namespace="default", uid="another")
    await client.delete(CONFIGMAPS, "a", namespace="default", uid=made.metadata.uid)
    with pytest.raises(errors.NotFound):
        await client.delete(CONFIGMAPS, "a", namespace="default")


def statefulset(replicas: int, app: str = "web") -> dict[str, Any]:
    container = {"name": "web", "image": "nginx"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "serviceName": "web",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}},
        },
    }


async def test_apply_owns_fields_and_scale_moves_replicas(place: Place) -> None:
    client = place.client

    async def apply(manager: str, replicas: int, *, force: bool = False) -> PartialObject:
        return await client.apply(
            STATEFULSETS,
            "web",
            statefulset(replicas),
            PartialObject,
            field_manager=manager,
            force=force,
            namespace="default",
        )

    first = await apply("one", 3)
    assert (await apply("one", 3)).metadata.resource_version == first.metadata.resource_version
    with pytest.raises(errors.Conflict) as caught:
        await apply("two", 4)
    assert [cause.field for cause in caught.value.causes] == [".spec.replicas"]
    assert (await apply("two", 4, force=True)).metadata.generation == 2
    assert (await client.scale(STATEFULSETS, "web", 5, namespace="default")).spec.replicas == 5
    with pytest.raises(errors.Conflict):
        await client.scale(STATEFULSETS, "web", 6, namespace="default", resource_version="1")


async def test_an_invalid_object_names_its_fields(place: Place) -> None:
    """I11."""
    body = statefulset(-1, app="other")
    with pytest.raises(errors.Invalid) as caught:
        await place.client.create(STATEFULSETS, body, PartialObject, namespace="default")
    assert {cause.field for cause in caught.value.causes} >= {"spec.replicas", "spec.template.metadata.labels"}


async def test_pages(place: Place) -> None:
    for number in range(7):
        await place.put(f"c{number}", page="yes")
    pages = place.client.list_pages(CONFIGMAPS, Config, namespace="default", label_selector="page=yes", limit=3)
    sizes = [len(page.items) async for page in pages]
    assert sizes == [3, 3, 1]
    everywhere = await place.client.list_all(CONFIGMAPS, Config, field_selector="metadata.name=c3")
    assert [item.metadata.name for item in everywhere] == ["c3"]


async def test_a_copy_follows_its_selector_and_settles_without_requests(place: Place) -> None:
    """I3: in sync, a watch is all there is."""
    told: list[tuple[str, str]] = []

    def changed(old: Config | None, new: Config | None) -> None:
        one = new or old
        assert one is not None
        told.append((one.metadata.name, "gone" if new is None else "here"))

    await place.put("a", sel="yes")
    await place.put("b", sel="no")
    async with following(place.reflector(Cache(changed), label_selector="sel=yes")) as reflector:
        assert names(reflector) == ["a"]
        await place.client.merge_patch(
            CONFIGMAPS, "b", {"metadata": {"labels": {"sel": "yes"}}}, Config, namespace="default"
        )
        await until(lambda: names(reflector) == ["a", "b"])
        await place.client.delete(CONFIGMAPS, "a", namespace="default")
        await until(lambda: names(reflector) == ["b"])
        assert told == [("a", "here"), ("b", "here"), ("a", "gone")]
        assert place.client.stats.requests["watch", "configmaps"] == 1
        assert place.client.stats.requests["list", "configmaps"] == 0


async def test_a_cluster_cut_off_and_back_is_caught_up_with_deletions_and_all(place: Place) -> None:
    """I8, I9: what was known stays while it is away, and what was missed is found."""
    states: list[bool] = []
    await place.put("a")
    await place.put("b")
    async with following(place.reflector(on_state=states.append)) as reflector:
        place.cluster.faults.set(cut_off=True)
        await until(lambda: not reflector.connected)
        assert names(reflector) == ["a", "b"]
        assert reflector.last_error.startswith("member-1: ")
        place.cluster.access.delete("configmaps", "default", "a")
        place.cluster.access.create("configmaps", {"metadata": {"name": "c", "namespace": "default"}}, manager="x")
        place.cluster.faults.clear()
        place.client.circuit.succeeded()
        reflector.retry_now()
        await until(lambda: names(reflector) == ["b", "c"])
        assert reflector.relists == 0
    assert states == [True, False, True, False]


async def test_deletions_are_found_also_when_the_server_has_forgotten_them(place: Place) -> None:
    """I9: a 410, over the wire."""
    for name in ("a", "b"):
        await place.put(name)
    async with following(place.reflector()) as reflector:
        place.cluster.faults.set(cut_off=True)
        await until(lambda: not reflector.connected)
        place.cluster.access.delete("configmaps", "default", "a")
        for number in range(120):
            object_ = {"metadata": {"name": f"n{number}", "namespace": "default"}}
            place.cluster.access.create("configmaps", object_, manager="x")
            place.cluster.access.delete("configmaps", "default", f"n{number}")
        place.cluster.faults.clear()
        place.client.circuit.succeeded()
        reflector.retry_now()
        await until(lambda: names(reflector) == ["b"])
        assert reflector.relists == 1


async def test_a_stream_that_falls_silent_is_replaced(place: Place) -> None:
    await place.put("a")
    async with following(place.reflector(idle_timeout=0.2)) as reflector:
        watches = place.client.stats.requests["watch", "configmaps"]
        await until(lambda: place.client.stats.requests["watch", "configmaps"] > watches + 1)
        await place.set("a", "later")
        await until(lambda: (reflector.cache.objects["default", "a"].data or {})["k"] == "later")
        assert reflector.connected
        assert reflector.relists == 0


async def test_a_black_hole_is_a_time_out_and_then_an_open_circuit(place: Place) -> None:
    """I10."""
    client = place.make_client(TOKEN, timeout=0.1)
    place.cluster.faults.set(black_hole=True)
    for tried in (True, True, True, False):
        with pytest.raises(errors.Unreachable, match=r"no answer within 0.1 s$") as caught:
            await client.get(NAMESPACES, "default", PartialObject)
        assert (caught.value.retry_in is None) == tried
    assert client.stats.total == 3
    await client.close()


async def test_a_token_that_the_cluster_refuses_is_said_plainly(place: Place) -> None:
    """I12: without the token."""
    client = place.make_client("wr0ng-t0ken")
    with pytest.raises(errors.Unauthorized) as caught:
        await client.get(NAMESPACES, "default", PartialObject)
    assert "wr0ng-t0ken" not in f"{caught.value!r} {caught.value.details}"
    await client.close()


async def test_a_client_certificate_of_the_clusters_authority_is_enough(place: Place) -> None:
    pair = place.running.authority.client("admin", ("system:masters",))
    connection = credentials.from_values(
        place.running.url, ca=place.running.ca, client_cert=pair.certificate, client_key=pair.key
    )
    client = Client(AiohttpTransport(connection), "x")
    assert (await client.get(NAMESPACES, "default", PartialObject)).metadata.name == "default"
    await client.close()


async def test_leadership_goes_from_one_to_the_next(place: Place) -> None:
    """I1."""
    leading: list[str] = []

    def candidate(name: str) -> Any:
        elector = Elector(
            place.client, "kube-system", "lead", name, lease_duration=2, renew_deadline=1, retry_period=0.05
        )

        async def work() -> None:
            leading.append(name)
            await asyncio.sleep(0.2)

        return elector.run(work)

    async with asyncio.timeout(10):
        await asyncio.gather(candidate("one"), candidate("two"))
    assert sorted(leading) == ["one", "two"]
    lease = await place.client.get(LEASES, "lead", dict, namespace="kube-system")
    assert lease["spec"]["holderIdentity"] == ""
    assert lease["spec"]["leaseTransitions"] == 1


async def test_events_are_accepted_and_counted(place: Place) -> None:
    recorder = Recorder(place.client, "uniteddeployment", "pod-1")
    about = ObjectReference(api_version="v1", kind="ConfigMap", namespace="default", name="a", uid="u")
    recorder.event(about, "Warning", "Odd", "something is odd")
    await recorder.flush()
    recorder.event(about, "Warning", "Odd", "something is odd")
    await recorder.flush()
    (event,) = await place.client.list_all(EVENTS, dict, namespace="default")
    assert event["series"]["count"] == 2
    assert (event["reason"], event["note"], event["regarding"]["name"]) == ("Odd", "something is odd", "a")
    assert recorder.dropped == 0
