"""The main job in trouble: lost members, slow and failing servers, edits by others."""

import asyncio
import itertools
from typing import Any

import pytest

from tests.support import rights
from tests.support.kruise import ALL_KINDS, NATIVE_KINDS, PATHS, RESOURCES, kinds
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.virtual_time import simulate
from tests.support.watchdog import Watchdog, workloads
from tests.support.world import UDS, World, running_world
from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment_api import names

KINDS = ALL_KINDS
HALF = {"member-1": 2, "member-2": 1, "member-3": 1}
HALF_DONE = {
    "member-1": {"app:1": 2, "app:2": 2},
    "member-2": {"app:1": 1, "app:2": 1},
    "member-3": {"app:1": 1, "app:2": 1},
}


def images(world: World) -> dict[str, Any]:
    return {member: world.images(member) for member in world.members}


async def created(world: World, kind: str, **more: Any) -> None:
    world.apply(manifest(kind=kind, **more))
    await world.until(world.settled, what="creation")


@pytest.mark.parametrize(
    ("kind", "fault"),
    some(
        list(itertools.product(NATIVE_KINDS, ["cut_off", "black_hole"])),
        [("statefulSetTemplate", "black_hole"), ("deploymentTemplate", "cut_off")],
    ),
)
async def test_a_member_lost_in_mid_rollout_holds_up_nobody_and_converges_when_it_is_back(
    world: World, kind: str, fault: str
) -> None:
    """The others go on, status says what is unknown, and the lost member follows within its partition (I6, I8, I10)."""
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(lambda: world.status().get("updatedReplicas", 0) > 0, what="the first canary")
    world.members["member-2"].faults.set(**dict[str, Any]({fault: True}))
    world.apply(manifest(kind=kind, image="app:2"))
    others = ("member-1", "member-3")
    await world.until(lambda: all(set(world.images(one)) == {"app:2"} for one in others), what="the others")
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the member is seen as lost")
    entry = next(one for one in world.status()["subsetStatuses"] if one["name"] == "member-2")
    assert entry["lastObservedTime"]
    assert world.status()["currentRevision"] != world.status()["updatedRevision"]
    assert world.images("member-2").get("app:2", 0) <= 1, "a partition holds also when the member is cut off"
    world.members["member-2"].faults.clear()
    await world.until(world.settled, what="its return")
    assert images(world) == {"member-1": {"app:2": 4}, "member-2": {"app:2": 2}, "member-3": {"app:2": 2}}


@pytest.mark.parametrize("kind", NATIVE_KINDS)
@pytest.mark.fleet(seed=7)
async def test_slow_and_failing_servers_only_take_longer(world: World, kind: str) -> None:
    for cluster in world.members.values():
        cluster.faults.set(latency=0.2, jitter=0.5, error_rate=0.2)
    world.host.faults.set(latency=0.05, error_rate=0.1)
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    assert images(world) == HALF_DONE
    expected = 2 if kind == "deploymentTemplate" else 1
    assert all(len(workloads(world, member)) == expected for member in world.members)


@pytest.mark.parametrize(("kind", "minutes"), [("statefulSetTemplate", 60), ("deploymentTemplate", 10)])
async def test_a_settled_fleet_costs_its_watches_and_a_probe_of_each_cluster_in_15_seconds(
    world: World, kind: str, minutes: int
) -> None:
    """Up to an hour of it, also while a canary is held (I3)."""
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    await asyncio.sleep(5)
    before, probes = world.requests(), world.probes()
    await asyncio.sleep(minutes * 60)
    assert world.requests() == before
    probed = {name: count - probes[name] for name, count in world.probes().items()}
    assert probed == dict.fromkeys(world.clusters, minutes * 4)


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_a_restart_writes_nothing(world: World, kind: str) -> None:
    """What was applied, and at which generation, is found again by the state (I3)."""
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    await asyncio.sleep(5)
    await world.stop_controller()
    world.transports.clear()
    world.start_controller()
    await asyncio.sleep(60)
    written = [one for t in world.transports.values() for one in t.sent if one.method != "GET"]
    assert written == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(controllers=(LifecycleController,))
