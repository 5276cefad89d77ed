"""Every kind of workload: what its objects are, members that do not serve it, and one kind taking another's place."""

import asyncio
import itertools
import json
from typing import Any

import pytest

from tests.support.cluster_images import DEFINITIONS, TOKEN
from tests.support.inprocess import InProcessTransport
from tests.support.kruise import (
    ALL_KINDS,
    KRUISE_KINDS,
    RESOURCES,
    definitions,
    install,
)
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.stories import some
from tests.support.watchdog import Watchdog, workloads
from tests.support.world import World
from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Response
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import TokenProvider
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

TAKING_PLACE = [
    ("statefulSetTemplate", "deploymentTemplate"),
    ("deploymentTemplate", "statefulSetTemplate"),
    ("statefulSetTemplate", "advancedStatefulSetTemplate"),
    ("advancedStatefulSetTemplate", "cloneSetTemplate"),
    ("cloneSetTemplate", "deploymentTemplate"),
]
"""Each kind comes and goes, and a Deployment and a StatefulSet take the place of each other."""
KINDS_HERE = {"cloneSetTemplate": "CloneSet", "advancedStatefulSetTemplate": "StatefulSet"}


def on(kind: str, shares: dict[str, int | None], **more: Any) -> dict[str, Any]:
    return manifest(kind=kind, shares=shares, **more)


def entry(world: World, subset: str) -> dict[str, Any]:
    return next(one for one in world.status()["subsetStatuses"] if one["name"] == subset)


def template_of(world: World, member: str) -> dict[str, Any]:
    """The pod template of the newest workload in a member."""
    newest = max(workloads(world, member).values(), key=lambda one: int(one["metadata"]["resourceVersion"]))
    found: dict[str, Any] = newest["spec"]["template"]
    return found


def sizes(world: World, *members: str) -> list[int]:
    return [
        len([pod for pod in world.pods(member) if "deletionTimestamp" not in pod["metadata"]]) for member in members
    ]


async def applied(world: World, document: dict[str, Any], what: str = "") -> None:
    world.apply(document)
    await world.until(world.settled, what=what)


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.fleet(members=2)
async def test_a_workload_says_whose_it_is_and_carries_what_the_template_and_the_subset_say(
    world: World, kind: str
) -> None:
    document = on(kind, {"member-1": 1, "member-2": 1}, replicas=2)
    document["spec"]["template"][kind]["metadata"] = {"annotations": {"team": "blue"}}
    document["spec"]["topology"]["subsets"][0]["patch"] = {"metadata": {"annotations": {"zone": "one"}}}
    await applied(world, document, "creation")
    (child,) = workloads(world, "member-1").values()
    assert child["metadata"]["namespace"] == "default"
    assert child["metadata"]["annotations"]["team"] == "blue"
    expected = {names.LABEL_NAME: "web", names.LABEL_SUBSET: "member-1"}
    assert expected.items() <= child["metadata"]["labels"].items()
    assert ({"app": "web"} | expected).items() <= child["spec"]["template"]["metadata"]["labels"].items()
    assert {"app": "web", names.LABEL_SUBSET: "member-1"}.items() <= child["spec"]["selector"]["matchLabels"].items()
    (pod,) = world.pods("member-1")
    assert pod["metadata"]["annotations"]["zone"] == "one"
    assert pod["metadata"]["labels"][names.LABEL_REVISION] == child["metadata"]["labels"][names.LABEL_REVISION]
    assert "zone" not in world.pods("member-2")[0]["metadata"].get("annotations", {})


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.fleet(members=1)
async def test_nodes_and_tolerations_of_a_subset_reach_its_pods_beside_those_of_the_template(
    world: World, kind: str
) -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z1"]}
    term = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "NotIn", "values": ["plan9"]}]}
    document = on(kind, {"member-1": 1}, replicas=1)
    (subset,) = document["spec"]["topology"]["subsets"]
    subset["nodeSelectorTerm"] = {"matchExpressions": [zone]}
    subset["tolerations"] = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    pod = document["spec"]["template"][kind]["spec"]["template"]["spec"]
    pod["tolerations"] = [{"key": "c", "operator": "Exists"}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod["affinity"] = affinity
    await applied(world, document, "creation")
    spec = template_of(world, "member-1")["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [{"matchExpressions": [*term["matchExpressions"], zone]}]
    assert [one["key"] for one in spec["tolerations"]] == ["c", "a", "b"]


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_subsets_come_and_go(world: World, kind: str) -> None:
    await applied(world, on(kind, {"member-1": None}, replicas=2), "one subset")
    assert sizes(world, *world.members) == [2, 0, 0]
    await applied(world, on(kind, {"member-1": None, "member-2": None}, replicas=2), "two subsets")
    assert sizes(world, *world.members) == [1, 1, 0]
    await applied(world, on(kind, {"member-2": None}, replicas=2), "the other subset")
    await world.until(lambda: sizes(world, *world.members) == [0, 2, 0], what="the removal")
    assert not workloads(world, "member-1")


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "advancedStatefulSetTemplate"])
@pytest.mark.fleet(members=1)
async def test_on_delete_is_kept_and_gets_no_partition(world: World, kind: str) -> None:
    document = on(kind, {"member-1": None}, replicas=5, partitions={"member-1": 4})
    document["spec"]["template"][kind]["spec"]["updateStrategy"] = {"type": "OnDelete"}
    await applied(world, document, "creation")
    (child,) = workloads(world, "member-1").values()
    strategy = child["spec"]["updateStrategy"]
    assert strategy["type"] == "OnDelete"
    assert not (strategy.get("rollingUpdate") or {}).get("partition")
    assert entry(world, "member-1")["partition"] == 4


