"""What an API server refuses to change, with and without the wish to have it recreated."""

import asyncio

import pytest

from tests.support.planning import manifest
from tests.support.templates import (
    CLAIM,
    annotate,
    applied,
    document,
    message,
    provide_storage,
    recreated,
    stateful_sets,
    subset,
    template,
    uids,
    with_storage,
)
from tests.support.world import World
from uniteddeployment_api import names


@pytest.mark.fleet(members=2)
async def test_what_an_api_server_refuses_to_change_stalls_with_its_message_and_the_rest_goes_on(world: World) -> None:
    """Another service name got past admission (I11)."""
    doc = document()
    await applied(world, doc)
    before, sets = uids(world), recreated(world)
    add = {"op": "replace", "path": "/spec/serviceName", "value": "other"}
    subset(doc, "member-1")["overrides"] = [add]
    template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    world.apply(doc)
    await world.until(lambda: world.images("member-2") == {"app:2": 2} and world.condition("Stalled") == "True")
    assert "updates to statefulset spec" in message(world, "Stalled")
    assert names.ANNOTATION_RECREATE in message(world, "Stalled")
    assert uids(world, "member-1") <= before
    assert recreated(world) == sets


@pytest.mark.fleet(members=3)
async def test_with_the_annotation_it_is_recreated_one_subset_at_a_time_and_no_pod_restarts(world: World) -> None:
    """Recreating a workload keeps its pods running (I7)."""
    provide_storage(world)
    doc = manifest()
    with_storage(doc, "1Gi")
    await applied(world, doc)
    before, sets = uids(world), recreated(world)
    for one in doc["spec"]["topology"]["subsets"]:
        claims = [{**CLAIM, "spec": {**CLAIM["spec"], "resources": {"requests": {"storage": "2Gi"}}}}]
        one["overrides"] = [{"op": "replace", "path": "/spec/volumeClaimTemplates", "value": claims}]
    world.apply(doc)
    await world.until(lambda: world.condition("Stalled") == "True")
    annotate(world, **{names.ANNOTATION_RECREATE: names.RECREATE})
    away = set()
    for member in world.members.values():
        member.faults.set(latency=0.02)  # or all would be done at one moment

    def watched() -> bool:
        missing = [name for name, uid in recreated(world).items() if not uid]
        fresh = [
            name
            for name, one in stateful_sets(world).items()
            if one
            and one["metadata"]["uid"] != sets[name]
            and one.get("status", {}).get("readyReplicas") != one["spec"]["replicas"]
        ]
        away.add(len({*missing, *fresh}))
        return world.settled() and not set(recreated(world).values()) & set(sets.values())

    await world.until(watched, seconds=120, what="recreation", every=0.001)
    assert away == {0, 1}
    assert uids(world) == before
    assert not set(recreated(world).values()) & set(sets.values())
    for member in world.members.values():
        (made,) = member.access.list("statefulsets.apps", "default")
        assert made["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi"


@pytest.mark.fleet(members=1)
async def test_a_recreation_in_mid_canary_leaves_every_pod_at_its_revision(world: World) -> None:
    """Recreating a workload during a canary updates no pod and reverts none (I6)."""
    doc = manifest(shares={"member-1": None}, replicas=4)
    await applied(world, doc)
    template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
    await applied(world, doc)
    before, sets = uids(world), recreated(world)
    subset(doc, "member-1")["overrides"] = [{"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}]
    world.apply(doc)
    await world.until(lambda: world.condition("Stalled") == "True")
    annotate(world, **{names.ANNOTATION_RECREATE: names.RECREATE})
    await world.until(lambda: world.settled() and recreated(world) != sets, what="recreation")
    assert uids(world) == before
    assert world.images("member-1") == {"app:1": 2, "app:2": 2}
    first = min(world.pods("member-1"), key=lambda pod: pod["metadata"]["name"])
    world.members["member-1"].access.delete("pods", "default", first["metadata"]["name"])
    expected = {"app:1": 2, "app:2": 2}
    await world.until(
        lambda: uids(world) != before and world.images("member-1") == expected and world.settled(), what="a new pod"
    )


@pytest.mark.fleet(members=1)
async def test_a_successor_that_nobody_would_accept_costs_no_workload(world: World) -> None:
    """It is tried before anything is deleted (I7)."""
    doc = manifest(shares={"member-1": None}, replicas=2)
    await applied(world, doc)
    before, sets = uids(world), recreated(world)
    annotate(world, **{names.ANNOTATION_RECREATE: names.RECREATE})
    operations = [{"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}]
    subset(doc, "member-1")["overrides"] = operations
    quota = {"metadata": {"name": "full"}, "spec": {"hard": {"count/statefulsets.apps": "1"}}}
    world.request(world.members["member-1"], "POST", "/api/v1/namespaces/default/resourcequotas", quota)
    await asyncio.sleep(5)
    world.apply(doc)
    await world.until(lambda: world.condition("Stalled") == "True")
    await asyncio.sleep(200)
    assert "exceeded quota" in message(world, "Stalled")
    assert (uids(world), recreated(world)) == (before, sets)


@pytest.mark.fleet(members=1)
async def test_a_crash_in_the_middle_of_a_recreation_ends_in_the_same_state(world: World) -> None:
    """The workload is deleted, and the process that was about to create it again is gone (I9)."""
    doc = manifest(shares={"member-1": None}, replicas=4)
    await applied(world, doc)
    before = uids(world)
    await world.stop_controller()
    path = "/apis/apps/v1/namespaces/default/statefulsets/web-member-1?propagationPolicy=Orphan"
    world.request(world.members["member-1"], "DELETE", path)
    await world.until(lambda: not recreated(world)["member-1"], what="deletion")
    add = {"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}
    subset(doc, "member-1")["overrides"] = [add]
    world.apply(doc)
    world.start_controller()
    await world.until(lambda: recreated(world)["member-1"] and world.settled(), what="coming back")
    assert uids(world) == before
    assert stateful_sets(world)["member-1"]["spec"]["podManagementPolicy"] == "Parallel"


@pytest.mark.fleet(members=1)
async def test_pods_that_could_not_go_on_under_the_successor_keep_their_workload(world: World) -> None:
    """A pod cannot get the volume of a new claim template (I7)."""
    provide_storage(world)
    doc = manifest(shares={"member-1": None}, replicas=2)
    await applied(world, doc)
    before, sets = uids(world), recreated(world)
    annotate(world, **{names.ANNOTATION_RECREATE: names.RECREATE})
    subset(doc, "member-1")["overrides"] = [{"op": "add", "path": "/spec/volumeClaimTemplates", "value": [CLAIM]}]
    world.apply(doc)
    await world.until(
        lambda: world.condition("Stalled") == "True" and "scale the subset to 0" in message(world, "Stalled")
    )
    await asyncio.sleep(100)
    assert (uids(world), recreated(world)) == (before, sets)
    await applied(world, {**doc, "spec": {**doc["spec"], "replicas": 0}})
    await applied(world, doc)
    assert recreated(world) != sets
    (made,) = world.members["member-1"].access.list("statefulsets.apps", "default")
    assert made["spec"]["volumeClaimTemplates"]
    await world.until(lambda: world.settled() and len(world.pods("member-1")) == 2, what="coming back")
