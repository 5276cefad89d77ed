"""Disjoint ordinals end to end."""

from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.templates import applied, done, entries, ordinals, uids
from tests.support.world import World


def disjoint(*shares: Any, total: int, block: int = 10, **more: Any) -> dict[str, Any]:
    doc = manifest(shares=dict(shares), replicas=total, **more)
    doc["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": block}
    return doc


@pytest.mark.fleet(members=3)
async def test_disjoint_ordinals_stay_where_they_are_when_subsets_come_and_go(world: World) -> None:
    await done(world, disjoint(("member-1", 2), ("member-2", 2), total=4))
    assert [ordinals(world, one) for one in world.members] == [[0, 1], [10, 11], []]
    before = uids(world, "member-2")
    # A new one before the others, and the order turned round.
    await done(world, disjoint(("member-3", 2), ("member-2", 2), ("member-1", 2), total=6))
    assert [ordinals(world, one) for one in world.members] == [[0, 1], [10, 11], [20, 21]]
    assert {name: one["ordinalsStart"] for name, one in entries(world).items()} == {
        "member-3": 20,
        "member-2": 10,
        "member-1": 0,
    }
    assert uids(world, "member-2") == before
    await done(world, disjoint(("member-3", 2), ("member-2", 2), total=4))
    await world.until(lambda: not world.pods("member-1"), what="removal")
    await done(world, disjoint(("member-3", 2), ("member-1", 2), ("member-2", 2), total=6))
    assert [ordinals(world, one) for one in world.members] == [[0, 1], [10, 11], [20, 21]]
    assert uids(world, "member-2") == before


@pytest.mark.fleet(members=2)
async def test_the_partition_counts_from_the_first_ordinal(world: World) -> None:
    """A partition holds pods of the subset's own ordinals (I6)."""
    shares = ("member-1", 2), ("member-2", 3)
    await done(world, disjoint(*shares, total=5))
    await applied(world, disjoint(*shares, total=5, image="app:2", partitions={"member-1": 1, "member-2": 1}))
    assert world.images("member-2") == {"app:1": 1, "app:2": 2}
    old = [pod for pod in world.pods("member-2") if pod["spec"]["containers"][0]["image"] == "app:1"]
    assert old[0]["metadata"]["name"] == "web-member-2-10"
    more = ("member-1", 2), ("member-2", 4)
    await applied(world, disjoint(*more, total=6, image="app:2", partitions={"member-1": 1, "member-2": 2}))
    await world.until(lambda: len(world.pods("member-2")) == 4 and world.settled())
    assert world.images("member-2")["app:2"] <= 2


@pytest.mark.fleet(members=2)
async def test_more_pods_than_ordinals_find_no_place_and_the_reason_is_told(world: World) -> None:
    """Status counts the pods that have no ordinal and gives the reason (I4)."""
    doc = disjoint(("member-1", {"weight": 1}), ("member-2", {"weight": 1}), total=4, block=2)
    await done(world, doc)
    doc["spec"]["replicas"] = 6
    world.apply(doc)
    await world.until(lambda: world.status()["unplacedReplicas"] == 2)
    assert "its ordinals are 0 to 1" in world.status()["subsetStatuses"][0]["reason"]
    assert [ordinals(world, one) for one in world.members] == [[0, 1], [2, 3]]
