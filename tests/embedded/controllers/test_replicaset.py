"""The ReplicaSet controller: adoption, release, order of deletion, counts."""

from datetime import timedelta

from tests.embedded.workload_kit import EPOCH, World, counts, reasons, template
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.workloads.pods import deletion_order
from uniteddeployment.embedded.errors import StatusError

SETS = "replicasets.apps"


def replica_set(**spec: object) -> Obj:
    base = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return {"metadata": {"name": "r"}, "spec": base | spec}


def started(**spec: object) -> World:
    world = World()
    world.create(SETS, replica_set(**spec))
    world.run()
    return world


def names(world: World) -> set[str]:
    return {pod["metadata"]["name"] for pod in world.all("pods")}


def test_pods_are_named_after_the_set_and_counted() -> None:
    world = started()
    assert all(name.startswith("r-") and len(name) == 7 for name in names(world))
    assert world.get(SETS, "r")["status"] == {
        "availableReplicas": 2,
        "fullyLabeledReplicas": 2,
        "observedGeneration": 1,
        "readyReplicas": 2,
        "replicas": 2,
        "terminatingReplicas": 0,
    }
    assert world.messages("SuccessfulCreate") == [f"Created pod: {pod}" for _, pod in world.pod_history()]


def test_a_matching_pod_is_adopted_and_released_when_its_labels_change() -> None:
    world = World()
    world.create("pods", {"metadata": {"name": "lone", "labels": {"app": "web"}}, "spec": template()["spec"]})
    world.run()
    stateful_set = world.create(SETS, replica_set())
    world.run()
    (owner,) = world.get("pods", "lone")["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (stateful_set["metadata"]["uid"], True)
    assert len(names(world)) == 2
    world.set("pods", "lone", "metadata.labels.app", "other")
    world.run()
    assert "ownerReferences" not in world.get("pods", "lone")["metadata"]
    assert len(names(world)) == 3


def test_a_deleted_pod_is_replaced_at_once_and_counted_as_terminating() -> None:
    world = started()
    victim = world.all("pods")[0]["metadata"]["name"]
    world.delete("pods", victim)
    world.run(0.05)
    assert counts(world.get(SETS, "r"), "replicas", "terminatingReplicas") == [2, 1]
    world.run()
    assert victim not in names(world)
    assert counts(world.get(SETS, "r"), "availableReplicas", "terminatingReplicas") == [2, 0]


def test_the_cheapest_pod_goes_first() -> None:
    world = started(replicas=3)
    victim = world.all("pods")[1]["metadata"]["name"]
    cost = {"controller.kubernetes.io/pod-deletion-cost": "-10"}
    world.set("pods", victim, "metadata.annotations", cost)
    world.set(SETS, "r", "spec.replicas", 2)
    world.run()
    assert victim not in names(world)
    assert world.messages("SuccessfulDelete") == [f"Deleted pod: {victim}"]


def pod(name: str, *, node: str = "n", phase: str = "Running", ready: int | None = 0, **metadata: object) -> Obj:
    """A pod that has been ready for ``ready`` seconds, or is not ready."""
    conditions = []
    if ready is not None:
        since = timestamp(EPOCH - timedelta(seconds=ready))
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    return {
        "metadata": {"name": name, "uid": name, "creationTimestamp": timestamp(EPOCH), **metadata},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "conditions": conditions},
    }


def test_pods_are_deleted_in_the_order_of_the_real_controller() -> None:
    pods = [
        pod("old", node="a", ready=1000),
        pod("young", node="a", ready=10),
        pod("crowded", node="b", ready=1000),
        pod("cheap", node="a", annotations={"controller.kubernetes.io/pod-deletion-cost": "-1"}),
        pod("broken", node="a", ready=None),
        pod("starting", node="a", phase="Pending", ready=None),
        pod("waiting", node="", phase="Pending", ready=None),
    ]
    related = [
        *pods,
        pod("x", node="b"),
        pod("y", node="b"),
        pod("z", node="b"),
        pod("w", node="b"),
        pod("v", node="b"),
    ]
    order = [p["metadata"]["name"] for p in deletion_order(list(reversed(pods)), related, EPOCH)]
    assert order == ["waiting", "starting", "broken", "cheap", "crowded", "young", "old"]


def test_a_set_that_cannot_make_pods_says_why_and_tries_again() -> None:
    world = World()
    real = world.access.create

    def refuse(resource: str, obj: Obj, *, manager: str) -> Obj:
        if resource == "pods":
            raise StatusError(403, "Forbidden", "no room")
        return real(resource, obj, manager=manager)

    world.access.create = refuse  # type: ignore[method-assign]
    world.create(SETS, replica_set())
    world.run(1)
    assert reasons(world.get(SETS, "r")) == {"ReplicaFailure": "True FailedCreate"}
    assert set(world.messages("FailedCreate")) == {"Error creating: no room"}
    world.access.create = real  # type: ignore[method-assign]
    world.run()
    stateful_set = world.get(SETS, "r")
    assert reasons(stateful_set) == {}
    assert counts(stateful_set, "availableReplicas") == [2]
