"""Several Cluster objects for one cluster, and one Cluster object for several clusters, one after the other."""

import asyncio
from random import Random

import pytest

from tests.support import rights
from tests.support.planning import manifest
from tests.support.templates import applied, done, entries, message, uids
from tests.support.watchdog import workloads
from tests.support.world import ADMIN, TOKEN, simulate, world
from uniteddeployment.cli import rbac
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.storage.store import HistoryLimits
from uniteddeployment_api import names

CLUSTERS = "clusters.uniteddeployment.io"
ROLES = "clusterroles.rbac.authorization.k8s.io"
KINDS = ["statefulSetTemplate", "deploymentTemplate"]


def register(w, name, server, namespace="default"):
    """A Cluster object with its Secret."""
    if w.host.access.get("namespaces", "", namespace) is None:
        w.request(w.host, "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    secret = {"metadata": {"name": f"{name}-credentials"}, "stringData": {"token": rights.TOKEN}}
    w.request(w.host, "POST", f"/api/v1/namespaces/{namespace}/secrets", secret)
    cluster = {
        "apiVersion": names.API_VERSION,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {
            "server": f"https://{server}.test:6443",
            "credentials": {"secretRef": {"name": f"{name}-credentials"}},
        },
    }
    w.request(w.host, "POST", f"{names.API_PATH}/namespaces/{namespace}/clusters", cluster)


def unregister(w, name, namespace="default"):
    w.request(w.host, "DELETE", f"{names.API_PATH}/namespaces/{namespace}/clusters/{name}")


def cluster(w, name, namespace="default"):
    return w.host.access.get(CLUSTERS, namespace, name) or {}


def ready(w, name, namespace="default"):
    """Phase, and status, reason and message of the condition Ready."""
    status = cluster(w, name, namespace).get("status") or {}
    condition = next((one for one in status.get("conditions", ()) if one["type"] == "Ready"), {})
    return status.get("phase"), condition.get("status"), condition.get("reason"), condition.get("message", "")


def refused(w, name, reason, namespace="default"):
    return lambda: ready(w, name, namespace)[:3] == ("Pending", "False", reason)


def server_uid(cluster):
    return cluster.access.get("namespaces", "", "kube-system")["metadata"]["uid"]


def document(kind="statefulSetTemplate", clusters=("member-1", "member-2"), **more):
    """Two subsets of two pods, in these Clusters."""
    doc = manifest(kind=kind, shares={"a": 2, "b": 2}, replicas=4, **more)
    for subset, name in zip(doc["spec"]["topology"]["subsets"], clusters, strict=True):
        place, _, short = name.rpartition("/")
        subset["targetCluster"] = {"name": short} | ({"namespace": place} if place else {})
    return doc


class Pods:
    """Counts the pods that were created and deleted since."""

    def __init__(self, w):
        self.created = self.deleted = 0
        for member in w.clusters.values():
            member.access.subscribe("pods", self._note)

    def _note(self, change):
        self.created += change.type == "ADDED"
        self.deleted += "deletionTimestamp" in change.obj["metadata"] or change.type == "DELETED"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "namespace"), [("again", "default"), ("aaa", "default"), ("member-1", "other")])
def test_a_second_cluster_for_a_server_is_refused_and_names_the_first(kind, name, namespace):
    """I7, I14: nothing is deleted and created for ever; what the first one runs is left alone."""

    async def story():
        async with world(members=2) as w:
            await done(w, document(kind))
            assert cluster(w, "member-1")["status"]["clusterUID"] == server_uid(w.members["member-1"])
            pods = Pods(w)
            register(w, name, "member-1", namespace)
            await w.until(refused(w, name, "DuplicateCluster", namespace), what="the refusal")
            assert "default/member-1" in ready(w, name, namespace)[3]
            assert "clusterUID" not in cluster(w, name, namespace)["status"]
            await asyncio.sleep(600)
            assert (pods.created, pods.deleted) == (0, 0)
            assert w.settled()
            await w.stop_controller()
            w.start_controller()
            await asyncio.sleep(60)
            assert ready(w, "member-1")[0] == "Running"
            assert refused(w, name, "DuplicateCluster", namespace)()
            assert (pods.created, pods.deleted) == (0, 0)

    simulate(story)


