"""The main job in trouble: lost members, slow and failing servers, edits by others."""

import asyncio

import pytest

from tests.support import rights
from tests.support.kruise import ALL_KINDS, PATHS, RESOURCES, world_for
from tests.support.planning import manifest
from tests.support.watchdog import Watchdog, workloads
from tests.support.world import UDS, simulate, world
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment_api import names

KINDS = ALL_KINDS
HALF = {"member-1": 2, "member-2": 1, "member-3": 1}
HALF_DONE = {
    "member-1": {"app:1": 2, "app:2": 2},
    "member-2": {"app:1": 1, "app:2": 1},
    "member-3": {"app:1": 1, "app:2": 1},
}


def images(w):
    return {member: w.images(member) for member in w.members}


async def created(w, kind, **more):
    w.apply(manifest(kind=kind, **more))
    await w.until(w.settled, what="creation")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["cut_off", "black_hole"])
def test_a_member_lost_in_mid_rollout_holds_up_nobody_and_converges_when_it_is_back(kind, fault):
    """I6, I8, I10"""

    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(lambda: w.status().get("updatedReplicas", 0) > 0, what="the first canary")
            w.members["member-2"].faults.set(**{fault: True})
            w.apply(manifest(kind=kind, image="app:2"))
            others = ("member-1", "member-3")
            await w.until(lambda: all(set(w.images(one)) == {"app:2"} for one in others), what="the others")
            await w.until(lambda: w.condition("Ready") == "Unknown", what="the member is seen as lost")
            entry = next(one for one in w.status()["subsetStatuses"] if one["name"] == "member-2")
            assert entry["lastObservedTime"]
            assert w.status()["currentRevision"] != w.status()["updatedRevision"]
            assert w.images("member-2").get("app:2", 0) <= 1, "a partition holds also when the member is cut off"
            w.members["member-2"].faults.clear()
            await w.until(w.settled, what="its return")
            assert images(w) == {"member-1": {"app:2": 4}, "member-2": {"app:2": 2}, "member-3": {"app:2": 2}}

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_slow_and_failing_servers_only_take_longer(kind):
    async def story():
        async with world_for(kind, seed=7) as w:
            for cluster in w.members.values():
                cluster.faults.set(latency=0.2, jitter=0.5, error_rate=0.2)
            w.host.faults.set(latency=0.05, error_rate=0.1)
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            assert images(w) == HALF_DONE
            expected = 2 if kind == "deploymentTemplate" else 1
            assert all(len(workloads(w, member)) == expected for member in w.members)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_settled_fleet_costs_its_watches_and_a_probe_of_each_cluster_in_15_seconds(kind):
    """I3: an hour of it, also while a canary is held."""

    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            await asyncio.sleep(5)
            before, probes = w.requests(), w.probes()
            await asyncio.sleep(3600)
            assert w.requests() == before
            assert {name: count - probes[name] for name, count in w.probes().items()} == dict.fromkeys(w.clusters, 240)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_writes_nothing(kind):
    """I3: what was applied, and at which generation, is found again by the state."""

    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            await asyncio.sleep(5)
            await w.stop_controller()
            w.transports.clear()
            w.start_controller()
            await asyncio.sleep(60)
            written = [one for t in w.transports.values() for one in t.sent if one.method != "GET"]
            assert written == []

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_creation_and_a_later_step_cost_what_they_have_to(kind):
    """One write per subset and four on the host; then one per changed subset and two on the host."""

    async def story():
        # No pods, whose progress would add to the count.
        async with world_for(kind, controllers=(LifecycleController,)) as w:
            for document, on_host in (
                (manifest(kind=kind), 4),
                (manifest(kind=kind, replicas=16), 2),
            ):
                await asyncio.sleep(5)
                before = w.requests()
                w.apply(document)
                await asyncio.sleep(30)
                after = w.requests()
                assert {name: after[name] - before[name] for name in w.members} == dict.fromkeys(w.members, 1)
                assert after["host"] - before["host"] == on_host

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_taken_back_in_mid_canary_is_undone(kind):
    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            w.apply(manifest(kind=kind, image="app:1", partitions=HALF))
            await w.until(w.settled, what="the way back")
            assert images(w) == {"member-1": {"app:1": 4}, "member-2": {"app:1": 2}, "member-3": {"app:1": 2}}

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_third_version_in_mid_canary_leaves_the_stable_one_stable(kind):
    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            stable = w.status()["currentRevision"]
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            w.apply(manifest(kind=kind, image="app:3", partitions=HALF))
            await w.until(w.settled, what="the next canary")
            assert w.status()["currentRevision"] == stable
            assert all(w.images(member)["app:3"] == HALF_DONE[member]["app:2"] for member in w.members)
            assert all(w.images(member)["app:1"] == HALF_DONE[member]["app:1"] for member in w.members)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_scaling_in_mid_canary_keeps_to_the_partition(kind):
    """I6"""

    async def story():
        async with world_for(kind) as w:
            dog = Watchdog(w)
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            more = {"member-1": 4, "member-2": 2, "member-3": 2}
            dog.allow("app:2", {"member-1": 4, "member-2": 2, "member-3": 2})
            w.apply(manifest(kind=kind, image="app:2", replicas=16, partitions=more))
            await w.until(w.settled, what="scaling up")
            assert not dog.broken
            assert {member: w.images(member)["app:2"] for member in w.members} == {
                "member-1": 4,
                "member-2": 2,
                "member-3": 2,
            }
            w.apply(manifest(kind=kind, image="app:2", replicas=8, partitions=HALF))
            await w.until(w.settled, what="scaling down")
            counts = {member: w.images(member).get("app:2", 0) for member in w.members}
            assert all(counts[member] <= HALF_DONE[member]["app:2"] for member in w.members)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_scaling_to_zero_and_back_in_mid_canary_remembers_the_stable_revision(kind):
    """I6: the StatefulSet controller forgets it."""

    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            w.apply(manifest(kind=kind, image="app:2", replicas=0, partitions=HALF))
            await w.until(lambda: w.settled() and not any(map(w.pods, w.members)), what="zero")
            dog = Watchdog(w)
            dog.allow("app:2", {member: HALF_DONE[member]["app:2"] for member in w.members})
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="the way back")
            assert not dog.broken
            assert images(w) == HALF_DONE

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_subset_that_joins_in_mid_canary_starts_stable_and_then_obeys(kind):
    """I6"""
    shares = {"member-1": "50%", "member-2": "25%"}

    async def story():
        async with world_for(kind) as w:
            dog = Watchdog(w)
            await created(w, kind, replicas=6, shares={"member-1": 4, "member-2": 2})
            first = {"replicas": 6, "shares": {"member-1": 4, "member-2": 2}}
            w.apply(manifest(kind=kind, image="app:2", partitions={"member-1": 2, "member-2": 1}, **first))
            await w.until(w.settled, what="the canary")
            dog.allow("app:2", {"member-3": 1})
            w.apply(manifest(kind=kind, image="app:2", shares={**shares, "member-3": None}, partitions=HALF))
            await w.until(w.settled, what="the new subset")
            assert not dog.broken
            assert images(w) == HALF_DONE

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_what_somebody_edits_or_deletes_in_a_member_comes_back(kind):
    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            (name,) = workloads(w, "member-1")
            path = f"{PATHS[kind]}/{name}"
            member = w.members["member-1"]
            body = {"spec": {"replicas": 1}}
            w.request(member, "PATCH", path, body, content_type="application/merge-patch+json")
            await w.until(lambda: workloads(w, "member-1")[name]["spec"]["replicas"] == 4, what="the replicas")
            await w.until(w.settled)
            assert len(w.pods("member-1")) >= 4
            w.request(member, "DELETE", path)
            await w.until(lambda: name not in workloads(w, "member-1"))
            await w.until(lambda: w.settled() and w.images("member-1") == {"app:1": 4}, what="the workload")

    simulate(story)


