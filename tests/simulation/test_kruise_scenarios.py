"""What OpenKruise's UnitedDeployment does, scenario by scenario, where pods have to run for it.

The numbers are those of the list of scenarios in the notes on OpenKruise: 1-20 are its controller's, 43-58 what it
does not test. Where ours does something else on purpose, the test says what and why.
"""

import asyncio
from itertools import product
from typing import Any

import pytest

from tests.simulation.scene import Scene
from tests.support.kruise import ALL_KINDS, KRUISE_KINDS, NATIVE_KINDS, PATHS, RESOURCES, kinds
from tests.support.narrowing import present
from tests.support.stories import some
from tests.support.watchdog import workloads
from tests.support.world import UDS, World
from uniteddeployment_api import names

KINDS = ALL_KINDS
KIND_NAMES = {
    "statefulSetTemplate": "StatefulSet",
    "deploymentTemplate": "Deployment",
    "cloneSetTemplate": "CloneSet",
    "advancedStatefulSetTemplate": "StatefulSet",
}


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_a_subset_that_is_removed_leaves_nothing_behind(world: World, kind: str) -> None:
    """Scenario 3; and what remains has its ready total before anything goes (51, I7)."""
    scene = Scene(world, kind, {"a": None, "b": None})
    scene.ask(4)
    await scene.comes_to(2, 2)
    del scene.subsets["a"]
    scene.ask(4)
    await scene.comes_to(4)
    await world.until(lambda: not workloads(world, scene.home("a")), what="the removal")
    assert scene.lowest >= 3, "maxUnavailable is 25 %"
    assert [one["name"] for one in scene.status()["subsetStatuses"]] == ["b"], "OpenKruise keeps it forever"


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_the_total_is_shared_evenly(world: World, kind: str) -> None:
    """Scenario 8; of one pod OpenKruise gives it to the last name, ours to the first of the list."""
    scene = Scene(world, kind, {"a": None, "b": None})
    for total, pods in ((1, (1, 0)), (2, (1, 1)), (6, (3, 3)), (4, (2, 2))):
        scene.ask(total)
        await scene.comes_to(*pods)
        assert [scene.entry(name)["replicas"] for name in "ab"] == list(pods)


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "cloneSetTemplate"))
async def test_a_new_image_reaches_every_subset_and_the_old_one_is_kept(world: World, kind: str) -> None:
    """Scenario 9."""
    scene = Scene(world, kind, {"a": None, "b": None})
    scene.ask(4)
    await scene.settles()
    before = scene.status()["updatedRevision"]
    scene.image = "app:2"
    scene.ask(4)
    await world.until(lambda: scene.status()["currentRevision"] != before, what="the rollout")
    assert scene.images("a") == scene.images("b") == {"app:2": 2}
    assert [one["metadata"]["name"] for one in scene.revisions()] == [before, scene.status()["updatedRevision"]]


@pytest.mark.parametrize("kind", KINDS)
async def test_partitions_hold_pods_back_until_they_are_lowered(world: World, kind: str) -> None:
    """Scenarios 10 and 52: for a Deployment, too, which OpenKruise updates at once."""
    scene = Scene(world, kind, {"a": None, "b": None})
    scene.ask(10)
    await scene.settles()
    scene.image = "app:2"
    steps: tuple[dict[str, int], ...] = ({"a": 4, "b": 3}, {"a": 0, "b": 3}, {})
    for held in steps:
        scene.spec["updateStrategy"] = {"manualUpdate": {"partitions": held}}
        scene.ask(10)
        await scene.settles()
        assert scene.partitions() == [held.get("a", 0), held.get("b", 0)]
        for name in "ab":
            old = held.get(name, 0)
            assert scene.images(name) == {"app:2": 5 - old} | ({"app:1": old} if old else {})


