"""The simulated OpenKruise controllers: partitions, update strategies, scaling, revisions."""

from typing import Any

import pytest

from tests.embedded.workload_kit import World, counts, stateful_set, template
from tests.support.kruise import definitions
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import resources
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment.embedded.crd.definition.strategy import DefinitionStrategy
from uniteddeployment.embedded.discovery.definitions import KEY, Definitions
from uniteddeployment.embedded.openkruise import kruise_controllers

CLONES = "clonesets.apps.kruise.io"
SETS = "statefulsets.apps.kruise.io"


class KruiseWorld(World):
    """A cluster with OpenKruise's controllers and definitions; the definitions are created last."""

    def __init__(self) -> None:
        super().__init__(LifecycleController, *kruise_controllers())

    def install(self) -> "KruiseWorld":
        self.core.registry.register(resources({KEY: DefinitionStrategy()}))
        self.definitions = Definitions(self.core)
        for definition in definitions():
            self.access.create(KEY, definition, manager="test")
        self.run(1)
        return self

    def tally(self) -> dict[str, int]:
        """Image -> number of pods that are not terminating."""
        result: dict[str, int] = {}
        for pod in self.all("pods"):
            if "deletionTimestamp" not in pod["metadata"]:
                image = pod["spec"]["containers"][0]["image"]
                result[image] = result.get(image, 0) + 1
        return result

    def change(self, resource: str, **fields: Any) -> None:
        """Change several fields in one write; ``__`` stands for a dot."""
        obj = self.get(resource, "web")
        spec = {**obj["spec"]}
        for field, value in fields.items():
            spec[field] = {**spec.get(field, {}), **value} if isinstance(value, dict) else value
        self.access.update(resource, {**obj, "spec": spec}, manager="test")
        self.run()


def clone_set(**spec: Any) -> Obj:
    base = {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return {"metadata": {"name": "web"}, "spec": base | spec}


def started(resource: str, obj: Obj) -> KruiseWorld:
    world = KruiseWorld().install()
    world.create(resource, obj)
    world.run()
    return world


def canary(partition: int | str = 2, **spec: Any) -> KruiseWorld:
    world = started(CLONES, clone_set(**spec))
    world.change(CLONES, template=template("app:2"), updateStrategy={"partition": partition})
    return world


def test_a_cloneset_keeps_as_many_pods_old_as_its_partition_says() -> None:
    world = canary()
    assert world.tally() == {"app:1": 2, "app:2": 2}
    clone = world.get(CLONES, "web")
    names = ("replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas", "expectedUpdatedReplicas")
    assert counts(clone, *names) == [4, 4, 2, 2, 2]
    assert clone["status"]["currentRevision"] != clone["status"]["updateRevision"]
    assert clone["status"]["labelSelector"] == "app=web"
    world.change(CLONES, updateStrategy={"partition": 0})
    assert world.tally() == {"app:2": 4}
    status = world.get(CLONES, "web")["status"]
    assert status["currentRevision"] == status["updateRevision"]


@pytest.mark.parametrize(("partition", "old"), [("50%", 2), ("30%", 2), ("99%", 3), ("100%", 4), (9, 4), ("0%", 0)])
def test_a_percentage_is_rounded_up_and_lets_one_pod_go_unless_it_is_all(partition: int | str, old: int) -> None:
    assert canary(partition).tally().get("app:1", 0) == old


def test_scaling_a_cloneset_in_mid_canary_brings_the_old_pods_to_the_partition() -> None:
    world = canary()
    world.change(CLONES, replicas=8, updateStrategy={"partition": 4})
    assert world.tally() == {"app:1": 4, "app:2": 4}
    world.change(CLONES, replicas=4, updateStrategy={"partition": 1})
    assert world.tally() == {"app:1": 1, "app:2": 3}


def test_a_partition_that_is_raised_takes_nothing_back() -> None:
    world = canary()
    world.change(CLONES, updateStrategy={"partition": 3})
    assert world.tally() == {"app:1": 2, "app:2": 2}


def test_a_first_creation_and_a_way_back_from_zero_know_nothing_of_old_revisions() -> None:
    world = started(CLONES, clone_set(updateStrategy={"partition": 2}))
    assert world.tally() == {"app:1": 4}
    world.change(CLONES, template=template("app:2"))
    world.change(CLONES, replicas=0)
    world.change(CLONES, replicas=4)
    assert world.tally() == {"app:2": 4}


def test_a_cloneset_leaves_no_more_pods_unavailable_than_it_may() -> None:
    world = started(CLONES, clone_set(replicas=5, updateStrategy={"maxUnavailable": 2}))
    low = 5

    def check(_: Any) -> None:
        nonlocal low
        low = min(low, sum("deletionTimestamp" not in pod["metadata"] and is_up(pod) for pod in world.all("pods")))

    world.access.subscribe("pods", check)
    world.change(CLONES, template=template("fail:2"))
    assert low == 3
    assert world.tally() == {"app:1": 3, "fail:2": 2}


def test_pods_with_the_highest_weight_are_updated_first() -> None:
    world = canary()
    given_up = [{"key": "version", "operator": "In", "values": ["2"]}]
    priority = {"weightPriority": [{"weight": 10, "matchSelector": {"matchExpressions": given_up}}]}
    for pod in world.all("pods"):
        version = pod["spec"]["containers"][0]["image"].partition(":")[2]
        world.set("pods", pod["metadata"]["name"], "metadata.labels.version", version)
    world.change(CLONES, template=template("app:3"), updateStrategy={"priorityStrategy": priority})
    assert world.tally() == {"app:1": 2, "app:3": 2}


def test_a_paused_cloneset_updates_nothing_and_still_scales() -> None:
    world = started(CLONES, clone_set(updateStrategy={"paused": True}))
    world.change(CLONES, template=template("app:2"), replicas=5)
    assert world.tally() == {"app:1": 4, "app:2": 1}


def test_an_advanced_statefulset_updates_its_highest_ordinals() -> None:
    world = started(SETS, stateful_set(replicas=4))
    world.change(SETS, template=template("app:2"), updateStrategy={"rollingUpdate": {"partition": 3}})
    assert world.images() == {"web-0": "app:1", "web-1": "app:1", "web-2": "app:1", "web-3": "app:2"}
    result = world.get(SETS, "web")
    assert counts(result, "replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas") == [4, 4, 1, 1]
    assert result["status"]["labelSelector"] == "app=web"


@pytest.mark.parametrize(("policy", "broken"), [("OrderedReady", 1), ("Parallel", 2)])
def test_only_pods_that_are_managed_in_parallel_go_down_together(policy: str, broken: int) -> None:
    strategy = {"rollingUpdate": {"maxUnavailable": 2}}
    world = started(SETS, stateful_set(replicas=4, podManagementPolicy=policy, updateStrategy=strategy))
    world.change(SETS, template=template("fail:2"))
    assert world.tally() == {"app:1": 4 - broken, "fail:2": broken}


def test_both_kinds_of_statefulsets_leave_each_others_pods_alone() -> None:
    world = KruiseWorld().install()
    world.create(SETS, stateful_set(replicas=1))
    other = stateful_set(replicas=1)
    other["metadata"]["name"] = "other"
    world.create("statefulsets.apps", other)
    world.run()
    assert world.images().keys() == {"web-0"}, "nobody runs the other's controller here"


def test_the_controllers_wait_for_their_definitions() -> None:
    world = KruiseWorld()
    world.run()
    world.install()
    world.create(CLONES, clone_set(replicas=2))
    world.run()
    assert world.tally() == {"app:1": 2}


def is_up(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
