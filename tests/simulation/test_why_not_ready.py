"""Status says why pods are not ready, per subset: what would otherwise take a look into the member."""

import asyncio

import pytest

from tests.support.kruise import world_for
from tests.support.planning import manifest
from tests.support.world import UDS, World, simulate, world

KINDS = ["statefulSetTemplate", "deploymentTemplate"]


def entry(w: World, subset: str):
    return next((one for one in w.status().get("subsetStatuses", ()) if one["name"] == subset), {"reason": ""})


async def says(w: World, text: str, subset: str = "member-1") -> None:
    await w.until(lambda: text in entry(w, subset)["reason"], what=f"{subset} says {text!r}")
    assert entry(w, subset)["state"] == "Progressing"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("pullfail:2", 'ImagePullBackOff: Back-off pulling image "pullfail:2"'),
        ("fail:2", "CrashLoopBackOff: container app ended with Error, exit code 1, 3 restarts"),
    ],
)
def test_a_broken_image_is_named_in_the_subsets_that_run_it(kind, image, text):
    """I11: also in the message of the condition Ready."""

    async def story():
        async with world_for(kind) as w:
            w.apply(manifest(kind=kind))
            await w.until(w.settled, what="creation")
            w.apply(manifest(kind=kind, image=image, partitions={"member-2": 2, "member-3": 2}))
            await says(w, text)
            assert "BackOff" not in entry(w, "member-2")["reason"]
            ready = next(one for one in w.status()["conditions"] if one["type"] == "Ready")
            assert f"member-1: {entry(w, 'member-1')['reason']}" in ready["message"]

    simulate(story)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("deploymentTemplate", "exceeded quota: few"),
        ("statefulSetTemplate", "1 not created: see the Events of StatefulSet web-member-1"),
    ],
)
def test_pods_that_a_quota_refuses_are_told(kind, text):
    async def story():
        async with world() as w:
            quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "3"}}}
            w.request(w.members["member-1"], "POST", "/api/v1/namespaces/default/resourcequotas", quota)
            w.apply(manifest(kind=kind))
            await says(w, text)

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_pods_that_find_no_node_are_told(kind):
    async def story():
        async with world() as w:
            access = w.members["member-1"].access
            for node in access.list("nodes"):
                access.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": True}}, manager="test")
            w.apply(manifest(kind=kind))
            await says(w, "Unschedulable: 0/3 nodes are available")

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_pods_that_stay_unready_are_told_and_those_that_only_start_are_not(kind):
    """I3: what every pod goes through is not written."""

    async def story():
        async with world(ready_after=5.0) as w:
            told: list[str] = []
            w.host.access.subscribe(UDS, lambda _: told.append(entry(w, "member-1")["reason"]))
            w.apply(manifest(kind=kind))
            await w.until(w.settled, what="creation")
            assert not [text for text in told if "NotReady" in text or "Creating" in text]
        async with world(ready_after=3600.0) as w:
            w.apply(manifest(kind=kind))
            await says(w, "ContainersNotReady: containers with unready status: [app]")
            before = w.requests()
            await asyncio.sleep(600)
            assert w.requests() == before

    simulate(story)
