"""The phases of the demo: what each one changes, and when it is complete. Nothing is printed here."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from msgspec import Struct

from uniteddeployment.cli.application import Shown, status_of
from uniteddeployment.cli.connect import opened
from uniteddeployment.cli.demo import samples
from uniteddeployment.cli.demo.fleet import NAMESPACE, Fleet
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import PODS
from uniteddeployment.planning.results import State
from uniteddeployment.planning.status import READY, RECONCILING
from uniteddeployment.planning.stored import StoredStatus
from uniteddeployment_api import names
from uniteddeployment_rollout import partitions
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout

NAME = "web"
MANAGER = "demo"
PHASE_SECONDS = 60.0
SIZES = {"member-1": 4, "member-2": 2, "member-3": 2}
ROLLOUT = {
    "maxUnavailable": "50%",
    "steps": [
        {"replicas": 1, "pause": {"duration": "1s"}},
        {"replicas": "50%", "gates": [{"name": "restarts", "readiness": {}}], "pause": {}},
        {"replicas": "100%"},
    ],
}


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of the demo."""

    name: str
    title: str
    play: "Callable[[Stage], Awaitable[None]]"
    """What to change."""
    done: "Callable[[Stage], bool]"
    """Return True if the phase is complete."""
    images: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Member -> image -> number of pods after the phase."""
    shows_rollout: bool = False
    """Show the rollout instead of the application."""


class _Container(Struct, frozen=True):
    image: str = ""


class _PodSpec(Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _PodMeta(Struct, rename="camel", frozen=True):
    name: str = ""
    deletion_timestamp: str | None = None


class _Pod(Struct, frozen=True):
    metadata: _PodMeta
    spec: _PodSpec = _PodSpec()


def phases() -> tuple[Phase, ...]:
    """Update an application in two steps by hand, and then with a rollout that has a pause, a gate and an approval."""
    half = partitions(SIZES, 4)
    return (
        Phase(
            "created",
            "Create 8 replicas over three members: 50%, 25% and the rest",
            _applies("app:1"),
            lambda stage: stage.settled and stage.status.ready_replicas == 8,
            _all("app:1"),
        ),
        Phase(
            "half updated",
            f"Change the image; the partitions {', '.join(map(str, half.values()))} hold one half of each subset",
            _applies("app:2", half),
            lambda stage: stage.settled and stage.status.updated_ready_replicas == 4,
            {name: {"app:1": half[name], "app:2": size - half[name]} for name, size in SIZES.items()},
        ),
        Phase(
            "finished",
            "Set the partitions to 0: the other half is updated",
            _applies("app:2", dict.fromkeys(SIZES, 0)),
            lambda stage: stage.settled and stage.status.current_revision == stage.status.updated_revision,
            _all("app:2"),
        ),
        *rollout_phases(),
    )


def rollout_phases() -> tuple[Phase, ...]:
    """A rollout does the same on its own, until it needs an approval."""

    async def release(stage: "Stage") -> None:
        await stage.create_rollout(ROLLOUT)
        await stage.until(lambda: stage.rollout_phase == "Healthy")
        await stage.apply("app:3")

    def waits(stage: "Stage") -> bool:
        held = all(subset.state == State.HELD for subset in stage.status.subset_statuses or ())
        shown = all(row["state"] == State.HELD for row in stage.rollout_status.get("subsets") or ())
        return stage.rollout_phase == "Paused" and stage.rollout_status.get("step") == 2 and held and shown

    half = partitions(SIZES, 4)
    return (
        Phase(
            "rollout waits",
            "Create a rollout, and change the image: one pod for a second, one half with a gate, then approval",
            release,
            waits,
            {name: {"app:2": half[name], "app:3": size - half[name]} for name, size in SIZES.items()},
            shows_rollout=True,
        ),
        Phase(
            "rollout finished",
            "Approve: the rest of the pods is updated",
            lambda stage: stage.command("approve"),
            lambda stage: stage.settled and stage.rollout_phase == "Healthy",
            _all("app:3"),
        ),
    )


def _all(image: str) -> dict[str, dict[str, int]]:
    return {name: {image: size} for name, size in SIZES.items()}


def _applies(image: str, held: Mapping[str, int] | None = None) -> "Callable[[Stage], Awaitable[None]]":
    async def play(stage: "Stage") -> None:
        await stage.apply(image, held)

    return play


def settled(obj: Mapping[str, Any]) -> bool:
    """Return True if the controller has observed the current spec and has nothing left to do."""
    status = status_of(obj)
    conditions = {condition.type: condition.status for condition in status.conditions or ()}
    seen = status.observed_generation == obj["metadata"]["generation"]
    return seen and conditions.get(READY) == "True" and conditions.get(RECONCILING) == "False"


class Stage:
    """Carries out phases on a fleet, and follows the application and its rollout."""

    def __init__(self, fleet: Fleet, client: Client) -> None:
        self._fleet = fleet
        self._client = client
        self._generation = 0
        """The generation of the application that was written last."""
        self.current: dict[str, Any] | None = None
        self.rollout: StoredRollout | None = None
        self.changed = asyncio.Event()

    async def follow(self) -> None:
        """Keep ``current`` and ``rollout`` up to date until cancelled."""
        applications = Cache[Shown](self._note)
        rollouts = Cache[StoredRollout](self._note_rollout)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                Reflector(self._client, UNITED_DEPLOYMENTS, Shown, applications, namespace=NAMESPACE).run()
            )
            tasks.create_task(
                Reflector(self._client, UNITED_ROLLOUTS, StoredRollout, rollouts, namespace=NAMESPACE).run()
            )

    def _note(self, _old: Shown | None, new: Shown | None) -> None:
        self.current = new.as_dict() if new is not None else None
        self.changed.set()

    def _note_rollout(self, _old: StoredRollout | None, new: StoredRollout | None) -> None:
        self.rollout = new
        self.changed.set()

    @property
    def settled(self) -> bool:
        """Whether the controller has observed what was applied last, and has nothing left to do."""
        obj = self.current
        return obj is not None and obj["metadata"]["generation"] >= self._generation and settled(obj)

    @property
    def status(self) -> StoredStatus:
        return status_of(self.current or {})

    @property
    def rollout_status(self) -> dict[str, Any]:
        return self.rollout.status if self.rollout is not None else {}

    @property
    def rollout_phase(self) -> str:
        """The phase, if it is about the template that was applied last."""
        status = self.rollout_status
        same = status.get("updateRevision") == self.status.updated_revision
        return str(status.get("phase", "")) if same and self.settled_spec else ""

    @property
    def settled_spec(self) -> bool:
        """Whether the controller has observed what was applied last."""
        obj = self.current
        if obj is None or obj["metadata"]["generation"] < self._generation:
            return False
        return bool(self.status.observed_generation == obj["metadata"]["generation"])

    async def play(self, phase: Phase) -> None:
        """Carry out one phase. Raises TimeoutError if it does not complete in time."""
        try:
            async with asyncio.timeout(PHASE_SECONDS):
                await phase.play(self)
                await self.until(lambda: phase.done(self))
        except TimeoutError:
            message = f"the phase {phase.name!r} did not complete within {PHASE_SECONDS:g} s"
            raise TimeoutError(message) from None

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that a change fulfills."""
        while not condition():
            await self.changed.wait()
            self.changed.clear()

    async def apply(self, image: str, held: Mapping[str, int] | None = None) -> None:
        """Apply the sample with an image, and with partitions if they are given."""
        document = yaml.safe_load(samples.read("web.yaml"))
        containers = document["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]["spec"]["containers"]
        containers[0]["image"] = image
        if held is not None:
            document["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": dict(held)}}
        applied = await self._client.apply(
            UNITED_DEPLOYMENTS, NAME, document, Shown, namespace=NAMESPACE, field_manager=MANAGER, force=True
        )
        self._generation = applied.metadata.generation

    async def create_rollout(self, spec: Mapping[str, Any]) -> None:
        """Create the rollout of the application."""
        document = {
            "apiVersion": names.API_VERSION,
            "kind": names.UNITED_ROLLOUT_KIND,
            "metadata": {"name": NAME},
            "spec": {"targetRef": {"name": NAME}, **spec},
        }
        await self._client.create(UNITED_ROLLOUTS, document, StoredRollout, namespace=NAMESPACE)

    async def command(self, verb: str) -> None:
        """Give a command for the present run and step."""
        command = {
            "verb": verb,
            "runID": self.rollout_status["runID"],
            "step": self.rollout_status["step"],
            "by": "demo",
        }
        patch = {"status": {"commands": {"demo": command}}}
        await self._client.merge_patch(
            UNITED_ROLLOUTS, NAME, patch, StoredRollout, namespace=NAMESPACE, subresource="status"
        )

    async def images(self) -> dict[str, dict[str, int]]:
        """Member -> image -> number of running pods, as the members report them."""
        images = {}
        for member in self._fleet.members:
            async with opened(member.connection()) as client:
                pods = await client.list_all(
                    PODS, _Pod, namespace=NAMESPACE, label_selector=f"{names.LABEL_NAME}={NAME}"
                )
            counts = Counter(pod.spec.containers[0].image for pod in pods if not pod.metadata.deletion_timestamp)
            images[member.cluster.name] = dict(sorted(counts.items()))
        return images
