"""A rollout controller in a simulated fleet, with the rights of its role and no others, and words for what it does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from tests.simulation.scene import Scene
from tests.support.cluster_images import Documents
from tests.support.inprocess import InProcessTransport
from tests.support.life import Life
from tests.support.world import World, running_world
from uniteddeployment.fleet.access import MemberAccess
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.election import Elector
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment_api import names
from uniteddeployment_rollout.loop.controller import Controller
from uniteddeployment_rollout.loop.objects import FIELD_MANAGER
from uniteddeployment_rollout.loop.run import LEASE

ROLES = Path(__file__).parents[3] / "config" / "rollout" / "role.yaml"
NAMESPACE = "uniteddeployment-system"
ACCOUNT = "uniteddeployment-rollout"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_ROLLOUT_PLURAL}"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
STEPS: list[dict[str, Any]] = [{"replicas": 1, "pause": {}}, {"replicas": "50%", "pause": {}}, {"replicas": "100%"}]


@cache
def shipped() -> Documents:
    """The account of the rollout controller, its roles and its bindings, as they are shipped."""
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    made = [("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}), (accounts, {"metadata": {"name": ACCOUNT}})]
    for role in yaml.safe_load_all(ROLES.read_text()):
        place = f"/namespaces/{NAMESPACE}" if role["kind"] == "Role" else ""
        binding = {
            "metadata": role["metadata"],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
        }
        path = f"{RBAC}{place}/{role['kind'].lower()}"
        made += [(f"{path}s", role), (f"{path}bindings", binding)]
    return made


class Rollouts:
    """The rollout of one application, and the process that advances it."""

    def __init__(self, w: World, scene: Scene) -> None:
        self.world = w
        self.scene = scene
        self.asked: set[tuple[str, str, str]] = set()
        self.refused: set[tuple[str, str, str]] = set()
        self.life: Life | None = None
        self.transport: InProcessTransport | None = None
        self._running: dict[Life, asyncio.Task[None]] = {}
        self.most_updated = 0
        self.most_down = 0
        for member in w.members.values():
            member.access.subscribe("pods", lambda _: self._count())
        w.host.audit.append(self._note)

    def _note(self, event: Any) -> None:
        if event.user == USER and event.attributes.resource:
            right = (event.attributes.group, event.attributes.combined, event.attributes.verb)
            self.asked.add(right)
            if event.decision == "forbid":
                self.refused.add(right)

    def start(self, identity: str = "", through: Callable[[Any], Any] = lambda way: way) -> None:
        """Start a process that knows nothing of earlier ones. With an identity, it works only while it has the Lease.

        ``through`` may change the way to the host.
        """
        self.life = Life()
        token = self.world.token_of(self.world.host, NAMESPACE, ACCOUNT, 86400)
        self.transport = InProcessTransport(through(self.life.connected(self.world.host)), token, "host")
        elector = None
        if identity:
            elector = Elector(Client(self.transport, "host", field_manager=FIELD_MANAGER), NAMESPACE, LEASE, identity)
        guard = elector.check if elector is not None else None
        client = Client(self.transport, "host", field_manager=FIELD_MANAGER, guard=guard)
        recorder = Recorder(client, FIELD_MANAGER, "test", wall=self.world.clock.now)
        members = MemberAccess(client, partial(self._member, self.life))
        controller = Controller(client, recorder=recorder, now=self.world.clock.now, members=members)
        work = elector.run(controller.run) if elector is not None else controller.run()
        self._running[self.life] = self.life.begin(work)

    def _member(self, life: Life, connection: Connection) -> Client:
        name = connection.server.removeprefix("https://").partition(".")[0]
        transport = InProcessTransport(life.connected(self.world.members[name]), connection.tokens or "", name)
        return Client(transport, name, field_manager=FIELD_MANAGER)

    def kill(self) -> None:
        if self.life is not None:
            self.life.kill()

    async def end(self) -> None:
        for life, task in self._running.items():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            life.kill()
        assert not self.refused, f"it asked for what its role does not allow: {self.refused}"

    def create(self, name: str = "web", **spec: Any) -> None:
        document = {
            "apiVersion": names.API_VERSION,
            "kind": names.UNITED_ROLLOUT_KIND,
            "metadata": {"name": name},
            "spec": {"targetRef": {"name": "web"}, "maxUnavailable": 1, "steps": STEPS, **spec},
        }
        self.world.request(self.world.host, "POST", PATH, document)

    def edit(self, name: str = "web", **spec: Any) -> None:
        """A user edits the rollout."""
        self._merge(f"{PATH}/{name}", {"spec": spec})

    def release(self, image: str) -> None:
        """A user applies another image. The manifest says nothing of partitions, so theirs stay."""
        self.scene.image = image
        document = self.scene.document()
        patch = {"spec": {"template": document["spec"]["template"]}}
        self.patch_target(patch)
        self.most_updated = self.most_down = 0

    def patch_target(self, patch: dict[str, Any]) -> None:
        path = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/web"
        self._merge(path, patch)

    def _merge(self, path: str, patch: dict[str, Any]) -> None:
        self.world.request(self.world.host, "PATCH", path, patch, content_type="application/merge-patch+json")

    def give(self, verb: str, id_: str = "") -> None:
        """A client gives a command about the present run and step, with one patch of the status."""
        status = self.status
        command = {"verb": verb, "runID": status.get("runID", ""), "step": status.get("step", 0), "by": "ann"}
        patch = {"status": {"commands": {id_ or f"{verb}-{self.world.loop.time():.3f}": command}}}
        self._merge(f"{PATH}/web/status", patch)

    @property
    def status(self) -> Any:
        found = self.world.host.access.get(f"{names.UNITED_ROLLOUT_PLURAL}.{names.GROUP}", "default", "web") or {}
        return found.get("status") or {}

    @property
    def manual(self) -> Any:
        return self.world.ud()["spec"].get("updateStrategy", {}).get("manualUpdate", {})

    def images(self) -> list[dict[str, int]]:
        return [self.scene.images(name) for name in self.scene.subsets]

    def running(self, image: str) -> list[int]:
        return [found.get(image, 0) for found in self.images()]

    async def phase(self, phase: str, step: int | None = None, seconds: float = 900.0) -> None:
        """Wait for a phase, and if it is given, a step."""

        def there() -> bool:
            return self.status.get("phase") == phase and step in (None, self.status.get("step"))

        try:
            await self.world.until(there, seconds, what=f"{phase} {step}", every=0.2)
        except AssertionError:
            raise AssertionError(f"{phase} {step} was not reached: {self.status} {self.world.status()}") from None

    def events(self, kind: str = names.UNITED_ROLLOUT_KIND) -> list[str]:
        found = self.world.host.access.list("events.events.k8s.io", "default")
        return [event["reason"] for event in found if event["regarding"]["kind"] == kind]

    def _count(self) -> None:
        updated = sum(self.running(self.scene.image))
        self.most_updated = max(self.most_updated, updated)
        wanted = sum(subset for subset in self.scene.subsets.values())
        self.most_down = max(self.most_down, wanted - self.scene.ready())


@asynccontextmanager
async def rollouts(
    kind: str = "statefulSetTemplate",
    subsets: dict[str, int] | None = None,
    *,
    create: bool = True,
    workload: dict[str, Any] | None = None,
    prepare: Callable[[World], None] = lambda _: None,
    **spec: Any,
) -> AsyncIterator[Rollouts]:
    """Four, two and two pods in three members at app:1, ready, with a rollout that holds every new template.

    ``workload`` are fields of the workloads. ``prepare`` is called before the application is created.
    """
    async with running_world(members=3, installed={"host": shipped}) as w:
        prepare(w)
        scene = Scene(w, kind, subsets or {"a": 4, "b": 2, "c": 2}, replicas=None)
        scene.workload = {"podManagementPolicy": "Parallel"} if kind == "statefulSetTemplate" else {}
        scene.workload |= workload or {}
        kit = Rollouts(w, scene)
        scene.ask()
        await scene.settles()
        kit.start()
        try:
            if create:
                kit.create(**spec)
                await kit.phase("Healthy")
            yield kit
        finally:
            await kit.end()
