"""Adoption end to end: workloads that were there before, and those of somebody else."""

import asyncio
import copy
from typing import Any

import pytest

from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.templates import PATH, annotate, applied, done, entries, message, subset, template, uids
from tests.support.world import UDS, World
from uniteddeployment_api import names

KINDS = ["statefulSetTemplate", "deploymentTemplate"]


APPS = "/apis/apps/v1/namespaces/default"


PLURALS = {"statefulSetTemplate": "statefulsets", "deploymentTemplate": "deployments"}


async def existing(
    world: World, kind: str, *, replicas: int = 3, image: str = "app:1", member: str = "member-1", **metadata: Any
) -> None:
    """A workload as somebody made it by hand, with its pods running."""
    spec = copy.deepcopy(manifest(kind=kind, image=image)["spec"]["template"][kind]["spec"])
    spec |= {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}
    body = {"metadata": {"name": "legacy", **metadata}, "spec": spec}
    world.request(world.members[member], "POST", f"{APPS}/{PLURALS[kind]}", body)
    await world.until(
        lambda: present(legacy(world, kind, member)).get("status", {}).get("readyReplicas") == replicas,
        what="the old one",
    )


def legacy(world: World, kind: str, member: str = "member-1") -> dict[str, Any] | None:
    return world.members[member].access.get(f"{PLURALS[kind]}.apps", "default", "legacy")


def adopting(kind: str, *, replicas: int = 3, **more: Any) -> dict[str, Any]:
    doc = manifest(kind=kind, shares={"member-1": replicas}, replicas=replicas, **more)
    subset(doc, "member-1")["adopt"] = {"name": "legacy"}
    return doc


def owned(workload: dict[str, Any]) -> bool:
    return names.ANNOTATION_OWNER in workload["metadata"].get("annotations", {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=1)
async def test_an_existing_workload_is_taken_over_without_a_restart_and_then_updated_by_a_canary(
    world: World, kind: str
) -> None:
    """Adoption restarts no pod, and partitions hold from then on (I6, I13)."""
    await existing(world, kind)
    before, uid = uids(world), present(legacy(world, kind))["metadata"]["uid"]
    doc = adopting(kind)
    await done(world, doc)
    assert uids(world) == before
    assert present(legacy(world, kind))["metadata"]["uid"] == uid
    assert owned(present(legacy(world, kind)))
    assert entries(world)["member-1"]["workload"].endswith("/legacy")
    assert world.status()["updatedReadyReplicas"] == 3
    template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
    await applied(world, doc)
    assert world.images("member-1") == {"app:1": 2, "app:2": 1}
    assert world.status()["updatedReadyReplicas"] == 1
    await world.stop_controller()
    world.start_controller()
    await asyncio.sleep(30)
    assert world.images("member-1") == {"app:1": 2, "app:2": 1}
    doc["spec"]["updateStrategy"] = {}
    await done(world, doc)
    assert world.images("member-1") == {"app:2": 3}
    left = world.members["member-1"].access.list(f"{PLURALS[kind]}.apps", "default")
    if kind == "statefulSetTemplate":
        (only,) = left
        assert (only["metadata"]["uid"], only["spec"]["selector"]) == (uid, {"matchLabels": {"app": "web"}})
    else:
        await world.until(lambda: legacy(world, kind) is None, what="the old one to go")
    assert not world.host.access.list("pods", "default")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=1)
async def test_going_back_after_a_canary_on_an_adopted_workload_reaches_every_pod(world: World, kind: str) -> None:
    """The template that was adopted can be restored for all pods (I6)."""
    await existing(world, kind)
    await done(world, adopting(kind))
    await applied(world, adopting(kind, image="app:2", partitions={"member-1": 1}))
    assert world.images("member-1") == {"app:1": 1, "app:2": 2}
    await applied(world, adopting(kind, image="app:1", partitions={"member-1": 1}))
    await world.until(lambda: world.images("member-1") == {"app:1": 3} and world.settled(), what="going back")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (
            {"annotations": {names.ANNOTATION_OWNER: "prod/web", names.ANNOTATION_OWNER_UID: "elsewhere"}},
            "it belongs to the UnitedDeployment prod/web",
        ),
        (
            {
                "ownerReferences": [
                    {"apiVersion": "db.io/v1", "kind": "Database", "name": "main", "uid": "u", "controller": True}
                ],
                "finalizers": ["db.io/keep"],
            },
            "it is controlled by Database main",
        ),
    ],
)
@pytest.mark.fleet(members=1)
async def test_a_workload_of_somebody_else_is_not_adopted(
    world: World, kind: str, metadata: dict[str, Any], told: str
) -> None:
    """Adoption is refused for a workload that has another owner, with the reason (I13)."""
    world.members["member-1"].stop()
    await existing_at_rest(world, kind, **metadata)
    before = legacy(world, kind)
    world.apply(adopting(kind))
    await world.until(lambda: world.condition("Stalled") == "True")
    assert told in message(world, "Stalled")
    assert legacy(world, kind) == before