def test_a_cluster_object_for_the_host_is_refused():
    """I14: the host runs subsets without a target cluster."""

    async def story():
        async with world(members=1) as w:
            doc = document(clusters=("member-1", "member-1"))
            for subset in doc["spec"]["topology"]["subsets"]:
                del subset["targetCluster"]
            await done(w, doc)
            pods = Pods(w)
            register(w, "here", "host")
            await w.until(refused(w, "here", "IsHost"), what="the refusal")
            targets = document(clusters=("here", "member-1"))
            targets["metadata"]["name"] = "other"
            w.apply(targets)
            await w.until(lambda: w.condition("Stalled", "other") == "True", what="the application says so")
            assert "leave targetCluster out" in w.status("other")["subsetStatuses"][0]["reason"]
            await asyncio.sleep(120)
            assert pods.deleted == 0
            assert w.settled()

    simulate(story)


@pytest.mark.parametrize(("first", "second"), [("z", "a"), ("a", "z")])
def test_of_two_new_clusters_the_older_is_used(first, second):
    """I14: also when the controller was down and finds both, and when the older answers last."""

    async def story():
        async with world(members=1, controller=False) as w:
            unregister(w, "member-1")
            register(w, first, "member-1")
            await asyncio.sleep(2)
            register(w, second, "member-1")
            w.start_controller()
            await w.until(refused(w, second, "DuplicateCluster"), what="the refusal")
            await w.until(lambda: ready(w, first)[0] == "Running", what="the older")

    simulate(story)


def test_of_two_clusters_that_are_as_old_the_first_by_name_is_used():
    """I2, I14: the outcome does not depend on who answers first."""

    async def story():
        async with world(members=1, controller=False) as w:
            unregister(w, "member-1")
            for name in ("b", "a", "c"):
                register(w, name, "member-1")
            w.start_controller()
            for name in ("b", "c"):
                await w.until(refused(w, name, "DuplicateCluster"), what="the refusal")
                assert "default/a" in ready(w, name)[3]
            assert ready(w, "a")[0] == "Running"

    simulate(story)


def test_the_one_that_is_used_stays_so_while_its_server_does_not_answer():
    """I8, I14: its status has the uid, so an older or reachable Cluster does not take its place."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            w.members["member-1"].faults.set(cut_off=True)
            await w.stop_controller()
            register(w, "aaa", "member-1")
            w.start_controller()
            await asyncio.sleep(30)
            w.members["member-1"].faults.clear()
            await w.until(refused(w, "aaa", "DuplicateCluster"), what="the refusal")
            await w.until(lambda: ready(w, "member-1")[0] == "Running" and w.settled(), what="the first is used again")

    simulate(story)


def test_a_suspended_cluster_keeps_its_place():
    """I14: nothing in it is changed, through another Cluster neither."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            patch = {"spec": {"suspended": True}}
            path = f"{names.API_PATH}/namespaces/default/clusters/member-1"
            w.request(w.host, "PATCH", path, patch, content_type="application/merge-patch+json")
            register(w, "again", "member-1")
            await w.until(refused(w, "again", "DuplicateCluster"), what="the refusal")

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["cluster first", "application first"])
@pytest.mark.parametrize("renamed", [False, True], ids=["same subset", "renamed subset"])
def test_a_renamed_cluster_takes_over_without_losing_a_pod(kind, order, renamed):
    """I7, I14: without a restart of the controller; the pods of a subset that keeps its name are not touched."""

    async def story():
        async with world(members=2) as w:
            await done(w, document(kind))
            before, pods = uids(w), Pods(w)
            lowest = [4]

            def look(_change):
                living = [pod for member in w.members for pod in w.pods(member)]
                lowest[0] = min(lowest[0], sum(is_ready(pod) for pod in living))

            w.members["member-1"].access.subscribe("pods", look)
            register(w, "north", "member-1")
            await w.until(refused(w, "north", "DuplicateCluster"), what="the refusal")
            doc = document(kind, ("north", "member-2"))
            if renamed:
                doc["spec"]["topology"]["subsets"][0]["name"] = "north"
            if order == "application first":
                w.apply(doc)
                await asyncio.sleep(60)
                assert uids(w) == before
                unregister(w, "member-1")
            else:
                unregister(w, "member-1")
                await w.until(lambda: w.condition("Stalled") == "True", what="the missing Cluster is told")
                await asyncio.sleep(60)
                assert uids(w) == before
                w.apply(doc)
            await w.until(lambda: ready(w, "north")[0] == "Running", seconds=40, what="the takeover")
            await w.until(lambda: w.settled() and not w.status().get("leftovers"), what="settling")
            for found in workloads(w, "member-1").values():
                assert found["metadata"]["annotations"][names.ANNOTATION_CLUSTER] == "default/north"
            if renamed:
                await w.until(lambda: len(w.pods("member-1")) == 2, what="the old subset to go")
                assert lowest[0] >= 3, "within maxUnavailable"
            else:
                assert (uids(w), pods.created, pods.deleted) == (before, 0, 0)

    simulate(story)


