"""Creation: what exists under the name of a workload is never taken over, whoever wrote it and with which manager."""

import asyncio

import pytest

from tests.support.kruise import ALL_KINDS, PATHS, RESOURCES, world_for
from tests.support.planning import manifest
from tests.support.templates import done, entries, message, template
from tests.support.watchdog import workloads
from tests.support.world import second_host, simulate, world
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment_api import names

STATEFUL_SETS = PATHS["statefulSetTemplate"]


def foreign(name, *, image="other:1", **metadata):
    """A StatefulSet without our labels."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, **metadata},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "other"}},
            "template": {
                "metadata": {"labels": {"app": "other"}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        },
    }


def document(image="app:1", **more):
    return manifest(shares={"member-1": 2}, replicas=2, image=image, **more)


def one_workload(w, kind="statefulSetTemplate", member="member-1"):
    (found,) = w.members[member].access.list(RESOURCES[kind], "default")
    return found


def test_a_foreign_workload_that_was_applied_with_our_field_manager_is_left_alone():
    """I13: another host uses the same field manager, so the API server sees no conflict."""

    async def story():
        async with world(members=1) as w:
            theirs = foreign(
                "web-member-1",
                annotations={names.ANNOTATION_OWNER: "default/web", names.ANNOTATION_OWNER_UID: "their-uid"},
            )
            path = f"{STATEFUL_SETS}/web-member-1?fieldManager={names.FIELD_MANAGER}"
            w.request(w.members["member-1"], "PATCH", path, theirs, content_type="application/apply-patch+yaml")
            before = one_workload(w)
            w.apply(document())
            await w.until(lambda: w.condition("Stalled") == "True", what="the condition")
            assert "the UnitedDeployment default/web (uid their-uid)" in message(w, "Stalled")
            await asyncio.sleep(120)
            after = one_workload(w)
            assert after["spec"] == before["spec"]
            for field in ("annotations", "labels", "generation"):
                assert after["metadata"].get(field) == before["metadata"].get(field)

    simulate(story)


def test_a_foreign_workload_that_is_just_what_we_would_apply_is_left_alone():
    """I13: where nothing differs, server-side apply sees no conflict with any manager."""

    async def story():
        async with world(members=1, controller=False) as w:
            w.start_controller()
            await done(w, document())
            made = one_workload(w)
            w.delete()
            await w.until(lambda: not w.members["member-1"].access.list("statefulsets.apps", "default"))
            metadata = {"name": made["metadata"]["name"]}
            spec = made["spec"]
            w.request(w.members["member-1"], "POST", STATEFUL_SETS, {"metadata": metadata, "spec": spec})
            w.apply(document())
            await w.until(lambda: w.condition("Stalled") == "True", what="the condition")
            assert "is not of this UnitedDeployment" in message(w, "Stalled")
            assert not workloads(w, "member-1")

    simulate(story)


def test_two_applications_whose_workloads_would_have_one_name_do_not_share_it():
    """I13: one host, one field manager: `web` with the subset `a-b` and `web-a` with the subset `b`."""

    async def story():
        async with world(members=1) as w:
            first, second = (
                manifest(shares={"a-b": 2}, replicas=2),
                manifest(shares={"b": 1}, replicas=1, image="app:2"),
            )
            second["metadata"]["name"] = "web-a"
            for one in (first, second):
                one["spec"]["topology"]["subsets"][0]["targetCluster"] = {"name": "member-1"}
            await done(w, first)
            w.apply(second)
            await w.until(lambda: w.condition("Stalled", "web-a") == "True", what="the condition")
            assert "default/web (uid" in w.status("web-a")["subsetStatuses"][0]["reason"]
            await asyncio.sleep(60)
            assert w.images("member-1") == {"app:1": 2}
            assert w.settled("web")

    simulate(story)


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
def test_of_two_hosts_that_create_a_workload_at_once_one_wins_and_the_other_names_it(kind):
    """I13: neither has seen the other's when it writes."""

    async def story():
        async with world(members=1) as first, second_host(first) as second:
            first.members["member-1"].faults.set(latency=0.2)
            owners = set()

            def note(change):
                if change.type != "DELETED":
                    owners.add(change.obj["metadata"]["annotations"][names.ANNOTATION_OWNER_UID])

            first.members["member-1"].access.subscribe(RESOURCES[kind], note)
            first.apply(document(kind=kind))
            second.apply(document(kind=kind))
            hosts = {"True": None, "False": None}

            def decided():
                hosts.update({host.condition("Stalled"): host for host in (first, second)})
                return all(hosts.values())

            await first.until(decided, what="a winner and a loser")
            loser, winner = hosts["True"], hosts["False"]
            await winner.until(winner.settled, what="the winner")
            owner = winner.ud()["metadata"]["uid"]
            assert owners == {owner}
            assert f"the UnitedDeployment default/web (uid {owner})" in message(loser, "Stalled")
            found = one_workload(first, kind)
            await asyncio.sleep(60)
            assert one_workload(first, kind)["metadata"]["generation"] == found["metadata"]["generation"]
            assert found["metadata"]["annotations"][names.ANNOTATION_OWNER_UID] == owner
            assert len(first.pods("member-1")) == 2

    simulate(story)