@pytest.mark.parametrize(("before", "after"), some(list(itertools.permutations(ALL_KINDS, 2)), TAKING_PLACE))
@pytest.mark.fleet(openkruise=True, members=2)
async def test_one_kind_takes_the_place_of_another_without_losing_a_ready_pod(
    world: World, before: str, after: str
) -> None:
    """With no pod to spare, the old go when the new are ready, and then all of them do (I7).

    Scenarios 14 and 51 of OpenKruise, which deletes the old pods at the moment at which it makes the new ones.
    """
    shares = {"member-1": 3, "member-2": None}
    document = on(before, shares, replicas=5)
    document["spec"]["topology"]["maxUnavailable"] = 0
    await applied(world, document, "creation")
    lowest = 5

    def look(_: Change) -> None:
        nonlocal lowest
        pods = [pod for member in world.members for pod in world.pods(member)]
        lowest = min(lowest, sum(ready(pod) for pod in pods if "deletionTimestamp" not in pod["metadata"]))

    for member in world.members.values():
        member.access.subscribe("pods", look)
    other = on(after, shares, replicas=5)
    other["spec"]["topology"]["maxUnavailable"] = 0
    world.apply(other)
    await world.until(lambda: world.settled() and sizes(world, *world.members) == [3, 2], what="the other kind")
    assert lowest == 5
    for member in world.members.values():
        assert not member.access.list(RESOURCES[before])
        assert len(member.access.list(RESOURCES[after])) == 1


@pytest.mark.parametrize("after", [kind for kind in ALL_KINDS if kind != "statefulSetTemplate"])
@pytest.mark.fleet(openkruise=True, members=1)
async def test_a_canary_goes_on_in_the_kind_that_takes_the_place_of_another(world: World, after: str) -> None:
    """The new kind runs no more updated pods than the partition lets it, at no moment (I6)."""
    one: dict[str, int | None] = {"member-1": None}
    held = {"member-1": 3}
    await applied(world, on("statefulSetTemplate", one, replicas=4), "creation")
    await applied(world, on("statefulSetTemplate", one, replicas=4, image="app:2", partitions=held), "the canary")
    dog = Watchdog(world)
    dog.allow("app:2", {"member-1": 2})  # one in each kind
    world.apply(on(after, one, replicas=4, image="app:2", partitions=held))
    await world.until(lambda: world.settled() and sizes(world, "member-1") == [4], what="the other kind")
    assert world.images("member-1") == {"app:1": 3, "app:2": 1}
    assert not dog.broken


@pytest.mark.parametrize("kind", KRUISE_KINDS)
@pytest.mark.fleet(without=["member-1", "member-2", "member-3"])
async def test_a_new_kind_that_never_gets_ready_leaves_the_old_one_serving(world: World, kind: str) -> None:
    """Its member does not serve it (I7)."""
    await applied(world, manifest(), "creation")
    world.apply(manifest(kind=kind))
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    await asyncio.sleep(600)
    assert sizes(world, *world.members) == [4, 2, 2]


