"""Several Cluster objects for one cluster, and one Cluster object for several clusters, one after the other."""

import asyncio
from collections.abc import Callable
from itertools import cycle, product
from random import Random
from typing import Any

import pytest

from tests.support import rights
from tests.support.cluster_images import ADMIN, TOKEN
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.templates import applied, done, entries, message, uids
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment.cli.install import rbac
from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.storage.store import HistoryLimits
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer
from uniteddeployment_api import names

CLUSTERS = "clusters.uniteddeployment.io"
ROLES = "clusterroles.rbac.authorization.k8s.io"
KINDS = ["statefulSetTemplate", "deploymentTemplate"]
SECOND = [("again", "default"), ("aaa", "default"), ("member-1", "other")]
"""Names and namespaces of second Clusters for the server of one that is called default/member-1."""
ORDERS = ["cluster first", "application first"]
RENAMED = [
    ("statefulSetTemplate", "cluster first", False),
    ("deploymentTemplate", "application first", False),
    ("deploymentTemplate", "cluster first", True),
    ("statefulSetTemplate", "application first", True),
]


def register(world: World, name: str, server: str, namespace: str = "default") -> None:
    """A Cluster object with its Secret."""
    if world.host.access.get("namespaces", "", namespace) is None:
        world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    world.create_secret(name, namespace)
    world.create_cluster(name, server, namespace)


def unregister(world: World, name: str, namespace: str = "default") -> None:
    world.request(world.host, "DELETE", f"{names.API_PATH}/namespaces/{namespace}/clusters/{name}")


def cluster(world: World, name: str, namespace: str = "default") -> dict[str, Any]:
    return world.host.access.get(CLUSTERS, namespace, name) or {}


def ready(world: World, name: str, namespace: str = "default") -> tuple[str | None, str | None, str | None, str]:
    """Phase, and status, reason and message of the condition Ready."""
    status = cluster(world, name, namespace).get("status") or {}
    condition: dict[str, Any] = next((one for one in status.get("conditions", ()) if one["type"] == "Ready"), {})
    return status.get("phase"), condition.get("status"), condition.get("reason"), condition.get("message", "")


def refused(world: World, name: str, reason: str, namespace: str = "default") -> Callable[..., Any]:
    phase = "Offline" if reason == "ClusterReplaced" else "Pending"
    return lambda: ready(world, name, namespace)[:3] == (phase, "False", reason)


def server_uid(cluster: Cluster) -> str:
    return str(present(cluster.access.get("namespaces", "", "kube-system"))["metadata"]["uid"])


def document(
    kind: str = "statefulSetTemplate", clusters: tuple[str, str] = ("member-1", "member-2"), **more: Any
) -> dict[str, Any]:
    """Two subsets of two pods, in these Clusters."""
    doc = manifest(kind=kind, shares={"a": 2, "b": 2}, replicas=4, **more)
    for subset, name in zip(doc["spec"]["topology"]["subsets"], clusters, strict=True):
        place, _, short = name.rpartition("/")
        subset["targetCluster"] = {"name": short} | ({"namespace": place} if place else {})
    return doc


class Pods:
    """Counts the pods that were created and deleted since."""

    def __init__(self, world: World) -> None:
        self.created = self.deleted = 0
        for member in world.clusters.values():
            member.access.subscribe("pods", self._note)

    def _note(self, change: Change) -> None:
        self.created += change.type == "ADDED"
        self.deleted += "deletionTimestamp" in change.obj["metadata"] or change.type == "DELETED"


@pytest.mark.parametrize(
    ("kind", "name", "namespace"),
    some(
        [(kind, *second) for kind in KINDS for second in SECOND],
        list(zip(cycle(KINDS), *zip(*SECOND, strict=True), strict=False)),
    ),
)
@pytest.mark.fleet(members=2)
async def test_a_second_cluster_for_a_server_is_refused_and_names_the_first(
    world: World, kind: str, name: str, namespace: str
) -> None:
    """Nothing is deleted and created forever; what the first one runs is left alone (I7, I14)."""
    await done(world, document(kind))
    assert cluster(world, "member-1")["status"]["clusterUID"] == server_uid(world.members["member-1"])
    pods = Pods(world)
    register(world, name, "member-1", namespace)
    await world.until(refused(world, name, "DuplicateCluster", namespace), what="the refusal")
    assert "default/member-1" in ready(world, name, namespace)[3]
    assert "clusterUID" not in cluster(world, name, namespace)["status"]
    await asyncio.sleep(600)
    assert (pods.created, pods.deleted) == (0, 0)
    assert world.settled()
    await world.stop_controller()
    world.start_controller()
    await asyncio.sleep(60)
    assert ready(world, "member-1")[0] == "Running"
    assert refused(world, name, "DuplicateCluster", namespace)()
    assert (pods.created, pods.deleted) == (0, 0)