async def existing_at_rest(world: World, kind: str, **metadata: Any) -> None:
    """One whose controllers are away, so that nothing happens to it but what we do."""
    spec = copy.deepcopy(manifest(kind=kind)["spec"]["template"][kind]["spec"])
    spec |= {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}
    body = {"metadata": {"name": "legacy", **metadata}, "spec": spec}
    world.request(world.members["member-1"], "POST", f"{APPS}/{PLURALS[kind]}", body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=1)
async def test_a_workload_whose_pods_would_restart_is_not_adopted_until_it_fits(world: World, kind: str) -> None:
    """Differences are reported (I13)."""
    await existing(world, kind, image="app:0")
    before = legacy(world, kind)
    world.apply(adopting(kind))
    await world.until(lambda: world.condition("Stalled") == "True")
    assert "spec.template.spec.containers[0].image" in message(world, "Stalled")
    assert legacy(world, kind) == before
    await done(world, adopting(kind, image="app:0"))
    assert owned(present(legacy(world, kind)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=1)
async def test_a_name_that_nothing_has_is_not_adopted_and_nothing_is_made(world: World, kind: str) -> None:
    """A typing mistake must not make a second application (I13)."""
    world.apply(adopting(kind))
    await world.until(lambda: world.condition("Stalled") == "True")
    assert "there is none to adopt" in message(world, "Stalled")
    assert not world.pods("member-1")
    doc = adopting(kind)
    del subset(doc, "member-1")["adopt"]
    await done(world, doc)
    assert entries(world)["member-1"]["workload"].partition("/")[2].startswith("web-member-1")


@pytest.mark.fleet(members=1)
async def test_an_adopted_stateful_set_that_somebody_deletes_comes_back_under_its_name(world: World) -> None:
    await existing(world, "statefulSetTemplate")
    await done(world, adopting("statefulSetTemplate"))
    uid = present(legacy(world, "statefulSetTemplate"))["metadata"]["uid"]
    world.members["member-1"].access.delete("statefulsets.apps", "default", "legacy")
    await world.until(
        lambda: (legacy(world, "statefulSetTemplate") or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid
    )
    await world.until(lambda: world.settled() and len(world.pods("member-1")) == 3, what="coming back")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=1)
async def test_two_hosts_with_the_same_application_do_not_fight_over_a_cluster(world: World, kind: str) -> None:
    """I13: the second is Stalled with the name of the owner. (A second host is played by a uid that changes.)"""
    doc = manifest(kind=kind, shares={"member-1": 2}, replicas=2)
    await done(world, doc)
    before = uids(world)
    await world.stop_controller()
    found = present(world.host.access.get(UDS, "default", "web"))
    world.request(
        world.host,
        "PUT",
        f"{PATH}/web",
        {**found, "metadata": {**found["metadata"], "finalizers": []}},
    )
    world.delete()
    world.start_controller()
    doc = manifest(kind=kind, shares={"member-1": 2}, replicas=2, image="app:2")
    world.apply(doc)
    await world.until(lambda: world.condition("Stalled") == "True")
    assert f"belongs to the UnitedDeployment default/web (uid {found['metadata']['uid']})" in message(world, "Stalled")
    await asyncio.sleep(100)
    assert uids(world) == before
    assert world.images("member-1") == {"app:1": 2}


@pytest.mark.fleet(members=1)
async def test_an_adopted_stateful_set_is_recreated_in_mid_canary_without_a_restart(world: World) -> None:
    """Its pods have no labels of ours, and are held all the same (I6, I7)."""
    kind = "statefulSetTemplate"
    await existing(world, kind)
    await done(world, adopting(kind))
    doc = adopting(kind, image="app:2", partitions={"member-1": 2})
    await applied(world, doc)
    before, uid = uids(world), present(legacy(world, kind))["metadata"]["uid"]
    annotate(world, **{names.ANNOTATION_RECREATE: names.RECREATE})
    subset(doc, "member-1")["overrides"] = [{"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}]
    world.apply(doc)
    await world.until(lambda: (legacy(world, kind) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)
    await world.until(world.settled, what="settling")
    assert uids(world) == before
    assert world.images("member-1") == {"app:1": 2, "app:2": 1}
    assert world.status()["updatedReadyReplicas"] == 1