async def test_creation_and_a_later_step_cost_what_they_have_to(world: World, kind: str) -> None:
    """One write per subset and four on the host; then one per changed subset and two on the host."""
    for document, on_host in (
        (manifest(kind=kind), 4),
        (manifest(kind=kind, replicas=16), 2),
    ):
        await asyncio.sleep(5)
        before = world.requests()
        world.apply(document)
        await asyncio.sleep(30)
        after = world.requests()
        assert {name: after[name] - before[name] for name in world.members} == dict.fromkeys(world.members, 1)
        assert after["host"] - before["host"] == on_host


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "deploymentTemplate"))
async def test_a_template_taken_back_in_mid_canary_is_undone(world: World, kind: str) -> None:
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    world.apply(manifest(kind=kind, image="app:1", partitions=HALF))
    await world.until(world.settled, what="the way back")
    assert images(world) == {"member-1": {"app:1": 4}, "member-2": {"app:1": 2}, "member-3": {"app:1": 2}}


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_a_third_version_in_mid_canary_leaves_the_stable_one_stable(world: World, kind: str) -> None:
    await created(world, kind)
    stable = world.status()["currentRevision"]
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    world.apply(manifest(kind=kind, image="app:3", partitions=HALF))
    await world.until(world.settled, what="the next canary")
    assert world.status()["currentRevision"] == stable
    assert all(world.images(member)["app:3"] == HALF_DONE[member]["app:2"] for member in world.members)
    assert all(world.images(member)["app:1"] == HALF_DONE[member]["app:1"] for member in world.members)


@pytest.mark.parametrize("kind", KINDS)
async def test_scaling_in_mid_canary_keeps_to_the_partition(world: World, kind: str) -> None:
    """Scaling up and down during a canary updates no pod beyond the partition (I6)."""
    dog = Watchdog(world)
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    more = {"member-1": 4, "member-2": 2, "member-3": 2}
    dog.allow("app:2", {"member-1": 4, "member-2": 2, "member-3": 2})
    world.apply(manifest(kind=kind, image="app:2", replicas=16, partitions=more))
    await world.until(world.settled, what="scaling up")
    assert not dog.broken
    assert {member: world.images(member)["app:2"] for member in world.members} == {
        "member-1": 4,
        "member-2": 2,
        "member-3": 2,
    }
    world.apply(manifest(kind=kind, image="app:2", replicas=8, partitions=HALF))
    await world.until(world.settled, what="scaling down")
    counts = {member: world.images(member).get("app:2", 0) for member in world.members}
    assert all(counts[member] <= HALF_DONE[member]["app:2"] for member in world.members)


@pytest.mark.parametrize("kind", KINDS)
async def test_scaling_to_zero_and_back_in_mid_canary_remembers_the_stable_revision(world: World, kind: str) -> None:
    """The StatefulSet controller forgets it (I6)."""
    await created(world, kind)
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    world.apply(manifest(kind=kind, image="app:2", replicas=0, partitions=HALF))
    await world.until(lambda: world.settled() and not any(map(world.pods, world.members)), what="zero")
    dog = Watchdog(world)
    dog.allow("app:2", {member: HALF_DONE[member]["app:2"] for member in world.members})
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the way back")
    assert not dog.broken
    assert images(world) == HALF_DONE


@pytest.mark.parametrize("kind", KINDS)
async def test_a_subset_that_joins_in_mid_canary_starts_stable_and_then_obeys(world: World, kind: str) -> None:
    """A new subset is created at the stable revision and then follows its partition (I6)."""
    shares = {"member-1": "50%", "member-2": "25%"}
    dog = Watchdog(world)
    await created(world, kind, replicas=6, shares={"member-1": 4, "member-2": 2})
    first: dict[str, Any] = {"replicas": 6, "shares": {"member-1": 4, "member-2": 2}}
    world.apply(manifest(kind=kind, image="app:2", partitions={"member-1": 2, "member-2": 1}, **first))
    await world.until(world.settled, what="the canary")
    dog.allow("app:2", {"member-3": 1})
    world.apply(manifest(kind=kind, image="app:2", shares={**shares, "member-3": None}, partitions=HALF))
    await world.until(world.settled, what="the new subset")
    assert not dog.broken
    assert images(world) == HALF_DONE


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "cloneSetTemplate"))
async def test_what_somebody_edits_or_deletes_in_a_member_comes_back(world: World, kind: str) -> None:
    await created(world, kind)
    (name,) = workloads(world, "member-1")
    path = f"{PATHS[kind]}/{name}"
    member = world.members["member-1"]
    body = {"spec": {"replicas": 1}}
    world.request(member, "PATCH", path, body, content_type="application/merge-patch+json")
    await world.until(lambda: workloads(world, "member-1")[name]["spec"]["replicas"] == 4, what="the replicas")
    await world.until(world.settled)
    assert len(world.pods("member-1")) >= 4
    world.request(member, "DELETE", path)
    await world.until(lambda: name not in workloads(world, "member-1"))
    await world.until(lambda: world.settled() and world.images("member-1") == {"app:1": 4}, what="the workload")


