"""The Deployment controller: surge and unavailable, pause, proportional scaling, rollback, conditions."""

import pytest

from tests.embedded.workload_kit import NAMESPACE, World, counts, deployment, image_of, reasons, template
from uniteddeployment.embedded.apimachinery.resources import Obj

DEPLOYMENTS = "deployments.apps"
SETS = "replicasets.apps"
IMAGE = "spec.template.spec.containers.0.image"
FAR = 2**31 - 1


def rolling(surge: int | str, unavailable: int | str) -> Obj:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def started(**spec: object) -> World:
    world = World()
    world.create(DEPLOYMENTS, deployment(**spec))
    world.run()
    return world


def sizes(world: World) -> dict[str, int]:
    """Image -> size of its ReplicaSet."""
    return {image_of(rs["spec"]["template"]): rs["spec"]["replicas"] for rs in world.all(SETS)}


def annotations(world: World) -> dict[str, dict[str, str]]:
    """Image -> the annotations of its ReplicaSet, without their prefix."""
    return {
        image_of(rs["spec"]["template"]): {
            key.removeprefix("deployment.kubernetes.io/"): value for key, value in rs["metadata"]["annotations"].items()
        }
        for rs in world.all(SETS)
    }


def held(replicas: int, unavailable: int) -> World:
    """A Deployment with a number of updated pods that an unreachable minReadySeconds holds."""
    world = started(
        replicas=replicas,
        minReadySeconds=0,
        progressDeadlineSeconds=600,
        strategy=rolling(0, unavailable),
    )
    obj = world.get(DEPLOYMENTS, "web")
    spec = {**obj["spec"], "minReadySeconds": FAR - 1, "progressDeadlineSeconds": FAR}
    spec["template"] = template("app:2")
    world.access.update(DEPLOYMENTS, {**obj, "spec": spec}, manager="test")
    world.run(600)
    return world


