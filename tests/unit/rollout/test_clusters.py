"""Waves by the labels of clusters, clusters that are rolled back alone, and changes that others make in members."""

from typing import Any

import pytest

from tests.unit.rollout.fleet import V2, Controller, Fleet, at_half, canary, released

ZONES = {"a": {"tier": "canary"}, "b": {"tier": "main"}, "c": {"tier": "main"}}
BY_TIER = [
    {"wave": {"clusterSelector": {"matchLabels": {"tier": "canary"}}}, "replicas": "100%", "pause": {}},
    {"wave": {"subsets": ["a", "b"], "clusterSelector": {"matchLabels": {"tier": "main"}}}, "replicas": 1, "pause": {}},
]


def test_a_wave_updates_the_subsets_whose_clusters_have_the_labels() -> None:
    fleet, controller = canary(steps=BY_TIER)
    fleet.labels = ZONES
    fleet.release(V2)
    controller.settle()
    assert fleet.updated() == {"a": 4, "b": 0, "c": 0}
    controller.approve()
    assert fleet.updated() == {"a": 4, "b": 1, "c": 0}, "names and labels both apply"
    controller.approve()
    assert controller.status.phase == "Healthy"


def test_labels_that_no_cluster_has_stop_the_run_with_the_path_of_the_field() -> None:
    fleet, controller = canary(steps=BY_TIER)
    fleet.release(V2)
    controller.settle()
    assert controller.status.phase == "Degraded"
    assert controller.status.message.startswith("spec.steps[0].wave.clusterSelector: the labels must be those of")
    assert sum(fleet.updated().values()) == 0
    fleet.labels = ZONES
    controller.settle()
    assert fleet.updated()["a"] == 4


def failed_in_b(**spec: Any) -> tuple[Fleet, Controller]:
    """Half of the pods are updated when the one of subset b fails."""
    fleet, controller = at_half(onFailure="RollbackCluster", **spec)
    fleet.bad.add(V2)
    fleet.pods["b"][-1].ready = False
    controller.settle()
    controller.wait(600)
    return fleet, controller


def test_only_the_cluster_that_failed_goes_back_and_the_run_stops() -> None:
    fleet, controller = failed_in_b()
    assert fleet.updated() == {"a": 2, "b": 0, "c": 1}
    assert fleet.updated("v1")["b"] == 2
    assert fleet.template == V2
    assert (controller.status.phase, controller.status.reverted) == ("Degraded", ("b",))
    assert "the subsets b return to the stable revision until the command retry" in controller.status.message
    assert fleet.partitions["b"] == 2
    assert "ClusterRollbackStarted" in controller.reasons()
    controller.wait(3600)
    assert fleet.updated() == {"a": 2, "b": 0, "c": 1}


def test_a_retry_updates_the_cluster_again() -> None:
    fleet, controller = failed_in_b()
    fleet.bad.clear()
    controller.give("1", "retry")
    controller.settle()
    assert fleet.updated() == {"a": 2, "b": 1, "c": 1}
    assert (controller.status.phase, controller.status.step, fleet.revert) == ("Paused", 2, set())


def test_an_abort_takes_the_other_clusters_back_too() -> None:
    fleet, controller = failed_in_b()
    controller.give("1", "abort")
    controller.settle()
    assert fleet.updated("v1") == {"a": 4, "b": 2, "c": 2}
    assert (controller.status.phase, fleet.revert) == ("Healthy", set())


def test_another_template_ends_the_rollback_of_the_cluster() -> None:
    fleet, controller = failed_in_b()
    fleet.release("v3")
    controller.settle()
    assert (controller.status.phase, controller.status.reverted, fleet.revert) == ("Paused", (), set())
    assert sum(fleet.updated("v3").values()) == 1


def test_all_subsets_of_the_failed_cluster_go_back() -> None:
    fleet, controller = released({"a": 2, "b": 2}, steps=[{"wave": {}, "replicas": 1, "pause": {}}])
    fleet.clusters = dict.fromkeys("ab", "default/one")
    controller.edit(onFailure="RollbackCluster")
    fleet.bad.add(V2)
    fleet.pods["b"][-1].ready = False
    controller.settle()
    controller.wait(600)
    assert controller.status.reverted == ("a", "b")
    assert sum(fleet.updated().values()) == 0


def test_a_workload_that_somebody_changed_in_a_member_stops_the_run_until_a_retry() -> None:
    fleet, controller = at_half()
    change = "put back spec.template.spec.containers[0].image (by kubectl-edit)"
    fleet.drifts["c"] = ("2026-01-01T00:01:00Z", change)
    controller.settle()
    assert (controller.status.phase, controller.status.failure.reason) == ("Degraded", "MemberDrift")
    assert f"the workload of subset c was changed by others: {change}" in controller.status.message
    controller.give("1", "approve")
    controller.settle()
    assert controller.answer("1").result == "Refused"
    controller.give("2", "retry")
    controller.settle()
    assert controller.status.phase == "Paused"
    fleet.drifts["c"] = ("2026-01-01T00:02:00Z", change)
    controller.settle()
    assert controller.status.phase == "Degraded", "a second change stops it again"