async def test_pods_that_keep_a_statefulset_from_going_on_are_replaced_one_by_one(world: World) -> None:
    """Scenario 11: ordinals 0-3 and 0-2 are held by their partitions and stay, although they are not ready either.

    OpenKruise deletes all pods above at once; ours one at a time, as each comes back at the wanted revision."""
    scene = Scene(world, "statefulSetTemplate", {"a": None, "b": None})
    scene.ask(10)
    await scene.settles()
    for name in "ab":
        access = world.members[scene.home(name)].access
        for node in access.list("nodes"):
            annotations = {**node["metadata"]["annotations"], "embedded/ready-after": "100000"}
            access.update("nodes", {**node, "metadata": {**node["metadata"], "annotations": annotations}}, manager="t")
    kept = {name: {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in scene.pods(name)} for name in "ab"}
    scene.image = "app:2"
    scene.spec["updateStrategy"] = {"manualUpdate": {"partitions": {"a": 4, "b": 3}}}
    scene.ask(10)
    await world.until(lambda: scene.images("a").get("app:2") == 1 and scene.images("b").get("app:2"), what="the update")
    await asyncio.sleep(60)
    for name, held in (("a", 4), ("b", 3)):
        now = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in scene.pods(name)}
        names_held = [f"web-{name}-{ordinal}" for ordinal in range(held)]
        assert {one: now[one] for one in names_held} == {one: kept[name][one] for one in names_held}


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_shares_and_partitions_may_change_together(world: World, kind: str) -> None:
    """Scenario 13: a partition is never more than the subset has, and is as asked for again when it has more."""
    scene = Scene(world, kind, {"a": None, "b": None})

    async def change(
        total: int, shares: dict[str, Any], partition: int, pods: tuple[int, ...], partitions: list[int]
    ) -> None:
        scene.subsets = shares
        held = {"partitions": dict.fromkeys(shares, partition)}
        scene.spec["updateStrategy"] = {"manualUpdate": held}
        scene.ask(total)
        await scene.comes_to(*pods)
        assert scene.partitions() == partitions

    await change(10, {"a": 9, "b": None}, 0, (9, 1), [0, 0])
    await change(10, {"a": "40%", "b": None}, 0, (4, 6), [0, 0])
    await change(10, {"a": "30%", "b": None}, 1, (3, 7), [1, 1])
    await change(10, {"a": "20%", "b": None, "c": None}, 2, (2, 4, 4), [2, 2, 2])
    await change(10, {"a": "10%", "b": None}, 2, (1, 9), [1, 2])
    await change(10, {"a": "40%", "b": None}, 2, (4, 6), [2, 2])


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_history_keeps_as_many_old_revisions_as_it_is_told_to(world: World, kind: str) -> None:
    """Scenarios 15 and 49. As in Kubernetes the limit counts old revisions, not the one that is live; OpenKruise's
    counts all, and with a CloneSet none."""
    scene = Scene(world, kind, {"a": None, "b": None}, revisionHistoryLimit=1)
    kept = []
    for image in ("app:1", "app:2", "app:3", "app:4"):
        scene.image = image
        scene.ask(4)
        await scene.settles()
        await world.until(lambda: scene.status()["currentRevision"] == scene.status()["updatedRevision"])
        await asyncio.sleep(5)
        kept.append(len(scene.revisions()))
    assert kept == [1, 2, 2, 2]
    assert scene.revisions()[-1]["metadata"]["name"] == scene.status()["currentRevision"]


# --- What OpenKruise does not test ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_an_autoscaler_may_ask_for_a_total_that_the_shares_do_not_fit(world: World, kind: str) -> None:
    """Scenario 43: OpenKruise stops until somebody edits it. Ours places what percentages allow, as closely to them as
    it can, and keeps serving (I4, I11)."""
    scene = Scene(world, kind, {"a": "50%", "b": "50%"})
    scene.ask(4)
    await scene.comes_to(2, 2)
    scene.scale(3)
    await scene.comes_to(2, 1)
    await scene.settles()
    scene.scale(8)
    await scene.comes_to(4, 4)
    await scene.settles()
    assert scene.lowest >= 3


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_pods_that_an_autoscaler_asks_for_beyond_fixed_shares_are_counted_as_unplaced(
    world: World, kind: str
) -> None:
    """Scenario 43 with numbers as shares: status counts what does not fit, and the rest keeps running (I4, I11)."""
    scene = Scene(world, kind, {"a": 2, "b": 2})
    scene.ask(4)
    await scene.comes_to(2, 2)
    scene.scale(6)
    await world.until(lambda: scene.status().get("unplacedReplicas") == 2, what="the shortfall")
    await scene.comes_to(2, 2)
    assert world.condition("Stalled") == "True"
    assert scene.ready() == 4
    scene.scale(3)
    await scene.comes_to(2, 1)