def test_a_workload_whose_creation_was_not_answered_is_recognised_as_ours():
    """I9: the write succeeded and the answer was lost; nobody is told of a stranger, and there is one workload."""

    async def story():
        async with world(members=1) as w:
            await w.until(lambda: "member-1" in w.transports, what="the member")
            transport = w.transports["member-1"]
            sent, lost = transport.send, []

            async def send(request, *, timeout):  # noqa: ASYNC109  # part of the protocol
                answer = await sent(request, timeout=timeout)
                if request.verb == "apply" and len(lost) < 3:
                    lost.append(answer.status)
                    raise Unreachable("member-1", "connection reset")
                return answer

            transport.send = send
            # The watch is late, so that what is there is not known when the next attempt is made.
            w.members["member-1"].faults.set(slow_watch=20.0)
            stalled = []
            w.host.access.subscribe(
                "uniteddeployments.uniteddeployment.io", lambda _: stalled.append(w.condition("Stalled"))
            )
            w.apply(document())
            await w.until(w.settled, what="settling")
            assert lost == [201, 409, 409]
            assert "True" not in stalled
            assert w.images("member-1") == {"app:1": 2}

    simulate(story)


def test_a_workload_that_lost_our_labels_gets_them_back():
    """I9: no watch shows it any more, and its name is taken, but its owner annotation says that it is ours."""

    async def story():
        async with world(members=1) as w:
            await done(w, document())
            made = one_workload(w)
            path = f"{STATEFUL_SETS}/web-member-1"
            gone = {"metadata": {"labels": {names.LABEL_NAME: None, names.LABEL_SUBSET: None}}}
            w.request(w.members["member-1"], "PATCH", path, gone, content_type="application/merge-patch+json")
            await w.until(lambda: names.LABEL_NAME in one_workload(w)["metadata"]["labels"], what="the labels")
            await w.until(w.settled, what="settling")
            assert one_workload(w)["metadata"]["uid"] == made["metadata"]["uid"]
            assert one_workload(w)["spec"] == made["spec"]

    simulate(story)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_field_that_leaves_the_template_leaves_the_workload_too(kind):
    """We own what we apply from the first write on, under one entry: no field stays behind for ever."""

    async def story():
        async with world_for(kind, members=1) as w:
            doc = document(kind=kind)
            template(doc)["spec"]["revisionHistoryLimit"] = 3
            template(doc)["metadata"] = {"labels": {"team": "shop"}, "annotations": {"example.com/a": "b"}}
            before = w.requests().get("member-1", 0)
            await done(w, doc)
            ours = [
                entry
                for entry in one_workload(w, kind)["metadata"]["managedFields"]
                if entry["manager"] == names.FIELD_MANAGER
            ]
            assert [entry["operation"] for entry in ours] == ["Apply"]
            writes = [one for one in w.transports["member-1"].sent if one.method != "GET"]
            assert len(writes) == 1, "a creation is one request"
            assert before <= w.requests()["member-1"] - 1
            del template(doc)["spec"]["revisionHistoryLimit"], template(doc)["metadata"]
            await done(w, doc)
            await w.until(lambda: "team" not in one_workload(w, kind)["metadata"]["labels"], what="the label to go")
            found = one_workload(w, kind)
            assert "example.com/a" not in found["metadata"]["annotations"]
            assert found["spec"].get("revisionHistoryLimit") in (None, 10), "the default of the kind again"
            assert entries(w)["member-1"]["readyReplicas"] == 2

    simulate(story)
