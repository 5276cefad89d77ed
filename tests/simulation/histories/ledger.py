"""The state of a fleet, counted at every commit: pods and workloads of the members, the application on the host."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tests.simulation.histories.objects import Health, Place, Pod, Workload, read_pod, read_workload
from tests.simulation.histories.requested import Generation, read_generation
from tests.support.kruise import KRUISE_KINDS, RESOURCES
from tests.support.world import CLUSTERS, UDS, World
from uniteddeployment.embedded.access import Change

OnPod = Callable[[Pod | None, Pod | None, bool], None]
OnWorkload = Callable[[Workload | None, Workload | None, bool], None]
OnStatus = Callable[[Mapping[str, Any], bool], None]


class Ledger:
    """Counts a world. Listeners are called with (old, new, whether the controller wrote it), after it is counted."""

    def __init__(self, world: World, kind: str, *, moves: bool = False) -> None:
        self.world = world
        self.moves = moves
        """Whether the state of clusters may move replicas."""
        self.per_revision = kind == "deploymentTemplate"
        """Whether a subset has a workload for each revision."""
        self.resource = RESOURCES[kind]
        self.pods: dict[tuple[str, str], Pod] = {}
        self.living: dict[Place, Counter[str]] = {}
        """Living pods by image."""
        self.ready: dict[Place, Counter[str]] = {}
        self.workloads: dict[tuple[str, str, str], Workload] = {}
        """(member, resource, name) -> a workload of the application or of somebody else."""
        self.generations: list[Generation] = []
        """Every generation of the application, the newest last; empty when there is none."""
        self.uid = ""
        self.known: set[str] = set()
        """The uids of all applications that there were."""
        self.deleting = self.orphaning = False
        self.status: Mapping[str, Any] = {}
        self.images: dict[str, str] = {}
        """Revision -> image."""
        self.tainted: set[str] = set()
        """The Clusters that have a taint."""
        self.moved = -1000.0
        """The time at which the last taint of a Cluster went."""
        self.changed = 0.0
        """The time at which a pod or a workload changed last."""
        self._ready_counts: deque[tuple[float, Counter[str]]] = deque([(0.0, Counter())])
        """(since when, member -> its ready pods)"""
        self.health: dict[str, Health] = {}
        """The health of each member, by the status of its Cluster."""
        self.resuming: int | None = None
        """While a frozen member goes on and does what it was asked for long ago: the generation that it froze at."""
        self.foreign: set[str] = set()
        """Members at whose address another cluster answers."""
        self.on_pod: list[OnPod] = []
        self.on_workload: list[OnWorkload] = []
        self.on_status: list[OnStatus] = []
        self.on_foreign_write: list[Callable[[str], None]] = []
        """Called with the member at whose address the controller wrote into another cluster."""
        self.on_health: list[Callable[[str], None]] = []
        """Called with each member whose phase has changed."""
        self.on_revision_deleted: list[Callable[[str], None]] = []
        """Called with the image of each revision that the controller deletes."""
        self._subscribe(kind)

    def _subscribe(self, kind: str) -> None:
        self._kinds = [
            resource for name, resource in RESOURCES.items() if (name in KRUISE_KINDS) <= (kind in KRUISE_KINDS)
        ]
        for name in self.world.members:
            self._follow(name)
        self.world.host.access.subscribe(UDS, self._application)
        self.world.host.access.subscribe("controllerrevisions.apps", self._revision)
        for cluster in self.world.host.access.list(CLUSTERS, "default"):
            self._count_cluster(cluster)
        self.world.host.access.subscribe(CLUSTERS, self._cluster)

    def _follow(self, member: str) -> None:
        access = self.world.members[member].access
        access.subscribe("pods", lambda change: self._pod(member, change))
        for resource in self._kinds:
            access.subscribe(resource, lambda change: self._workload(member, change))

    def beware(self, member: str) -> None:
        """Another cluster answers at the address of a member: nothing is to be written there."""
        self.foreign.add(member)
        for resource in self._kinds:
            self.world.members[member].access.subscribe(resource, lambda _: self._in_foreign(member))

    def _in_foreign(self, member: str) -> None:
        if self.by_controller and member in self.foreign:
            for listener in self.on_foreign_write:
                listener(member)

    def remove(self, member: str) -> None:
        """The cluster of a member and its pods are gone."""
        for key in [key for key in self.pods if key[0] == member]:
            self._count_pod(key, None)
        for workload in [key for key in self.workloads if key[0] == member]:
            del self.workloads[workload]

    def succeed(self, member: str) -> None:
        """The cluster that answers at the address of a member now takes its place."""
        self.foreign.discard(member)
        self._follow(member)

    @property
    def by_controller(self) -> bool:
        """Whether the controller makes the present commit."""
        return self.world.life is not None and self.world.life.writing

    @property
    def observed(self) -> int:
        """``status.observedGeneration``: no write is planned on an earlier generation any more."""
        generation: int = self.status.get("observedGeneration", 0)
        return generation

    @property
    def stable(self) -> str:
        """The image of the stable revision in status; empty before there is one."""
        return self.images.get(self.status.get("currentRevision") or "", "")

    @property
    def newest(self) -> Generation:
        return self.generations[-1]

    def phase(self, member: str) -> str:
        """The phase of a member by the status of its Cluster."""
        return self.health[member].phase if member in self.health else ""

    def planned(self) -> list[Generation]:
        """The generations that a write of this moment may have been planned on."""
        first = self.observed if self.resuming is None else min(self.resuming, self.observed)
        return [generation for generation in self.generations if generation.number >= first]

    def at(self, place: Place) -> list[Workload]:
        """The application's workloads of a subset in a member."""
        return [found for found in self.workloads.values() if found.place == place and found.owner in self.known]

    def pods_at(self, place: Place) -> Counter[str]:
        """Image -> living pods of a place."""
        return +self.living.get(place, Counter())

    def ready_at(self, place: Place) -> Counter[str]:
        """Image -> ready pods of a place."""
        return +self.ready.get(place, Counter())

    def most_ready(self, seconds: float, unseen: Collection[str] = ()) -> int:
        """The most ready pods that there were at once within the last seconds, without those of unseen members."""
        now = self.world.loop.time()
        while len(self._ready_counts) > 1 and self._ready_counts[1][0] <= now - seconds:
            self._ready_counts.popleft()
        return max(
            sum(count for member, count in counts.items() if member not in unseen) for _, counts in self._ready_counts
        )

    def has_template(self, image: str) -> bool:
        """Whether the host has the ControllerRevision of an image."""
        access = self.world.host.access
        revisions = [name for name, of in self.images.items() if of == image]
        return any(access.get("controllerrevisions.apps", "default", name) is not None for name in revisions)

    @property
    def settled(self) -> bool:
        """Whether everything is as requested, by status."""
        conditions = {entry["type"]: entry["status"] for entry in self.status.get("conditions", ())}
        seen = bool(self.generations) and self.observed == self.newest.number
        return seen and conditions.get("Ready") == "True" and conditions.get("Reconciling") == "False"

    def summary(self) -> str:
        """The pods that run, by place and image."""
        return str({place: dict(+counts) for place, counts in self.living.items() if +counts})

    def reasons(self) -> str:
        """The messages of the application's conditions."""
        return "; ".join(entry["message"] for entry in self.status.get("conditions", ()) if entry["message"])

    # Changes

    def _revision(self, change: Change) -> None:
        if change.type == "DELETED" and self.by_controller:
            image = self.images.get(change.obj["metadata"]["name"], "")
            for listener in self.on_revision_deleted:
                listener(image)

    def _cluster(self, change: Change) -> None:
        self._count_cluster({"metadata": change.obj["metadata"]} if change.type == "DELETED" else change.obj)

    def _count_cluster(self, cluster: Mapping[str, Any]) -> None:
        self._count_taints(cluster)
        name, status = cluster["metadata"]["name"], cluster.get("status") or {}
        health = Health(status.get("phase", ""), status.get("phaseTransitionTime", ""))
        if health != self.health.get(name):
            self.health[name] = health
            for listener in self.on_health:
                listener(name)

    def _count_taints(self, cluster: Mapping[str, Any]) -> None:
        name = cluster["metadata"]["name"]
        if any(cluster.get(part, {}).get("taints") for part in ("spec", "status")):
            self.tainted.add(name)
        elif name in self.tainted:
            self.tainted.remove(name)
            self.moved = self.world.loop.time()

    def _pod(self, member: str, change: Change) -> None:
        new = None if change.type == "DELETED" else read_pod(member, change.obj)
        self._count_pod((member, change.obj["metadata"]["name"]), new)

    def _count_pod(self, key: tuple[str, str], new: Pod | None) -> None:
        old = self.pods.pop(key, None)
        if new is not None:
            self.pods[key] = new
        if old == new:
            return
        for pod, sign in ((old, -1), (new, 1)):
            if pod is not None and pod.living:
                self.living.setdefault(pod.place, Counter())[pod.image] += sign
                if pod.ready:
                    self.ready.setdefault(pod.place, Counter())[pod.image] += sign
        self.changed = self.world.loop.time()
        ready: Counter[str] = Counter()
        for (member, _), counts in self.ready.items():
            ready[member] += counts.total()
        self._ready_counts.append((self.changed, ready))
        for listener in self.on_pod:
            listener(old, new, self.by_controller)

    def _workload(self, member: str, change: Change) -> None:
        new = None if change.type == "DELETED" else read_workload(member, change.resource, change.obj)
        old = None if change.old is None else read_workload(member, change.resource, change.old)
        if old == new:
            return
        key = member, change.resource, change.obj["metadata"]["name"]
        if new is None:
            self.workloads.pop(key, None)
        else:
            self.workloads[key] = new
        self.changed = self.world.loop.time()
        for listener in self.on_workload:
            listener(old, new, self.by_controller)

    def _application(self, change: Change) -> None:
        if change.type == "DELETED":
            self._forget("")
            return
        meta = change.obj["metadata"]
        if meta["uid"] != self.uid:
            self._forget(meta["uid"])
            self.known.add(meta["uid"])
        self.deleting = "deletionTimestamp" in meta
        self.orphaning |= self.deleting and "orphan" in meta.get("finalizers", ())
        if not self.generations or self.newest.number != meta["generation"]:
            self.generations.append(read_generation(change.obj, self._replicas_before(), moves=self.moves))
            self.images[self.newest.revision] = self.newest.image
        status = change.obj.get("status") or {}
        if status != self.status:
            before, self.status = self.status, status
            for listener in self.on_status:
                listener(before, self.by_controller)

    def _forget(self, uid: str) -> None:
        self.generations, self.uid, self.status = [], uid, {}
        self.deleting = self.orphaning = False

    def _replicas_before(self) -> list[dict[str, int]]:
        entries = self.status.get("subsetStatuses", ())
        before = [
            {entry["name"]: entry[field] for entry in entries if field in entry}
            for field in ("replicas", "desiredReplicas")
        ]
        before.append(before[0] | before[1])
        return before + [
            {name: subset.low for name, subset in generation.subsets.items()} for generation in self.generations[-2:]
        ]
