"""One application whose subsets run in a member each, and words for what happens to it and what comes of it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.support.planning import manifest
from tests.support.world import World
from uniteddeployment_api import names


class Scene:
    """Subsets by name with their shares or bounds; the first runs in member-1, the next in member-2, and so on."""

    def __init__(
        self,
        world: World,
        kind: str,
        subsets: Mapping[str, Any],
        *,
        strategy: Mapping[str, Any] | None = None,
        name: str = "web",
        **spec: Any,
    ) -> None:
        self.world = world
        self.kind, self.name = kind, name
        self.subsets = dict(subsets)
        self.spec = spec
        self.workload: dict[str, Any] = {}
        """Fields of the spec of the workload's template."""
        self.strategy = strategy
        self.image = "app:1"
        self.lowest = 0
        self._homes: dict[str, str] = {}
        for member in world.members.values():
            member.access.subscribe("pods", lambda _: self._note())

    def _note(self) -> None:
        self.lowest = min(self.lowest, self.ready())

    def home(self, subset: str) -> str:
        return self._homes.setdefault(subset, f"member-{len(self._homes) + 1}")

    def document(self, total: int | None = None) -> dict[str, Any]:
        if total is not None:
            self.spec["replicas"] = total
        document = manifest(kind=self.kind, image=self.image, shares=self.subsets, **self.spec)
        document["metadata"]["name"] = self.name
        document["spec"]["template"][self.kind]["spec"] |= self.workload
        for subset in document["spec"]["topology"]["subsets"]:
            subset["targetCluster"] = {"name": self.home(subset["name"])}
        if self.strategy:
            document["spec"]["topology"]["scheduleStrategy"] = self.strategy
        return document

    def ask(self, total: int | None = None) -> None:
        """Write the application as it is to be now, and start to watch how few of its pods are ready."""
        self.world.apply(self.document(total))
        self.lowest = self.ready()

    def scale(self, total: int) -> None:
        """As an autoscaler does."""
        path = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/{self.name}/scale"
        scale = self.world.request(self.world.host, "GET", path)
        self.world.request(self.world.host, "PUT", path, {**scale, "spec": {"replicas": total}})
        self.lowest = self.ready()

    def cordon(self, *subsets: str, on: bool = True) -> None:
        """Make the nodes of subsets unschedulable, or schedulable again."""
        for subset in subsets:
            access = self.world.members[self.home(subset)].access
            for node in access.list("nodes"):
                access.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": on}}, manager="test")

    def pods(self, subset: str) -> list[Any]:
        """Those that are not going away."""
        return [pod for pod in self.world.pods(self.home(subset)) if "deletionTimestamp" not in pod["metadata"]]

    def ready(self) -> int:
        pods = [pod for member in self.world.members for pod in self.world.pods(member)]
        return sum("deletionTimestamp" not in pod["metadata"] and is_ready(pod) for pod in pods)

    def images(self, subset: str) -> dict[str, int]:
        return self.world.images(self.home(subset))

    def status(self) -> Any:
        return self.world.status(self.name)

    def entry(self, subset: str) -> Any:
        found = [one for one in self.status().get("subsetStatuses", ()) if one["name"] == subset]
        return found[0] if found else {}

    def partitions(self) -> list[int]:
        return [self.entry(name).get("partition") for name in self.subsets]

    def reserved(self) -> list[int]:
        return [self.entry(name).get("reservedReplicas", 0) for name in self.subsets]

    def unschedulable(self) -> list[str]:
        """The subsets that are marked."""
        return [
            name
            for name in self.subsets
            if [one["status"] for one in self.entry(name).get("conditions", ())] == ["False"]
        ]

    def revisions(self) -> list[Any]:
        """The application's own revisions on the host, oldest first."""
        found = [
            one
            for one in self.world.host.access.list("controllerrevisions.apps", "default")
            if one["metadata"]["labels"].get(names.LABEL_NAME) == names.label_value(self.name)
        ]
        return sorted(found, key=lambda one: int(one["revision"]))

    async def settles(self) -> None:
        await self.world.until(lambda: self.world.settled(self.name), what="an application that is as asked for")

    async def comes_to(
        self,
        *pods: int,
        marked: list[str] | None = None,
        reserved: list[int] | None = None,
        seconds: float = 200.0,
    ) -> None:
        """Wait until the subsets have so many pods each, in the clusters and by status, and stay so for a while."""

        def there() -> bool:
            given = [self.entry(name).get("replicas") for name in self.subsets]
            return (
                [len(self.pods(name)) for name in self.subsets] == list(pods) == given
                and (marked is None or self.unschedulable() == marked)
                and (reserved is None or self.reserved() == reserved)
            )

        what = f"{pods}, marked {marked}, reserved {reserved}"
        for _ in range(20):
            await self.world.until(there, seconds, what=what)
            await asyncio.sleep(2)
            if there():
                return
        raise AssertionError(f"{what} does not last: {self.status()}")


def is_ready(pod: Any) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
