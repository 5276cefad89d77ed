"""A whole fleet in one process: a host, members and the controller, without sockets, under virtual time.

Under virtual time (``virtual_time``) minutes of waiting in it take milliseconds, and one seed gives one history.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from tests.support import rights
from tests.support.cluster_images import ADMIN, TOKEN, Documents, host_documents, image_of, member_documents
from tests.support.inprocess import InProcessTransport
from tests.support.life import Life, track_tasks
from uniteddeployment.controller.controller import Controller
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Request
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, TokenProvider
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment_api import names

WORKERS = 16
"""Enough for the few applications of a test, and a tenth of the cost of as many workers as a real fleet needs."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
AT_ONCE = {"offlineAfter": "0s", "recoverAfter": "0s"}
"""``spec.health`` for tests that are not about thresholds."""
UDS = f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}"
CLUSTERS = "clusters.uniteddeployment.io"


class MemberClock(LoopClock):
    """A clock that can be set wrong."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class World:
    """The clusters and the controller, with short words for what tests do to them.

    Without ``capacity``, the members' nodes and pods are not counted: that saves time, and plans then learn only from
    pods that cannot be scheduled. ``installed`` is what else a cluster has from the beginning, by name. ``uids``
    is the seed of the uids of what it begins with.
    """

    def __init__(
        self,
        seed: int = 1,
        members: int = 3,
        *,
        health: Mapping[str, str] | None = None,
        capacity: bool = False,
        uids: int = 1,
        installed: Mapping[str, Callable[[], Documents]] | None = None,
        **cluster: Any,
    ) -> None:
        self.capacity = "Enabled" if capacity else "Disabled"
        self.health = AT_ONCE if health is None else dict(health)
        self.loop = asyncio.get_running_loop()
        self.clock = LoopClock(self.loop, EPOCH)
        random = Random(seed)

        def made(name: str, uids: int = uids) -> Cluster:
            host = name == "host"
            documents: tuple[Callable[[], Documents], ...] = (host_documents if host else member_documents,)
            if installed and name in installed:
                documents += (installed[name],)
            return Cluster(
                name,
                clock=self.clock if name == "host" else MemberClock(self.loop, self.clock.now()),
                random=Random(random.getrandbits(64)),
                tokens={TOKEN: ADMIN, rights.TOKEN: rights.identity("host" if host else "member")},
                image=image_of(name, uids, documents, tuple(sorted(cluster.items()))),
                **cluster,
            )

        self.made = made
        """Makes a cluster with this name. ``uids`` is the seed of its uids."""
        self.other_uids = count(uids + 1)
        self.host = made("host")
        self.members = {f"member-{i + 1}": made(f"member-{i + 1}") for i in range(members)}
        self.asked = {
            name: rights.Asked(cluster, "host" if cluster is self.host else "member")
            for name, cluster in self.clusters.items()
        }
        """What the controller asked each cluster for; it has the rights of its roles, and no others."""
        self.untrusted: set[str] = set()
        """Clusters whose certificate is not one of the authority that clients know."""
        self.transports: dict[str, InProcessTransport] = {}
        self.controller: Controller | None = None
        self.life: Life | None = None
        """The controller process that runs now."""
        self._running: dict[Life, asyncio.Task[None]] = {}
        track_tasks(self.loop)

    @property
    def clusters(self) -> dict[str, Cluster]:
        return {"host": self.host, **self.members}

    def request(self, cluster: Cluster, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Ask as an administrator, past all faults. Raises AssertionError for a refusal."""
        encoded = b"" if body is None else json.dumps(body).encode()
        kind = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}", "user-agent": "test"}
        kind |= {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = path.partition("?")
        pairs = tuple((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair))
        response = cluster.handle(Request(method, path, pairs, kind, encoded))
        answer = json.loads(response.body)
        assert response.status < 300, answer
        return answer

    def token_of(self, cluster: Cluster, namespace: str, name: str, seconds: int = 3600) -> str:
        """A token of a ServiceAccount that is there: its rights are those of RBAC and nothing else."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.request(cluster, "POST", path, {"spec": {"expirationSeconds": seconds}})
        return str(answer["status"]["token"])

    def start_clusters(self) -> None:
        for cluster in self.clusters.values():
            cluster.start()

    def register(self) -> None:
        """Cluster objects and Secrets for all members."""
        for name in self.members:
            self.create_secret(name)
            self.register_cluster(name)

    def create_secret(self, name: str, namespace: str = "default") -> None:
        """The Secret of a Cluster object with this name."""
        secret = {"metadata": {"name": f"{name}-credentials"}, "stringData": {"token": rights.TOKEN}}
        self.request(self.host, "POST", f"/api/v1/namespaces/{namespace}/secrets", secret)

    def register_cluster(self, name: str) -> None:
        """The Cluster object of a member whose Secret exists."""
        self.create_cluster(name, name, health=self.health, capacity=self.capacity)

    def create_cluster(self, name: str, server: str, namespace: str = "default", **spec: object) -> None:
        """A Cluster object with this name for a server whose name may be another, and whose Secret exists."""
        credentials = {"secretRef": {"name": f"{name}-credentials"}}
        cluster = {
            "apiVersion": names.API_VERSION,
            "kind": "Cluster",
            "metadata": {"name": name},
            "spec": {"server": f"https://{server}.test:6443", "credentials": credentials, **spec},
        }
        self.request(self.host, "POST", f"{names.API_PATH}/namespaces/{namespace}/clusters", cluster)

    def client(self, cluster: Cluster, token: str | TokenProvider = rights.TOKEN) -> Client:
        served = cluster if self.life is None else self.life.connected(cluster, self._at_address)
        transport = InProcessTransport(served, token, cluster.name)
        self.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    def _at_address(self, cluster: Cluster) -> Cluster:
        """The cluster that answers at the address of a cluster now. Raises SSLError."""
        if cluster.name in self.untrusted:
            error = ssl.SSLCertVerificationError()
            error.verify_message = "self-signed certificate in certificate chain"
            raise error
        return self.members.get(cluster.name, cluster)

    def start_controller(self, **options: Any) -> None:
        """Start a controller process that knows nothing of earlier ones."""

        def connect(connection: Connection) -> Client:
            name = connection.server.removeprefix("https://").partition(".")[0]
            return self.client(self.clusters[name], connection.tokens or "")

        self.life = Life()
        client = self.client(self.host)
        recorder = Recorder(client, names.MANAGER, "test", wall=self.clock.now)
        options.setdefault("workers", WORKERS)
        self.controller = Controller(client, connect, recorder=recorder, now=self.clock.now, **options)
        self._running[self.life] = self.life.begin(self.controller.run())

    async def stop_controller(self) -> None:
        """As a SIGTERM does: it finishes what it is doing."""
        if self.life is not None:
            await self._ended(self.life, self._running.pop(self.life))
        self.life = self.controller = None

    def kill_controller(self) -> None:
        """As a SIGKILL does: from this instant on it sends nothing and does nothing."""
        if self.life is not None:
            self.life.kill()
        self.life = self.controller = None

    async def stop(self) -> None:
        """End everything that was started."""
        await self.stop_controller()
        for life, running in self._running.items():
            await self._ended(life, running)
        for cluster in self.clusters.values():
            cluster.stop()

    @staticmethod
    async def _ended(life: Life, running: asyncio.Task[None]) -> None:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        life.kill()

    def apply(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Create or replace a UnitedDeployment, as a user does."""
        meta = document["metadata"]
        path = f"{names.API_PATH}/namespaces/{meta.get('namespace', 'default')}/{names.UNITED_DEPLOYMENT_PLURAL}"
        existing = self.host.access.get(UDS, meta.get("namespace", "default"), meta["name"])
        if existing is None:
            return dict(self.request(self.host, "POST", path, document))
        merged = {**existing, "spec": document["spec"]}
        return dict(self.request(self.host, "PUT", f"{path}/{meta['name']}", merged))

    def delete(self, name: str = "web", namespace: str = "default") -> None:
        with suppress(StatusError):
            self.host.access.delete(UDS, namespace, name)

    def ud(self, name: str = "web", namespace: str = "default") -> Any:
        return self.host.access.get(UDS, namespace, name)

    def status(self, name: str = "web") -> Any:
        return (self.ud(name) or {}).get("status") or {}

    def condition(self, type_: str, name: str = "web") -> str:
        found = [one["status"] for one in self.status(name).get("conditions", ()) if one["type"] == type_]
        return found[0] if found else ""

    def pods(self, member: str, namespace: str = "default") -> list[Any]:
        return list(self.clusters[member].access.list("pods", namespace))

    def images(self, member: str) -> dict[str, int]:
        """Image -> living pods."""
        counts: dict[str, int] = {}
        for pod in self.pods(member):
            if "deletionTimestamp" not in pod["metadata"]:
                image = pod["spec"]["containers"][0]["image"]
                counts[image] = counts.get(image, 0) + 1
        return counts

    async def until(
        self, condition: Callable[[], object], seconds: float = 600.0, what: str = "", every: float = 0.05
    ) -> None:
        """Let virtual time go on until something holds."""
        deadline = self.loop.time() + seconds
        while not condition():
            if self.loop.time() > deadline:
                raise AssertionError(f"{what or 'it'} did not happen within {seconds:g} s: {self.status()}")
            await asyncio.sleep(every)

    def settled(self, name: str = "web") -> bool:
        ud = self.ud(name)
        return (
            ud is not None
            and self.status(name).get("observedGeneration") == ud["metadata"]["generation"]
            and self.condition("Ready", name) == "True"
            and self.condition("Reconciling", name) == "False"
        )

    def requests(self) -> dict[str, int]:
        """Requests of the controller by cluster, without watches and probes."""
        return self._sent(lambda verb: verb not in ("watch", "probe"))

    def probes(self) -> dict[str, int]:
        """Probes of the controller by cluster."""
        return self._sent(lambda verb: verb == "probe")

    def _sent(self, wanted: Callable[[str], bool]) -> dict[str, int]:
        return {name: sum(wanted(one.verb) for one in transport.sent) for name, transport in self.transports.items()}

    def phase(self, member: str) -> str:
        """The phase of a Cluster object."""
        found = self.host.access.get("clusters.uniteddeployment.io", "default", member) or {}
        return str((found.get("status") or {}).get("phase", ""))


@asynccontextmanager
async def running_world(
    seed: int = 1, members: int = 3, *, controller: bool = True, registered: bool = True, **cluster: Any
) -> AsyncIterator[World]:
    """A world in which, unless told otherwise, members are registered and the controller runs."""
    made = World(seed, members, **cluster)
    made.start_clusters()
    await asyncio.sleep(0.1)
    if registered:
        made.register()
    if controller:
        made.start_controller()
    try:
        yield made
    finally:
        await made.stop()
    refused = {name: asked.refused for name, asked in made.asked.items() if asked.refused}
    assert not refused, f"the controller asked for what its roles do not allow: {refused}"


@asynccontextmanager
async def second_host(first: World, seed: int = 2) -> AsyncIterator[World]:
    """Another host with a controller of its own that has the members of a first one registered."""
    made = World(seed, members=0, uids=seed)
    made.members = first.members
    made.host.start()
    await asyncio.sleep(0.1)
    made.register()
    made.start_controller()
    try:
        yield made
    finally:
        await made.stop_controller()
        made.host.stop()
