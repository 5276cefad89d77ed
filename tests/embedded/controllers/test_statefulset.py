"""The StatefulSet controller: order, partitions, revisions, claims."""

import pytest

from tests.embedded.workload_kit import NAMESPACE, World, counts, stateful_set, template
from uniteddeployment.embedded.apimachinery.resources import Obj

SETS = "statefulsets.apps"
REVISIONS = "controllerrevisions.apps"
IMAGE = "spec.template.spec.containers.0.image"
PARTITION = "spec.updateStrategy.rollingUpdate.partition"


def rolling(partition: int, **more: object) -> Obj:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition, **more}}


def started(**spec: object) -> World:
    world = World()
    world.create(SETS, stateful_set(**spec))
    world.run()
    return world


def test_pods_come_one_by_one_and_go_in_reverse() -> None:
    world = started()
    world.set(SETS, "web", "spec.replicas", 0)
    world.run()
    assert world.pod_history() == [
        ("ADDED", "web-0"),
        ("ADDED", "web-1"),
        ("ADDED", "web-2"),
        ("DELETED", "web-2"),
        ("DELETED", "web-1"),
        ("DELETED", "web-0"),
    ]
    status = world.get(SETS, "web")["status"]
    assert status.keys() == {
        "availableReplicas",
        "collisionCount",
        "currentRevision",
        "observedGeneration",
        "replicas",
        "updateRevision",
    }
    assert status["replicas"] == status["availableReplicas"] == 0


def test_an_ordered_set_waits_for_a_pod_that_is_not_ready_and_a_parallel_one_does_not() -> None:
    assert started(template=template("fail:1")).images().keys() == {"web-0"}
    world = started(template=template("fail:1"), podManagementPolicy="Parallel")
    assert world.images().keys() == {"web-0", "web-1", "web-2"}
    world.set(SETS, "web", "spec.replicas", 1)
    world.run()
    assert world.images().keys() == {"web-0"}


