"""Templates end to end: what restarts pods and what does not, names, ordinals, recreation and adoption."""

import asyncio
import copy

import pytest

from tests.support.planning import manifest
from tests.support.world import UDS, simulate, world
from uniteddeployment_api import names

KINDS = ["statefulSetTemplate", "deploymentTemplate"]
PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}"
EDGE = {"spec": {"containers": [{"name": "app", "image": "app:edge"}]}}


def document(**more):
    """Two subsets of two pods each."""
    return manifest(shares={"member-1": 2, "member-2": 2}, replicas=4, **more)


def subset(doc, name):
    return next(one for one in doc["spec"]["topology"]["subsets"] if one["name"] == name)


def template(doc):
    (found,) = doc["spec"]["template"].values()
    return found


def uids(w, *members):
    return {
        pod["metadata"]["uid"]
        for member in members or w.members
        for pod in w.pods(member)
        if "deletionTimestamp" not in pod["metadata"]
    }


def ordinals(w, member):
    return sorted(int(pod["metadata"]["name"].rpartition("-")[2]) for pod in w.pods(member))


def entries(w):
    return {one["name"]: one for one in w.status()["subsetStatuses"]}


def message(w, type_):
    return next(one["message"] for one in w.status()["conditions"] if one["type"] == type_)


async def applied(w, doc):
    w.apply(doc)
    await w.until(w.settled, what="settling")


async def done(w, doc):
    w.apply(doc)
    await w.until(lambda: w.settled() and w.status()["currentRevision"] == w.status()["updatedRevision"])