def is_ready(pod):
    conditions = pod["status"].get("conditions", ())
    going = "deletionTimestamp" in pod["metadata"]
    return not going and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def test_an_application_in_a_refused_cluster_is_stalled_and_can_be_deleted():
    """I11: what to do is said, and the deletion waits for nothing that cannot be there."""

    async def story():
        async with world(members=2) as w:
            await w.until(lambda: ready(w, "member-1")[0] == "Running", what="the first")
            register(w, "again", "member-1")
            await w.until(refused(w, "again", "DuplicateCluster"), what="the refusal")
            w.apply(document(clusters=("again", "member-2")))
            await w.until(lambda: w.condition("Stalled") == "True", what="the condition")
            assert "default/member-1" in entries(w)["a"]["reason"]
            w.delete()
            await w.until(lambda: w.ud() is None, what="the deletion")

    simulate(story)


def test_the_deletion_of_an_application_in_a_refused_cluster_waits_for_the_one_that_is_used():
    """I8: its workloads are there, whatever the Cluster was called when they were applied."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            register(w, "north", "member-1")
            unregister(w, "member-1")
            await w.until(lambda: ready(w, "north")[0] == "Running", what="the takeover")
            register(w, "member-1", "member-1", "other")
            doc = document(clusters=("other/member-1", "member-2"))
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True", what="the condition")
            w.members["member-1"].faults.set(cut_off=True)
            await w.stop_controller()
            w.start_controller()
            w.delete()
            await asyncio.sleep(120)
            assert w.ud() is not None
            assert "default/north" in message(w, "Ready")
            w.members["member-1"].faults.clear()
            await w.until(lambda: w.ud() is None and not uids(w), what="the deletion")

    simulate(story)


def test_clusters_of_a_namespace_that_is_being_deleted_give_up_their_place():
    """I14: an earlier user of the same clusters is on the way out, and its Cluster objects are the last to go."""

    async def story():
        async with world(members=2, controller=False) as w:
            for name in w.members:
                unregister(w, name)
                register(w, name, name, "earlier")
            w.start_controller()
            await w.until(lambda: ready(w, "member-1", "earlier")[0] == "Running", what="the earlier ones")
            await w.stop_controller()
            # What is being deleted keeps its objects for a while: here one that somebody's finalizer holds.
            for name in w.members:
                held = cluster(w, name, "earlier")
                metadata = {**held["metadata"], "finalizers": ["example.com/hold"]}
                w.host.access.update(CLUSTERS, {**held, "metadata": metadata}, manager="test")
                register(w, f"{name}-new", name)
            namespace = w.host.access.get("namespaces", "", "earlier")
            w.host.stop()  # without its controllers, nothing in the namespace is even marked
            w.host.access.delete("namespaces", "", namespace["metadata"]["name"])
            deleted = []
            for member in w.members.values():
                member.access.subscribe("statefulsets.apps", lambda change: deleted.append(change.type == "DELETED"))
            w.start_controller(namespace="default")
            w.apply(document(clusters=("member-1-new", "member-2-new")))
            await w.until(lambda: all(ready(w, f"{name}-new")[0] == "Running" for name in w.members), seconds=30)
            await w.until(w.settled, what="the application")
            await asyncio.sleep(120)
            assert not any(deleted)
            assert len(uids(w)) == 4

    simulate(story)


def test_a_cluster_that_is_being_deleted_gives_up_its_place():
    """I14: a finalizer may keep the object for long."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            before = uids(w)
            held = cluster(w, "member-1")
            metadata = {**held["metadata"], "finalizers": ["example.com/hold"]}
            w.host.access.update(CLUSTERS, {**held, "metadata": metadata}, manager="test")
            register(w, "north", "member-1")
            unregister(w, "member-1")
            await w.until(lambda: ready(w, "north")[0] == "Running", seconds=10, what="the takeover")
            await applied(w, document(clusters=("north", "member-2")))
            assert uids(w) == before

    simulate(story)


