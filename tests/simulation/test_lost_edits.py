"""Changes that somebody makes at the worst moment: just before a write of ours, so that its answer shows them first."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment.embedded.controllers.garbage import GarbageCollector
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/web"
MERGE = "application/merge-patch+json"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"


QUIET = (LifecycleController, GarbageCollector)
"""Clusters in which nothing happens by itself: no pods, so that no later event covers up for one that was lost."""


async def started(world: World) -> None:
    """The controller is in sync, and from now on watch events are later than answers."""
    await world.until(lambda: world.controller is not None and world.controller.synced.is_set(), what="the start")
    for cluster in world.clusters.values():
        cluster.faults.set(slow_watch=0.5)


def once_before(
    world: World, cluster: str, matches: Callable[[Request], bool], act: Callable[[], Any]
) -> list[Request]:
    """Do something just before the first matching request reaches a cluster; gives that request when it happened."""
    seen: list[Request] = []

    def before(request: Request) -> None:
        if not seen and matches(request):
            seen.append(request)
            act()

    world.transports[cluster].before = before
    return seen


def is_status_write(request: Request) -> bool:
    return request.method == "PATCH" and request.path == f"{PATH}/status"


def is_finalizer_write(request: Request) -> bool:
    return request.method == "PATCH" and request.path == PATH and b"finalizers" in request.body


def is_revision_write(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("controllerrevisions")


def templates(world: World) -> list[str]:
    """The image of each member's workload."""
    found = [one for member in world.members for one in workloads(world, member).values()]
    return [one["spec"]["template"]["spec"]["containers"][0]["image"] for one in found]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("write", [is_status_write, is_finalizer_write, is_revision_write])
@pytest.mark.fleet(controllers=QUIET)
async def test_an_edit_that_the_answer_of_our_own_write_shows_first_is_worked_on(
    world: World, write: Callable[[Request], bool], count: int
) -> None:
    """I9: its watch event comes later and shows nothing that the cache does not have. Nothing else happens after it."""
    await started(world)
    for number in range(count):
        image = f"app:{number}"
        seen = once_before(world, "host", write, partial(world.apply, manifest(image=f"{image}-edited")))
        world.apply(manifest(image=image))
        await asyncio.sleep(60)
        if seen:
            assert templates(world) == [f"{image}-edited"] * 3
            assert world.status()["observedGeneration"] == world.ud()["metadata"]["generation"]
        else:
            assert write is is_finalizer_write, "that one is written once in a lifetime"


@pytest.mark.fleet(controllers=QUIET)
async def test_a_deletion_that_the_answer_of_a_status_write_shows_first_is_carried_out(world: World) -> None:
    """Not only generations: everything that a plan reads (I9)."""
    await started(world)
    seen = once_before(world, "host", is_status_write, lambda: world.request(world.host, "DELETE", PATH))
    world.apply(manifest())
    await world.until(lambda: seen and world.ud() is None, seconds=60, what="deletion")


@pytest.mark.fleet(controllers=QUIET)
async def test_an_annotation_that_the_answer_of_a_status_write_shows_first_is_carried_out_too(world: World) -> None:
    """Annotations change no generation (I9)."""
    await started(world)
    cause = {"metadata": {"annotations": {names.ANNOTATION_CHANGE_CAUSE: "for the test"}}}
    seen = once_before(
        world, "host", is_status_write, lambda: world.request(world.host, "PATCH", PATH, cause, content_type=MERGE)
    )
    world.apply(manifest())

    def noted() -> bool:
        found = world.host.access.list("controllerrevisions.apps", "default")
        annotations = [one["metadata"].get("annotations", {}) for one in found]
        return any(one.get(names.ANNOTATION_CHANGE_CAUSE) == "for the test" for one in annotations)

    await world.until(lambda: seen and noted(), seconds=60, what="the noted cause")


@pytest.mark.fleet(controllers=QUIET)
async def test_a_change_between_our_look_and_our_scaling_is_put_back(world: World) -> None:
    """The answer of the scale subresource does not show what else was changed before it (I9)."""
    await started(world)
    world.apply(manifest(kind="deploymentTemplate"))
    await asyncio.sleep(10)
    (name,) = workloads(world, "member-1")
    path = f"/apis/apps/v1/namespaces/default/deployments/{name}"
    bad = [
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "bad:1"},
        {"op": "replace", "path": "/spec/replicas", "value": 8},
    ]
    for changes in (bad[:1], bad):
        world.apply(manifest(kind="deploymentTemplate"))
        await asyncio.sleep(10)
        seen = once_before(
            world,
            "member-1",
            lambda request: request.path.endswith("/scale"),
            partial(
                world.request,
                world.members["member-1"],
                "PATCH",
                path,
                changes,
                content_type="application/json-patch+json",
            ),
        )
        world.apply(manifest(kind="deploymentTemplate", replicas=16))
        await asyncio.sleep(60)
        assert seen
        assert templates(world) == ["app:1"] * 3
        assert [one["spec"]["replicas"] for one in workloads(world, "member-1").values()] == [8]


@pytest.mark.fleet(controllers=QUIET)
async def test_scaling_writes_to_no_object_that_replaced_ours_in_between(world: World) -> None:
    """Somebody replaces the workload by one of their own just before our write (I13)."""
    await started(world)
    world.apply(manifest(kind="deploymentTemplate"))
    await asyncio.sleep(10)
    (name,) = workloads(world, "member-1")
    folder = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"app": "theirs"}},
        "spec": {"containers": [{"name": "c", "image": "theirs:1"}]},
    }
    theirs = {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "theirs"}}, "template": template},
    }

    def replace() -> None:
        member = world.members["member-1"]
        world.request(member, "DELETE", f"{folder}/{name}", {"propagationPolicy": "Background"})
        world.request(member, "POST", folder, theirs)

    seen = once_before(world, "member-1", lambda request: request.path.endswith("/scale"), replace)
    world.apply(manifest(kind="deploymentTemplate", replicas=16))
    await asyncio.sleep(60)
    assert seen
    (found,) = world.members["member-1"].access.list("deployments.apps")
    assert found["spec"]["replicas"] == 1


async def test_a_workload_whose_label_was_removed_is_taken_care_of_again_without_writing_for_ever(world: World) -> None:
    """Without the label the watch says that it is gone, and with it that the same object is there again (I9)."""
    world.apply(manifest())
    await world.until(world.settled, what="creation")
    await asyncio.sleep(5)
    path = f"{STATEFUL_SETS}/web-member-1"
    unlabelled = {"metadata": {"labels": {names.LABEL_NAME: None}}}
    world.request(world.members["member-1"], "PATCH", path, unlabelled, content_type=MERGE)
    await world.until(
        lambda: "web-member-1" in workloads(world, "member-1") and world.settled(), seconds=120, what="the label"
    )
    await asyncio.sleep(120)
    before = world.requests()
    await asyncio.sleep(600)
    assert world.requests() == before
    world.apply(manifest(image="app:2"))
    await world.until(
        lambda: world.settled() and world.images("member-1") == {"app:2": 4}, seconds=120, what="a new image"
    )
