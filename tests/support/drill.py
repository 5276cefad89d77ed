"""One fault in a fleet, and one application that it concerns.

A scene is a host with a namespace, Clusters and a controller. Drills take place in it at the same time, each with a
member and an application of its own. A drill sees the true pods, also those of clusters that the controller cannot see,
and notes what must never happen to them.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import control_planes
from tests.support.api import ApiError
from tests.support.applications import DEPLOYMENT, STATEFUL_SET
from tests.support.control_planes import ControlPlane
from tests.support.fleet_fixture import Fleet
from tests.support.mirror import Mirror
from tests.support.site import Site, cluster, credentials
from tests.support.truth import Truth
from tests.support.waiting import until
from uniteddeployment_api.crd import custom_resource_definitions
from uniteddeployment_api.names import API_PATH, API_VERSION

APPLICATIONS = f"{API_PATH}/uniteddeployments"
CLUSTERS = f"{API_PATH}/clusters"
PODS = "/api/v1/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUICK = {"offlineAfter": "1s", "recoverAfter": "1s"}
DISJOINT = {"ordinals": "Disjoint", "ordinalBlock": 20}
NEEDED = ("uniteddeployments", "clusters")
"""The CRDs of a scene. Those of rollouts take their time."""


def evenly(name: str, *clusters: str, kind: str = DEPLOYMENT, **topology: Any) -> dict[str, Any]:
    """An application with two pods in each of these clusters; other subsets run those of a cluster that is lost."""
    labels = {"app": name}
    template: dict[str, Any] = {
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    }
    if kind == STATEFUL_SET:
        template |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    subsets = [{"name": one, "targetCluster": {"name": one}, "weight": 1} for one in clusters]
    return {
        "apiVersion": API_VERSION,
        "kind": "UnitedDeployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2 * len(clusters),
            "selector": {"matchLabels": labels},
            "template": {kind: {"spec": template}},
            "topology": {
                "subsets": subsets,
                "scheduleStrategy": {"type": "Adaptive"},
                "maxUnavailable": 1,
                **topology,
            },
            "failover": {"gracePeriod": "1s", "statefulSets": "Allowed"},
        },
    }


class Scene:
    """A host with a namespace, and a controller that runs. ``host`` is asked by tests, ``site`` is as users see it."""

    def __init__(self, host: ControlPlane, site: Site, mirror: Mirror) -> None:
        self.host = host
        self.site = site
        self.mirror = mirror
        self.namespace = site.namespace

    def path(self, collection: str, name: str = "", group: str = API_PATH) -> str:
        """The path of a collection in the namespace, or of an object in it."""
        base = f"{group}/namespaces/{self.namespace}/{collection}"
        return f"{base}/{name}" if name else base

    def enter(self, *planes: ControlPlane) -> None:
        """Create the namespace in clusters."""
        for plane in planes:
            plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def register(self, member: str, config: Mapping[str, Any], **spec: Any) -> None:
        """A Secret with a kubeconfig, and a Cluster."""
        self.host.ask("POST", self.path("secrets", group="/api/v1"), credentials(member, config))
        self.create_cluster(member, **spec)

    def create_cluster(self, member: str, **spec: Any) -> None:
        """A Cluster whose Secret is there."""
        document = cluster(member)
        document["spec"] |= {"health": QUICK, "capacity": "Disabled", **spec}
        self.host.ask("POST", self.path("clusters"), document)

    def new_secret(self, member: str, config: Mapping[str, Any]) -> None:
        """Other credentials for a Cluster."""
        self.host.ask("PATCH", self.path("secrets", member, group="/api/v1"), credentials(member, config))

    def change(self, collection: str, name: str, **spec: Any) -> None:
        """Change fields of the spec of an object."""
        self.host.ask("PATCH", self.path(collection, name), {"spec": spec})


class Drill:
    """What a test of one fault uses. ``name`` is that of its application."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.scene = scene
        self.name = name
        self.truth = Truth(name)
        self.phases: dict[str, list[str]] = {}
        """Cluster -> the phases that it went through since it was connected."""
        self._mirror = scene.mirror
        scene.mirror.listen(scene.namespace, self._note)

    def _note(self, cluster: str, found: dict[str, Any], gone: bool) -> None:
        if found["kind"] == "Pod" and found["metadata"]["labels"].get("app") == self.truth.app:
            self.truth.take(cluster, found, gone=gone)
        elif found["kind"] == "Cluster" and (phase := found.get("status", {}).get("phase")):
            phases = self.phases.setdefault(found["metadata"]["name"], [])
            if phases[-1:] != [phase] and (phases or phase != "Pending"):
                phases.append(phase)

    # What is there.

    def status(self, name: str = "") -> dict[str, Any]:
        return dict(self._application(name).get("status") or {})

    def _application(self, name: str = "") -> dict[str, Any]:
        return self._mirror.get("host", APPLICATIONS, self.scene.namespace, name or self.name)

    def numbers(self, field: str, name: str = "") -> dict[str, int]:
        """Subset -> a number of its status."""
        return {one["name"]: one.get(field, 0) for one in self.status(name).get("subsetStatuses") or ()}

    def entry(self, subset: str, name: str = "") -> dict[str, Any]:
        """The status of a subset."""
        return next((one for one in self.status(name).get("subsetStatuses") or () if one["name"] == subset), {})

    def condition(self, type_: str, name: str = "") -> tuple[str, str]:
        """Status and reason of a condition of an application."""
        return _condition(self.status(name), type_)[:2]

    def phase(self, member: str) -> str:
        return str(self._cluster(member).get("status", {}).get("phase", ""))

    def health(self, member: str) -> tuple[str, str, str]:
        """Status, reason and message of the condition Ready of a Cluster."""
        return _condition(self._cluster(member).get("status") or {}, "Ready")

    def _cluster(self, member: str) -> dict[str, Any]:
        return self._mirror.get("host", CLUSTERS, self.scene.namespace, member)

    def planned(self, name: str = "") -> dict[str, int]:
        """The replicas of each subset in a fresh plan, which must have nothing to do."""
        shown: list[str] = []

        def answered() -> bool:
            done = self.scene.site.ud("plan", name or self.name, "-o", "json")
            shown[:] = [done.stdout, done.stderr]
            return done.returncode == 0

        until(answered, f"ud plan reaches all clusters of {name or self.name}")
        (plan,) = json.loads(shown[0])
        assert not plan["steps"], plan["steps"]
        return {subset["name"]: subset["desiredReplicas"] for subset in plan["subsets"]}

    # What is done.

    def apply(self, document: Mapping[str, Any]) -> None:
        """Create an application."""
        self.scene.host.ask("POST", self.scene.path("uniteddeployments"), document)

    def set_image(self, image: str, name: str = "", **manual: Any) -> None:
        """Give the application another image, and settings of its manual update."""
        spec = self._application(name)["spec"]
        for workload in spec["template"].values():
            workload["spec"]["template"]["spec"]["containers"][0]["image"] = image
        self.scene.change(
            "uniteddeployments", name or self.name, template=spec["template"], updateStrategy={"manualUpdate": manual}
        )

    # What is waited for.

    def until(self, condition: Any, what: str) -> None:
        """Wait for something that follows from an object of the namespace."""

        def story() -> str:
            healths = {name: self.health(name) for name in self.phases}
            return f"{what}; phases {self.phases}, {healths}; {json.dumps(self.status())}"

        self._mirror.until(self.scene.namespace, condition, story)

    def until_settled(self, name: str = "") -> None:
        """Wait until the controller has seen the application as it is, and it is ready."""

        self.until(lambda: self.settled(name), f"{name or self.name} is settled")

    def settled(self, name: str = "") -> bool:
        """Whether the controller has seen the application as it is, and it is ready."""
        seen = self.status(name).get("observedGeneration")
        conditions = (self.condition("Ready", name)[0], self.condition("Reconciling", name)[0])
        generation = self._application(name).get("metadata", {}).get("generation", 0)
        return seen == generation and conditions == ("True", "False")

    def until_offline(self, member: str) -> tuple[str, str, str]:
        """Wait until a member is Offline; status, reason and message of its condition Ready."""
        self.until(lambda: self.phase(member) == "Offline", f"{member} is Offline")
        return self.health(member)

    def until_ready(self, wanted: Mapping[str, int], what: str) -> None:
        """Wait until the status shows these numbers of ready pods."""
        self.until(lambda: wanted.items() <= self.numbers("readyReplicas").items(), what)

    def sleep_until(self, moment: float) -> None:
        """For faults that come and go at set times."""
        time.sleep(max(0.0, moment - time.monotonic()))