def test_a_pod_knows_its_name_ordinal_revision_and_service() -> None:
    world = started(replicas=1)
    pod = world.get("pods", "web-0")
    revision = world.get(SETS, "web")["status"]["currentRevision"]
    assert pod["metadata"]["labels"] == {
        "app": "web",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": "web-0",
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-0", "web")
    assert world.messages("SuccessfulCreate") == ["Create Pod web-0 in StatefulSet web successful"]


def test_a_partition_holds_the_lower_ordinals_also_when_they_are_made_again() -> None:
    world = started(updateStrategy=rolling(2))
    first = world.get(SETS, "web")["status"]["currentRevision"]
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    assert world.images() == {"web-0": "app:1", "web-1": "app:1", "web-2": "app:2"}
    obj = world.get(SETS, "web")
    assert counts(obj, "currentReplicas", "updatedReplicas", "readyReplicas") == [2, 1, 3]
    assert obj["status"]["currentRevision"] == first != obj["status"]["updateRevision"]
    world.set(SETS, "web", PARTITION, 1)
    world.run()
    world.delete("pods", "web-0")
    world.run()
    assert world.images() == {"web-0": "app:1", "web-1": "app:2", "web-2": "app:2"}
    world.set(SETS, "web", PARTITION, 0)
    world.run()
    obj = world.get(SETS, "web")
    assert counts(obj, "currentReplicas", "updatedReplicas") == [3, 3]
    assert obj["status"]["currentRevision"] == obj["status"]["updateRevision"]


def test_going_back_uses_the_old_revision_under_a_new_number() -> None:
    world = started(updateStrategy=rolling(2))
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    world.set(SETS, "web", IMAGE, "app:1")
    world.run()
    assert set(world.images().values()) == {"app:1"}
    numbers = {r["data"]["spec"]["template"]["spec"]["containers"][0]["image"]: r for r in world.all(REVISIONS)}
    assert {image: r["revision"] for image, r in numbers.items()} == {"app:1": 3, "app:2": 2}
    assert world.get(SETS, "web")["status"]["updateRevision"] == numbers["app:1"]["metadata"]["name"]


def test_an_update_replaces_one_pod_at_a_time_from_the_highest() -> None:
    world = started()
    before = len(world.pod_history())
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    expected = [(change, f"web-{i}") for i in (2, 1, 0) for change in ("DELETED", "ADDED")]
    assert world.pod_history()[before:] == expected


def test_a_failing_update_stops_an_ordered_set_until_the_broken_pod_is_deleted() -> None:
    world = started()
    world.set(SETS, "web", IMAGE, "fail:2")
    world.run()
    assert world.images() == {"web-0": "app:1", "web-1": "app:1", "web-2": "fail:2"}
    world.set(SETS, "web", IMAGE, "app:1")
    world.run()
    assert world.images()["web-2"] == "fail:2"
    assert counts(world.get(SETS, "web"), "currentReplicas", "updatedReplicas", "readyReplicas") == [2, 2, 2]
    world.delete("pods", "web-2")
    world.run()
    assert counts(world.get(SETS, "web"), "currentReplicas", "updatedReplicas", "readyReplicas") == [3, 3, 3]


def test_a_parallel_set_recovers_by_itself_when_a_bad_template_is_reverted() -> None:
    world = started(podManagementPolicy="Parallel")
    world.set(SETS, "web", IMAGE, "fail:2")
    world.run()
    world.set(SETS, "web", IMAGE, "app:1")
    world.run()
    assert set(world.images().values()) == {"app:1"}


def test_three_versions_stand_side_by_side_in_mid_rollout() -> None:
    world = started(replicas=4, updateStrategy=rolling(2))
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    world.set(SETS, "web", PARTITION, 3)
    world.set(SETS, "web", IMAGE, "app:3")
    world.run()
    assert world.images() == {"web-0": "app:1", "web-1": "app:1", "web-2": "app:2", "web-3": "app:3"}
    assert counts(world.get(SETS, "web"), "currentReplicas", "updatedReplicas") == [2, 1]


@pytest.mark.parametrize(("partition", "updated"), [(2, {4, 5, 6, 7, 2, 3}), (6, {2, 3, 6, 7})])
def test_pods_created_during_a_rollout_follow_the_partition(partition: int, updated: set[int]) -> None:
    """A set of 4 with 2 updated pods is scaled to 8: pods above the partition are created at the update revision."""
    world = started(replicas=4, updateStrategy=rolling(2))
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    world.set(SETS, "web", PARTITION, partition)
    world.set(SETS, "web", "spec.replicas", 8)
    world.run()
    assert {int(name[4:]) for name, image in world.images().items() if image == "app:2"} == updated


def test_a_set_created_with_a_partition_is_all_of_its_first_revision() -> None:
    assert set(started(updateStrategy=rolling(2), template=template("app:7")).images().values()) == {"app:7"}


def test_scaling_to_zero_in_mid_rollout_forgets_the_stable_revision() -> None:
    world = started(updateStrategy=rolling(2))
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    for replicas in (0, 3):
        world.set(SETS, "web", "spec.replicas", replicas)
        world.run()
    assert set(world.images().values()) == {"app:2"}


def test_raising_the_partition_takes_no_running_pod_back() -> None:
    world = started(updateStrategy=rolling(1))
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    world.set(SETS, "web", PARTITION, 3)
    world.run()
    assert world.images()["web-1"] == "app:2"
    world.delete("pods", "web-1")
    world.run()
    assert world.images() == {"web-0": "app:1", "web-1": "app:1", "web-2": "app:2"}


def test_on_delete_updates_only_pods_that_are_deleted() -> None:
    world = started(updateStrategy={"type": "OnDelete"})
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    assert counts(world.get(SETS, "web"), "currentReplicas", "updatedReplicas") == [3, 0]
    world.delete("pods", "web-1")
    world.run()
    assert world.images() == {"web-0": "app:1", "web-1": "app:2", "web-2": "app:1"}
    assert counts(world.get(SETS, "web"), "currentReplicas", "updatedReplicas") == [2, 1]


def test_old_revisions_go_beyond_the_limit() -> None:
    world = started(replicas=1, revisionHistoryLimit=1)
    for version in (2, 3, 4):
        world.set(SETS, "web", IMAGE, f"app:{version}")
        world.run()
    assert sorted(r["revision"] for r in world.all(REVISIONS)) == [3, 4]


def test_only_the_template_makes_revisions() -> None:
    world = started(replicas=1)
    world.set(SETS, "web", "metadata.labels", {"a": "b"})
    world.set(SETS, "web", "spec.replicas", 2)
    world.run()
    assert len(world.all(REVISIONS)) == 1
    world.set(SETS, "web", "spec.template.metadata.annotations", {"a": "b"})
    world.run()
    assert len(world.all(REVISIONS)) == 2
    assert counts(world.get(SETS, "web"), "updatedReplicas", "currentReplicas") == [2, 2]


def test_a_revision_name_that_is_taken_raises_the_collision_count() -> None:
    world = started(replicas=1)
    name = world.get(SETS, "web")["status"]["updateRevision"]
    other = World()
    other.create(REVISIONS, {"metadata": {"name": name}, "data": {"other": 1}, "revision": 1})
    other.create(SETS, stateful_set(replicas=1))
    other.run()
    status = other.get(SETS, "web")["status"]
    assert status["collisionCount"] == 1
    assert status["updateRevision"] != name


def test_available_lags_ready_by_min_ready_seconds() -> None:
    world = World()
    world.create(SETS, stateful_set(replicas=2, minReadySeconds=3))
    world.run(2)
    assert counts(world.get(SETS, "web"), "replicas", "readyReplicas", "availableReplicas") == [1, 1, 0]
    world.run(10)
    assert counts(world.get(SETS, "web"), "replicas", "readyReplicas", "availableReplicas") == [2, 2, 2]


def test_ordinals_may_start_elsewhere_and_the_partition_counts_from_there() -> None:
    world = started(ordinals={"start": 5}, updateStrategy=rolling(2))
    assert world.images().keys() == {"web-5", "web-6", "web-7"}
    world.set(SETS, "web", IMAGE, "app:2")
    world.run()
    assert world.images() == {"web-5": "app:1", "web-6": "app:1", "web-7": "app:2"}
    world.set(SETS, "web", "spec.ordinals.start", 6)
    world.run()
    assert world.images().keys() == {"web-6", "web-7", "web-8"}


def claims(**policy: str) -> dict[str, object]:
    claim = {
        "metadata": {"name": "data", "labels": {"l": "m"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec: dict[str, object] = {"replicas": 2, "volumeClaimTemplates": [claim]}
    return spec | ({"persistentVolumeClaimRetentionPolicy": policy} if policy else {})


def test_claims_are_made_for_each_ordinal_and_stay() -> None:
    world = started(**claims())
    assert [c["metadata"]["name"] for c in world.all("persistentvolumeclaims")] == ["data-web-0", "data-web-1"]
    claim = world.get("persistentvolumeclaims", "data-web-1")
    assert claim["metadata"]["labels"] == {"app": "web", "l": "m"}
    assert "ownerReferences" not in claim["metadata"]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    assert volume in world.get("pods", "web-1")["spec"]["volumes"]


def test_retention_gives_claims_to_the_set_or_to_the_pod_that_is_scaled_away() -> None:
    world = started(**claims(whenScaled="Delete", whenDeleted="Delete"))
    pod = world.get("pods", "web-1")
    world.set(SETS, "web", "spec.replicas", 1)
    world.run(0.05)
    owners = {c["metadata"]["name"]: c["metadata"]["ownerReferences"] for c in world.all("persistentvolumeclaims")}
    assert [(o["kind"], o["name"]) for o in owners["data-web-0"]] == [("StatefulSet", "web")]
    assert [(o["kind"], o["uid"]) for o in owners["data-web-1"]] == [("Pod", pod["metadata"]["uid"])]


def test_a_pod_waits_for_the_claim_of_its_predecessor_to_go() -> None:
    world = started(**claims(whenScaled="Delete"))
    for replicas in (1, 2):
        world.set(SETS, "web", "spec.replicas", replicas)
        world.run(5)
    assert world.images().keys() == {"web-0"}
    world.set("persistentvolumeclaims", "data-web-1", "metadata.finalizers", [])
    world.delete("persistentvolumeclaims", "data-web-1")
    world.run(5)
    assert world.images().keys() == {"web-0", "web-1"}


def test_a_finished_pod_is_made_again() -> None:
    world = started(replicas=1)
    pod = world.get("pods", "web-0")
    world.kubelets.status(pod, "Failed", ready=False)
    world.run()
    assert world.get("pods", "web-0")["metadata"]["uid"] != pod["metadata"]["uid"]
    assert world.messages("RecreatingFailedPod") == [f"StatefulSet {NAMESPACE}/web is recreating failed Pod web-0"]


def test_pods_and_revisions_of_a_set_that_was_orphaned_are_adopted() -> None:
    world = started(replicas=2)
    uids = {pod["metadata"]["uid"] for pod in world.all("pods")}
    world.delete(SETS, "web")
    for resource in ("pods", REVISIONS):
        for obj in world.all(resource):
            world.set(resource, obj["metadata"]["name"], "metadata.ownerReferences", [])
    world.create(SETS, stateful_set(replicas=2))
    world.run()
    assert {pod["metadata"]["uid"] for pod in world.all("pods")} == uids
    assert len(world.all(REVISIONS)) == 1


def test_a_settled_set_writes_nothing() -> None:
    world = started()
    before = len(world.history)
    for controller in world.controllers:
        controller.enqueue((NAMESPACE, "web"))
    world.run(3600)
    assert len(world.history) == before


def test_one_seed_one_history() -> None:
    def history() -> list[object]:
        world = started(updateStrategy=rolling(1))
        world.set(SETS, "web", IMAGE, "app:2")
        world.run()
        return list(world.history)

    assert history() == history()