@pytest.mark.fleet(members=1)
async def test_a_cluster_object_for_the_host_is_refused(world: World) -> None:
    """The host runs subsets without a target cluster (I14)."""
    doc = document(clusters=("member-1", "member-1"))
    for subset in doc["spec"]["topology"]["subsets"]:
        del subset["targetCluster"]
    await done(world, doc)
    pods = Pods(world)
    register(world, "here", "host")
    await world.until(refused(world, "here", "IsHost"), what="the refusal")
    targets = document(clusters=("here", "member-1"))
    targets["metadata"]["name"] = "other"
    world.apply(targets)
    await world.until(lambda: world.condition("Stalled", "other") == "True", what="the application says so")
    assert "leave targetCluster out" in world.status("other")["subsetStatuses"][0]["reason"]
    await asyncio.sleep(120)
    assert pods.deleted == 0
    assert world.settled()


@pytest.mark.parametrize(("first", "second"), [("z", "a"), ("a", "z")])
@pytest.mark.fleet(members=1, controller=False)
async def test_of_two_new_clusters_the_older_is_used(world: World, first: str, second: str) -> None:
    """Also when the controller was down and finds both, and when the older answers last (I14)."""
    unregister(world, "member-1")
    register(world, first, "member-1")
    await asyncio.sleep(2)
    register(world, second, "member-1")
    world.start_controller()
    await world.until(refused(world, second, "DuplicateCluster"), what="the refusal")
    await world.until(lambda: ready(world, first)[0] == "Running", what="the older")


@pytest.mark.fleet(members=1, controller=False)
async def test_of_two_clusters_that_are_as_old_the_first_by_name_is_used(world: World) -> None:
    """The outcome does not depend on who answers first (I2, I14)."""
    unregister(world, "member-1")
    for name in ("b", "a", "c"):
        register(world, name, "member-1")
    world.start_controller()
    for name in ("b", "c"):
        await world.until(refused(world, name, "DuplicateCluster"), what="the refusal")
        assert "default/a" in ready(world, name)[3]
    assert ready(world, "a")[0] == "Running"


@pytest.mark.fleet(members=2)
async def test_the_one_that_is_used_stays_so_while_its_server_does_not_answer(world: World) -> None:
    """Its status has the uid, so an older or reachable Cluster does not take its place (I8, I14)."""
    await done(world, document())
    world.members["member-1"].faults.set(cut_off=True)
    await world.stop_controller()
    register(world, "aaa", "member-1")
    world.start_controller()
    await asyncio.sleep(30)
    world.members["member-1"].faults.clear()
    await world.until(refused(world, "aaa", "DuplicateCluster"), what="the refusal")
    await world.until(
        lambda: ready(world, "member-1")[0] == "Running" and world.settled(), what="the first is used again"
    )


@pytest.mark.fleet(members=2)
async def test_a_suspended_cluster_keeps_its_place(world: World) -> None:
    """Nothing in it is changed, through another Cluster neither (I14)."""
    await done(world, document())
    patch = {"spec": {"suspended": True}}
    path = f"{names.API_PATH}/namespaces/default/clusters/member-1"
    world.request(world.host, "PATCH", path, patch, content_type="application/merge-patch+json")
    register(world, "again", "member-1")
    await world.until(refused(world, "again", "DuplicateCluster"), what="the refusal")


