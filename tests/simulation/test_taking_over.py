"""Adoption end to end: workloads that were there before, and those of somebody else."""

import asyncio
import copy

import pytest

from tests.support.planning import manifest
from tests.support.templates import PATH, annotate, applied, done, entries, message, subset, template, uids
from tests.support.world import UDS, simulate, world
from uniteddeployment_api import names

KINDS = ["statefulSetTemplate", "deploymentTemplate"]


APPS = "/apis/apps/v1/namespaces/default"


PLURALS = {"statefulSetTemplate": "statefulsets", "deploymentTemplate": "deployments"}


async def existing(w, kind, *, replicas=3, image="app:1", member="member-1", **metadata):
    """A workload as somebody made it by hand, with its pods running."""
    spec = copy.deepcopy(manifest(kind=kind, image=image)["spec"]["template"][kind]["spec"])
    spec |= {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}
    body = {"metadata": {"name": "legacy", **metadata}, "spec": spec}
    w.request(w.members[member], "POST", f"{APPS}/{PLURALS[kind]}", body)
    await w.until(
        lambda: legacy(w, kind, member).get("status", {}).get("readyReplicas") == replicas, what="the old one"
    )


def legacy(w, kind, member="member-1"):
    return w.members[member].access.get(f"{PLURALS[kind]}.apps", "default", "legacy")


def adopting(kind, *, replicas=3, **more):
    doc = manifest(kind=kind, shares={"member-1": replicas}, replicas=replicas, **more)
    subset(doc, "member-1")["adopt"] = {"name": "legacy"}
    return doc


def owned(workload):
    return names.ANNOTATION_OWNER in workload["metadata"].get("annotations", {})


@pytest.mark.parametrize("kind", KINDS)
def test_an_existing_workload_is_taken_over_without_a_restart_and_then_updated_by_a_canary(kind):
    """I6, I13"""

    async def story():
        async with world(members=1) as w:
            await existing(w, kind)
            before, uid = uids(w), legacy(w, kind)["metadata"]["uid"]
            doc = adopting(kind)
            await done(w, doc)
            assert uids(w) == before
            assert legacy(w, kind)["metadata"]["uid"] == uid
            assert owned(legacy(w, kind))
            assert entries(w)["member-1"]["workload"].endswith("/legacy")
            assert w.status()["updatedReadyReplicas"] == 3
            template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
            await applied(w, doc)
            assert w.images("member-1") == {"app:1": 2, "app:2": 1}
            assert w.status()["updatedReadyReplicas"] == 1
            await w.stop_controller()
            w.start_controller()
            await asyncio.sleep(30)
            assert w.images("member-1") == {"app:1": 2, "app:2": 1}
            doc["spec"]["updateStrategy"] = {}
            await done(w, doc)
            assert w.images("member-1") == {"app:2": 3}
            left = w.members["member-1"].access.list(f"{PLURALS[kind]}.apps", "default")
            if kind == "statefulSetTemplate":
                (only,) = left
                assert (only["metadata"]["uid"], only["spec"]["selector"]) == (uid, {"matchLabels": {"app": "web"}})
            else:
                await w.until(lambda: legacy(w, kind) is None, what="the old one to go")
            assert not w.host.access.list("pods", "default")

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_going_back_after_a_canary_on_an_adopted_workload_reaches_every_pod(kind):
    """I6"""

    async def story():
        async with world(members=1) as w:
            await existing(w, kind)
            await done(w, adopting(kind))
            await applied(w, adopting(kind, image="app:2", partitions={"member-1": 1}))
            assert w.images("member-1") == {"app:1": 1, "app:2": 2}
            await applied(w, adopting(kind, image="app:1", partitions={"member-1": 1}))
            await w.until(lambda: w.images("member-1") == {"app:1": 3} and w.settled(), what="going back")

    simulate(story)


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
def test_a_workload_of_somebody_else_is_not_adopted(kind, metadata, told):
    """I13"""

    async def story():
        async with world(members=1) as w:
            w.members["member-1"].stop()
            await existing_at_rest(w, kind, **metadata)
            before = legacy(w, kind)
            w.apply(adopting(kind))
            await w.until(lambda: w.condition("Stalled") == "True")
            assert told in message(w, "Stalled")
            assert legacy(w, kind) == before

    simulate(story)