def test_a_foreign_workload_of_the_same_name_is_left_alone_and_said_so():
    """I13"""

    async def story():
        async with world(controller=False) as w:
            member = w.members["member-1"]
            foreign = {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {"name": "web-member-1"},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": "other"}},
                    "template": {
                        "metadata": {"labels": {"app": "other"}},
                        "spec": {"containers": [{"name": "c", "image": "other:1"}]},
                    },
                },
            }
            w.request(member, "POST", "/apis/apps/v1/namespaces/default/statefulsets", foreign)
            w.start_controller()
            w.apply(manifest())
            await w.until(lambda: w.condition("Stalled") == "True", what="the condition")
            entry = next(one for one in w.status()["subsetStatuses"] if one["name"] == "member-1")
            assert "not of this UnitedDeployment" in entry["reason"]
            await w.until(lambda: [len(w.pods(one)) for one in ("member-2", "member-3")] == [2, 2], what="the others")
            (left,) = member.access.list("statefulsets.apps")
            assert left["spec"]["template"]["spec"]["containers"][0]["image"] == "other:1"
            assert "uniteddeployment.io/name" not in left["metadata"].get("labels", {})

    simulate(story)


def test_one_seed_gives_one_history():
    """I2: two runs write the same, byte for byte."""

    def history():
        written = []

        async def story():
            async with world(seed=3) as w:
                watched = [(name, one) for name in w.members for one in ("statefulsets.apps", "pods")]
                for name, resource in [*watched, ("host", UDS)]:
                    cluster = w.clusters[name]
                    cluster.access.subscribe(
                        resource, lambda change, name=name: written.append((name, change.type, repr(change.obj)))
                    )
                await created(w, "statefulSetTemplate")
                w.apply(manifest(image="app:2", partitions=HALF))
                await w.until(w.settled)

        simulate(story)
        return written

    first = history()
    assert len(first) > 50
    assert first == history()


