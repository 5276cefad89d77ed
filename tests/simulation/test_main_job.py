"""The main job under virtual time: create, canary, finish, delete; with crashes and cut-off members."""

import pytest

from tests.support.kruise import ALL_KINDS, world_for
from tests.support.planning import manifest
from tests.support.world import simulate

HALF = {"member-1": 2, "member-2": 1, "member-3": 1}


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_an_application_is_rolled_out_in_two_halves(kind):
    async def story():
        async with world_for(kind) as w:
            w.apply(manifest(kind=kind))
            await w.until(w.settled, what="creation")
            assert [len(w.pods(member)) for member in w.members] == [4, 2, 2]
            w.apply(manifest(kind=kind, image="app:2", partitions=HALF))
            await w.until(w.settled, what="canary")
            assert {member: w.images(member) for member in w.members} == {
                "member-1": {"app:1": 2, "app:2": 2},
                "member-2": {"app:1": 1, "app:2": 1},
                "member-3": {"app:1": 1, "app:2": 1},
            }
            assert w.status()["updatedReadyReplicas"] == 4
            w.apply(manifest(kind=kind, image="app:2"))
            await w.until(lambda: w.settled() and w.status()["currentRevision"] == w.status()["updatedRevision"])
            assert {member: w.images(member) for member in w.members} == {
                "member-1": {"app:2": 4},
                "member-2": {"app:2": 2},
                "member-3": {"app:2": 2},
            }
            w.delete()
            await w.until(lambda: w.ud() is None, what="deletion")
            await w.until(lambda: not any(w.pods(member) for member in w.members), what="clean-up")

    simulate(story)
