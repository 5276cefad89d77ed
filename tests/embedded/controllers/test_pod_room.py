"""A billion replicas: memory depends on existing pods only, and creation on the room on nodes."""

import resource
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.embedded.cluster_kit import DEPLOYMENTS, PODS, TOKEN, Api
from tests.support.hand_clock import HandClock
from tests.support.kruise import PATHS, definitions
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers import finished_pods
from uniteddeployment.embedded.controllers.defaults import default_controllers
from uniteddeployment.embedded.controllers.job.indexes import Indexes
from uniteddeployment.embedded.controllers.workloads import pod_room
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.openkruise import kruise_controllers

BILLION = 10**9
WAITING = 40
"""Pods beyond the room on nodes in these tests: the real number takes seconds and tests nothing more."""

ROOM = 20
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CLONES = PATHS["cloneSetTemplate"]
ADVANCED = PATHS["advancedStatefulSetTemplate"]


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a list with a billion items an error at once, instead of letting the machine swap."""
    monkeypatch.setattr(pod_room, "WAITING", WAITING)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Site(Api):
    """A cluster with one small node and OpenKruise."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.cluster = Cluster(
            "small",
            clock=self.clock,
            random=Random(1),
            nodes=0,
            tokens={TOKEN: Identity("admin", ("system:masters",))},
            controllers=(*default_controllers(), *kruise_controllers()),
        )
        self.cluster.start()
        for crd in definitions():
            self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        self.clock.advance(5)
        self.node("n1")

    def node(self, name: str) -> None:
        room = {"cpu": "1000", "memory": "1000Gi", "pods": str(ROOM)}
        metadata = {"name": name, "annotations": {"embedded/agent": "running"}}
        self.create("/api/v1/nodes", {"metadata": metadata, "status": {"allocatable": room, "capacity": room}})

    def pods(self, app: str = "w") -> list[Obj]:
        return [item for item in self.get(PODS)["items"] if item["metadata"]["labels"]["app"] == app]

    def running(self) -> int:
        return sum(item["status"]["phase"] == "Running" for item in self.get(PODS)["items"])


def workload(kind: str, replicas: int = BILLION, name: str = "w", image: str = "app:1", **spec: Any) -> Obj:
    pod: Obj = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": image}]}}
    more = {"selector": {"matchLabels": {"app": name}}, "template": pod, "replicas": replicas, **spec}
    if kind == "Job":
        del more["selector"], more["replicas"]
        pod["spec"]["restartPolicy"] = "Never"
    if kind.endswith("Set") and "podManagementPolicy" in spec:
        more["serviceName"] = name
    return {"metadata": {"name": name}, "spec": more}


