"""After any sequence of user actions, workloads reach the state in their spec."""

from random import Random

import pytest

from tests.embedded.workload_kit import World, counts, deployment, image_of, stateful_set, template

SETS = "statefulsets.apps"
DEPLOYMENTS = "deployments.apps"
IMAGE = "spec.template.spec.containers.0.image"


def delete_a_pod(world: World, chance: Random) -> None:
    pods = [pod for pod in world.all("pods") if "deletionTimestamp" not in pod["metadata"]]
    if pods:
        world.delete("pods", chance.choice(pods)["metadata"]["name"])


def some_time(world: World, chance: Random) -> None:
    """No time, a moment, or long enough for everything to settle."""
    world.run(chance.choice([0.0, 0.0, 0.05, 0.3, 1.0, 60.0]))


@pytest.mark.parametrize("seed", range(6))
def test_a_stateful_set_comes_to_rest(seed: int) -> None:
    """Every ordinal has its pod, and every pod from the partition up has the update revision."""
    chance = Random(seed)
    world = World(seed=seed)
    policy = chance.choice(["Parallel", "OrderedReady"])
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    world.create(SETS, stateful_set(podManagementPolicy=policy, updateStrategy=strategy))
    for _ in range(25):
        some_time(world, chance)
        match chance.randrange(5):
            case 0:
                world.set(SETS, "web", "spec.replicas", chance.randrange(6))
            case 1:
                world.set(SETS, "web", "spec.updateStrategy.rollingUpdate.partition", chance.randrange(6))
            case 2:
                world.set(SETS, "web", IMAGE, f"app:{chance.randrange(4)}")
            case 3:
                world.set(SETS, "web", "spec.ordinals", {"start": chance.randrange(3)})
            case _:
                delete_a_pod(world, chance)
    world.run(300)
    obj = world.get(SETS, "web")
    spec, status = obj["spec"], obj["status"]
    start = spec.get("ordinals", {}).get("start", 0)
    ordinals = {int(pod["metadata"]["name"][4:]): pod for pod in world.all("pods")}
    assert sorted(ordinals) == list(range(start, start + spec["replicas"]))
    held = start + spec["updateStrategy"]["rollingUpdate"]["partition"]
    newest = {o for o, pod in ordinals.items() if image_of(pod) == image_of(spec["template"])}
    assert newest >= {ordinal for ordinal in ordinals if ordinal >= held}
    assert counts(obj, "replicas", "readyReplicas", "availableReplicas") == [spec["replicas"]] * 3
    assert counts(obj, "updatedReplicas") == [len(newest)]
    assert status["observedGeneration"] == obj["metadata"]["generation"]


@pytest.mark.parametrize("seed", range(6))
def test_a_deployment_comes_to_rest(seed: int) -> None:
    """All pods have the newest template, their number is the requested one, and only one ReplicaSet has pods."""
    chance = Random(seed)
    world = World(seed=seed)
    rolling = {"maxSurge": chance.choice([0, 1, "50%"]), "maxUnavailable": chance.choice([1, 2, "25%"])}
    world.create(DEPLOYMENTS, deployment(strategy={"type": "RollingUpdate", "rollingUpdate": rolling}))
    for _ in range(25):
        some_time(world, chance)
        match chance.randrange(5):
            case 0:
                world.set(DEPLOYMENTS, "web", "spec.replicas", chance.randrange(8))
            case 1:
                world.set(DEPLOYMENTS, "web", IMAGE, f"{chance.choice(['app', 'app', 'fail'])}:{chance.randrange(4)}")
            case 2:
                world.set(DEPLOYMENTS, "web", "spec.paused", chance.random() < 0.5)
            case 3:
                world.set(DEPLOYMENTS, "web", "spec.minReadySeconds", chance.randrange(3))
            case _:
                delete_a_pod(world, chance)
    world.set(DEPLOYMENTS, "web", IMAGE, "app:9")
    world.set(DEPLOYMENTS, "web", "spec.paused", False)
    world.run(300)
    obj = world.get(DEPLOYMENTS, "web")
    wanted = obj["spec"]["replicas"]
    assert [image_of(pod) for pod in world.all("pods")] == ["app:9"] * wanted
    assert counts(obj, "replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas") == [wanted] * 3 + [0]
    sizes = {image_of(rs["spec"]["template"]): rs["spec"]["replicas"] for rs in world.all("replicasets.apps")}
    assert {image: size for image, size in sizes.items() if size} == ({"app:9": wanted} if wanted else {})


def test_restarted_controllers_find_missed_changes() -> None:
    """Restarted controllers act on the present state and need no missed events (I9)."""
    world = World()
    world.create(SETS, stateful_set())
    world.create("services", {"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
    world.run()
    for controller in world.controllers:
        controller.stop()
    world.set(SETS, "web", IMAGE, "app:2")
    world.delete("pods", "web-1")
    world.create(DEPLOYMENTS, deployment(selector={"matchLabels": {"n": "1"}}, template=template(n="1")))
    world.run()
    assert sorted(world.images()) == ["web-0", "web-2"]
    for controller in world.controllers:
        controller.start()
    world.run()
    assert set(world.images().values()) == {"app:1", "app:2"}
    assert {n: i for n, i in world.images().items() if len(n) == 5} == dict.fromkeys(
        ("web-0", "web-1", "web-2"), "app:2"
    )
    endpoints = [e for s in world.all("endpointslices.discovery.k8s.io") for e in s["endpoints"]]
    assert sorted(e["targetRef"]["name"] for e in endpoints) == sorted(world.images())
