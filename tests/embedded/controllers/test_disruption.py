"""The status of PodDisruptionBudgets."""

from typing import Any

import pytest

from tests.embedded.workload_kit import EPOCH, World, deployment, reasons, stateful_set, template
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj

BUDGETS = "poddisruptionbudgets.policy"
DEPLOYMENTS = "deployments.apps"


def budget(app: str = "web", **spec: object) -> Obj:
    return {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}}


def numbers(world: World) -> tuple[int, int, int, int]:
    status = world.get(BUDGETS, "b")["status"]
    return tuple(status[f] for f in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (3, 3, 2, 1)),
        ({"minAvailable": 3}, (3, 3, 3, 0)),
        ({"minAvailable": "50%"}, (3, 3, 2, 1)),
        ({"maxUnavailable": "34%"}, (3, 3, 1, 2)),
        ({"maxUnavailable": 0}, (3, 3, 3, 0)),
        ({"maxUnavailable": 5}, (3, 3, 0, 3)),
    ],
)
def test_a_budget_counts_from_what_the_controllers_are_asked_for(
    spec: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    world = World()
    world.create(DEPLOYMENTS, deployment())
    world.create(BUDGETS, budget(**spec))
    world.run()
    assert numbers(world) == expected
    verdict = "True SufficientPods" if expected[3] else "False InsufficientPods"
    assert reasons(world.get(BUDGETS, "b")) == {"DisruptionAllowed": verdict}
    (condition,) = world.get(BUDGETS, "b")["status"]["conditions"]
    assert (condition["observedGeneration"], condition["message"]) == (1, "")


def test_a_budget_without_pods_allows_nothing() -> None:
    world = World()
    world.create(BUDGETS, budget("nothing", minAvailable=2))
    world.run()
    assert numbers(world) == (0, 0, 2, 0)
    assert world.messages("NoPods") == ["No matching pods found"]


def test_a_budget_spans_the_controllers_of_its_pods() -> None:
    world = World()
    world.create(DEPLOYMENTS, deployment())
    other = stateful_set(replicas=2, selector={"matchLabels": {"track": "b"}}, template=template(track="b"))
    world.create("statefulsets.apps", {**other, "metadata": {"name": "other"}})
    world.create(BUDGETS, budget(maxUnavailable="20%"))
    world.run()
    assert numbers(world) == (5, 5, 4, 1)


def test_pods_that_are_not_ready_or_leave_are_not_healthy() -> None:
    world = World()
    world.create(DEPLOYMENTS, deployment(template=template("fail:1")))
    world.create(BUDGETS, budget(minAvailable=1))
    world.run()
    assert numbers(world) == (3, 0, 1, 0)


def test_an_evicted_pod_counts_as_away_for_two_minutes() -> None:
    """The API records the pod; if it is not deleted, it counts as healthy again."""
    world = World()
    world.create(DEPLOYMENTS, deployment())
    created = world.create(BUDGETS, budget(minAvailable=2))
    world.run(5)
    created = world.get(BUDGETS, "b")
    pod = world.all("pods")[0]["metadata"]["name"]
    noted = {**created["status"], "disruptionsAllowed": 0, "disruptedPods": {pod: timestamp(EPOCH)}}
    world.access.update(BUDGETS, {**created, "status": noted}, manager="test", subresource="status")
    world.run(60)
    assert numbers(world) == (3, 2, 2, 0)
    world.run(120)
    assert numbers(world) == (3, 3, 2, 1)
    assert "disruptedPods" not in world.get(BUDGETS, "b")["status"]
    assert len(world.messages("NotDeleted")) == 1


def test_a_pod_whose_controller_is_unknown_stops_the_counting_safely() -> None:
    world = World()
    owner = {"apiVersion": "x/v1", "kind": "Thing", "name": "t", "uid": "u", "controller": True}
    metadata = {"name": "p", "labels": {"app": "web"}, "ownerReferences": [owner]}
    world.create("pods", {"metadata": metadata, "spec": template()["spec"]})
    world.create(BUDGETS, budget(maxUnavailable=1))
    world.run(5)
    result = world.get(BUDGETS, "b")
    assert reasons(result) == {"DisruptionAllowed": "False SyncFailed"}
    assert result["status"]["disruptionsAllowed"] == 0
    assert 'found no controllers for pod "p"' in world.messages("CalculateExpectedPodCountFailed")[0]


def test_a_settled_budget_writes_nothing() -> None:
    world = World()
    world.create(DEPLOYMENTS, deployment())
    world.create(BUDGETS, budget(minAvailable=2))
    world.run()
    before = len(world.history)
    for controller in world.controllers:
        controller.enqueue(("ns", "b"))
    world.run(3600)
    assert len(world.history) == before
