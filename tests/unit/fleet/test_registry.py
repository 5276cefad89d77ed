"""The fleet: Cluster objects come, change and go, and members are connected accordingly; in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import structlog

from tests.support.narrowing import now
from tests.unit.kube.fakes import Feed, json_answer, running, status_answer, until
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.connector import RETRY_SECONDS
from uniteddeployment.fleet.departure import Occupancy
from uniteddeployment.fleet.registry import Fleet, selected
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer, Stream
from uniteddeployment.planning.observed import HOST, Reach

pytestmark = pytest.mark.looptime

ONE, TWO = "default/one", "default/two"
APPLICATION = ("default", "web")


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with structlog.testing.capture_logs():
        yield


class Server:
    """An API server without workloads. ``uid`` identifies its cluster; with ``silent``, it never answers."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.silent = False
        self.closed = False

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
        if self.silent:
            await asyncio.sleep(timeout)
            raise Unreachable("server", "no answer")
        return self.answer(request)

    def answer(self, request: Request) -> Answer:
        return json_answer({"metadata": {"uid": self.uid}, "gitVersion": "v1.36.0", "items": []})

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # as above
        feed = self.feed(request)
        yield Stream(feed.status, {}, feed.chunks())

    def feed(self, request: Request) -> Feed:
        return Feed().bookmark(1, initial_end=True)

    async def close(self) -> None:
        self.closed = True


class Host(Server):
    """The host: it has the Clusters and their Secrets, and stores the status of Clusters."""

    def __init__(self) -> None:
        super().__init__("uid-of-the-host")
        self.clusters = Feed().bookmark(1, initial_end=True)
        self.secrets = {"one", "two"}
        self.objects: dict[str, dict[str, Any]] = {}
        self.version = 1
        self.patches: list[tuple[str, dict[str, Any]]] = []
        self.edit_at_next_patch: dict[str, Any] | None = None

    def feed(self, request: Request) -> Feed:
        return self.clusters if request.resource == "clusters" else super().feed(request)

    def answer(self, request: Request) -> Answer:
        name = request.path.split("/clusters/")[-1].split("/")[0]
        if request.resource == "secrets":
            found = request.path.rpartition("/")[2] in self.secrets
            return json_answer({"data": {"token": "dG9rZW4="}}) if found else status_answer(404, "NotFound")
        if request.method != "PATCH":
            return super().answer(request)
        body = msgspec.json.decode(request.body)
        if "status" not in body:
            self.objects[name]["metadata"] |= body["metadata"]
            return json_answer(self._next(name))
        self.patches.append((name, body["status"]))
        self.objects[name]["status"] = {**self.objects[name].get("status", {}), **body["status"]}
        if self.edit_at_next_patch is not None:
            self.objects[name]["spec"] |= self.edit_at_next_patch
            self.edit_at_next_patch = None
        return json_answer(self._next(name))

    def put(self, name: str, *, labels: dict[str, str] | None = None, uid: str = "", **spec: Any) -> None:
        """Create or change a Cluster, and send its event."""
        created = name not in self.objects
        spec = {"server": f"https://{name}.test", "credentials": {"secretRef": {"name": name}}, **spec}
        meta = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "labels": labels or {}}
        status = self.objects.get(name, {}).get("status", {})
        self.objects[name] = {"metadata": meta, "spec": spec, "status": status}
        self.clusters.event("ADDED" if created else "MODIFIED", self._next(name))

    def change(self, name: str, **metadata: Any) -> None:
        """Change the metadata of a Cluster, and send its event."""
        self.objects[name]["metadata"] |= metadata
        self.clusters.event("MODIFIED", self._next(name))

    def remove(self, name: str) -> None:
        gone = self._next(name)
        del self.objects[name]
        self.clusters.event("DELETED", gone)

    def _next(self, name: str) -> dict[str, Any]:
        self.version += 1
        self.objects[name]["metadata"] = {**self.objects[name]["metadata"], "resourceVersion": str(self.version)}
        return self.objects[name]