@pytest.mark.parametrize(("kind", "order", "renamed"), some(list(product(KINDS, ORDERS, [False, True])), RENAMED))
@pytest.mark.fleet(members=2)
async def test_a_renamed_cluster_takes_over_without_losing_a_pod(
    world: World, kind: str, order: str, renamed: bool
) -> None:
    """Without a restart of the controller; the pods of a subset that keeps its name are not touched (I7, I14)."""
    await done(world, document(kind))
    before, pods = uids(world), Pods(world)
    lowest = [4]

    def look(_change: Change) -> None:
        living = [pod for member in world.members for pod in world.pods(member)]
        lowest[0] = min(lowest[0], sum(is_ready(pod) for pod in living))

    world.members["member-1"].access.subscribe("pods", look)
    register(world, "north", "member-1")
    await world.until(refused(world, "north", "DuplicateCluster"), what="the refusal")
    doc = document(kind, ("north", "member-2"))
    if renamed:
        doc["spec"]["topology"]["subsets"][0]["name"] = "north"
    if order == "application first":
        world.apply(doc)
        await asyncio.sleep(60)
        assert uids(world) == before
        unregister(world, "member-1")
    else:
        unregister(world, "member-1")
        await world.until(lambda: world.condition("Stalled") == "True", what="the condition about the missing Cluster")
        await asyncio.sleep(60)
        assert uids(world) == before
        world.apply(doc)
    await world.until(lambda: ready(world, "north")[0] == "Running", seconds=40, what="the takeover")
    await world.until(lambda: world.settled() and not world.status().get("leftovers"), what="settling")
    for found in workloads(world, "member-1").values():
        assert found["metadata"]["annotations"][names.ANNOTATION_CLUSTER] == "default/north"
    if renamed:
        await world.until(lambda: len(world.pods("member-1")) == 2, what="the old subset to go")
        assert lowest[0] >= 3, "within maxUnavailable"
    else:
        assert (uids(world), pods.created, pods.deleted) == (before, 0, 0)


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    going = "deletionTimestamp" in pod["metadata"]
    return not going and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.mark.fleet(members=2)
async def test_an_application_in_a_refused_cluster_is_stalled_and_can_be_deleted(world: World) -> None:
    """What to do is said, and the deletion waits for nothing that cannot be there (I11)."""
    await world.until(lambda: ready(world, "member-1")[0] == "Running", what="the first")
    register(world, "again", "member-1")
    await world.until(refused(world, "again", "DuplicateCluster"), what="the refusal")
    world.apply(document(clusters=("again", "member-2")))
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    assert "default/member-1" in entries(world)["a"]["reason"]
    world.delete()
    await world.until(lambda: world.ud() is None, what="the deletion")


@pytest.mark.fleet(members=2)
async def test_the_deletion_of_an_application_in_a_refused_cluster_waits_for_the_one_that_is_used(world: World) -> None:
    """Its workloads are there, whatever the Cluster was called when they were applied (I8)."""
    await done(world, document())
    register(world, "north", "member-1")
    unregister(world, "member-1")
    await world.until(lambda: ready(world, "north")[0] == "Running", what="the takeover")
    register(world, "member-1", "member-1", "other")
    doc = document(clusters=("other/member-1", "member-2"))
    world.apply(doc)
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    world.members["member-1"].faults.set(cut_off=True)
    await world.stop_controller()
    world.start_controller()
    world.delete()
    await asyncio.sleep(120)
    assert world.ud() is not None
    assert "default/north" in message(world, "Ready")
    world.members["member-1"].faults.clear()
    await world.until(lambda: world.ud() is None and not uids(world), what="the deletion")


@pytest.mark.fleet(members=2, controller=False)
async def test_clusters_of_a_namespace_that_is_being_deleted_give_up_their_place(world: World) -> None:
    """An earlier user of the same clusters is on the way out, and its Cluster objects are the last to go (I14)."""
    for name in world.members:
        unregister(world, name)
        register(world, name, name, "earlier")
    world.start_controller()
    await world.until(lambda: ready(world, "member-1", "earlier")[0] == "Running", what="the earlier ones")
    await world.stop_controller()
    # What is being deleted keeps its objects for a while: here one that somebody's finalizer holds.
    for name in world.members:
        held = cluster(world, name, "earlier")
        metadata = {**held["metadata"], "finalizers": ["example.com/hold"]}
        world.host.access.update(CLUSTERS, {**held, "metadata": metadata}, manager="test")
        register(world, f"{name}-new", name)
    namespace = present(world.host.access.get("namespaces", "", "earlier"))
    world.host.stop()  # without its controllers, nothing in the namespace is even marked
    world.host.access.delete("namespaces", "", namespace["metadata"]["name"])
    deleted = []
    for member in world.members.values():
        member.access.subscribe("statefulsets.apps", lambda change: deleted.append(change.type == "DELETED"))
    world.start_controller(namespace="default")
    world.apply(document(clusters=("member-1-new", "member-2-new")))
    await world.until(lambda: all(ready(world, f"{name}-new")[0] == "Running" for name in world.members), seconds=30)
    await world.until(world.settled, what="the application")
    await asyncio.sleep(120)
    assert not any(deleted)
    assert len(uids(world)) == 4


