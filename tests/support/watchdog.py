"""Looks at every commit of every member and complains at once when an invariant is broken."""

from functools import partial
from typing import Any

from tests.support.world import World
from uniteddeployment.embedded.access import Change
from uniteddeployment_api import names

_WORKLOADS = ("statefulsets.apps", "deployments.apps", "clonesets.apps.kruise.io", "statefulsets.apps.kruise.io")


class Watchdog:
    """Counts the pods of each member by image. ``allow(image, member -> pods)`` bounds how many may run one (I6)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bounds: dict[str, dict[str, int]] = {}
        self.broken: list[str] = []
        for name, cluster in world.members.items():
            cluster.access.subscribe("pods", partial(self._pod, name))

    def allow(self, image: str, bounds: dict[str, int]) -> None:
        self._bounds[image] = bounds

    def _pod(self, member: str, change: Change) -> None:
        if change.type != "ADDED":
            return
        image = _image(change.obj)
        bound = self._bounds.get(image, {}).get(member)
        if bound is None:
            return
        running = self._world.images(member).get(image, 0)
        if running > bound:
            self.broken.append(f"{member} runs {running} pods of {image}, {bound} are allowed")


def workloads(world: World, member: str) -> dict[str, Any]:
    """Name -> workload of ours in a member."""
    access = world.clusters[member].access
    found = [one for resource in _WORKLOADS for one in access.list(resource)]
    return {one["metadata"]["name"]: one for one in found if names.LABEL_NAME in one["metadata"].get("labels", {})}


def _image(pod: Any) -> str:
    return str(pod["spec"]["containers"][0]["image"])