class Stage:
    """A fleet on a host, and the API servers of its members by host name."""

    def __init__(
        self, *, read_only: bool = False, occupancy: Occupancy | None = None, recorder: Recorder | None = None
    ) -> None:
        self.host = Host()
        self.servers = {"one.test": Server("uid-1"), "two.test": Server("uid-2")}
        self.connections: list[str] = []
        self.reached: list[str] = []
        self.changes: list[tuple[str, AppKey]] = []
        self.broken: set[str] = set()
        self.fleet = Fleet(
            Client(self.host, "host"),
            self.connect,
            on_change=lambda cluster, application: self.changes.append((cluster, application)),
            on_reach_changed=self.reached.append,
            occupancy=occupancy,
            recorder=recorder,
            read_only=read_only,
        )

    def connect(self, connection: Connection) -> Client:
        name = connection.server.removeprefix("https://")
        self.connections.append(name)
        if name in self.broken:
            raise RuntimeError("a secret")
        return Client(self.servers[name], connection.name)

    def reach(self, cluster: str) -> Reach:
        return self.fleet.view(cluster, APPLICATION).reach

    def detail(self, cluster: str) -> str:
        return self.fleet.view(cluster, APPLICATION).detail

    @contextlib.asynccontextmanager
    async def runs(self, *names: str) -> AsyncIterator["Stage"]:
        """Run the fleet, and wait until these Clusters are connected."""
        async with running(self.fleet.run()):
            for name in names:
                self.host.put(name)
            await self.fleet.wait_synced()
            await until(lambda: all(self.reach(f"default/{one}") is Reach.READY for one in names))
            yield self


async def test_a_cluster_is_connected_and_its_status_says_which_one_it_is() -> None:
    """I14: that is recorded before anything is applied through it."""
    async with Stage().runs("one") as stage:
        member = stage.fleet.member(ONE)
        assert member is not None
        assert member.uid == "uid-1"
        assert [one.name for one in stage.fleet.members()] == [HOST, ONE]
        assert stage.fleet.clusters() == (HOST, ONE)
        assert ONE in stage.reached
        await until(lambda: stage.host.objects["one"]["status"].get("phase") == "Running")
        assert stage.host.patches[0] == ("one", {"clusterUID": "uid-1"})


async def test_what_is_not_there_is_unknown() -> None:
    """I8"""
    async with Stage().runs() as stage:
        assert stage.reach(ONE) is Reach.UNKNOWN
        assert stage.detail(ONE) == "there is no Cluster object of this name"
        assert stage.fleet.member(ONE) is None
        assert stage.fleet.cluster(ONE) is None


async def test_a_deleted_cluster_is_let_go_and_its_last_contact_stays_known() -> None:
    async with Stage().runs("one") as stage:
        stage.reached.clear()
        stage.host.remove("one")
        await until(lambda: stage.fleet.cluster(ONE) is None)
        await until(lambda: stage.servers["one.test"].closed)
        assert stage.reached == [ONE]
        assert stage.fleet.view(ONE, APPLICATION).last_contact is not None


async def test_a_suspended_cluster_is_not_connected() -> None:
    async with Stage().runs("one") as stage:
        stage.host.put("one", suspended=True)
        await until(lambda: stage.reach(ONE) is Reach.SUSPENDED)
        await until(lambda: stage.servers["one.test"].closed)
        assert stage.connections == ["one.test"]
        stage.host.put("one")
        await until(lambda: stage.reach(ONE) is Reach.READY)


async def test_a_missing_secret_is_the_reason_until_it_is_there() -> None:
    stage = Stage()
    stage.host.secrets.clear()
    async with stage.runs():
        stage.host.put("one")
        await until(lambda: "Secret default/one does not exist" in stage.detail(ONE))
        assert stage.reach(ONE) is Reach.PENDING
        stage.host.secrets.add("one")
        await asyncio.sleep(RETRY_SECONDS)
        await until(lambda: stage.reach(ONE) is Reach.READY)


