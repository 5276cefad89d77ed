"""The phases of the demo: what each one changes, and when it is complete. Nothing is printed here."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
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
from uniteddeployment.planning.status import READY, RECONCILING
from uniteddeployment_api import names
from uniteddeployment_rollout import partitions

NAME = "web"
MANAGER = "demo"
PHASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of the demo."""

    name: str
    title: str
    change: Callable[[dict[str, Any]], None]
    done: Callable[[Mapping[str, Any]], bool]
    """Return True if the object shows that the phase is complete."""
    images: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Member -> image -> number of pods after the phase."""


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
    """Create the application, update one half of its pods, and finish the rollout."""
    sizes = {"member-1": 4, "member-2": 2, "member-3": 2}
    half = partitions(sizes, 4)

    def canary(document: dict[str, Any]) -> None:
        containers = document["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]["spec"]["containers"]
        containers[0]["image"] = "app:2"
        document["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": half}}

    def finish(document: dict[str, Any]) -> None:
        canary(document)
        document["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": dict.fromkeys(sizes, 0)}}

    return (
        Phase(
            "created",
            "Create 8 replicas over three members: 50%, 25% and the rest",
            lambda _: None,
            lambda obj: status_of(obj).ready_replicas == 8,
            {name: {"app:1": size} for name, size in sizes.items()},
        ),
        Phase(
            "half updated",
            f"Change the image; the partitions {', '.join(map(str, half.values()))} hold one half of each subset",
            canary,
            lambda obj: status_of(obj).updated_ready_replicas == 4,
            {name: {"app:1": half[name], "app:2": size - half[name]} for name, size in sizes.items()},
        ),
        Phase(
            "finished",
            "Set the partitions to 0: the other half is updated",
            finish,
            lambda obj: status_of(obj).current_revision == status_of(obj).updated_revision,
            {name: {"app:2": size} for name, size in sizes.items()},
        ),
    )


def settled(obj: Mapping[str, Any]) -> bool:
    """Return True if the controller has observed the current spec and has nothing left to do."""
    status = status_of(obj)
    conditions = {condition.type: condition.status for condition in status.conditions or ()}
    seen = status.observed_generation == obj["metadata"]["generation"]
    return seen and conditions.get(READY) == "True" and conditions.get(RECONCILING) == "False"


class Stage:
    """Carries out phases on a fleet, and follows the application."""

    def __init__(self, fleet: Fleet, client: Client) -> None:
        self._fleet = fleet
        self._client = client
        self.current: dict[str, Any] | None = None
        self.changed = asyncio.Event()

    async def follow(self) -> None:
        """Keep ``current`` up to date until cancelled."""
        await Reflector(self._client, UNITED_DEPLOYMENTS, Shown, Cache[Shown](self._note), namespace=NAMESPACE).run()

    def _note(self, _old: Shown | None, new: Shown | None) -> None:
        self.current = new.as_dict() if new is not None else None
        self.changed.set()

    async def play(self, phase: Phase) -> None:
        """Carry out one phase. Raises TimeoutError if it does not complete in time."""
        document = yaml.safe_load(samples.read("web.yaml"))
        phase.change(document)
        applied = await self._client.apply(
            UNITED_DEPLOYMENTS, NAME, document, Shown, namespace=NAMESPACE, field_manager=MANAGER, force=True
        )
        try:
            async with asyncio.timeout(PHASE_SECONDS):
                while not self._complete(phase, applied.metadata.generation):
                    await self.changed.wait()
                    self.changed.clear()
        except TimeoutError:
            message = f"the phase {phase.name!r} did not complete within {PHASE_SECONDS:g} s"
            raise TimeoutError(message) from None

    def _complete(self, phase: Phase, generation: int) -> bool:
        obj = self.current
        if obj is None or obj["metadata"]["generation"] < generation:
            return False
        return settled(obj) and phase.done(obj)

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
