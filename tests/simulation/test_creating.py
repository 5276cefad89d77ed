"""Creation: what exists under the name of a workload is never taken over, whoever wrote it and with which manager."""

import asyncio
from typing import Any

import pytest

from tests.support.kruise import PATHS, RESOURCES, kinds
from tests.support.planning import manifest
from tests.support.templates import done, entries, message, template
from tests.support.watchdog import workloads
from tests.support.world import World, running_world, second_host
from uniteddeployment.embedded.access import Change
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer
from uniteddeployment_api import names

STATEFUL_SETS = PATHS["statefulSetTemplate"]


def foreign(name: str, *, image: str = "other:1", **metadata: Any) -> dict[str, Any]:
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


def document(image: str = "app:1", **more: Any) -> dict[str, Any]:
    return manifest(shares={"member-1": 2}, replicas=2, image=image, **more)


def one_workload(world: World, kind: str = "statefulSetTemplate", member: str = "member-1") -> dict[str, Any]:
    (found,) = world.members[member].access.list(RESOURCES[kind], "default")
    return found


@pytest.mark.fleet(members=1)
async def test_a_foreign_workload_that_was_applied_with_our_field_manager_is_left_alone(world: World) -> None:
    """Another host uses the same field manager, so the API server sees no conflict (I13)."""
    theirs = foreign(
        "web-member-1",
        annotations={names.ANNOTATION_OWNER: "default/web", names.ANNOTATION_OWNER_UID: "their-uid"},
    )
    path = f"{STATEFUL_SETS}/web-member-1?fieldManager={names.FIELD_MANAGER}"
    world.request(world.members["member-1"], "PATCH", path, theirs, content_type="application/apply-patch+yaml")
    before = one_workload(world)
    world.apply(document())
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    assert "the UnitedDeployment default/web (uid their-uid)" in message(world, "Stalled")
    await asyncio.sleep(120)
    after = one_workload(world)
    assert after["spec"] == before["spec"]
    for field in ("annotations", "labels", "generation"):
        assert after["metadata"].get(field) == before["metadata"].get(field)


@pytest.mark.fleet(members=1, controller=False)
async def test_a_foreign_workload_that_is_just_what_we_would_apply_is_left_alone(world: World) -> None:
    """Where nothing differs, server-side apply sees no conflict with any manager (I13)."""
    world.start_controller()
    await done(world, document())
    made = one_workload(world)
    world.delete()
    await world.until(lambda: not world.members["member-1"].access.list("statefulsets.apps", "default"))
    metadata = {"name": made["metadata"]["name"]}
    spec = made["spec"]
    world.request(world.members["member-1"], "POST", STATEFUL_SETS, {"metadata": metadata, "spec": spec})
    world.apply(document())
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    assert "is not of this UnitedDeployment" in message(world, "Stalled")
    assert not workloads(world, "member-1")


@pytest.mark.fleet(members=1)
async def test_two_applications_whose_workloads_would_have_one_name_do_not_share_it(world: World) -> None:
    """One host, one field manager: `web` with the subset `a-b` and `web-a` with the subset `b` (I13)."""
    first, second = (
        manifest(shares={"a-b": 2}, replicas=2),
        manifest(shares={"b": 1}, replicas=1, image="app:2"),
    )
    second["metadata"]["name"] = "web-a"
    for one in (first, second):
        one["spec"]["topology"]["subsets"][0]["targetCluster"] = {"name": "member-1"}
    await done(world, first)
    world.apply(second)
    await world.until(lambda: world.condition("Stalled", "web-a") == "True", what="the condition")
    assert "default/web (uid" in world.status("web-a")["subsetStatuses"][0]["reason"]
    await asyncio.sleep(60)
    assert world.images("member-1") == {"app:1": 2}
    assert world.settled("web")


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
async def test_of_two_hosts_that_create_a_workload_at_once_one_wins_and_the_other_names_it(kind: str) -> None:
    """Neither has seen the other's when it writes (I13)."""
    async with running_world(members=1) as first, second_host(first) as second:
        first.members["member-1"].faults.set(latency=0.2)
        owners = set()

        def note(change: Change) -> None:
            if change.type != "DELETED":
                owners.add(change.obj["metadata"]["annotations"][names.ANNOTATION_OWNER_UID])

        first.members["member-1"].access.subscribe(RESOURCES[kind], note)
        first.apply(document(kind=kind))
        second.apply(document(kind=kind))
        hosts: dict[str, World] = {}

        def decided() -> bool:
            hosts.update({host.condition("Stalled"): host for host in (first, second)})
            return {"True", "False"} <= hosts.keys()

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