@pytest.mark.parametrize("kind", kinds("statefulSetTemplate", "cloneSetTemplate"))
async def test_a_workload_that_was_there_before_is_left_alone(world: World, kind: str) -> None:
    """Scenario 44: one with the same labels in this and in another namespace. OpenKruise adopts it and then stops; ours
    touches nothing that it did not make (I13)."""
    scene = Scene(world, kind, {"a": None, "b": None})
    await asyncio.sleep(1)
    member = world.members["member-1"]
    member.access.create("namespaces", {"metadata": {"name": "other"}}, manager="test")
    template = scene.document(2)["spec"]["template"][kind]["spec"]
    body = {
        "apiVersion": "/".join(PATHS[kind].split("/")[2:4]),
        "kind": KIND_NAMES[kind],
        "metadata": {"name": "older", "labels": {"app": "web", names.LABEL_NAME: "web", names.LABEL_SUBSET: "a"}},
        "spec": {**template, "replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
    }
    for namespace in ("default", "other"):
        world.request(member, "POST", PATHS[kind].replace("default", namespace), body)
    await asyncio.sleep(5)

    def older() -> list[dict[str, Any]]:
        return [present(member.access.get(RESOURCES[kind], namespace, "older")) for namespace in ("default", "other")]

    before = older()
    scene.ask(2)
    await scene.settles()
    after = older()
    assert [one["metadata"]["generation"] for one in after] == [one["metadata"]["generation"] for one in before]
    assert [one["metadata"].get("ownerReferences") for one in after] == [None, None]
    assert all(one["spec"]["replicas"] == 3 for one in after)
    world.delete()
    await world.until(lambda: world.ud() is None, what="the deletion")
    await asyncio.sleep(5)
    assert all(older())


@pytest.mark.parametrize(
    ("kind", "length"),
    some(list(product(KINDS, [60, 253])), [*product(NATIVE_KINDS, [253]), *product(KRUISE_KINDS, [60])]),
)
async def test_long_names_work(world: World, kind: str, length: int) -> None:
    """Scenario 45: the name of a workload is a label of its pods, and a label has 63 characters."""
    scene = Scene(world, kind, {"a": None, "b" * 63: None}, name=".".join(["n" * 60] * 5)[:length].rstrip("."))
    scene.ask(4)
    await scene.settles()
    assert [len(scene.pods(name)) for name in scene.subsets] == [2, 2]
    scene.image = "app:2"
    scene.ask(4)
    await world.until(lambda: scene.images("a") == {"app:2": 2}, what="the update")


async def test_the_selector_cannot_be_changed(world: World) -> None:
    """Scenario 47: OpenKruise would forget all that runs, and run it again."""
    scene = Scene(world, "statefulSetTemplate", {"a": None})
    scene.ask(1)
    await scene.settles()
    document = scene.document(1)
    document["spec"]["selector"] = {"matchLabels": {"app": "web", "more": "x"}}
    template = document["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]
    template["metadata"]["labels"]["more"] = "x"
    with pytest.raises(AssertionError, match=r"spec\.selector"):
        world.apply(document)


@pytest.mark.parametrize("kind", kinds("deploymentTemplate", "advancedStatefulSetTemplate"))
async def test_what_somebody_edits_in_a_member_is_put_back(world: World, kind: str) -> None:
    """Scenario 50: OpenKruise leaves an edited image until something else changes."""
    scene = Scene(world, kind, {"a": None})
    scene.ask(2)
    await scene.settles()
    (name,) = workloads(world, "member-1")
    path = f"{PATHS[kind]}/{name}"
    edited = world.request(world.members["member-1"], "GET", path)
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "edited:1"
    edited["spec"]["replicas"] = 5
    world.request(world.members["member-1"], "PUT", path, edited)
    await world.until(lambda: workloads(world, "member-1")[name]["spec"]["replicas"] == 2, what="the repair")
    await scene.comes_to(2)
    await world.until(lambda: scene.images("a") == {"app:1": 2}, what="the image of the template")


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_one_member_that_refuses_holds_up_no_other(world: World, kind: str) -> None:
    """Scenario 53: OpenKruise goes through subsets by name and stops at the first that fails (I10)."""
    scene = Scene(world, kind, {"a": None, "b": None, "c": None})
    scene.ask(6)
    await scene.settles()
    world.members["member-1"].faults.set(error_rate=1.0)
    scene.image = "app:2"
    scene.ask(6)
    await world.until(lambda: scene.images("b") == scene.images("c") == {"app:2": 2}, what="the others")
    await world.until(lambda: world.condition("Ready") != "True", what="the condition")
    assert scene.images("a") == {"app:1": 2}
    world.members["member-1"].faults.clear()
    await world.until(lambda: scene.images("a") == {"app:2": 2}, what="the corrected one")
    await scene.settles()


@pytest.mark.parametrize("kind", NATIVE_KINDS)
@pytest.mark.fleet(ready_after=20.0)
async def test_a_slow_update_moves_no_replicas(world: World, kind: str) -> None:
    """Scenario 55: pods that take longer to get ready than OpenKruise's critical time are not unschedulable ones."""
    strategy = {"type": "Adaptive", "adaptive": {"rescheduleCriticalSeconds": 5, "unschedulableDuration": 10}}
    scene = Scene(world, kind, {"a": {"maxReplicas": 9}, "b": {}, "c": {"minReplicas": 2}}, strategy=strategy)
    scene.ask(3)
    await scene.settles()
    scene.subsets["a"] = {"maxReplicas": 1}
    scene.ask(6)
    await scene.settles()
    layout = [scene.entry(name)["replicas"] for name in "abc"]
    scene.subsets["a"] = {"maxReplicas": 9}
    scene.image = "app:2"
    scene.ask(6)
    while scene.status()["currentRevision"] != scene.status()["updatedRevision"] or not world.settled():
        assert [scene.entry(name)["replicas"] for name in "abc"] == layout
        assert not scene.unschedulable()
        await asyncio.sleep(0.5)
    assert [len(scene.pods(name)) for name in "abc"] == layout


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_nothing_is_written_while_a_canary_is_held_and_a_minimum_waits(world: World, kind: str) -> None:
    """Scenario 56: OpenKruise writes each subset with a partition in every pass (I3)."""
    strategy = {"type": "Adaptive", "adaptive": {"rescheduleCriticalSeconds": 5, "unschedulableDuration": 10}}
    scene = Scene(world, kind, {"a": {"minReplicas": 1}, "b": {}}, strategy=strategy)
    scene.cordon("a")
    scene.ask(4)
    await scene.comes_to(1, 3, marked=["a"])
    scene.image = "app:2"
    scene.spec["updateStrategy"] = {"manualUpdate": {"partitions": {"b": 2}}}
    scene.ask(4)
    await world.until(lambda: scene.images("b") == {"app:1": 2, "app:2": 1}, what="the canary")
    await asyncio.sleep(60)
    before = world.requests()
    await asyncio.sleep(600)
    assert world.requests() == before
    assert scene.unschedulable() == ["a"]


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_a_controller_that_starts_again_makes_nothing_twice(world: World, kind: str) -> None:
    """Scenario 57: also if it died right after its write (I9)."""
    scene = Scene(world, kind, {"a": None, "b": None})
    scene.ask(4)
    await world.until(lambda: workloads(world, "member-1"), what="the first workload")
    world.kill_controller()
    await asyncio.sleep(1)
    world.start_controller()
    await scene.settles()
    assert [len(workloads(world, member)) for member in world.members] == [1, 1, 0]


@pytest.mark.parametrize("kind", NATIVE_KINDS)
async def test_what_is_not_of_the_pods_restarts_none(world: World, kind: str) -> None:
    """Scenario 58."""
    scene = Scene(world, kind, {"a": None, "b": None})
    scene.ask(4)
    await scene.settles()
    before = [pod["metadata"]["uid"] for name in "ab" for pod in scene.pods(name)]
    scene.workload = {"revisionHistoryLimit": 3}
    scene.ask(4)
    await world.until(
        lambda: all(
            one["spec"].get("revisionHistoryLimit") == 3
            for member in ("member-1", "member-2")
            for one in workloads(world, member).values()
        ),
        what="the change in both members",
    )
    await scene.settles()
    assert [pod["metadata"]["uid"] for name in "ab" for pod in scene.pods(name)] == before
    assert len(world.host.access.list(UDS, "default")) == 1