@pytest.mark.fleet(controller=False)
async def test_a_foreign_workload_of_the_same_name_is_left_alone_and_said_so(world: World) -> None:
    """A workload of somebody else is not changed, and the subset says why it has none (I13)."""
    member = world.members["member-1"]
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
    world.request(member, "POST", "/apis/apps/v1/namespaces/default/statefulsets", foreign)
    world.start_controller()
    world.apply(manifest())
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    entry = next(one for one in world.status()["subsetStatuses"] if one["name"] == "member-1")
    assert "not of this UnitedDeployment" in entry["reason"]
    await world.until(lambda: [len(world.pods(one)) for one in ("member-2", "member-3")] == [2, 2], what="the others")
    (left,) = member.access.list("statefulsets.apps")
    assert left["spec"]["template"]["spec"]["containers"][0]["image"] == "other:1"
    assert "uniteddeployment.io/name" not in left["metadata"].get("labels", {})


async def history() -> list[tuple[str, str, str]]:
    """What a canary writes in a fleet of its own."""
    written: list[tuple[str, str, str]] = []
    async with running_world(seed=3) as world:
        watched = [(name, resource) for name in world.members for resource in ("statefulsets.apps", "pods")]
        for name, resource in [*watched, ("host", UDS)]:

            def note(change: Change, name: str = name) -> None:
                written.append((name, change.type, repr(change.obj)))

            world.clusters[name].access.subscribe(resource, note)
        await created(world, "statefulSetTemplate")
        world.apply(manifest(image="app:2", partitions=HALF))
        await world.until(world.settled)
    return written


def test_one_seed_gives_one_history() -> None:
    """Two runs write the same, byte for byte (I2)."""
    first = simulate(history)
    assert len(first) > 50
    assert first == simulate(history)


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_drift_is_put_back_and_an_event_and_the_status_name_the_field_and_its_writer(
    world: World, kind: str
) -> None:
    await created(world, kind)
    (name,) = workloads(world, "member-1")
    path = f"{PATHS[kind]}/{name}?fieldManager=somebody"
    edit = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "bad:1"}]
    world.request(world.members["member-1"], "PATCH", path, edit, content_type="application/json-patch+json")
    await world.until(lambda: world.settled() and world.images("member-1") == {"app:1": 4}, what="the image")

    def told() -> bool:
        notes = [one["message"] for one in world.host.access.list("events") if one["reason"] == "DriftRepaired"]
        return any("spec.template.spec.containers[0].image (by somebody)" in note for note in notes)

    await world.until(told, what="the event")
    await world.until(lambda: "lastDrift" in world.status()["subsetStatuses"][0], what="the status")
    drift = world.status()["subsetStatuses"][0]["lastDrift"]
    assert drift["message"] == "put back spec.template.spec.containers[0].image (by somebody)"
    world.kill_controller()
    world.start_controller()
    await asyncio.sleep(30)
    assert world.status()["subsetStatuses"][0]["lastDrift"] == drift, "another process keeps it"


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_what_is_left_to_others_is_left_alone(world: World, kind: str) -> None:
    """An HPA in a member scales as it likes."""
    document = manifest(kind=kind)
    document["metadata"]["annotations"] = {"uniteddeployment.io/ignore-differences": "spec.replicas"}
    world.apply(document)
    await world.until(world.settled, what="creation")
    (name,) = workloads(world, "member-1")
    path = f"{PATHS[kind]}/{name}/scale"
    world.request(
        world.members["member-1"],
        "PATCH",
        path,
        {"spec": {"replicas": 6}},
        content_type="application/merge-patch+json",
    )
    await world.until(lambda: world.images("member-1") == {"app:1": 6} and world.settled(), what="the HPA's number")
    await asyncio.sleep(60)
    assert world.images("member-1") == {"app:1": 6}
    document["spec"]["template"][kind]["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    world.apply(document)
    await world.until(lambda: world.settled() and world.images("member-1") == {"app:2": 6}, what="a new image")


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "cloneSetTemplate"))
async def test_deleting_with_orphan_leaves_the_workloads_and_takes_our_marks_off(world: World, kind: str) -> None:
    await created(world, kind)
    before = {pod["metadata"]["uid"] for pod in world.pods("member-1")}
    path = f"{names.API_PATH}/namespaces/default/uniteddeployments/web"
    world.request(world.host, "DELETE", path, {"propagationPolicy": "Orphan"})
    await world.until(lambda: world.ud() is None, what="deletion")
    await asyncio.sleep(60)
    assert {pod["metadata"]["uid"] for pod in world.pods("member-1")} == before
    assert not workloads(world, "member-1")
    (left,) = world.members["member-1"].access.list(RESOURCES[kind])
    marks = [*left["metadata"].get("labels", {}), *left["metadata"].get("annotations", {})]
    assert not [mark for mark in marks if mark.startswith("uniteddeployment.io/")]
    assert not [
        one for one in world.host.access.list("controllerrevisions.apps") if one["metadata"]["name"].startswith("web-")
    ]