def test_partitions_of_others_stay_also_while_the_run_is_stopped_for_another_reason() -> None:
    fleet, controller = at_half()
    fleet.drifts["c"] = ("2026-01-01T00:01:00Z", "put back spec.replicas")
    controller.settle()
    fleet.partitions["a"] = 4
    fleet.changed()
    controller.settle()
    assert fleet.partitions["a"] == 4
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.failure.reason == "Drift", "nobody has said that they may be replaced"
    assert fleet.partitions["a"] == 4
    controller.give("2", "retry")
    controller.settle()
    assert (controller.status.phase, fleet.partitions["a"]) == ("Paused", 2)


@pytest.mark.parametrize("reason", ["Drift", "MemberDrift"])
def test_changes_of_others_are_noticed_when_late_pods_become_ready_after_all(reason: str) -> None:
    fleet, controller = at_half()
    fleet.bad.add(V2)
    fleet.pods["b"][-1].ready = False
    controller.settle()
    controller.wait(600)
    assert controller.status.failure.reason == "ProgressDeadlineExceeded"
    if reason == "Drift":
        fleet.partitions["c"] = 0
    else:
        fleet.drifts["c"] = ("2026-01-01T00:01:00Z", "put back spec.replicas")
    fleet.bad.clear()
    fleet.changed()
    controller.settle()
    assert controller.status.failure.reason == reason


def test_changes_in_members_before_the_run_do_not_stop_it() -> None:
    fleet, controller = canary()
    fleet.drifts["a"] = ("2026-01-01T00:00:00Z", "put back spec.replicas")
    fleet.release(V2)
    controller.settle()
    assert controller.status.phase == "Paused"


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_subset_that_grows_gets_no_updated_pod_beyond_its_share_at_any_moment(name: str) -> None:
    fleet, controller = released(steps=[{"replicas": 1, "pause": {}}])
    fleet.scale(**{name: 12})
    for _ in range(40):
        assert sum(fleet.updated().values()) <= 1
        fleet.tick()
        controller.step()
    assert controller.status.phase == "Paused"


def test_a_subset_of_which_all_pods_are_to_be_updated_grows_at_the_new_revision() -> None:
    fleet, _ = released(steps=[{"wave": {"subsets": ["a"]}, "replicas": "100%", "pause": {}}])
    fleet.scale(a=8)
    while fleet.tick():
        pass
    assert fleet.updated()["a"] == 8
    assert set(fleet.max_updated) == {"b", "c"}


def test_a_disabled_rollout_gives_the_default_partition_back_and_takes_it_again_when_it_is_enabled() -> None:
    fleet, controller = canary()
    controller.edit(disabled=True)
    controller.settle()
    assert (fleet.default, controller.status.phase) == (0, "Disabled")
    controller.give("1", "pause")
    controller.settle()
    assert controller.answer("1").message == "spec.disabled is set"
    fleet.partition_all("50%")
    fleet.release(V2)
    controller.settle()
    assert fleet.updated() == {"a": 2, "b": 1, "c": 1}, "the user's partitions apply"
    fleet.partition_all(0)
    controller.settle()
    assert fleet.current == V2
    controller.edit(disabled=False)
    controller.settle()
    assert (fleet.default, controller.status.phase) == ("100%", "Healthy")
    assert controller.status.stable_revision == V2, "no run for a template that is rolled out already"


def test_a_rollout_that_is_disabled_during_a_run_completes_nothing_and_continues_at_the_same_step() -> None:
    fleet, controller = at_half()
    controller.edit(disabled=True)
    controller.settle()
    assert controller.status.phase == "Disabled"
    assert "4 of 8 pods are updated" in controller.status.message
    controller.wait(86400)
    assert (fleet.partitions, fleet.default) == ({"a": 2, "b": 1, "c": 1}, "100%")
    fleet.partitions["a"], fleet.max_updated["a"] = 1, 3
    fleet.changed()
    controller.settle()
    assert fleet.partitions["a"] == 1
    controller.edit(disabled=False)
    controller.settle()
    assert (controller.status.phase, controller.status.step) == ("Paused", 2)
    assert fleet.updated() == {"a": 3, "b": 1, "c": 1}, "it is no drift, and the pod stays"


def test_a_subset_that_is_removed_while_it_goes_back_is_no_longer_named() -> None:
    """The API server refuses names of subsets that do not exist."""
    fleet, controller = failed_in_b()
    for entries in (fleet.sizes, fleet.pods, fleet.partitions, fleet.max_updated):
        del entries["b"]
    fleet.revert.clear()
    fleet.changed()
    controller.settle()
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.phase == "Paused"