def _condition(status: Mapping[str, Any], type_: str) -> tuple[str, str, str]:
    for one in status.get("conditions") or ():
        if one["type"] == type_:
            return one["status"], one["reason"], one.get("message", "")
    return "", "", ""


def starts(drill: Drill, *names: str, kind: str = STATEFUL_SET, **failover: str) -> set[str]:
    """Two pods in each of these members; returns all of them."""
    document = evenly(drill.name, *names, kind=kind)
    if kind == STATEFUL_SET:
        document["spec"]["topology"] |= DISJOINT
    document["spec"]["failover"] |= failover
    drill.apply(document)
    drill.until_settled()
    assert drill.numbers("replicas") == dict.fromkeys(names, 2)
    drill.truth.lowest = drill.truth.ready
    return drill.truth.uids(*names)


def fails_over(drill: Drill, lost: str) -> None:
    """The pods of a lost member get replacements, and are neither taken for ready nor forgotten."""
    others = {name: 3 for name in drill.numbers("replicas") if name != lost}
    drill.until_ready(others, f"the pods of {lost} have replacements")
    assert drill.condition("Ready") == ("Unknown", "Unknown")
    assert drill.numbers("possiblyRunning")[lost] == 2


def ends_as_planned(drill: Drill, *names: str, kept: AbstractSet[str] = frozenset(), lowest: int = 5) -> None:
    """The end of each story: what a fresh plan has, with these pods, and with ``lowest`` pods ready at all times."""
    drill.until_ready(dict.fromkeys(names, 2), "the pods are back")
    drill.until_settled()
    assert drill.numbers("replicas") == dict.fromkeys(names, 2)
    assert drill.planned() == dict.fromkeys(names, 2)
    assert not any(drill.numbers("possiblyRunning").values())
    assert kept <= drill.truth.uids(*names), "no pod of a healthy member was lost"
    assert not drill.truth.twice
    assert drill.truth.lowest >= lowest, list(drill.truth.seen)


@contextmanager
def scene(
    namespace: str,
    folder: Path,
    members: Mapping[str, ControlPlane],
    mirror: Mirror,
    seen_from: Callable[[ControlPlane], ControlPlane] = lambda host: host,
) -> Iterator[Scene]:
    """A host of its own, and a namespace in it and in these members, none of which is registered.

    ``seen_from`` is given the host, and returns it as the controller sees it.
    """
    folder.mkdir()
    with ExitStack() as stack:
        (host,) = stack.enter_context(control_planes.all_embedded(["host"], folder))
        for definition in custom_resource_definitions():
            if definition["spec"]["names"]["plural"] in NEEDED:
                host.ask("POST", DEFINITIONS, definition)
        site = Site(Fleet("embedded", seen_from(host), dict(members), folder), namespace, folder)
        found = Scene(host, site, mirror)
        found.enter(host, *members.values())
        for collection in (APPLICATIONS, CLUSTERS):
            until(partial(_serves, host, collection), "the CRDs are served")
            stack.enter_context(mirror.follow(host, collection))
        yield found


def _serves(host: ControlPlane, path: str) -> bool:
    try:
        host.ask("GET", path)
    except ApiError:
        return False
    return True