def replace_server(w, name, seed=99):
    """An empty cluster takes the address of a member, with the same credentials."""
    fresh = Cluster(
        name,
        clock=w.clock,
        random=Random(seed),
        tokens={rights.TOKEN: rights.identity("member"), TOKEN: ADMIN},
        history=HistoryLimits(events=10),
    )
    for number in range(200):
        # So many that it is ahead of the old one and has forgotten how that was: watches have to begin with a list.
        metadata = {"name": f"c{number}", "namespace": "default"}
        fresh.access.create("configmaps", {"metadata": metadata}, manager="test")
    for path, granted in rights.cluster_wide("member"):
        w.request(fresh, "POST", path, granted)
    old = w.members[name]
    w.members[name] = fresh
    fresh.start()
    served = fresh if w.life is None else w.life.connected(fresh)
    w.transports[name]._cluster = served
    old.faults.set(cut_off=True)
    return old


@pytest.mark.parametrize("restart", [False, True])
def test_another_cluster_under_the_same_address_is_not_taken_for_one_in_which_all_was_deleted(restart):
    """I7, I14: nothing is written to it, and what ran before is unknown and not gone."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            if restart:
                await w.stop_controller()
            old = replace_server(w, "member-1")
            if restart:
                w.start_controller()
            await w.until(refused(w, "member-1", "ClusterReplaced"), seconds=60, what="the reason")
            assert server_uid(old) in ready(w, "member-1")[3]
            assert server_uid(w.members["member-1"]) in ready(w, "member-1")[3]
            await asyncio.sleep(300)
            assert not w.members["member-1"].access.list("statefulsets.apps")
            assert w.condition("Ready") == "Unknown"
            assert entries(w)["a"]["observedReplicas"] == 2
            assert cluster(w, "member-1")["status"]["clusterUID"] == server_uid(old)
            # It was a mistake: the old one is back.
            fresh = w.members["member-1"]
            w.members["member-1"] = old
            w.transports["member-1"]._cluster = old if w.life is None else w.life.connected(old)
            old.faults.clear()
            fresh.stop()
            await w.until(w.settled, what="the old one")

    simulate(story)


def test_a_list_of_another_cluster_is_not_believed_before_it_is_known_which_one_answers():
    """I14: the lists come at once, and what identifies the cluster comes late."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            transport = w.transports["member-1"]
            send = transport.send

            async def late(request, *, timeout):  # noqa: ASYNC109  # part of the protocol
                if request.resource == "namespaces":
                    await asyncio.sleep(4)
                return await send(request, timeout=timeout)

            transport.send = late
            replace_server(w, "member-1")
            await w.until(refused(w, "member-1", "ClusterReplaced"), seconds=60, what="the reason")
            assert not w.members["member-1"].access.list("statefulsets.apps")
            assert entries(w)["a"]["observedReplicas"] == 2

    simulate(story)


