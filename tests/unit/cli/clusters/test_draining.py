"""How far a drain is, what blocks it, and what a user can do."""

from typing import Any

import pytest

from uniteddeployment.cli.clusters import changes, draining
from uniteddeployment.cli.clusters.deregister import may_run
from uniteddeployment.cli.clusters.objects import Presence
from uniteddeployment_api import names

DRAIN = {"key": names.TAINT_DRAIN, "effect": "NoExecute"}
OTHER = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


def application(
    spec: dict[str, Any] | None = None, subset: dict[str, Any] | None = None, **entry: Any
) -> dict[str, Any]:
    """An application with a subset in the drained cluster and one in another."""
    subsets = [{"name": "m", **(subset or {})}, {"name": "other"}]
    own = {"name": "m", "cluster": "ns/m", "replicas": 3, "observedReplicas": 3, **entry}
    ready = {"type": "Ready", "status": "True", "observedGeneration": 1}
    return {
        "metadata": {"name": "web", "namespace": "ns", "generation": 1},
        "spec": {"topology": {"subsets": subsets}, **(spec or {})},
        "status": {"observedGeneration": 1, "conditions": [ready], "subsetStatuses": [own]},
    }


def item(app: dict[str, Any]) -> draining.Item:
    (found,) = draining.items([app], "ns/m")
    return found


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (application(desiredReplicas=0), "3 of its pods left, 0 to stay"),
        (application(replicas=0), "3 pods ending"),
        (application(replicas=0, observedReplicas=1), "1 pod ending"),
        (application() | {"metadata": {"name": "web", "namespace": "ns", "generation": 2}}, "3 pods left"),
    ],
    ids=["moves", "ends", "the last one ends", "an edit is not observed yet"],
)
def test_what_moves_does_not_block(app: dict[str, Any], said: str) -> None:
    assert item(app).moving
    assert item(app).text == f"ns/web (subset m): {said}"


def test_a_subset_without_pods_is_done() -> None:
    assert not draining.items([application(replicas=0, observedReplicas=0), application(cluster="ns/x")], "ns/m")


TOLERATION = {"key": names.TAINT_DRAIN, "operator": "Exists"}
ONE = {"topology": {"subsets": [{"name": "m"}]}}
VOLUMES = {"template": {"statefulSetTemplate": {"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}}}}


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (application(subset={"clusterTolerations": [TOLERATION]}), "it tolerates uniteddeployment.io/drain:NoExecute"),
        (application(ONE | {"paused": True}), "set spec.paused to false"),
        (application(subset={"replicas": 3}), "it has a fixed share"),
        (application(ONE), "add a subset to spec.topology.subsets"),
        (application(VOLUMES), "its volumes stay in the cluster: move the data"),
        (application(subset={"minReplicas": 1}), "it has a lower bound"),
        (application(subset={"name": "gone"}), "remove the subset from spec.topology.subsets"),
        (application(), "see the reason"),
        (
            application(lastObservedTime="2026-01-01T00:00:00Z"),
            "if it is suspended, use ud clusters resume; if it is lost",
        ),
        (application(lastObservedTime="2026-01-01T00:00:00Z"), "deregister --abandon"),
    ],
)
def test_what_does_not_move_has_a_way_out(app: dict[str, Any], said: str) -> None:
    found = item(app)
    assert not found.moving
    assert said in found.way_out
    assert "3 pods stay" in found.text


def test_a_toleration_for_a_limited_time_blocks_nothing_until_it_is_over() -> None:
    limited = TOLERATION | {"effect": "NoExecute", "tolerationSeconds": 60}
    app = application(subset={"clusterTolerations": [limited]})
    assert [found.moving for seconds in (59, 61) for found in draining.items([app], "ns/m", seconds)] == [True, False]
    assert "tolerates" not in item(app).way_out


@pytest.mark.parametrize(("reason", "moving"), [("Slowed", True), ("Stopped", False), ("Moving", False)])
def test_a_brake_that_slows_moves_does_not_block_and_one_that_stops_them_does(reason: str, moving: bool) -> None:
    app = application()
    app["status"]["conditions"].append({"type": "Moving", "status": "True", "reason": reason})
    assert item(app).moving is moving
    assert ("too many clusters are lost" in item(app).way_out) is (reason == "Stopped")


def test_a_drain_counts_from_when_the_controller_has_seen_its_taint() -> None:
    assert draining.in_effect({}) is None
    assert draining.in_effect({"status": {"taints": [OTHER]}}) is None
    assert draining.in_effect({"status": {"taints": [OTHER, DRAIN | {"timeAdded": "then"}]}}) == "then"


def test_changes_of_the_spec_keep_the_taints_of_others_and_are_made_once() -> None:
    spec = {"taints": [OTHER]}
    drained = spec | changes.drain(spec)
    assert drained == {"unschedulable": True, "taints": [OTHER, DRAIN]}
    assert changes.drain(drained) == changes.cordon(drained) == {}
    assert drained | changes.uncordon(drained) == {"unschedulable": False, "taints": [OTHER]}
    assert changes.uncordon(spec) == changes.resume(spec) == changes.suspend({"suspended": True}) == {}


def test_an_abandoned_member_is_left_with_the_list_of_what_may_run_there() -> None:
    lines = may_run([Presence("ns/web", "m", replicas=2, possibly_running=3), Presence("ns/none", "m")])
    assert lines[0] == "These pods may still run there:"
    assert lines[1] == "  ns/web (subset m): 3 pods"
    assert len(lines) == 3
    assert "still there" in may_run([])[0]
