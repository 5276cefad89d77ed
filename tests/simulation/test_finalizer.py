"""The finalizer: without it, a deletion would leave workloads in members that nobody knows of."""

import asyncio

import pytest

from tests.support.planning import manifest
from tests.support.templates import PATH, done
from tests.support.watchdog import workloads
from tests.support.world import simulate, world
from uniteddeployment_api import names


def document(**more):
    return manifest(shares={"member-1": 2}, replicas=2, **more)


def take_away(w):
    """As somebody does who believes that it is in the way."""
    patch = {"metadata": {"finalizers": None}}
    w.request(w.host, "PATCH", f"{PATH}/web", patch, content_type="application/merge-patch+json")


def guarded(w):
    return names.FINALIZER in w.ud()["metadata"].get("finalizers", ())


@pytest.mark.parametrize("paused", [False, True])
def test_a_finalizer_that_somebody_removes_is_put_back_at_once(paused):
    """I9: with the event that shows it missing, not with the next write; a pause does not concern it."""

    async def story():
        async with world(members=1) as w:
            await done(w, document())
            if paused:
                w.apply(document(paused=True))
                await asyncio.sleep(5)
            written = {name: len(one.sent) for name, one in w.transports.items()}
            take_away(w)
            await asyncio.sleep(1)
            assert guarded(w)
            sent = [one for name, t in w.transports.items() for one in t.sent[written[name] :]]
            assert [(one.verb, one.resource) for one in sent] == [("patch", "uniteddeployments")]
            w.delete()
            await w.until(lambda: w.ud() is None and not workloads(w, "member-1"), what="the deletion")

    simulate(story)


def test_a_finalizer_that_was_removed_while_the_controller_was_down_is_put_back():
    """I9: it is looked at with each plan, also when nothing else is to be done."""

    async def story():
        async with world(members=1) as w:
            await done(w, document())
            await w.stop_controller()
            take_away(w)
            w.start_controller()
            await w.until(lambda: guarded(w), seconds=10, what="the finalizer")

    simulate(story)


def test_an_application_without_workloads_needs_no_finalizer():
    """I3: nothing is written for an application that has nothing anywhere."""

    async def story():
        async with world(members=1) as w:
            document_ = document()
            document_["spec"]["topology"]["subsets"] = []
            document_["spec"]["replicas"] = 0
            w.apply(document_)
            await w.until(lambda: w.status().get("observedGeneration") == 1, what="a status")
            await asyncio.sleep(5)
            assert not guarded(w)

    simulate(story)