PARALLEL: dict[str, Any] = {"podManagementPolicy": "Parallel"}
KINDS = {
    "Deployment": (DEPLOYMENTS, workload("Deployment"), ROOM + WAITING),
    "ReplicaSet": (REPLICA_SETS, workload("ReplicaSet"), ROOM + WAITING),
    "StatefulSet": (SETS, workload("StatefulSet", podManagementPolicy="OrderedReady"), ROOM + 1),
    "parallel StatefulSet": (SETS, workload("StatefulSet", **PARALLEL), ROOM + WAITING),
    "Job": (JOBS, workload("Job", parallelism=BILLION), ROOM + WAITING),
    "indexed Job": (
        JOBS,
        workload("Job", parallelism=10**5, completions=10**5, completionMode="Indexed"),
        ROOM + WAITING,
    ),
    "CloneSet": (
        CLONES,
        {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", **workload("CloneSet")},
        ROOM + WAITING,
    ),
    "Advanced StatefulSet": (
        ADVANCED,
        {"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", **workload("StatefulSet", **PARALLEL)},
        ROOM + WAITING,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_billion_replicas_are_as_many_pods_as_fit_and_some_that_wait(kind: str) -> None:
    url, created, expected = KINDS[kind]
    site = Site()
    site.create(url, created)
    site.clock.advance(120)
    assert (len(site.pods()), site.running()) == (expected, ROOM)


@pytest.mark.parametrize("kind", ["Deployment", "parallel StatefulSet", "CloneSet", "Advanced StatefulSet"])
def test_a_workload_scaled_up_by_mistake_can_be_scaled_down_and_changed(kind: str) -> None:
    url, created, _ = KINDS[kind]
    site = Site()
    site.create(url, created | {"spec": created["spec"] | {"replicas": 3}})
    site.clock.advance(60)
    site.patch(f"{url}/w", {"spec": {"replicas": BILLION}})
    site.clock.advance(60)
    template = created["spec"]["template"]
    containers = [{"name": "c", "image": "app:2"}]
    site.patch(f"{url}/w", {"spec": {"template": template | {"spec": {"containers": containers}}}})
    site.clock.advance(60)
    assert len(site.pods()) <= ROOM + WAITING
    site.patch(f"{url}/w", {"spec": {"replicas": 3}})
    site.clock.advance(120)
    assert [item["spec"]["containers"][0]["image"] for item in site.pods()] == ["app:2"] * 3
    assert site.running() == 3


def test_a_new_node_makes_room() -> None:
    site = Site()
    site.create(DEPLOYMENTS, workload("Deployment"))
    site.clock.advance(60)
    site.node("n2")
    site.clock.advance(60)
    assert (len(site.pods()), site.running()) == (2 * ROOM + WAITING, 2 * ROOM)


@pytest.mark.parametrize("kind", KINDS)
def test_an_owner_without_room_gets_its_pods_when_others_are_deleted(kind: str) -> None:
    """The effect of one application's mistake ends with it, without a change of others."""
    url, created, _ = KINDS[kind]
    site = Site()
    site.create(REPLICA_SETS, workload("ReplicaSet", name="greedy"))
    site.clock.advance(60)
    small = {"parallelism": 3, "completions": 3} if "Job" in kind else {"replicas": 3}
    site.create(url, created | {"spec": created["spec"] | small})
    site.clock.advance(60)
    assert not site.pods()
    site.ask("DELETE", f"{REPLICA_SETS}/greedy?propagationPolicy=Background")
    site.clock.advance(120)
    assert len(site.pods()) == 3


def test_pods_that_name_their_node_are_bounded_too() -> None:
    """The scheduler does not limit such pods."""
    site = Site()
    created = workload("ReplicaSet")
    created["spec"]["template"]["spec"]["nodeName"] = "n1"
    site.create(REPLICA_SETS, created)
    site.clock.advance(60)
    assert len(site.pods()) == ROOM + WAITING


def test_pods_are_created_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sync is one turn of the event loop and must be short."""
    monkeypatch.setattr(pod_room, "WAITING", BILLION)
    room = pod_room.PodRoom(Site().cluster.access, lambda _: None)
    room.follow()
    assert room.grant(("ns", "a"), BILLION) == pod_room.BATCH
    assert room.grant(("ns", "a"), 3) == 3


def test_pods_that_ended_are_kept_in_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finished_pods, "KEPT", 10)
    site = Site()
    site.create(JOBS, workload("Job", image="complete:1", parallelism=15, completions=60))
    site.clock.advance(60)
    assert site.get(f"{JOBS}/w")["status"]["succeeded"] == 60
    assert len(site.pods()) == 10


def test_completed_indexes_take_no_more_memory_than_their_text() -> None:
    indexes = Indexes.read(f"0-{BILLION},{BILLION + 2}")
    assert (len(indexes), BILLION in indexes, BILLION + 1 in indexes) == (BILLION + 2, True, False)
    assert str(indexes.union([BILLION + 1, BILLION + 9])) == f"0-{BILLION + 2},{BILLION + 9}"
    assert list(indexes.others(BILLION + 5)) == [BILLION + 1, BILLION + 3, BILLION + 4]
    assert list(Indexes.read("1,3-4").others(6)) == [0, 2, 5]