def test_a_new_deployment_has_one_replica_set_with_its_hash_and_annotations() -> None:
    world = World()
    obj = deployment(replicas=1)
    obj["metadata"]["annotations"] = {"mine": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    world.create(DEPLOYMENTS, obj)
    world.run()
    (replica_set,) = world.all(SETS)
    digest = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{digest}"
    assert replica_set["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert replica_set["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": digest}
    assert annotations(world)["app:1"] == {"desired-replicas": "1", "max-replicas": "2", "revision": "1", "mine": "x"}
    result = world.get(DEPLOYMENTS, "web")
    assert result["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert reasons(result) == {
        "Available": "True MinimumReplicasAvailable",
        "Progressing": "True NewReplicaSetAvailable",
    }
    assert world.messages("ScalingReplicaSet") == [f"Scaled up replica set web-{digest} from 0 to 1"]
    assert result["status"].keys() == {
        "availableReplicas",
        "conditions",
        "observedGeneration",
        "readyReplicas",
        "replicas",
        "terminatingReplicas",
        "updatedReplicas",
    }


def test_rolling_back_uses_the_old_replica_set_under_a_new_revision() -> None:
    world = started()
    for image in ("app:2", "app:1"):
        world.set(DEPLOYMENTS, "web", IMAGE, image)
        world.run()
    assert sizes(world) == {"app:1": 3, "app:2": 0}
    assert annotations(world) == {
        "app:1": {"desired-replicas": "3", "max-replicas": "4", "revision": "3", "revision-history": "1"},
        "app:2": {"desired-replicas": "3", "max-replicas": "4", "revision": "2"},
    }
    assert world.get(DEPLOYMENTS, "web")["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "3"}


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "least"),
    [("25%", "25%", 13, 8), (0, 1, 10, 9), (3, 0, 13, 10), ("0%", "5%", 10, 9), (2, 2, 12, 8)],
)
def test_a_rolling_update_stays_within_surge_and_unavailable(
    surge: int | str, unavailable: int | str, most: int, least: int
) -> None:
    """Of 10 pods; if both resolve to zero (0% and 5%), one pod may be unavailable."""
    world = started(replicas=10, strategy=rolling(surge, unavailable))
    world.set(DEPLOYMENTS, "web", IMAGE, "app:2")
    seen = []
    for _ in range(200):
        world.run(0.05)
        pods = world.all("pods")
        there = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        ready = sum(pod["status"].get("conditions", [{}])[0].get("status") == "True" for pod in there)
        seen.append((len(there), ready))
    assert max(total for total, _ in seen) == most
    assert min(ready for _, ready in seen) == least
    assert sizes(world) == {"app:1": 0, "app:2": 10}


def test_a_paused_deployment_scales_but_does_not_roll_out() -> None:
    world = started()
    world.set(DEPLOYMENTS, "web", "spec.paused", True)
    world.set(DEPLOYMENTS, "web", IMAGE, "app:2")
    world.set(DEPLOYMENTS, "web", "spec.replicas", 4)
    world.run()
    result = world.get(DEPLOYMENTS, "web")
    assert sizes(world) == {"app:1": 4}
    assert annotations(world)["app:1"] == {"desired-replicas": "4", "max-replicas": "5", "revision": "1"}
    assert reasons(result)["Progressing"] == "Unknown DeploymentPaused"
    assert counts(result, "replicas", "availableReplicas", "updatedReplicas") == [4, 4, 0]
    world.set(DEPLOYMENTS, "web", IMAGE, "app:3")
    world.set(DEPLOYMENTS, "web", "spec.paused", None)
    world.run()
    result = world.get(DEPLOYMENTS, "web")
    assert sizes(world) == {"app:1": 0, "app:3": 4}
    assert annotations(world)["app:3"]["revision"] == "2"
    assert reasons(result)["Progressing"] == "True NewReplicaSetAvailable"


def test_recreate_takes_all_old_pods_away_before_a_new_one_comes() -> None:
    world = started(replicas=2, strategy={"type": "Recreate"})
    before = len(world.pod_history())
    world.set(DEPLOYMENTS, "web", IMAGE, "app:2")
    world.run()
    assert [change for change, _ in world.pod_history()[before:]] == ["DELETED", "DELETED", "ADDED", "ADDED"]


def test_old_replica_sets_go_beyond_the_history_limit() -> None:
    world = started(replicas=1, revisionHistoryLimit=1)
    for version in (2, 3):
        world.set(DEPLOYMENTS, "web", IMAGE, f"app:{version}")
        world.run()
    assert sizes(world) == {"app:2": 0, "app:3": 1}


@pytest.mark.parametrize("updated", [3, 4, 8])
def test_out_of_reach_min_ready_seconds_holds_a_deployment_exactly(updated: int) -> None:
    """Measured on a real 1.36 controller: exactly the unavailable pods are updated."""
    world = held(10, updated)
    assert sizes(world) == {"app:1": 10 - updated, "app:2": updated}
    result = world.get(DEPLOYMENTS, "web")
    assert counts(result, "updatedReplicas", "readyReplicas", "availableReplicas") == [updated, 10, 10 - updated]
    assert "Progressing" not in reasons(result)


@pytest.mark.parametrize(("replicas", "updated"), [(14, 11), (6, 6)])
def test_scaling_a_held_deployment_is_proportional(replicas: int, updated: int) -> None:
    """Measured on a real 1.36 controller: 10 pods with 8 updated become 11 of 14, and 6 of 6."""
    world = held(10, 8)
    world.set(DEPLOYMENTS, "web", "spec.replicas", replicas)
    world.run(600)
    assert sizes(world) == {"app:1": replicas - updated, "app:2": updated}


def test_scaling_in_mid_rollout_divides_the_difference_by_the_sizes() -> None:
    """Of 10 + 3 pods, 8 old and 5 new ones become 14 and 9 of 20 + 3."""
    world = started(replicas=10, strategy=rolling(3, 2))
    world.set(DEPLOYMENTS, "web", IMAGE, "fail:2")
    world.run()
    assert sizes(world) == {"app:1": 8, "fail:2": 5}
    world.set(DEPLOYMENTS, "web", "spec.replicas", 20)
    world.run(0.001)
    assert sum(sizes(world).values()) == 23
    assert sizes(world) == {"app:1": 14, "fail:2": 9}


def test_a_rollout_that_stands_still_exceeds_its_deadline_and_can_still_succeed() -> None:
    world = started(progressDeadlineSeconds=60)
    world.set(DEPLOYMENTS, "web", IMAGE, "fail:2")
    world.run(55)
    assert reasons(world.get(DEPLOYMENTS, "web"))["Progressing"] == "True ReplicaSetUpdated"
    world.run(10)
    result = world.get(DEPLOYMENTS, "web")
    assert reasons(result) == {
        "Available": "True MinimumReplicasAvailable",
        "Progressing": "False ProgressDeadlineExceeded",
    }
    (new,) = (rs for rs in world.all(SETS) if image_of(rs["spec"]["template"]) == "fail:2")
    message = next(c["message"] for c in result["status"]["conditions"] if c["type"] == "Progressing")
    assert message == f'ReplicaSet "{new["metadata"]["name"]}" has timed out progressing.'
    world.set(DEPLOYMENTS, "web", IMAGE, "app:3")
    world.run()
    assert reasons(world.get(DEPLOYMENTS, "web"))["Progressing"] == "True NewReplicaSetAvailable"


def test_annotations_follow_to_the_replica_set_without_a_rollout() -> None:
    world = started(replicas=0)
    world.set(DEPLOYMENTS, "web", "metadata.annotations", {"note": "b"})
    world.run()
    assert annotations(world)["app:1"]["note"] == "b"
    assert len(world.all(SETS)) == 1


def test_scaling_to_nothing_leaves_no_counts() -> None:
    world = started()
    world.set(DEPLOYMENTS, "web", "spec.replicas", 0)
    world.run()
    result = world.get(DEPLOYMENTS, "web")["status"]
    assert not result.keys() & {"replicas", "readyReplicas", "availableReplicas", "updatedReplicas"}
    assert result["terminatingReplicas"] == 0


def test_a_replica_set_name_that_is_taken_raises_the_collision_count() -> None:
    name = started().all(SETS)[0]["metadata"]["name"]
    world = World()
    world.create(
        SETS,
        {
            "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "other"}},
                "template": {**template(), "metadata": {"labels": {"app": "other"}}},
            },
        },
    )
    world.create(DEPLOYMENTS, deployment())
    world.run()
    result = world.get(DEPLOYMENTS, "web")
    assert result["status"]["collisionCount"] == 1
    assert counts(result, "availableReplicas") == [3]


def test_a_replica_set_without_owner_is_adopted() -> None:
    world = started()
    (replica_set,) = world.all(SETS)
    world.delete(DEPLOYMENTS, "web")
    world.set(SETS, replica_set["metadata"]["name"], "metadata.ownerReferences", [])
    created = world.create(DEPLOYMENTS, deployment())
    world.run()
    (stateful_set,) = world.all(SETS)
    assert stateful_set["metadata"]["uid"] == replica_set["metadata"]["uid"]
    assert stateful_set["metadata"]["ownerReferences"][0]["uid"] == created["metadata"]["uid"]


def test_a_settled_deployment_writes_nothing() -> None:
    world = started()
    before = len(world.history)
    for controller in world.controllers:
        for obj in (*world.all(DEPLOYMENTS), *world.all(SETS)):
            controller.enqueue((NAMESPACE, obj["metadata"]["name"]))
    world.run(3600)
    assert len(world.history) == before


def test_one_seed_one_history() -> None:
    def history() -> list[object]:
        world = started()
        world.set(DEPLOYMENTS, "web", IMAGE, "app:2")
        world.run()
        return list(world.history)

    assert history() == history()
