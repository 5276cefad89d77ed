"""The vectors of KubeAdmiral's rollout planner: where both planners do the same, the numbers agree.

KubeAdmiral gives each cluster a maxUnavailable and a maxSurge, and the Deployments use them. A UnitedRollout says how
many pods of each subset may be updated, within one budget. So the number compared is that of all pods that may be
unavailable after the decision. Differences, with their reasons:

* **Surge.** A rollout has no global surge. Deployments of subsets use their own maxSurge within their partition.
* **Scaling.** KubeAdmiral's planner also moves replicas between clusters. Here the UnitedDeployment controller does,
  and a rollout counts the pods that are missing meanwhile as unavailable.
* **Broken pods.** Beyond the budget, KubeAdmiral allows every cluster one unavailable pod. A rollout updates a subset
  beyond the budget only if no pod of the old revision is ready in it.
* **Order.** KubeAdmiral fills one cluster after another; a rollout divides the pods. Only totals agree.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from uniteddeployment_rollout import Target, TargetSubset
from uniteddeployment_rollout.budget import grant, used

FILE = Path(__file__).parents[2] / "vectors" / "kubeadmiral_rollout.json"
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text())["vectors"]
BROKEN = {
    "TestPlanUnexceptedCases/too many unavailable": {"a": 0, "b": 0},
    "TestPlanActualCases/I0729 15:55:04.138529": {"a": 0, "b": 1, "c": 4, "e": 4, "f": 0, "h": 0},
}
"""More pods are unavailable than allowed: the pods that may still be updated."""


def scales(vector: dict[str, Any]) -> bool:
    return any(cluster["replicas"] != cluster["desired"] for cluster in vector["targets"])


COMPARED = [
    vector
    for vector in VECTORS
    if not vector["maxSurge"] and not scales(vector) and vector["name"] not in BROKEN and vector["maxUnavailable"]
]


def target(vector: dict[str, Any]) -> Target:
    """The same situation for a rollout. Replicas that no listed cluster has are in one that cannot be seen."""
    subsets = [subset(cluster) for cluster in vector["targets"]]
    missing = vector["replicas"] - sum(found.replicas for found in subsets)
    if missing > 0:
        subsets.append(TargetSubset(name="lost", cluster="lost", replicas=missing, state="Unknown", partition=missing))
    return Target(name="web", subsets=tuple(subsets))


def subset(cluster: dict[str, Any]) -> TargetSubset:
    """What a cluster was allowed to update is its maxUnavailable without the pods that are down already."""
    size, updated = cluster["desired"], cluster["updatedReplicas"]
    ready = min(cluster["availableReplicas"], size)
    promised = max(0, cluster["maxUnavailable"] - (size - ready)) if cluster["updated"] else 0
    return TargetSubset(
        name=cluster["cluster"],
        cluster=cluster["cluster"],
        replicas=size,
        observed=cluster["actualReplicas"],
        ready=ready,
        updated=updated,
        updated_ready=cluster["updatedAvailableReplicas"],
        partition=max(0, size - updated - promised),
    )


def decided(vector: dict[str, Any]) -> tuple[Target, dict[str, int]]:
    """The further pods of each subset that may be updated."""
    found = target(vector)
    now = {subset.name: subset.allowed for subset in found.subsets}
    allowed = grant(found, now, found.sizes, vector["maxUnavailable"] - used(found))
    return found, {name: allowed[name] - now[name] for name in now}


@pytest.mark.parametrize("vector", COMPARED, ids=lambda vector: vector["name"])
def test_as_many_pods_may_be_unavailable_as_kubeadmiral_allows(vector: dict[str, Any]) -> None:
    found, more = decided(vector)
    old = {cluster["cluster"]: cluster["desired"] - cluster["updatedReplicas"] for cluster in vector["targets"]}
    # A cluster that is updated already, or that is not to be, has no number of its own: its pods that are down count.
    down = {subset.name: subset.unavailable for subset in found.subsets}
    theirs = sum(
        number if (number := (vector["expected"].get(name) or {}).get("maxUnavailable")) is not None else down[name]
        for name in down
    )
    if any(old.values()):
        assert used(found) + sum(more.values()) == theirs
    else:
        assert not any(more.values()), "all pods are updated"


@pytest.mark.parametrize("name", BROKEN)
def test_beyond_the_budget_only_subsets_without_ready_pods_are_updated(name: str) -> None:
    (vector,) = [vector for vector in VECTORS if vector["name"] == name]
    assert decided(vector)[1] == BROKEN[name]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_no_decision_takes_more_ready_pods_down_than_allowed(vector: dict[str, Any]) -> None:
    """This also holds where KubeAdmiral scales or uses surge."""
    found, more = decided(vector)
    restarted = sum(more[subset.name] for subset in found.subsets if not subset.serves_nothing_old)
    assert restarted <= max(0, vector["maxUnavailable"] - used(found))


def test_a_fifth_of_the_vectors_is_compared_and_the_others_differ_for_a_listed_reason() -> None:
    others = [vector for vector in VECTORS if vector not in COMPARED and vector["name"] not in BROKEN]
    assert all(vector["maxSurge"] or scales(vector) or not vector["maxUnavailable"] for vector in others)
    assert len(COMPARED) >= len(VECTORS) // 5