@pytest.mark.fleet(members=2)
async def test_a_cluster_that_is_being_deleted_gives_up_its_place(world: World) -> None:
    """A finalizer may keep the object for long (I14)."""
    await done(world, document())
    before = uids(world)
    held = cluster(world, "member-1")
    metadata = {**held["metadata"], "finalizers": ["example.com/hold"]}
    world.host.access.update(CLUSTERS, {**held, "metadata": metadata}, manager="test")
    register(world, "north", "member-1")
    unregister(world, "member-1")
    await world.until(lambda: ready(world, "north")[0] == "Running", seconds=10, what="the takeover")
    await applied(world, document(clusters=("north", "member-2")))
    assert uids(world) == before


def replace_server(world: World, name: str, seed: int = 99) -> Cluster:
    """An empty cluster takes the address of a member, with the same credentials."""
    fresh = Cluster(
        name,
        clock=world.clock,
        random=Random(seed),
        tokens={rights.TOKEN: rights.identity("member"), TOKEN: ADMIN},
        history=HistoryLimits(events=10),
    )
    for number in range(200):
        # So many that it is ahead of the old one and has forgotten how that was: watches have to begin with a list.
        metadata = {"name": f"c{number}", "namespace": "default"}
        fresh.access.create("configmaps", {"metadata": metadata}, manager="test")
    for path, granted in rights.cluster_wide("member"):
        world.request(fresh, "POST", path, granted)
    old = world.members[name]
    world.members[name] = fresh
    fresh.start()
    served = fresh if world.life is None else world.life.connected(fresh)
    world.transports[name]._cluster = served
    old.faults.set(cut_off=True)
    return old


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.fleet(members=2)
async def test_another_cluster_under_the_same_address_is_not_taken_for_one_in_which_all_was_deleted(
    world: World, restart: bool
) -> None:
    """Nothing is written to it, and what ran before is unknown and not gone (I7, I14)."""
    await done(world, document())
    if restart:
        await world.stop_controller()
    old = replace_server(world, "member-1")
    if restart:
        world.start_controller()
    await world.until(refused(world, "member-1", "ClusterReplaced"), seconds=60, what="the reason")
    assert server_uid(old) in ready(world, "member-1")[3]
    assert server_uid(world.members["member-1"]) in ready(world, "member-1")[3]
    await asyncio.sleep(300)
    assert not world.members["member-1"].access.list("statefulsets.apps")
    assert world.condition("Ready") == "Unknown"
    assert entries(world)["a"]["observedReplicas"] == 2
    assert cluster(world, "member-1")["status"]["clusterUID"] == server_uid(old)
    # It was a mistake: the old one is back.
    fresh = world.members["member-1"]
    world.members["member-1"] = old
    world.transports["member-1"]._cluster = old if world.life is None else world.life.connected(old)
    old.faults.clear()
    fresh.stop()
    await world.until(world.settled, what="the old one")


