"""Templates end to end: what restarts pods and what does not, and names of every length."""

import copy

import pytest

from tests.support.templates import (
    applied,
    document,
    done,
    ordinals,
    provide_storage,
    subset,
    template,
    uids,
    with_storage,
)
from tests.support.world import World

KINDS = ["statefulSetTemplate", "deploymentTemplate"]


EDGE = {"spec": {"containers": [{"name": "app", "image": "app:edge"}]}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=2)
async def test_a_change_of_anything_but_the_pod_template_restarts_nothing(world: World, kind: str) -> None:
    doc = document(kind=kind)
    await applied(world, doc)
    before, revision = uids(world), world.status()["updatedRevision"]
    template(doc)["spec"]["minReadySeconds"] = 3
    template(doc)["metadata"] = {"labels": {"tier": "front"}, "annotations": {"note": "x"}}
    subset(doc, "member-1")["patch"] = {"spec": {"minReadySeconds": 5}}
    add = {"op": "add", "path": "/metadata/annotations/own", "value": "yes"}
    subset(doc, "member-2")["overrides"] = [add]
    if kind == "statefulSetTemplate":
        template(doc)["spec"]["updateStrategy"] = {"type": "OnDelete"}
    else:
        template(doc)["spec"]["strategy"] = {"type": "Recreate"}
    await applied(world, doc)
    assert uids(world) == before
    assert world.status()["updatedRevision"] == revision
    resource = "statefulsets.apps" if kind == "statefulSetTemplate" else "deployments.apps"
    (one,), (other,) = (world.members[name].access.list(resource, "default") for name in world.members)
    assert (one["spec"]["minReadySeconds"], other["spec"]["minReadySeconds"]) == (5, 3)
    assert other["metadata"]["annotations"]["own"] == "yes"
    assert one["metadata"]["labels"]["tier"] == "front"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=2)
async def test_a_patch_of_one_subset_updates_that_subset_within_its_partition(world: World, kind: str) -> None:
    """A changed patch updates one subset, and its partition caps that (I6)."""
    doc = document(kind=kind)
    await applied(world, doc)
    other = uids(world, "member-2")
    subset(doc, "member-1")["patch"] = EDGE
    doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 1}}}
    await applied(world, doc)
    assert world.images("member-1") == {"app:1": 1, "app:edge": 1}
    override = {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:over"}
    subset(doc, "member-1")["overrides"] = [override]
    await applied(world, doc)
    assert world.images("member-1") == {"app:1": 1, "app:over": 1}
    doc["spec"]["updateStrategy"] = {}
    await done(world, doc)
    assert world.images("member-1") == {"app:over": 2}
    assert uids(world, "member-2") == other
    doc["spec"]["topology"]["subsets"][0] = {
        key: value for key, value in subset(doc, "member-1").items() if key not in ("patch", "overrides")
    }
    await done(world, doc)
    assert world.images("member-1") == {"app:1": 2}
    assert uids(world, "member-2") == other


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fleet(members=1)
async def test_the_longest_names_work(world: World, kind: str) -> None:
    """253 characters of the application, 63 of the subset."""
    application, long = ".".join(["a" * 62] * 4)[:253].rstrip("."), "s" * 63
    doc = document(kind=kind)
    doc["metadata"]["name"] = application
    doc["spec"]["topology"]["subsets"] = [{"name": long, "targetCluster": {"name": "member-1"}}]
    world.apply(doc)
    await world.until(lambda: world.settled(application), what="creation")
    doc = copy.deepcopy(doc)
    template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    world.apply(doc)
    await world.until(lambda: world.settled(application) and world.images("member-1") == {"app:2": 4}, what="update")
    assert all(len(pod["metadata"]["name"]) <= 63 for pod in world.pods("member-1"))
    world.delete(application)
    await world.until(lambda: world.ud(application) is None and not world.pods("member-1"), what="deletion")


@pytest.mark.fleet(members=2)
async def test_the_fields_of_stateful_sets_are_carried(world: World) -> None:
    provide_storage(world)
    doc = document()
    with_storage(doc, "1Gi")
    more = {
        "podManagementPolicy": "Parallel",
        "ordinals": {"start": 3},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
    }
    template(doc)["spec"] |= more
    await applied(world, doc)
    (made,) = world.members["member-1"].access.list("statefulsets.apps", "default")
    assert {field: made["spec"][field] for field in more} == more
    assert made["spec"]["serviceName"] == "web"
    assert made["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] == "data"
    assert ordinals(world, "member-1") == [3, 4]
