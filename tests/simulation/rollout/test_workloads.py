"""Rollouts and workloads in members: policies of StatefulSets, ordinals, surge, evictions and disruption budgets."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.rollout.kit import Rollouts, rollouts
from tests.support.world import World
from uniteddeployment.embedded.http import Response
from uniteddeployment.kube.requests import Request

OLD, NEW = "app:1", "app:2"
SMALL = {"a": 2, "b": 1}
ALL_AT_ONCE = [{"replicas": "100%"}]


def deleted_pods(kit: Rollouts) -> list[str]:
    """The pods that the controller of the target has deleted."""
    return [
        request.path.rpartition("/")[2]
        for transport in kit.world.transports.values()
        for request in transport.sent
        if request.verb == "delete" and "/pods/" in request.path
    ]


@pytest.mark.parametrize(("policy", "deletions"), [("OrderedReady", ["web-a-3"]), ("Parallel", [])])
async def test_12_a_rollback_deletes_a_broken_pod_once_and_only_where_nothing_else_would_replace_it(
    policy: str, deletions: list[str]
) -> None:
    async with rollouts(workload={"podManagementPolicy": policy}) as kit:
        kit.release("pullfail:2")
        await kit.world.until(lambda: kit.running("pullfail:2") == [1, 0, 0])
        kit.give("abort")
        await kit.world.until(lambda: kit.running(OLD) == [4, 2, 2] and kit.scene.ready() == 8)
        await kit.phase("Healthy")
        await asyncio.sleep(60)
        assert deleted_pods(kit) == deletions


async def test_43_with_ordinals_that_start_at_five_the_last_pods_are_updated() -> None:
    async with rollouts(workload={"ordinals": {"start": 5}}) as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        kit.give("approve")
        await kit.phase("Paused", 2)
        updated = {
            pod["metadata"]["name"]
            for name in kit.scene.subsets
            for pod in kit.scene.pods(name)
            if pod["spec"]["containers"][0]["image"] == NEW
        }
        assert updated == {"web-a-7", "web-a-8", "web-b-6", "web-c-6"}


def without_max_unavailable(world: World) -> None:
    """API servers before Kubernetes 1.24 drop the field."""
    for member in world.members.values():
        member.handle = dropping(member.handle)  # type: ignore[method-assign]  # only in this test


def dropping(handle: Callable[..., Any]) -> Callable[..., Any]:
    def handled(request: Request) -> Response:
        if b"maxUnavailable" in (request.body or b"") and "/statefulsets/" in request.path:
            document = json.loads(request.body)
            document["spec"]["updateStrategy"]["rollingUpdate"].pop("maxUnavailable")
            request = replace(request, body=json.dumps(document).encode())
        found: Response = handle(request)
        return found

    return handled


@pytest.mark.parametrize("prepare", [lambda _: None, without_max_unavailable], ids=["known", "dropped"])
async def test_44_the_rollout_paces_itself_whether_servers_know_max_unavailable_or_not(
    prepare: Callable[..., Any],
) -> None:
    strategy = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}}
    async with rollouts(workload=strategy, prepare=prepare, steps=ALL_AT_ONCE) as kit:
        kit.release(NEW)
        await kit.phase("Healthy")
        await kit.world.until(lambda: kit.running(NEW) == [4, 2, 2])
        assert kit.most_down == 1
        await asyncio.sleep(5)
        before = {**kit.world.requests(), "host": 0}
        await asyncio.sleep(600)
        assert {**kit.world.requests(), "host": 0} == before, "a field that is dropped is not written again and again"


@pytest.mark.parametrize("surge", [0, 1])
async def test_45_three_of_ten_pods_of_a_deployment_are_three_with_and_without_surge(surge: int) -> None:
    strategy = {"strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}}}
    steps = [{"replicas": 3, "pause": {}}]
    async with rollouts("deploymentTemplate", {"a": 10}, workload=strategy, steps=steps, maxUnavailable=2) as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        await asyncio.sleep(60)
        assert kit.images() == [{OLD: 7, NEW: 3}]
        assert kit.most_updated == 3


async def test_47_a_pod_that_is_deleted_comes_back_at_the_revision_that_its_partition_gives_it() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        path = "/api/v1/namespaces/default/pods"
        for name in ("web-a-0", "web-a-3"):
            kit.world.request(kit.world.members["member-1"], "DELETE", f"{path}/{name}")
        await kit.world.until(lambda: len(kit.scene.pods("a")) == 4 and kit.scene.ready() == 8)
        assert kit.images()[0] == {OLD: 3, NEW: 1}
        await kit.phase("Paused", 1)
        assert kit.status["updatedReplicas"] == 1


async def test_48_a_disruption_budget_blocks_drains_and_does_not_block_the_rollout() -> None:
    """Controllers of workloads delete pods without the eviction API."""
    async with rollouts(subsets=SMALL, steps=ALL_AT_ONCE) as kit:
        member = kit.world.members["member-1"]
        budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}}
        kit.world.request(member, "POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
        await asyncio.sleep(5)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-a-0"}}
        with pytest.raises(AssertionError, match="disruption budget"):
            kit.world.request(member, "POST", "/api/v1/namespaces/default/pods/web-a-0/eviction", eviction)
        kit.release(NEW)
        await kit.phase("Healthy")
        await kit.world.until(lambda: kit.running(NEW) == [2, 1])
        assert kit.most_down == 1