async def test_raising_a_partition_is_no_rollback_and_status_says_so(world: World) -> None:
    await created(world, "statefulSetTemplate")
    world.apply(manifest(image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    world.apply(manifest(image="app:2", partitions={**HALF, "member-1": 3}))
    await world.until(world.settled, what="the raised partition")
    await asyncio.sleep(60)
    assert images(world) == HALF_DONE
    entry = world.status()["subsetStatuses"][0]
    assert entry["reason"].startswith("2 pods are updated where the partition allows 1")


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
async def test_a_bad_version_that_is_taken_back_does_not_stay_stuck(world: World, policy: str) -> None:
    """The StatefulSet controller waits forever for the broken pod to get ready."""
    good, bad = manifest(), manifest(image="fail:2", partitions=HALF)
    for document in (good, bad):
        document["spec"]["template"]["statefulSetTemplate"]["spec"]["podManagementPolicy"] = policy
    world.apply(good)
    await world.until(world.settled, what="creation")
    world.apply(bad)
    await world.until(lambda: all("fail:2" in world.images(member) for member in world.members), what="the bad version")
    await asyncio.sleep(120)
    assert world.images("member-1") == {"app:1": 3, "fail:2": 1}, "it goes no further"
    entry = world.status()["subsetStatuses"][0]
    assert sorted(one["replicas"] for one in entry["revisions"]) == [1, 3]
    world.apply(good)
    await world.until(world.settled, what="the way back")
    assert world.images("member-1") == {"app:1": 4}


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_a_subset_that_moves_or_is_renamed_keeps_the_ready_total(world: World, kind: str) -> None:
    """The new is ready before the old goes (I7)."""
    shares = {"member-1": 4, "member-2": 4}
    await created(world, kind, shares=shares)
    lowest = [8]

    def look(_change: Change) -> None:
        lowest[0] = min(lowest[0], sum(ready(world, member) for member in world.members))

    for cluster in world.members.values():
        cluster.access.subscribe("pods", look)
    moved = manifest(kind=kind, shares=shares)
    moved["spec"]["topology"]["subsets"][1] |= {"name": "moved", "targetCluster": {"name": "member-3"}}
    world.apply(moved)
    await world.until(lambda: world.settled() and not workloads(world, "member-2"), what="the move")
    assert lowest[0] >= 6
    assert world.images("member-3") == {"app:1": 4}

    never = manifest(kind=kind, shares=shares)
    never["spec"]["topology"]["subsets"][1] |= {"name": "stuck", "targetCluster": {"name": "member-2"}}
    never["spec"]["topology"]["subsets"][1]["nodeSelectorTerm"] = {
        "matchExpressions": [{"key": "no-such-label", "operator": "Exists"}]
    }
    world.apply(never)
    await asyncio.sleep(600)
    assert world.images("member-3") == {"app:1": 4}, "what replaces it never got ready, so it stays"
    assert lowest[0] >= 6


def ready(world: World, member: str) -> int:
    return sum(
        any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ()))
        for pod in world.pods(member)
        if "deletionTimestamp" not in pod["metadata"]
    )


async def test_credentials_that_were_replaced_are_taken_up_without_a_restart(world: World) -> None:
    """A member whose token was changed is reached again when its Secret has the new one."""
    await created(world, "statefulSetTemplate")
    member = world.members["member-2"]
    member.tokens["fresh-token"] = member.tokens.pop(rights.TOKEN)
    world.apply(manifest(image="app:2"))
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the refusal")
    assert "refuses our credentials" in world.status()["subsetStatuses"][1]["reason"]
    await asyncio.sleep(120)
    assert world.images("member-2") == {"app:1": 2}
    secret = {"stringData": {"token": "fresh-token"}}
    path = "/api/v1/namespaces/default/secrets/member-2-credentials"
    world.request(world.host, "PATCH", path, secret, content_type="application/merge-patch+json")
    await world.until(lambda: world.settled() and world.images("member-2") == {"app:2": 2}, what="its return")
