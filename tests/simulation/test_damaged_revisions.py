"""ControllerRevisions that somebody damaged: a condition, a repair where there is one, and no end of writes (I3)."""

import asyncio
import itertools
from typing import Any

import pytest

from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.watchdog import Watchdog
from tests.support.world import World
from uniteddeployment_api import names

REVISIONS = "controllerrevisions.apps"
HALF = {"member-1": 2, "member-2": 1, "member-3": 1}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


DATA = {
    "no template": {},
    "an empty template": {"template": {}},
    "a text": "garbage",
    "a template that is a text": {"template": "garbage"},
    "patches that are a list": {"template": {"spec": {}}, "patches": []},
    "another template": {"template": {"metadata": {}, "spec": {"containers": [{"name": "app", "image": "evil:1"}]}}},
    "a template of half a megabyte": {"template": {"spec": {"a": "x" * 500_000}}},
    "a deep template": {"template": nested(900)},
}


def damage(world: World, name: str, **changes: Any) -> None:
    """Put another ControllerRevision in the place of one, as somebody who may delete and create them can."""
    access = world.host.access
    found = present(access.get(REVISIONS, "default", name))
    access.delete(REVISIONS, "default", name)
    metadata = {key: value for key, value in found["metadata"].items() if key not in ("uid", "resourceVersion")}
    access.create(REVISIONS, {**found, "metadata": metadata, **changes}, manager="somebody")


async def quiet(world: World) -> None:
    """Nothing is asked of any server for ten minutes."""
    await asyncio.sleep(90)
    before = world.requests()
    await asyncio.sleep(600)
    assert world.requests() == before


async def canary(world: World, kind: str) -> str:
    world.apply(manifest(kind=kind))
    await world.until(world.settled, what="creation")
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary")
    return str(world.status()["currentRevision"])


@pytest.mark.parametrize(
    ("kind", "data"),
    some(
        [*(("statefulSetTemplate", one) for one in DATA), ("deploymentTemplate", "another template")],
        [
            ("statefulSetTemplate", "a text"),
            ("statefulSetTemplate", "a deep template"),
            ("deploymentTemplate", "another template"),
        ],
    ),
)
async def test_a_stable_template_that_was_damaged_is_never_used_and_stalls_what_needs_it(
    world: World, kind: str, data: str
) -> None:
    """The message names the revision and the way out, and that works (I6, I16)."""
    stable = await canary(world, kind)
    damage(world, stable, data=DATA[data])
    await asyncio.sleep(60)
    assert world.settled(), "nothing has to be created as yet"
    world.apply(manifest(kind=kind, image="app:2", replicas=0, partitions=HALF))
    await world.until(lambda: not any(map(world.pods, world.members)), what="zero")
    dog = Watchdog(world)
    dog.allow("app:2", {"member-1": 2, "member-2": 1, "member-3": 1})
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    reason = world.status()["subsetStatuses"][0]["reason"]
    assert f"ControllerRevision {stable} of the stable version cannot be used" in reason
    assert len(reason) < 600
    await quiet(world)
    assert not any("evil:1" in world.images(member) for member in world.members)
    assert not dog.broken
    world.apply(manifest(kind=kind, partitions=HALF))
    await world.until(world.settled, what="the earlier template")
    world.apply(manifest(kind=kind, image="app:2", partitions=HALF))
    await world.until(world.settled, what="the canary again")
    assert world.images("member-1") == {"app:1": 2, "app:2": 2}
    assert not dog.broken


ANNOTATIONS = ["{", '["a"]', '{"member-1": 5}', "[" * 5000, '{"member-1": "garbage"}']


@pytest.mark.parametrize(
    ("annotation", "of"),
    some(
        list(itertools.product(ANNOTATIONS, ["currentRevision", "updatedRevision"])),
        [("[" * 5000, "currentRevision"), ('{"member-1": 5}', "updatedRevision")],
    ),
)
async def test_a_damaged_annotation_of_a_revision_costs_no_more_than_a_repair(
    world: World, annotation: str, of: str
) -> None:
    """The revision of the present template is written again; the other one is not used (I3, I16)."""
    await canary(world, "statefulSetTemplate")
    before = {pod["metadata"]["uid"] for member in world.members for pod in world.pods(member)}
    name = world.status()[of]
    found = present(world.host.access.get(REVISIONS, "default", name))
    annotations = {**found["metadata"]["annotations"], names.ANNOTATION_SUBSET_REVISIONS: annotation}
    world.host.access.update(
        REVISIONS,
        {**found, "metadata": {**found["metadata"], "annotations": annotations}},
        manager="somebody",
    )
    await quiet(world)
    assert {pod["metadata"]["uid"] for member in world.members for pod in world.pods(member)} == before
    now = present(world.host.access.get(REVISIONS, "default", name))["metadata"]["annotations"]
    repaired = names.ANNOTATION_SUBSET_REVISIONS not in now
    assert repaired == (of == "updatedRevision")
    world.apply(manifest(image="app:3", partitions=HALF))
    await world.until(lambda: all("app:3" in world.images(member) for member in world.members), what="another version")