@pytest.mark.parametrize("kind", KINDS)
def test_drift_is_put_back_with_an_event_that_names_the_field_and_its_writer(kind):
    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            (name,) = workloads(w, "member-1")
            path = f"{PATHS[kind]}/{name}?fieldManager=somebody"
            edit = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "bad:1"}]
            w.request(w.members["member-1"], "PATCH", path, edit, content_type="application/json-patch+json")
            await w.until(lambda: w.settled() and w.images("member-1") == {"app:1": 4}, what="the image")

            def told():
                notes = [one["message"] for one in w.host.access.list("events") if one["reason"] == "DriftRepaired"]
                return any("spec.template.spec.containers[0].image (by somebody)" in note for note in notes)

            await w.until(told, what="the event")

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_to_others_is_left_alone(kind):
    """An HPA in a member scales as it likes."""

    async def story():
        async with world_for(kind) as w:
            document = manifest(kind=kind)
            document["metadata"]["annotations"] = {"uniteddeployment.io/ignore-differences": "spec.replicas"}
            w.apply(document)
            await w.until(w.settled, what="creation")
            (name,) = workloads(w, "member-1")
            path = f"{PATHS[kind]}/{name}/scale"
            w.request(
                w.members["member-1"],
                "PATCH",
                path,
                {"spec": {"replicas": 6}},
                content_type="application/merge-patch+json",
            )
            await w.until(lambda: w.images("member-1") == {"app:1": 6} and w.settled(), what="the HPA's number")
            await asyncio.sleep(60)
            assert w.images("member-1") == {"app:1": 6}
            document["spec"]["template"][kind]["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            w.apply(document)
            await w.until(lambda: w.settled() and w.images("member-1") == {"app:2": 6}, what="a new image")

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_deleting_with_orphan_leaves_the_workloads_and_takes_our_marks_off(kind):
    async def story():
        async with world_for(kind) as w:
            await created(w, kind)
            before = {pod["metadata"]["uid"] for pod in w.pods("member-1")}
            path = f"{names.API_PATH}/namespaces/default/uniteddeployments/web"
            w.request(w.host, "DELETE", path, {"propagationPolicy": "Orphan"})
            await w.until(lambda: w.ud() is None, what="deletion")
            await asyncio.sleep(60)
            assert {pod["metadata"]["uid"] for pod in w.pods("member-1")} == before
            assert not workloads(w, "member-1")
            (left,) = w.members["member-1"].access.list(RESOURCES[kind])
            marks = [*left["metadata"].get("labels", {}), *left["metadata"].get("annotations", {})]
            assert not [mark for mark in marks if mark.startswith("uniteddeployment.io/")]
            assert not [
                one
                for one in w.host.access.list("controllerrevisions.apps")
                if one["metadata"]["name"].startswith("web-")
            ]

    simulate(story)


def test_raising_a_partition_is_no_rollback_and_status_says_so():
    async def story():
        async with world() as w:
            await created(w, "statefulSetTemplate")
            w.apply(manifest(image="app:2", partitions=HALF))
            await w.until(w.settled, what="the canary")
            w.apply(manifest(image="app:2", partitions={**HALF, "member-1": 3}))
            await w.until(w.settled, what="the raised partition")
            await asyncio.sleep(60)
            assert images(w) == HALF_DONE
            entry = w.status()["subsetStatuses"][0]
            assert entry["reason"].startswith("2 pods are updated where the partition allows 1")

    simulate(story)


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_bad_version_that_is_taken_back_does_not_stay_stuck(policy):
    """The StatefulSet controller waits for ever for the broken pod to get ready."""

    async def story():
        async with world() as w:
            good, bad = manifest(), manifest(image="fail:2", partitions=HALF)
            for document in (good, bad):
                document["spec"]["template"]["statefulSetTemplate"]["spec"]["podManagementPolicy"] = policy
            w.apply(good)
            await w.until(w.settled, what="creation")
            w.apply(bad)
            await w.until(lambda: all("fail:2" in w.images(member) for member in w.members), what="the bad version")
            await asyncio.sleep(120)
            assert w.images("member-1") == {"app:1": 3, "fail:2": 1}, "it goes no further"
            entry = w.status()["subsetStatuses"][0]
            assert sorted(one["replicas"] for one in entry["revisions"]) == [1, 3]
            w.apply(good)
            await w.until(w.settled, what="the way back")
            assert w.images("member-1") == {"app:1": 4}

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_subset_that_moves_or_is_renamed_keeps_the_ready_total(kind):
    """I7: the new is ready before the old goes."""

    async def story():
        async with world_for(kind) as w:
            shares = {"member-1": 4, "member-2": 4}
            await created(w, kind, shares=shares)
            lowest = [8]

            def look(_change):
                lowest[0] = min(lowest[0], sum(ready(w, member) for member in w.members))

            for cluster in w.members.values():
                cluster.access.subscribe("pods", look)
            moved = manifest(kind=kind, shares=shares)
            moved["spec"]["topology"]["subsets"][1] |= {"name": "moved", "targetCluster": {"name": "member-3"}}
            w.apply(moved)
            await w.until(lambda: w.settled() and not workloads(w, "member-2"), what="the move")
            assert lowest[0] >= 6
            assert w.images("member-3") == {"app:1": 4}

            never = manifest(kind=kind, shares=shares)
            never["spec"]["topology"]["subsets"][1] |= {"name": "stuck", "targetCluster": {"name": "member-2"}}
            never["spec"]["topology"]["subsets"][1]["nodeSelectorTerm"] = {
                "matchExpressions": [{"key": "no-such-label", "operator": "Exists"}]
            }
            w.apply(never)
            await asyncio.sleep(600)
            assert w.images("member-3") == {"app:1": 4}, "what replaces it never got ready, so it stays"
            assert lowest[0] >= 6

    simulate(story)


def ready(w, member):
    return sum(
        any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ()))
        for pod in w.pods(member)
        if "deletionTimestamp" not in pod["metadata"]
    )


def test_credentials_that_were_replaced_are_taken_up_without_a_restart():
    """A member whose token was changed is reached again when its Secret has the new one."""

    async def story():
        async with world() as w:
            await created(w, "statefulSetTemplate")
            member = w.members["member-2"]
            member.tokens["fresh-token"] = member.tokens.pop(rights.TOKEN)
            w.apply(manifest(image="app:2"))
            await w.until(lambda: w.condition("Ready") == "Unknown", what="the refusal")
            assert "refuses our credentials" in w.status()["subsetStatuses"][1]["reason"]
            await asyncio.sleep(120)
            assert w.images("member-2") == {"app:1": 2}
            secret = {"stringData": {"token": "fresh-token"}}
            path = "/api/v1/namespaces/default/secrets/member-2-credentials"
            w.request(w.host, "PATCH", path, secret, content_type="application/merge-patch+json")
            await w.until(lambda: w.settled() and w.images("member-2") == {"app:2": 2}, what="its return")

    simulate(story)