async def test_a_changed_spec_is_connected_again_and_a_changed_label_is_not() -> None:
    """A registry query may select the cluster by its labels, so their change is reported."""
    async with Stage().runs("one") as stage:
        stage.reached.clear()
        stage.host.put("one", labels={"region": "eu"})
        await until(lambda: ONE in stage.reached)
        assert stage.connections == ["one.test"]
        cluster = stage.fleet.cluster(ONE)
        assert cluster is not None
        assert selected(cluster, {"region": "eu"})
        assert not selected(cluster, {"region": "us"})
        stage.host.put("one", server="https://two.test")
        await until(lambda: "two.test" in stage.connections)
        assert stage.servers["one.test"].closed


async def test_of_two_clusters_for_one_api_server_one_is_used_and_the_other_takes_over() -> None:
    """I14"""
    stage = Stage()
    async with stage.runs("one"):
        stage.servers["two.test"].uid = "uid-1"
        stage.host.put("two")
        await until(lambda: "default/one is used for the same cluster" in stage.detail(TWO))
        view = stage.fleet.view(TWO, APPLICATION)
        assert (view.reach, view.same_as) == (Reach.UNKNOWN, ONE)
        stage.host.remove("one")
        await until(lambda: stage.reach(TWO) is Reach.READY)


async def test_a_cluster_with_the_address_of_the_host_is_refused() -> None:
    """I14"""
    stage = Stage()
    stage.servers["one.test"].uid = stage.host.uid
    async with stage.runs():
        stage.host.put("one")
        await until(lambda: "it has the address of the host" in stage.detail(ONE))
        assert stage.fleet.view(ONE, APPLICATION).same_as == HOST


async def test_another_cluster_at_the_address_is_not_used() -> None:
    """I14: the workloads of the earlier cluster are not there, and must not count as deleted."""
    stage = Stage()
    async with stage.runs("one"):
        stage.servers["one.test"].uid = "uid-of-another"
        await until(lambda: "another cluster answers at its address" in stage.detail(ONE))
        assert stage.reach(ONE) is not Reach.READY


async def test_a_read_only_fleet_writes_nothing() -> None:
    async with Stage(read_only=True).runs("one") as stage:
        await asyncio.sleep(60)
        assert stage.host.patches == []


async def test_a_change_that_only_the_answer_to_a_status_shows_is_acted_on() -> None:
    """I9: the event of that version shows nothing new any more."""
    stage = Stage()
    async with stage.runs():
        stage.host.edit_at_next_patch = {"suspended": True}
        stage.host.put("one")
        await until(lambda: stage.reach(ONE) is Reach.SUSPENDED)


async def test_an_unexpected_error_stays_with_its_cluster_and_is_tried_again() -> None:
    """I10, I16, and I12: status has its type only."""
    stage = Stage()
    stage.broken.add("one.test")
    async with stage.runs("two"):
        stage.host.put("one")
        await until(lambda: stage.detail(ONE).startswith("internal error: RuntimeError"))
        assert "a secret" not in stage.detail(ONE)
        stage.broken.clear()
        await until(lambda: stage.reach(ONE) is Reach.READY)


async def test_a_start_waits_for_members_but_not_for_dead_ones() -> None:
    """I10"""
    stage = Stage()
    stage.servers["two.test"].silent = True
    async with stage.runs("one"):
        assert stage.fleet.synced
        stage.host.put("two")
        await until(lambda: stage.fleet.cluster(TWO) is not None)
        assert not now(stage.fleet.settled), "it is not known yet whether the new one can be reached"
        started = asyncio.get_running_loop().time()
        await stage.fleet.wait_settled(30.0)
        assert stage.fleet.settled
        assert asyncio.get_running_loop().time() - started < 30.0
        assert stage.reach(TWO) is Reach.PENDING
