"""Rollouts over real controllers, in virtual time: labels of clusters, failed clusters, and changes made in members."""

from typing import Any

import pytest

from tests.simulation.rollout.kit import Rollouts, rollouts
from tests.support.kruise import PATHS
from uniteddeployment_api import names

OLD, NEW = "app:1", "app:2"
SMALL = {"a": 2, "b": 1}
CLUSTERS = f"{names.API_PATH}/namespaces/default/{names.CLUSTER_PLURAL}"


def label(kit: Rollouts, cluster: str, **labels: Any) -> None:
    kit.world.request(
        kit.world.host,
        "PATCH",
        f"{CLUSTERS}/{cluster}",
        {"metadata": {"labels": labels}},
        content_type="application/merge-patch+json",
    )


async def test_a_wave_follows_the_labels_of_the_clusters_as_they_are_now() -> None:
    wave = {"clusterSelector": {"matchLabels": {"tier": "canary"}}}
    async with rollouts(subsets=SMALL, steps=[{"wave": wave, "replicas": "100%", "pause": {}}]) as kit:
        kit.release(NEW)
        await kit.phase("Degraded")
        assert "spec.steps[0].wave.clusterSelector" in kit.status["message"]
        label(kit, "member-2", tier="canary")
        await kit.phase("Paused", 1)
        assert kit.running(NEW) == [0, 1]


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
async def test_only_the_cluster_whose_pods_fail_goes_back(kind: str) -> None:
    steps = [{"wave": {"subsets": ["b"]}, "replicas": 1}, {"replicas": "100%"}]
    async with rollouts(kind, steps=steps, onFailure="RollbackCluster", progressDeadline="2m") as kit:
        kit.release("pullfail:2")
        await kit.phase("Degraded")
        await kit.world.until(lambda: not sum(kit.running("pullfail:2")) and kit.scene.ready() == 8)
        assert kit.running(OLD) == [4, 2, 2]
        assert kit.manual["revert"] == ["b"]
        assert "the subsets b return to the stable revision" in kit.status["message"]
        kit.give("retry")
        await kit.world.until(lambda: kit.running("pullfail:2") == [0, 1, 0])
        assert "revert" not in kit.manual


async def test_32_an_image_that_somebody_changes_in_a_member_stops_the_run_and_names_who_did_it() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        edit = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "bad:1"}]
        path = f"{PATHS['statefulSetTemplate']}/web-c?fieldManager=kubectl-edit"
        kit.world.request(
            kit.world.members["member-3"], "PATCH", path, edit, content_type="application/json-patch+json"
        )
        await kit.phase("Degraded")
        change = "put back spec.template.spec.containers[0].image (by kubectl-edit)"
        assert f"the workload of subset c was changed by others: {change}" in kit.status["message"]
        kit.give("retry")
        await kit.phase("Paused", 1)
        assert kit.running("bad:1") == [0, 0, 0]


async def test_31_a_partition_that_somebody_lowers_in_a_member_is_put_back_and_stops_the_run() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        path = f"{PATHS['statefulSetTemplate']}/web-a?fieldManager=kubectl-edit"
        edit = {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
        member = kit.world.members["member-1"]
        kit.world.request(member, "PATCH", path, edit, content_type="application/merge-patch+json")
        await kit.phase("Degraded")
        assert "spec.updateStrategy.rollingUpdate.partition (by kubectl-edit)" in kit.status["message"]
        kit.give("retry")
        await kit.phase("Paused", 1)
        assert sum(kit.running(NEW)) <= 2, "the pod that was updated meanwhile is not reverted"


@pytest.mark.parametrize("image", [NEW, OLD])
async def test_42_a_disabled_rollout_leaves_its_target_alone_and_takes_it_again(image: str) -> None:
    async with rollouts(subsets=SMALL) as kit:
        kit.edit(disabled=True)
        await kit.phase("Disabled")
        await kit.world.until(lambda: kit.manual == {"partition": 0})
        kit.release(image)
        await kit.world.until(lambda: kit.running(image) == [2, 1])
        kit.edit(disabled=False)
        await kit.phase("Healthy")
        assert kit.manual == {"partition": "100%"}
        kit.release("app:3")
        await kit.phase("Paused", 1)
        assert kit.running("app:3") == [1, 0]