async def existing_at_rest(w, kind, **metadata):
    """One whose controllers are away, so that nothing happens to it but what we do."""
    spec = copy.deepcopy(manifest(kind=kind)["spec"]["template"][kind]["spec"])
    spec |= {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}
    body = {"metadata": {"name": "legacy", **metadata}, "spec": spec}
    w.request(w.members["member-1"], "POST", f"{APPS}/{PLURALS[kind]}", body)


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_whose_pods_would_restart_is_not_adopted_until_it_fits(kind):
    """I13: what differs is told."""

    async def story():
        async with world(members=1) as w:
            await existing(w, kind, image="app:0")
            before = legacy(w, kind)
            w.apply(adopting(kind))
            await w.until(lambda: w.condition("Stalled") == "True")
            assert "spec.template.spec.containers[0].image" in message(w, "Stalled")
            assert legacy(w, kind) == before
            await done(w, adopting(kind, image="app:0"))
            assert owned(legacy(w, kind))

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_nothing_has_is_not_adopted_and_nothing_is_made(kind):
    """I13: a typing mistake must not make a second application."""

    async def story():
        async with world(members=1) as w:
            w.apply(adopting(kind))
            await w.until(lambda: w.condition("Stalled") == "True")
            assert "there is none to take over" in message(w, "Stalled")
            assert not w.pods("member-1")
            doc = adopting(kind)
            del subset(doc, "member-1")["adopt"]
            await done(w, doc)
            assert entries(w)["member-1"]["workload"].partition("/")[2].startswith("web-member-1")

    simulate(story)


def test_an_adopted_stateful_set_that_somebody_deletes_comes_back_under_its_name():
    async def story():
        async with world(members=1) as w:
            await existing(w, "statefulSetTemplate")
            await done(w, adopting("statefulSetTemplate"))
            uid = legacy(w, "statefulSetTemplate")["metadata"]["uid"]
            w.members["member-1"].access.delete("statefulsets.apps", "default", "legacy")
            await w.until(
                lambda: (legacy(w, "statefulSetTemplate") or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid
            )
            await w.until(lambda: w.settled() and len(w.pods("member-1")) == 3, what="coming back")

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_two_hosts_with_the_same_application_do_not_fight_over_a_cluster(kind):
    """I13: the second is Stalled with the name of the owner. (A second host is played by a uid that changes.)"""

    async def story():
        async with world(members=1) as w:
            doc = manifest(kind=kind, shares={"member-1": 2}, replicas=2)
            await done(w, doc)
            before = uids(w)
            await w.stop_controller()
            found = w.host.access.get(UDS, "default", "web")
            w.request(w.host, "PUT", f"{PATH}/web", {**found, "metadata": {**found["metadata"], "finalizers": []}})
            w.delete()
            w.start_controller()
            doc = manifest(kind=kind, shares={"member-1": 2}, replicas=2, image="app:2")
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            assert f"belongs to the UnitedDeployment default/web (uid {found['metadata']['uid']})" in message(
                w, "Stalled"
            )
            await asyncio.sleep(100)
            assert uids(w) == before
            assert w.images("member-1") == {"app:1": 2}

    simulate(story)


def test_an_adopted_stateful_set_is_recreated_in_mid_canary_without_a_restart():
    """I6, I7: its pods have no labels of ours, and are held all the same."""
    kind = "statefulSetTemplate"

    async def story():
        async with world(members=1) as w:
            await existing(w, kind)
            await done(w, adopting(kind))
            doc = adopting(kind, image="app:2", partitions={"member-1": 2})
            await applied(w, doc)
            before, uid = uids(w), legacy(w, kind)["metadata"]["uid"]
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            subset(doc, "member-1")["overrides"] = [
                {"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}
            ]
            w.apply(doc)
            await w.until(lambda: (legacy(w, kind) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)
            await w.until(w.settled, what="settling")
            assert uids(w) == before
            assert w.images("member-1") == {"app:1": 2, "app:2": 1}
            assert w.status()["updatedReadyReplicas"] == 1

    simulate(story)
