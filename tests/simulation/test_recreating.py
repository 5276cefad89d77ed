"""What an API server refuses to change, with and without the wish to have it recreated."""

import asyncio

from tests.support.planning import manifest
from tests.support.templates import (
    CLAIM,
    annotate,
    applied,
    document,
    message,
    provide_storage,
    recreated,
    stateful_sets,
    subset,
    template,
    uids,
    with_storage,
)
from tests.support.world import simulate, world
from uniteddeployment_api import names


def test_what_an_api_server_refuses_to_change_stalls_with_its_message_and_the_rest_goes_on():
    """I11: another service name got past admission."""

    async def story():
        async with world(members=2) as w:
            doc = document()
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            add = {"op": "replace", "path": "/spec/serviceName", "value": "other"}
            subset(doc, "member-1")["overrides"] = [add]
            template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            w.apply(doc)
            await w.until(lambda: w.images("member-2") == {"app:2": 2} and w.condition("Stalled") == "True")
            assert "updates to statefulset spec" in message(w, "Stalled")
            assert names.ANNOTATION_RECREATE in message(w, "Stalled")
            assert uids(w, "member-1") <= before
            assert recreated(w) == sets

    simulate(story)


def test_with_the_annotation_it_is_recreated_one_subset_at_a_time_and_no_pod_restarts():
    """I7"""

    async def story():
        async with world(members=3) as w:
            provide_storage(w)
            doc = manifest()
            with_storage(doc, "1Gi")
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            for one in doc["spec"]["topology"]["subsets"]:
                claims = [{**CLAIM, "spec": {**CLAIM["spec"], "resources": {"requests": {"storage": "2Gi"}}}}]
                one["overrides"] = [{"op": "replace", "path": "/spec/volumeClaimTemplates", "value": claims}]
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            away = set()
            for member in w.members.values():
                member.faults.set(latency=0.02)  # or all would be done at one moment

            def watched():
                missing = [name for name, uid in recreated(w).items() if not uid]
                fresh = [
                    name
                    for name, one in stateful_sets(w).items()
                    if one
                    and one["metadata"]["uid"] != sets[name]
                    and one.get("status", {}).get("readyReplicas") != one["spec"]["replicas"]
                ]
                away.add(len({*missing, *fresh}))
                return w.settled() and not set(recreated(w).values()) & set(sets.values())

            await w.until(watched, seconds=120, what="recreation", every=0.001)
            assert away == {0, 1}
            assert uids(w) == before
            assert not set(recreated(w).values()) & set(sets.values())
            for member in w.members.values():
                (made,) = member.access.list("statefulsets.apps", "default")
                assert made["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi"

    simulate(story)


def test_a_recreation_in_mid_canary_leaves_every_pod_at_its_revision():
    """I6"""

    async def story():
        async with world(members=1) as w:
            doc = manifest(shares={"member-1": None}, replicas=4)
            await applied(w, doc)
            template(doc)["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
            doc["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": 2}}}
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            subset(doc, "member-1")["overrides"] = [
                {"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}
            ]
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            await w.until(lambda: w.settled() and recreated(w) != sets, what="recreation")
            assert uids(w) == before
            assert w.images("member-1") == {"app:1": 2, "app:2": 2}
            first = min(w.pods("member-1"), key=lambda pod: pod["metadata"]["name"])
            w.members["member-1"].access.delete("pods", "default", first["metadata"]["name"])
            expected = {"app:1": 2, "app:2": 2}
            await w.until(
                lambda: uids(w) != before and w.images("member-1") == expected and w.settled(), what="a new pod"
            )

    simulate(story)


def test_a_successor_that_nobody_would_accept_costs_no_workload():
    """I7: it is tried before anything is deleted."""

    async def story():
        async with world(members=1) as w:
            doc = manifest(shares={"member-1": None}, replicas=2)
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            operations = [{"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}]
            subset(doc, "member-1")["overrides"] = operations
            quota = {"metadata": {"name": "full"}, "spec": {"hard": {"count/statefulsets.apps": "1"}}}
            w.request(w.members["member-1"], "POST", "/api/v1/namespaces/default/resourcequotas", quota)
            await asyncio.sleep(5)
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True")
            await asyncio.sleep(200)
            assert "exceeded quota" in message(w, "Stalled")
            assert (uids(w), recreated(w)) == (before, sets)

    simulate(story)


def test_a_crash_in_the_middle_of_a_recreation_ends_in_the_same_state():
    """I9: the workload is deleted, and the process that wanted to make it anew is gone."""

    async def story():
        async with world(members=1) as w:
            doc = manifest(shares={"member-1": None}, replicas=4)
            await applied(w, doc)
            before = uids(w)
            await w.stop_controller()
            path = "/apis/apps/v1/namespaces/default/statefulsets/web-member-1?propagationPolicy=Orphan"
            w.request(w.members["member-1"], "DELETE", path)
            await w.until(lambda: not recreated(w)["member-1"], what="deletion")
            add = {"op": "add", "path": "/spec/podManagementPolicy", "value": "Parallel"}
            subset(doc, "member-1")["overrides"] = [add]
            w.apply(doc)
            w.start_controller()
            await w.until(lambda: recreated(w)["member-1"] and w.settled(), what="coming back")
            assert uids(w) == before
            assert stateful_sets(w)["member-1"]["spec"]["podManagementPolicy"] == "Parallel"

    simulate(story)


def test_pods_that_could_not_go_on_under_the_successor_keep_their_workload():
    """I7: a pod cannot get the volume of a new claim template."""

    async def story():
        async with world(members=1) as w:
            provide_storage(w)
            doc = manifest(shares={"member-1": None}, replicas=2)
            await applied(w, doc)
            before, sets = uids(w), recreated(w)
            annotate(w, **{names.ANNOTATION_RECREATE: names.RECREATE})
            subset(doc, "member-1")["overrides"] = [
                {"op": "add", "path": "/spec/volumeClaimTemplates", "value": [CLAIM]}
            ]
            w.apply(doc)
            await w.until(lambda: w.condition("Stalled") == "True" and "scale the subset to 0" in message(w, "Stalled"))
            await asyncio.sleep(100)
            assert (uids(w), recreated(w)) == (before, sets)
            await applied(w, {**doc, "spec": {**doc["spec"], "replicas": 0}})
            await applied(w, doc)
            assert recreated(w) != sets
            (made,) = w.members["member-1"].access.list("statefulsets.apps", "default")
            assert made["spec"]["volumeClaimTemplates"]
            await w.until(lambda: w.settled() and len(w.pods("member-1")) == 2, what="coming back")

    simulate(story)
