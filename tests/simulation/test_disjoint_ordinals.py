"""Disjoint ordinals end to end."""

from tests.support.planning import manifest
from tests.support.templates import applied, done, entries, ordinals, uids
from tests.support.world import simulate, world


def disjoint(*shares, total, block=10, **more):
    doc = manifest(shares=dict(shares), replicas=total, **more)
    doc["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": block}
    return doc


def test_disjoint_ordinals_stay_where_they_are_when_subsets_come_and_go():
    async def story():
        async with world(members=3) as w:
            await done(w, disjoint(("member-1", 2), ("member-2", 2), total=4))
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [10, 11], []]
            before = uids(w, "member-2")
            # A new one before the others, and the order turned round.
            await done(w, disjoint(("member-3", 2), ("member-2", 2), ("member-1", 2), total=6))
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [10, 11], [20, 21]]
            assert {name: one["ordinalsStart"] for name, one in entries(w).items()} == {
                "member-3": 20,
                "member-2": 10,
                "member-1": 0,
            }
            assert uids(w, "member-2") == before
            await done(w, disjoint(("member-3", 2), ("member-2", 2), total=4))
            await w.until(lambda: not w.pods("member-1"), what="removal")
            await done(w, disjoint(("member-3", 2), ("member-1", 2), ("member-2", 2), total=6))
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [10, 11], [20, 21]]
            assert uids(w, "member-2") == before

    simulate(story)


def test_the_partition_counts_from_the_first_ordinal():
    """I6"""

    async def story():
        async with world(members=2) as w:
            shares = ("member-1", 2), ("member-2", 3)
            await done(w, disjoint(*shares, total=5))
            await applied(w, disjoint(*shares, total=5, image="app:2", partitions={"member-1": 1, "member-2": 1}))
            assert w.images("member-2") == {"app:1": 1, "app:2": 2}
            old = [pod for pod in w.pods("member-2") if pod["spec"]["containers"][0]["image"] == "app:1"]
            assert old[0]["metadata"]["name"] == "web-member-2-10"
            more = ("member-1", 2), ("member-2", 4)
            await applied(w, disjoint(*more, total=6, image="app:2", partitions={"member-1": 1, "member-2": 2}))
            await w.until(lambda: len(w.pods("member-2")) == 4 and w.settled())
            assert w.images("member-2")["app:2"] <= 2

    simulate(story)


def test_more_pods_than_ordinals_find_no_place_and_the_reason_is_told():
    """I4"""

    async def story():
        async with world(members=2) as w:
            doc = disjoint(("member-1", {"weight": 1}), ("member-2", {"weight": 1}), total=4, block=2)
            await done(w, doc)
            doc["spec"]["replicas"] = 6
            w.apply(doc)
            await w.until(lambda: w.status()["unplacedReplicas"] == 2)
            assert "its ordinals are 0 to 1" in w.status()["subsetStatuses"][0]["reason"]
            assert [ordinals(w, one) for one in w.members] == [[0, 1], [2, 3]]

    simulate(story)