@pytest.mark.fleet(members=1)
async def test_a_workload_whose_creation_was_not_answered_is_recognised_as_ours(world: World) -> None:
    """The write succeeded and the answer was lost; no conflict is reported, and there is one workload (I9)."""
    await world.until(lambda: "member-1" in world.transports, what="the member")
    transport = world.transports["member-1"]
    sent = transport.send
    lost: list[Any] = []

    async def send(request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the protocol
        answer = await sent(request, timeout=timeout)
        if request.verb == "apply" and len(lost) < 3:
            lost.append(answer.status)
            raise Unreachable("member-1", "connection reset")
        return answer

    transport.send = send  # type: ignore[method-assign]  # only in this test
    # The watch is late, so that what is there is not known when the next attempt is made.
    world.members["member-1"].faults.set(slow_watch=20.0)
    stalled = []
    world.host.access.subscribe(
        "uniteddeployments.uniteddeployment.io", lambda _: stalled.append(world.condition("Stalled"))
    )
    world.apply(document())
    await world.until(world.settled, what="settling")
    assert lost == [201, 409, 409]
    assert "True" not in stalled
    assert world.images("member-1") == {"app:1": 2}


@pytest.mark.fleet(members=1)
async def test_a_workload_that_lost_our_labels_gets_them_back(world: World) -> None:
    """No watch shows it any more, and its name is taken, but its owner annotation says that it is ours (I9)."""
    await done(world, document())
    made = one_workload(world)
    path = f"{STATEFUL_SETS}/web-member-1"
    gone = {"metadata": {"labels": {names.LABEL_NAME: None, names.LABEL_SUBSET: None}}}
    world.request(world.members["member-1"], "PATCH", path, gone, content_type="application/merge-patch+json")
    await world.until(lambda: names.LABEL_NAME in one_workload(world)["metadata"]["labels"], what="the labels")
    await world.until(world.settled, what="settling")
    assert one_workload(world)["metadata"]["uid"] == made["metadata"]["uid"]
    assert one_workload(world)["spec"] == made["spec"]


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "cloneSetTemplate"))
@pytest.mark.fleet(members=1)
async def test_a_field_that_leaves_the_template_leaves_the_workload_too(world: World, kind: str) -> None:
    """We own what we apply from the first write on, under one entry: no field stays behind forever."""
    doc = document(kind=kind)
    template(doc)["spec"]["revisionHistoryLimit"] = 3
    template(doc)["metadata"] = {"labels": {"team": "shop"}, "annotations": {"example.com/a": "b"}}
    before = world.requests().get("member-1", 0)
    await done(world, doc)
    ours = [
        entry
        for entry in one_workload(world, kind)["metadata"]["managedFields"]
        if entry["manager"] == names.FIELD_MANAGER
    ]
    assert [entry["operation"] for entry in ours] == ["Apply"]
    writes = [one for one in world.transports["member-1"].sent if one.method != "GET"]
    assert len(writes) == 1, "a creation is one request"
    assert before <= world.requests()["member-1"] - 1
    del template(doc)["spec"]["revisionHistoryLimit"], template(doc)["metadata"]
    await done(world, doc)
    await world.until(lambda: "team" not in one_workload(world, kind)["metadata"]["labels"], what="the label to go")
    found = one_workload(world, kind)
    assert "example.com/a" not in found["metadata"]["annotations"]
    assert found["spec"].get("revisionHistoryLimit") in (None, 10), "the default of the kind again"
    assert entries(world)["member-1"]["readyReplicas"] == 2
