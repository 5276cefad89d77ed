"""One Kubernetes-compatible cluster in this process: storage, API, controllers and simulated nodes.

Contract: :meth:`Cluster.handle` answers a request synchronously and uses no socket. :meth:`Cluster.request` adds the
faults that are switched on. Time comes from the given clock and chance from the given Random, so two clusters that
receive the same requests become identical, byte for byte.
"""

from collections.abc import Mapping, Sequence
from email.utils import format_datetime
from random import Random
from typing import Final

from uniteddeployment.embedded import builtin
from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.auth import bootstrap
from uniteddeployment.embedded.auth.audit import Auditor
from uniteddeployment.embedded.auth.security import Security
from uniteddeployment.embedded.auth.users import authenticated
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.defaults import default_controllers
from uniteddeployment.embedded.controllers.events.recorder import Recorder
from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.controllers.kubelet.nodes import node_object
from uniteddeployment.embedded.crd.definition.strategy import DefinitionStrategy
from uniteddeployment.embedded.discovery.definitions import KEY as DEFINITIONS
from uniteddeployment.embedded.discovery.definitions import Definitions
from uniteddeployment.embedded.faults import Faults
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.requests.dispatch import Dispatcher
from uniteddeployment.embedded.requests.local import LocalAccess
from uniteddeployment.embedded.storage.registry import Registry
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import HistoryLimits, Image, Store

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
ZONES: Final = ("z1", "z2", "z3")
MANAGER: Final = "kube-apiserver"


class Cluster:
    """A cluster that answers requests as soon as it exists; its controllers run between :meth:`start` and :meth:`stop`.

    ``ready_after`` is the number of seconds that a pod takes to become ready. ``tokens`` maps bearer tokens to users.
    ``controllers`` is True for the default controllers, False for none, or the classes to run. ``image`` is what
    another cluster held, nodes included; a cluster that begins with it is made in a fraction of the time.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        random: Random,
        nodes: int = 3,
        zones: Sequence[str] = ZONES,
        cpu: str = "8",
        memory: str = "32Gi",
        ready_after: float = 0.0,
        tokens: Mapping[str, Identity] | None = None,
        controllers: bool | Sequence[type[Controller]] = True,
        history: HistoryLimits | None = None,
        image: Image | None = None,
    ) -> None:
        self.name = name
        self.clock = clock
        self._random = random
        store = Store(monotonic=clock.monotonic, limits=history, image=image)
        registry = Registry(store)
        self.core = Core(store, registry, clock, self._fork())
        registry.register(builtin.resources({DEFINITIONS: DefinitionStrategy()}))
        self._definitions = Definitions(self.core)
        self.tokens: dict[str, Identity] = {token: authenticated(who) for token, who in (tokens or {}).items()}
        security = Security(self.core, self.tokens)
        self._local = LocalAccess(self.core, security.accounts)
        self.access: Access = self._local
        self.faults = Faults(clock, self._fork())
        self.audit: list[Auditor] = []
        """Called with each request and its response."""
        self._dispatcher = Dispatcher(self.core, security, self.audit)
        self._controllers = self._chosen(controllers)
        if image is None:
            self._create_basics(nodes, zones, cpu=cpu, memory=memory, ready_after=ready_after)

    def _fork(self) -> Random:
        """A separate source of randomness, so that no part depends on how often another one draws."""
        return Random(self._random.getrandbits(64))  # noqa: S311  # names and simulations, no secrets

    def _chosen(self, controllers: bool | Sequence[type[Controller]]) -> list[Controller]:
        if isinstance(controllers, bool):
            controllers = default_controllers() if controllers else ()
        events = Recorder(self.access, self.clock)
        return [controller(self.access, self.clock, self._fork(), events) for controller in controllers]

    def _create_basics(self, nodes: int, zones: Sequence[str], *, cpu: str, memory: str, ready_after: float) -> None:
        for namespace in NAMESPACES:
            self.access.create("namespaces", {"metadata": {"name": namespace}}, manager=MANAGER)
        bootstrap.create(self.core)
        for i in range(nodes):
            zone = zones[i % len(zones)] if zones else ""
            node = node_object(f"{self.name}-node-{i + 1}", zone=zone, cpu=cpu, memory=memory, ready_after=ready_after)
            self.access.create("nodes", node, manager="kubelet")

    def trust(self, certificate: bytes) -> None:
        """Set the certificate (PEM) by which clients know this cluster's server; controllers put it into token
        Secrets.
        """
        self._local.certificate = certificate

    def start(self) -> None:
        """Start the controllers."""
        for controller in self._controllers:
            controller.start()

    def stop(self) -> None:
        """Stop the controllers and end all watches. Stored objects stay, and the cluster can be started again."""
        for controller in reversed(self._controllers):
            controller.stop()
        for watch in tuple(self.core.watches):
            watch.stream.end()

    def image(self) -> Image:
        """What it holds now, to begin other clusters with."""
        return self.core.store.image()

    def handle(self, request: Request) -> Response:
        """Answer a request. The answer says what time it is, as those of all HTTP servers do."""
        response = self._dispatcher.handle(request)
        response.headers["date"] = format_datetime(self.clock.now(), usegmt=True)
        return response

    async def request(self, request: Request) -> Response:
        """Answer a request as a client sees it. Raises ConnectionError if a fault breaks the connection."""
        return await self.faults.around(request, self.handle)
