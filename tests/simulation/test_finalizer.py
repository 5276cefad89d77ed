"""The finalizer: without it, a deletion would leave workloads in members that nobody knows of."""

import asyncio
from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.templates import PATH, done
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment_api import names


def document(**more: Any) -> dict[str, Any]:
    return manifest(shares={"member-1": 2}, replicas=2, **more)


def take_away(world: World) -> None:
    """As somebody does who believes that it is in the way."""
    patch = {"metadata": {"finalizers": None}}
    world.request(world.host, "PATCH", f"{PATH}/web", patch, content_type="application/merge-patch+json")


def guarded(world: World) -> bool:
    return names.FINALIZER in world.ud()["metadata"].get("finalizers", ())


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.fleet(members=1)
async def test_a_finalizer_that_somebody_removes_is_put_back_at_once(world: World, paused: bool) -> None:
    """With the event that shows it missing, not with the next write; a pause does not concern it (I9)."""
    await done(world, document())
    if paused:
        world.apply(document(paused=True))
        await asyncio.sleep(5)
    written = {name: len(one.sent) for name, one in world.transports.items()}
    take_away(world)
    await asyncio.sleep(1)
    assert guarded(world)
    sent = [one for name, t in world.transports.items() for one in t.sent[written[name] :]]
    assert [(one.verb, one.resource) for one in sent] == [("patch", "uniteddeployments")]
    world.delete()
    await world.until(lambda: world.ud() is None and not workloads(world, "member-1"), what="the deletion")


@pytest.mark.fleet(members=1)
async def test_a_finalizer_that_was_removed_while_the_controller_was_down_is_put_back(world: World) -> None:
    """It is looked at with each plan, also when nothing else is to be done (I9)."""
    await done(world, document())
    await world.stop_controller()
    take_away(world)
    world.start_controller()
    await world.until(lambda: guarded(world), seconds=10, what="the finalizer")


@pytest.mark.fleet(members=1)
async def test_an_application_without_workloads_needs_no_finalizer(world: World) -> None:
    """Nothing is written for an application that has nothing anywhere (I3)."""
    document_ = document()
    document_["spec"]["topology"]["subsets"] = []
    document_["spec"]["replicas"] = 0
    world.apply(document_)
    await world.until(lambda: world.status().get("observedGeneration") == 1, what="a status")
    await asyncio.sleep(5)
    assert not guarded(world)