def annotate(w, **annotations):
    found = w.host.access.get(UDS, "default", "web")
    metadata = {**found["metadata"], "annotations": annotations}
    w.request(w.host, "PUT", f"{PATH}/web", {**found, "metadata": metadata})


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_anything_but_the_pod_template_restarts_nothing(kind):
    async def story():
        async with world(members=2) as w:
            doc = document(kind=kind)
            await applied(w, doc)
            before, revision = uids(w), w.status()["updatedRevision"]
            template(doc)["spec"]["minReadySeconds"] = 3
            template(doc)["metadata"] = {"labels": {"tier": "front"}, "annotations": {"note": "x"}}
            subset(doc, "member-1")["patch"] = {"spec": {"minReadySeconds": 5}}
            add = {"op": "add", "path": "/metadata/annotations/own", "value": "yes"}
            subset(doc, "member-2")["overrides"] = [add]
            if kind == "statefulSetTemplate":
                template(doc)["spec"]["updateStrategy"] = {"type": "OnDelete"}
            else:
                template(doc)["spec"]["strategy"] = {"type": "Recreate"}
            await applied(w, doc)
            assert uids(w) == before
            assert w.status()["updatedRevision"] == revision
            resource = "statefulsets.apps" if kind == "statefulSetTemplate" else "deployments.apps"
            (one,), (other,) = (w.members[name].access.list(resource, "default") for name in w.members)
            assert (one["spec"]["minReadySeconds"], other["spec"]["minReadySeconds"]) == (5, 3)
            assert other["metadata"]["annotations"]["own"] == "yes"
            assert one["metadata"]["labels"]["tier"] == "front"

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_patch_of_one_subset_updates_that_subset_within_its_partition(kind):
    """I6"""

    async def story():
        async with world(members=2) as w:
            doc = document(kind=kind)
            await applied(w, doc)
            other = uids(w, "member-2")
            subset(doc, "member-1")["patch"] = EDGE
            doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 1}}}
            await applied(w, doc)
            assert w.images("member-1") == {"app:1": 1, "app:edge": 1}
            override = {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:over"}
            subset(doc, "member-1")["overrides"] = [override]
            await applied(w, doc)
            assert w.images("member-1") == {"app:1": 1, "app:over": 1}
            doc["spec"]["updateStrategy"] = {}
            await done(w, doc)
            assert w.images("member-1") == {"app:over": 2}
            assert uids(w, "member-2") == other
            doc["spec"]["topology"]["subsets"][0] = {
                key: value for key, value in subset(doc, "member-1").items() if key not in ("patch", "overrides")
            }
            await done(w, doc)
            assert w.images("member-1") == {"app:1": 2}
            assert uids(w, "member-2") == other

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_names_work(kind):
    """253 characters of the application, 63 of the subset."""
    application, long = ".".join(["a" * 62] * 4)[:253].rstrip("."), "s" * 63

    async def story():
        async with world(members=1) as w:
            doc = document(kind=kind)
            doc["metadata"]["name"] = application
            doc["spec"]["topology"]["subsets"] = [{"name": long, "targetCluster": {"name": "member-1"}}]
            w.apply(doc)
            await w.until(lambda: w.settled(application), what="creation")
            doc = copy.deepcopy(doc)
            template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            w.apply(doc)
            await w.until(lambda: w.settled(application) and w.images("member-1") == {"app:2": 4}, what="update")
            assert all(len(pod["metadata"]["name"]) <= 63 for pod in w.pods("member-1"))
            w.delete(application)
            await w.until(lambda: w.ud(application) is None and not w.pods("member-1"), what="deletion")

    simulate(story)


CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def provide_storage(w):
    """A default class whose volumes are made on demand."""
    kind = {
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "embedded/zonal",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    for member in w.members.values():
        w.request(member, "POST", "/apis/storage.k8s.io/v1/storageclasses", kind)


def with_storage(doc, size):
    claim = copy.deepcopy(CLAIM)
    claim["spec"]["resources"]["requests"]["storage"] = size
    template(doc)["spec"]["volumeClaimTemplates"] = [claim]


def test_the_fields_of_stateful_sets_are_carried():
    async def story():
        async with world(members=2) as w:
            provide_storage(w)
            doc = document()
            with_storage(doc, "1Gi")
            more = {
                "podManagementPolicy": "Parallel",
                "ordinals": {"start": 3},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
            }
            template(doc)["spec"] |= more
            await applied(w, doc)
            (made,) = w.members["member-1"].access.list("statefulsets.apps", "default")
            assert {field: made["spec"][field] for field in more} == more
            assert made["spec"]["serviceName"] == "web"
            assert made["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] == "data"
            assert ordinals(w, "member-1") == [3, 4]

    simulate(story)


def stateful_sets(w):
    return {name: next(iter(one.access.list("statefulsets.apps", "default")), None) for name, one in w.members.items()}


def recreated(w):
    return {name: one["metadata"]["uid"] if one else "" for name, one in stateful_sets(w).items()}


def test_what_an_api_server_refuses_to_change_stalls_with_its_message_and_the_rest_goes_on():
    """I11: another service name got past admission."""

    async def story():
        async with world(members=2) as w:
            doc = document()
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            add = {"op": "replace", "path": "/spec/serviceName", "value": "other"}
            subset(doc, "member-1")["overrides"] = [add]
            template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            w.apply(doc)
            await w.until(lambda: w.images("member-2") == {"app:2": 2} and w.condition("Stalled") == "True")
            assert "updates to statefulset spec" in message(w, "Stalled")
            assert names.ANNOTATION_RECREATE in message(w, "Stalled")
            assert uids(w, "member-1") <= before
            assert recreated(w) == sets

    simulate(story)


def test_with_the_annotation_it_is_recreated_one_subset_at_a_time_and_no_pod_restarts():
    """I7"""

    async def story():
        async with world(members=3) as w:
            provide_storage(w)
            doc = manifest()
            with_storage(doc, "1Gi")
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            for one in doc["spec"]["topology"]["subsets"]:
                claims = [{**CLAIM, "spec": {**CLAIM["spec"], "resources": {"requests": {"storage": "2Gi"}}}}]
                one["overrides"] = [{"op": "replace", "path": "/spec/volumeClaimTemplates", "value": claims}]
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            away = set()
            for member in w.members.values():
                member.faults.set(latency=0.02)  # or all would be done at one moment

            def watched():
                missing = [name for name, uid in recreated(w).items() if not uid]
                fresh = [
                    name
                    for name, one in stateful_sets(w).items()
                    if one
                    and one["metadata"]["uid"] != sets[name]
                    and one.get("status", {}).get("readyReplicas") != one["spec"]["replicas"]
                ]
                away.add(len({*missing, *fresh}))
                return w.settled() and not set(recreated(w).values()) & set(sets.values())

            await w.until(watched, seconds=120, what="recreation", every=0.001)
            assert away == {0, 1}
            assert uids(w) == before
            assert not set(recreated(w).values()) & set(sets.values())
            for member in w.members.values():
                (made,) = member.access.list("statefulsets.apps", "default")
                assert made["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi"

    simulate(story)


def test_a_recreation_in_mid_canary_leaves_every_pod_at_its_revision():
    """I6"""

    async def story():
        async with world(members=1) as w:
            doc = manifest(shares={"member-1": None}, replicas=4)
            await applied(w, doc)
            template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            subset(doc, "member-1")["overrides"] = [
                {"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}
            ]
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            await w.until(lambda: w.settled() and recreated(w) != sets, what="recreation")
            assert uids(w) == before
            assert w.images("member-1") == {"app:1": 2, "app:2": 2}
            first = min(w.pods("member-1"), key=lambda pod: pod["metadata"]["name"])
            w.members["member-1"].access.delete("pods", "default", first["metadata"]["name"])
            expected = {"app:1": 2, "app:2": 2}
            await w.until(
                lambda: uids(w) != before and w.images("member-1") == expected and w.settled(), what="a new pod"
            )

    simulate(story)


def test_a_successor_that_nobody_would_accept_costs_no_workload():
    """I7: it is tried before anything is deleted."""

    async def story():
        async with world(members=1) as w:
            doc = manifest(shares={"member-1": None}, replicas=2)
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            operations = [{"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}]
            subset(doc, "member-1")["overrides"] = operations
            quota = {"metadata": {"name": "full"}, "spec": {"hard": {"count/statefulsets.apps": "1"}}}
            w.request(w.members["member-1"], "POST", "/api/v1/namespaces/default/resourcequotas", quota)
            await asyncio.sleep(5)
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            await asyncio.sleep(200)
            assert "exceeded quota" in message(w, "Stalled")
            assert (uids(w), recreated(w)) == (before, sets)

    simulate(story)


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


def disjoint(*shares, total, block=10, **more):
    doc = manifest(shares=dict(shares), replicas=total, **more)
    doc["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": block}
    return doc


def test_disjoint_ordinals_stay_where_they_are_when_subsets_come_and_go():
    async def story():
        async with world(members=3) as w:
            await done(w, disjoint(("member-1", 2), ("member-2", 2), total=4))
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [10, 11], []]
            before = uids(w, "member-2")
            # A new one before the others, and the order turned round.
            await done(w, disjoint(("member-3", 2), ("member-2", 2), ("member-1", 2), total=6))
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [10, 11], [20, 21]]
            assert {name: one["ordinalsStart"] for name, one in entries(w).items()} == {
                "member-3": 20,
                "member-2": 10,
                "member-1": 0,
            }
            assert uids(w, "member-2") == before
            await done(w, disjoint(("member-3", 2), ("member-2", 2), total=4))
            await w.until(lambda: not w.pods("member-1"), what="removal")
            await done(w, disjoint(("member-3", 2), ("member-1", 2), ("member-2", 2), total=6))
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [10, 11], [20, 21]]
            assert uids(w, "member-2") == before

    simulate(story)


def test_the_partition_counts_from_the_first_ordinal():
    """I6"""

    async def story():
        async with world(members=2) as w:
            shares = ("member-1", 2), ("member-2", 3)
            await done(w, disjoint(*shares, total=5))
            await applied(w, disjoint(*shares, total=5, image="app:2", partitions={"member-1": 1, "member-2": 1}))
            assert w.images("member-2") == {"app:1": 1, "app:2": 2}
            old = [pod for pod in w.pods("member-2") if pod["spec"]["containers"][0]["image"] == "app:1"]
            assert old[0]["metadata"]["name"] == "web-member-2-10"
            more = ("member-1", 2), ("member-2", 4)
            await applied(w, disjoint(*more, total=6, image="app:2", partitions={"member-1": 1, "member-2": 2}))
            await w.until(lambda: len(w.pods("member-2")) == 4 and w.settled())
            assert w.images("member-2")["app:2"] <= 2

    simulate(story)


def test_more_pods_than_ordinals_find_no_place_and_the_reason_is_told():
    """I4"""

    async def story():
        async with world(members=2) as w:
            doc = disjoint(("member-1", {"weight": 1}), ("member-2", {"weight": 1}), total=4, block=2)
            await done(w, doc)
            doc["spec"]["replicas"] = 6
            w.apply(doc)
            await w.until(lambda: w.status()["unplacedReplicas"] == 2)
            assert "its ordinals are 0 to 1" in w.status()["subsetStatuses"][0]["reason"]
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [2, 3]]

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