def test_a_cluster_that_was_replaced_for_good_is_registered_again():
    """I14: the way out that the condition names."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            replace_server(w, "member-1")
            await w.until(refused(w, "member-1", "ClusterReplaced"), seconds=60, what="the reason")
            unregister(w, "member-1")
            w.request(w.host, "DELETE", "/api/v1/namespaces/default/secrets/member-1-credentials")
            register(w, "member-1", "member-1")
            await w.until(lambda: w.settled() and len(w.pods("member-1")) == 2, what="its pods")

    simulate(story)


def test_a_cluster_object_that_is_pointed_at_another_cluster_is_refused():
    """I14: an edit of the address does not move what was applied; both Clusters keep what they have."""

    async def story():
        async with world(members=3) as w:
            await done(w, document())
            before = uids(w)
            for server in ("member-3", "member-2"):
                path = f"{names.API_PATH}/namespaces/default/clusters/member-1"
                patch = {"spec": {"server": f"https://{server}.test:6443"}}
                w.request(w.host, "PATCH", path, patch, content_type="application/merge-patch+json")
                await w.until(refused(w, "member-1", "ClusterReplaced"), what="the reason")
                await asyncio.sleep(60)
                assert uids(w) == before

    simulate(story)


def test_a_credential_without_the_right_to_identify_its_cluster_is_refused_with_the_right():
    """I11: the reason says what to grant; with it, the member is used without a restart."""

    async def story():
        async with world(members=2, controller=False) as w:
            member = w.members["member-2"]
            role = member.access.get(ROLES, "", rbac.MEMBER_ROLE)
            kept = [rule for rule in role["rules"] if "namespaces" not in rule["resources"]]
            member.access.update(ROLES, {**role, "rules": kept}, manager="test")
            w.start_controller()
            await w.until(refused(w, "member-2", "MissingRight"), what="the reason")
            assert "get the namespace kube-system" in ready(w, "member-2")[3]
            w.asked["member-2"].refused.clear()  # which is what the test is about
            poorer = member.access.get(ROLES, "", rbac.MEMBER_ROLE)
            member.access.update(ROLES, {**poorer, "rules": role["rules"]}, manager="test")
            await w.until(lambda: ready(w, "member-2")[0] == "Running", seconds=40, what="the member")

    simulate(story)


def test_the_status_says_which_cluster_it_is_before_anything_is_applied():
    """I9, I14: a process that starts after a crash decides in the same way; other news about the Cluster can wait."""

    async def story():
        async with world(members=1, controller=False) as w:
            held = []

            def note(change):
                if change.type == "ADDED":
                    held.append(cluster(w, "member-1").get("status", {}).get("clusterUID"))

            w.members["member-1"].access.subscribe("statefulsets.apps", note)
            w.apply(document(clusters=("member-1", "member-1")))
            w.start_controller()
            transport = w.transports["host"]
            send = transport.send

            async def late(request, *, timeout):  # noqa: ASYNC109  # part of the protocol
                if request.resource == "clusters" and b"conditions" in request.body:
                    await asyncio.sleep(10)
                return await send(request, timeout=timeout)

            transport.send = late
            await w.until(lambda: len(held) == 2, what="the workloads")
            assert set(held) == {server_uid(w.members["member-1"])}

    simulate(story)


@pytest.mark.parametrize("writes", range(1, 8))
def test_a_crash_while_two_clusters_are_sorted_out_uses_only_one(writes):
    """I9, I14: which one is used is in its status before anything is applied through it."""

    async def story():
        async with world(members=1, controller=False) as w:
            unregister(w, "member-1")
            register(w, "b", "member-1")
            register(w, "a", "member-1")
            used = set()

            def note(change):
                if change.type != "DELETED":
                    used.add(change.obj["metadata"]["annotations"][names.ANNOTATION_CLUSTER])

            w.members["member-1"].access.subscribe("statefulsets.apps", note)
            w.apply(document(clusters=("b", "a")))
            w.start_controller()

            def written():
                sent = [one for t in w.transports.values() for one in t.sent]
                return sum(one.method != "GET" for one in sent) >= writes

            await w.until(written, what="the writes", every=0.0005)
            w.kill_controller()
            await asyncio.sleep(1)
            w.start_controller()
            await w.until(refused(w, "b", "DuplicateCluster"), what="the refusal")
            await w.until(lambda: len(w.pods("member-1")) == 2, what="its pods")
            await asyncio.sleep(60)
            assert used == {"default/a"}

    simulate(story)