@pytest.mark.fleet(members=2)
async def test_a_list_of_another_cluster_is_not_believed_before_it_is_known_which_one_answers(world: World) -> None:
    """The lists come at once, and what identifies the cluster comes late (I14)."""
    await done(world, document())
    transport = world.transports["member-1"]
    send = transport.send

    async def late(request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the protocol
        if request.resource == "namespaces":
            await asyncio.sleep(4)
        return await send(request, timeout=timeout)

    transport.send = late  # type: ignore[method-assign]  # only in this test
    replace_server(world, "member-1")
    await world.until(refused(world, "member-1", "ClusterReplaced"), seconds=60, what="the reason")
    assert not world.members["member-1"].access.list("statefulsets.apps")
    assert entries(world)["a"]["observedReplicas"] == 2


@pytest.mark.fleet(members=2)
async def test_a_cluster_that_was_replaced_for_good_is_registered_again(world: World) -> None:
    """The way out that the condition names (I14)."""
    await done(world, document())
    replace_server(world, "member-1")
    await world.until(refused(world, "member-1", "ClusterReplaced"), seconds=60, what="the reason")
    unregister(world, "member-1")
    await world.until(lambda: not cluster(world, "member-1"), seconds=5, what="the deletion")
    world.request(world.host, "DELETE", "/api/v1/namespaces/default/secrets/member-1-credentials")
    register(world, "member-1", "member-1")
    await world.until(lambda: world.settled() and len(world.pods("member-1")) == 2, what="its pods")


@pytest.mark.fleet(members=3)
async def test_a_cluster_object_that_is_pointed_at_another_cluster_is_refused(world: World) -> None:
    """An edit of the address does not move what was applied; both Clusters keep what they have (I14)."""
    await done(world, document())
    before = uids(world)
    for server in ("member-3", "member-2"):
        path = f"{names.API_PATH}/namespaces/default/clusters/member-1"
        patch = {"spec": {"server": f"https://{server}.test:6443"}}
        world.request(world.host, "PATCH", path, patch, content_type="application/merge-patch+json")
        await world.until(refused(world, "member-1", "ClusterReplaced"), what="the reason")
        await asyncio.sleep(60)
        assert uids(world) == before


@pytest.mark.fleet(members=2, controller=False)
async def test_a_credential_without_the_right_to_identify_its_cluster_is_refused_with_the_right(world: World) -> None:
    """The reason says what to grant; with it, the member is used without a restart (I11)."""
    member = world.members["member-2"]
    role = present(member.access.get(ROLES, "", rbac.MEMBER_ROLE))
    kept = [rule for rule in role["rules"] if "namespaces" not in rule["resources"]]
    member.access.update(ROLES, {**role, "rules": kept}, manager="test")
    world.start_controller()
    await world.until(refused(world, "member-2", "MissingRight"), what="the reason")
    assert "get the namespace kube-system" in ready(world, "member-2")[3]
    world.asked["member-2"].refused.clear()  # which is what the test is about
    poorer = present(member.access.get(ROLES, "", rbac.MEMBER_ROLE))
    member.access.update(ROLES, {**poorer, "rules": role["rules"]}, manager="test")
    await world.until(lambda: ready(world, "member-2")[0] == "Running", seconds=40, what="the member")


@pytest.mark.fleet(members=1, controller=False)
async def test_the_status_says_which_cluster_it_is_before_anything_is_applied(world: World) -> None:
    """A process that starts after a crash decides in the same way; other news about the Cluster can wait (I9, I14)."""
    held = []

    def note(change: Change) -> None:
        if change.type == "ADDED":
            held.append(cluster(world, "member-1").get("status", {}).get("clusterUID"))

    world.members["member-1"].access.subscribe("statefulsets.apps", note)
    world.apply(document(clusters=("member-1", "member-1")))
    world.start_controller()
    transport = world.transports["host"]
    send = transport.send

    async def late(request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the protocol
        if request.resource == "clusters" and b"conditions" in request.body:
            await asyncio.sleep(10)
        return await send(request, timeout=timeout)

    transport.send = late  # type: ignore[method-assign]  # only in this test
    await world.until(lambda: len(held) == 2, what="the workloads")
    assert set(held) == {server_uid(world.members["member-1"])}


@pytest.mark.parametrize("writes", range(1, 8))
@pytest.mark.fleet(members=1, controller=False)
async def test_a_crash_while_two_clusters_are_sorted_out_uses_only_one(world: World, writes: int) -> None:
    """Which one is used is in its status before anything is applied through it (I9, I14)."""
    unregister(world, "member-1")
    register(world, "b", "member-1")
    register(world, "a", "member-1")
    used = set()

    def note(change: Change) -> None:
        if change.type != "DELETED":
            used.add(change.obj["metadata"]["annotations"][names.ANNOTATION_CLUSTER])

    world.members["member-1"].access.subscribe("statefulsets.apps", note)
    world.apply(document(clusters=("b", "a")))
    world.start_controller()

    def written() -> bool:
        sent = [one for t in world.transports.values() for one in t.sent]
        return sum(one.method != "GET" for one in sent) >= writes

    await world.until(written, what="the writes", every=0.0005)
    world.kill_controller()
    await asyncio.sleep(1)
    world.start_controller()
    await world.until(refused(world, "b", "DuplicateCluster"), what="the refusal")
    await world.until(lambda: len(world.pods("member-1")) == 2, what="its pods")
    await asyncio.sleep(60)
    assert used == {"default/a"}
