"""Subsets that leave the topology while their cluster does not answer: what may still run there is not forgotten."""

import asyncio

import pytest

from tests.support.planning import manifest
from tests.support.templates import PATH, applied, done, message
from tests.support.watchdog import workloads
from tests.support.world import simulate, world
from uniteddeployment_api import names

KINDS = ["statefulSetTemplate", "deploymentTemplate"]
LEFT = {"member-1": 2}


def document(kind="statefulSetTemplate", shares=None, **more):
    shares = shares or {"member-1": 2, "member-2": 2}
    return manifest(kind=kind, shares=shares, replicas=sum(shares.values()), **more)


def leftovers(w):
    return {(one["cluster"], one["subset"]): one for one in w.status().get("leftovers", ())}


async def removed_while_away(w, kind):
    """Two subsets, of which the second is removed while its cluster is cut off."""
    await done(w, document(kind))
    w.members["member-2"].faults.set(cut_off=True)
    await w.until(lambda: w.condition("Ready") == "Unknown", what="the member is seen as lost")
    w.apply(document(kind, LEFT))
    await w.until(lambda: len(w.status()["subsetStatuses"]) == 1, what="the subset is removed")


def check_unknown(w, kind):
    assert w.condition("Ready") == "Unknown"
    assert "default/member-2" in message(w, "Ready")
    (entry,) = leftovers(w).values()
    assert (entry["cluster"], entry["subset"], entry["observedReplicas"]) == ("default/member-2", "member-2", 2)
    assert entry["workload"].startswith(kind.removesuffix("Template").replace("s", "S", 1).replace("d", "D", 1))
    assert entry["lastObservedTime"]
    assert "cut off" in entry["reason"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restart", [False, True])
def test_what_a_member_that_does_not_answer_may_run_is_shown_until_it_answers(kind, restart):
    """I8: nobody knows whether its pods run; also after a restart, when the cache is empty."""

    async def story():
        async with world(members=2) as w:
            await removed_while_away(w, kind)
            check_unknown(w, kind)
            if restart:
                await w.stop_controller()
                w.start_controller()
            await asyncio.sleep(120)
            check_unknown(w, kind)
            w.members["member-2"].faults.clear()
            await w.until(lambda: w.settled() and not leftovers(w), what="its return")
            await w.until(lambda: not workloads(w, "member-2") and not w.pods("member-2"), what="the removal")
            assert w.condition("Ready") == "True"

    simulate(story)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_also_known_to_a_controller_that_never_saw_the_member(kind):
    """I8, I9: it starts while the member is away, and only then the subset is removed."""

    async def story():
        async with world(members=2) as w:
            await done(w, document(kind))
            w.members["member-2"].faults.set(cut_off=True)
            await w.until(lambda: w.condition("Ready") == "Unknown", what="the member is seen as lost")
            await w.stop_controller()
            w.apply(document(kind, LEFT))
            w.start_controller()
            await w.until(lambda: len(w.status()["subsetStatuses"]) == 1, what="the subset is removed")
            check_unknown(w, kind)

    simulate(story)


def test_a_deletion_waits_for_what_is_left_over():
    """I8: the finalizer stays until the member has answered."""

    async def story():
        async with world(members=2) as w:
            await removed_while_away(w, "statefulSetTemplate")
            await w.stop_controller()
            w.start_controller()
            w.delete()
            await asyncio.sleep(60)
            assert w.ud() is not None
            assert "default/member-2" in message(w, "Ready")
            w.members["member-2"].faults.clear()
            await w.until(lambda: w.ud() is None and not w.pods("member-2"), what="the deletion")

    simulate(story)


def test_deleting_the_cluster_object_gives_up_what_runs_there():
    """As it does for an application that is deleted: otherwise a lost cluster would be waited for for ever."""

    async def story():
        async with world(members=2) as w:
            await removed_while_away(w, "statefulSetTemplate")
            w.request(w.host, "DELETE", f"{names.API_PATH}/namespaces/default/clusters/member-2")
            await w.until(lambda: w.settled() and not leftovers(w), what="giving up")

    simulate(story)


def test_a_subset_that_is_moved_away_from_a_lost_member_is_not_forgotten_there():
    """I8: the same subset runs elsewhere, and twice as many pods as were asked for may run."""

    async def story():
        async with world(members=3) as w:
            await done(w, document())
            w.members["member-2"].faults.set(cut_off=True)
            await w.until(lambda: w.condition("Ready") == "Unknown", what="the member is seen as lost")
            doc = document()
            doc["spec"]["topology"]["subsets"][1]["targetCluster"] = {"name": "member-3"}
            w.apply(doc)
            await w.until(lambda: len(w.pods("member-3")) == 2, what="its pods elsewhere")
            await asyncio.sleep(10)
            assert w.condition("Ready") == "Unknown"
            assert leftovers(w)["default/member-2", "member-2"]["observedReplicas"] == 2
            w.members["member-2"].faults.clear()
            await w.until(lambda: w.settled() and not w.pods("member-2"), what="its return")
            assert leftovers(w) == {}

    simulate(story)


def test_a_subset_that_is_moved_to_a_lost_member_keeps_what_it_has():
    """I7: within the budget of maxUnavailable its pods could go, but nothing would replace them."""

    async def story():
        async with world(members=3) as w:
            shares = {"member-1": 8, "member-2": 2}
            await done(w, document(shares=shares))
            w.members["member-3"].faults.set(cut_off=True)
            path = f"{names.API_PATH}/namespaces/default/clusters/member-3"
            await w.until(
                lambda: w.request(w.host, "GET", path)["status"]["phase"] == "Offline",
                what="the member is seen as lost",
            )
            doc = document(shares=shares)
            doc["spec"]["topology"]["subsets"][1]["targetCluster"] = {"name": "member-3"}
            w.apply(doc)
            await asyncio.sleep(120)
            assert len(w.pods("member-2")) == 2
            assert "until what replaces it is ready" in leftovers(w)["default/member-2", "member-2"]["reason"]
            w.members["member-3"].faults.clear()
            await w.until(lambda: w.settled() and not w.pods("member-2"), what="the move")
            assert len(w.pods("member-3")) == 2

    simulate(story)


@pytest.mark.parametrize("writes", range(1, 6))
def test_a_crash_between_any_two_writes_forgets_nothing(writes):
    """I8, I9: the subset leaves the list of subsets with the same write with which it enters the other list."""

    async def story():
        async with world(members=2) as w:
            await done(w, document())
            w.members["member-2"].faults.set(cut_off=True)
            await w.until(lambda: w.condition("Ready") == "Unknown", what="the member is seen as lost")
            seen = []

            def note(_change):
                rows = {one["name"] for one in w.status().get("subsetStatuses", ())}
                seen.append("member-2" in rows or ("default/member-2", "member-2") in leftovers(w))

            w.host.access.subscribe("uniteddeployments.uniteddeployment.io", note)
            sent = len(w.transports["host"].sent)
            # Removed and, before all is written, scaled: the controller writes more than once.
            w.apply(document(shares=LEFT))
            w.apply(document(shares={"member-1": 3}))

            def written():
                new = w.transports["host"].sent[sent:]
                return sum(one.method != "GET" for one in new) >= writes or len(w.pods("member-1")) == 3

            await w.until(written, what="the writes", every=0.0005)
            w.kill_controller()
            await asyncio.sleep(1)
            w.start_controller()
            await w.until(lambda: len(w.status()["subsetStatuses"]) == 1, what="the removal")
            await asyncio.sleep(60)
            assert all(seen)
            check_unknown(w, "statefulSetTemplate")
            w.members["member-2"].faults.clear()
            await w.until(lambda: w.settled() and not w.pods("member-2"), what="its return")

    simulate(story)


def test_an_ordinary_removal_shows_what_is_left_over_and_then_nothing():
    """I7: while the old waits for the new, status says so."""

    async def story():
        async with world(members=2) as w:
            await applied(w, document())
            doc = document(shares={"renamed": 2, "member-1": 2})
            doc["spec"]["topology"]["subsets"][0]["targetCluster"] = {"name": "member-2"}
            doc["spec"]["topology"]["maxUnavailable"] = 0
            doc["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = (
                "fail:1"
            )
            doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
            w.apply(doc)
            await w.until(lambda: leftovers(w), what="the leftover")
            await asyncio.sleep(30)
            entry = leftovers(w)["default/member-2", "member-2"]
            assert (entry["readyReplicas"], entry["reason"]) == (2, "kept until what replaces it is ready")
            assert "lastObservedTime" not in entry
            w.apply(document())
            await w.until(lambda: w.settled() and not leftovers(w), what="the way back")
            assert w.status()["leftovers"] == []
            found = w.request(w.host, "GET", f"{PATH}/web")
            assert found["status"]["observedGeneration"] == found["metadata"]["generation"]

    simulate(story)