@pytest.mark.parametrize("kind", KRUISE_KINDS)
@pytest.mark.fleet(without=["member-2"])
async def test_a_member_without_openkruise_is_a_condition_on_its_subset_and_the_others_go_on(
    world: World, kind: str
) -> None:
    """Nothing is asked of it but the watch, every few minutes; once it serves the kind, the subset comes (I10, I3)."""
    world.apply(manifest(kind=kind))
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    await world.until(lambda: sizes(world, "member-1", "member-3") == [4, 2], what="the others")
    reason = entry(world, "member-2")["reason"]
    version = "v1alpha1" if kind == "cloneSetTemplate" else "v1beta1"
    served = f"does not serve {KINDS_HERE[kind]} apps.kruise.io/{version}: install OpenKruise there"
    assert reason == f"default/member-2 {served}"
    cluster = present(world.host.access.get("clusters.uniteddeployment.io", "default", "member-2"))
    assert cluster["status"]["phase"] == "Running"
    await asyncio.sleep(10)
    before, asked = world.requests(), len(world.transports["member-2"].sent) - world.probes()["member-2"]
    await asyncio.sleep(900)
    assert world.requests() == before
    assert len(world.transports["member-2"].sent) - world.probes()["member-2"] - asked < 20
    install(world, world.members["member-2"])
    await world.until(world.settled, what="the subset")
    assert sizes(world, *world.members) == [4, 2, 2]


@pytest.mark.fleet(without=["member-1", "member-2", "member-3"])
async def test_a_member_without_openkruise_runs_everything_else(world: World) -> None:
    await applied(world, manifest(), "creation")
    assert sizes(world, *world.members) == [4, 2, 2]


@pytest.mark.parametrize("kind", some(KRUISE_KINDS, ["cloneSetTemplate"]))
@pytest.mark.fleet(openkruise=True)
async def test_openkruise_that_is_removed_is_said_and_comes_back(world: World, kind: str) -> None:
    """A kind that a member stops serving is a condition of its subset, and the other subsets go on (I8, I10)."""
    await applied(world, manifest(kind=kind), "creation")
    member = world.members["member-2"]
    world.request(member, "DELETE", f"{DEFINITIONS}/{RESOURCES[kind]}")
    await world.until(lambda: world.condition("Stalled") == "True", what="the condition")
    assert "install OpenKruise" in entry(world, "member-2")["reason"]
    assert sizes(world, "member-1", "member-3") == [4, 2]
    definition = next(one for one in definitions() if one["metadata"]["name"] == RESOURCES[kind])
    world.request(member, "POST", DEFINITIONS, definition)
    await world.until(world.settled, what="the subset", seconds=900)
    await world.until(lambda: sizes(world, "member-2") == [2], what="its pods")


class Denying(InProcessTransport):
    """Credentials that were made before OpenKruise came: they have no right to its kinds, served or not."""

    async def _ask(self, request: Request, seconds: float) -> Response:
        if "apps.kruise.io" in request.path:
            self.sent.append(request)
            status = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no right"}
            return Response(403, {"content-type": "application/json"}, json.dumps(status).encode())
        return await super()._ask(request, seconds)


@pytest.mark.parametrize("kind", some(KRUISE_KINDS, ["advancedStatefulSetTemplate"]))
@pytest.mark.fleet(openkruise=True, controller=False)
async def test_credentials_without_the_right_to_openkruise_do_for_everything_else(world: World, kind: str) -> None:
    """Whether it is served is unknown, and only applications that need it wait (I8, I10)."""

    def client(cluster: Cluster, token: TokenProvider | str = TOKEN) -> Client:
        transport = (Denying if cluster.name != "host" else InProcessTransport)(cluster, token, cluster.name)
        world.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    world.client = client  # type: ignore[method-assign]  # only in this test
    world.start_controller()
    await applied(world, manifest(), "a StatefulSet")
    world.delete()
    await world.until(lambda: world.ud() is None, what="its deletion")
    world.apply(manifest(kind=kind))
    await world.until(lambda: world.condition("Ready") == "Unknown", what="the condition")
    assert "apps.kruise.io cannot be read: no right" in entry(world, "member-1")["reason"]
    before = world.requests()
    await asyncio.sleep(900)
    assert world.requests() == before


def ready(pod: dict[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
