"""The stories of a rollout under their numbers in the list of scenarios: lost clusters, budgets, drift, commands.

Four, two and two pods in three clusters run v1; the steps are 1 pod, 50 % and 100 %. Stories that need clusters or
requests are in tests/simulation/rollout.
"""

from dataclasses import replace

import pytest

from tests.unit.rollout.fleet import HALF, V2, at_half, canary, released
from uniteddeployment_rollout import advance


def test_26_an_unreachable_cluster_holds_the_run_by_default() -> None:
    fleet, controller = canary()
    fleet.lose("b")
    fleet.release(V2)
    controller.settle()
    assert sum(fleet.updated().values()) == 0
    assert "subset b cannot be reached" in controller.status.message
    fleet.find("b")
    controller.settle()
    assert sum(fleet.updated().values()) == 1


def test_26_an_unreachable_cluster_is_skipped_if_the_policy_says_so_and_caught_up_later() -> None:
    fleet, controller = canary(onUnreachable="Skip", maxUnavailable=3)
    fleet.lose("b")
    fleet.release(V2)
    controller.settle()
    controller.approve()
    controller.approve()
    assert fleet.updated() == {"a": 4, "b": 0, "c": 2}
    assert controller.status.phase == "Progressing"
    fleet.find("b")
    controller.settle()
    assert fleet.updated() == {"a": 4, "b": 2, "c": 2}
    assert controller.status.phase == "Healthy"


def test_26_pods_of_an_unreachable_cluster_use_up_the_budget() -> None:
    fleet, controller = canary(onUnreachable="Skip", maxUnavailable=2)
    fleet.lose("b")
    fleet.release(V2)
    controller.settle()
    assert sum(fleet.updated().values()) == 0


def test_27_a_cluster_that_is_lost_in_mid_step_and_comes_back_gets_no_step_twice() -> None:
    fleet, controller = at_half()
    controller.give("1", "approve")
    controller.step()
    fleet.tick()
    fleet.lose("b")
    controller.settle()
    before = dict(fleet.partitions)
    controller.wait(3600)
    assert fleet.partitions == before
    fleet.find("b")
    controller.settle()
    assert controller.status.phase == "Healthy"
    assert controller.reasons().count("StepCompleted") == 2


def test_28_a_stalled_subset_opens_no_other_cluster_and_refuses_an_approval() -> None:
    wave = [{"wave": {"subsets": ["b"]}, "replicas": "100%", "pause": {}}, {"replicas": "100%"}]
    fleet, controller = canary(steps=wave)
    fleet.bad.add(V2)
    fleet.release(V2)
    fleet.states["b"] = "Stalled"
    controller.settle()
    assert controller.status.phase == "Degraded"
    controller.give("1", "approve")
    controller.settle()
    assert controller.answer("1").result == "Refused"
    assert (fleet.updated()["a"], fleet.updated()["c"]) == (0, 0)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_29_all_clusters_together_have_at_most_maxUnavailable_pods_down(most: int) -> None:  # noqa: N802  # the field's name
    _, controller = released(steps=[{"replicas": "100%"}], maxUnavailable=most)
    assert controller.status.phase == "Healthy"
    assert controller.worst == most


def test_29_a_percentage_is_rounded_down_and_at_least_one_pod() -> None:
    for share, most in (("10%", 1), ("30%", 2), ("0%", 1)):
        _, controller = released(steps=[{"replicas": "100%"}], maxUnavailable=share)
        assert controller.worst == most


def test_30_pods_that_are_down_for_another_reason_use_up_the_budget() -> None:
    fleet, controller = canary()
    fleet.pods["c"][0].ready = False
    fleet.bad.add("v1")
    fleet.release(V2)
    controller.settle()
    assert sum(fleet.updated().values()) == 0
    fleet.bad.clear()
    controller.settle()
    assert sum(fleet.updated().values()) == 1


def test_30_a_version_of_which_no_pod_is_ready_can_be_replaced_step_by_step() -> None:
    """The budget is used up, but there is nothing to lose."""
    fleet, controller = canary()
    fleet.bad.add("v1")
    for pods in fleet.pods.values():
        for pod in pods:
            pod.ready = False
    fleet.release(V2)
    controller.settle()
    assert (sum(fleet.updated().values()), controller.status.phase) == (1, "Paused")
    controller.approve()
    controller.approve()
    assert controller.status.phase == "Healthy"


def test_30_a_failing_new_version_does_not_spread_to_a_subset_that_is_down() -> None:
    fleet, controller = canary({"a": 2}, steps=[{"replicas": "100%"}])
    fleet.bad |= {"v1", V2}
    fleet.release(V2)
    controller.settle()
    fleet.pods["a"][0].ready = False
    controller.settle()
    assert fleet.updated() == {"a": 1}


@pytest.mark.parametrize(("writer", "by"), [("kubectl-edit", " by kubectl-edit"), ("", "")])
def test_31_a_partition_that_somebody_changed_holds_the_run_and_names_who_did_it(writer: str, by: str) -> None:
    fleet, controller = at_half()
    fleet.partitions["a"], fleet.max_updated["a"] = 0, 4
    fleet.partitions_by = writer
    fleet.changed()
    controller.settle()
    assert controller.status.phase == "Degraded"
    assert f"subset a was changed{by} from 2 to 0" in controller.status.message
    assert fleet.partitions == {"a": 0, "b": 1, "c": 1}, "it is not fought over"
    assert fleet.updated()["a"] == 4
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.phase == "Paused"
    assert fleet.updated() == {"a": 4, "b": 1, "c": 1}, "updated pods stay"


def test_31_a_default_partition_that_somebody_changed_is_written_again() -> None:
    fleet, controller = canary()
    fleet.partition_all(0)
    controller.settle()
    assert fleet.default == "100%"


def test_34_nothing_is_decided_on_a_status_that_is_older_than_the_spec() -> None:
    fleet, controller = at_half()
    controller.give("1", "approve")
    controller.step()
    fleet.observed = fleet.generation - 1
    decision = controller.decide()
    assert decision.write is None
    assert decision.status == controller.status


def test_37_a_step_is_approved_once() -> None:
    fleet, controller = released()
    run = controller.status.run_id
    controller.give("1", "approve", by="ann")
    controller.give("2", "approve", by="bob")
    controller.settle()
    assert controller.status.step == 2
    assert controller.answer("1").result == "Done"
    assert controller.answer("2").message == "step 1 is approved already"
    controller.give("3", "approve", run=run, step=1)
    controller.settle()
    assert controller.answer("3").message == "it is for step 1, and the present step is 2"
    controller.give("4", "approve", run="v1.7")
    controller.settle()
    assert "the present run is v2.1" in controller.answer("4").message
    assert controller.status.step == 2
    assert sum(fleet.updated().values()) == 4


def test_37_an_id_that_was_answered_is_not_carried_out_again() -> None:
    _, controller = released()
    controller.give("1", "approve")
    controller.settle()
    controller.give("1", "approve")
    controller.settle()
    assert controller.status.step == 2
    assert controller.status.commands == {}
    assert len(controller.status.answers) == 1


def test_38_a_quarter_of_four_single_pods_is_one_pod() -> None:
    fleet, _ = released(dict.fromkeys("abcd", 1), steps=[{"replicas": "25%", "pause": {}}])
    assert sum(fleet.updated().values()) == 1


def test_39_a_subset_without_pods_is_in_nobodys_way() -> None:
    _, controller = released({"a": 4, "b": 0}, steps=[{"replicas": "100%"}])
    assert controller.status.phase == "Healthy"


def test_46_without_a_controller_a_canary_stays_as_it_is() -> None:
    fleet, _ = at_half()
    while fleet.tick():
        pass
    assert fleet.updated() == {"a": 2, "b": 1, "c": 1}
    assert fleet.not_ready == 0


def test_47_a_pod_that_comes_back_at_the_stable_revision_is_updated_again() -> None:
    fleet, controller = at_half()
    fleet.pods["a"][-1].revision = "v1"
    controller.settle()
    assert fleet.updated() == {"a": 2, "b": 1, "c": 1}
    assert controller.status.step == 2


def test_49_fifty_clusters_with_2000_pods_take_one_write_per_move_and_a_small_status() -> None:
    fleet, controller = released({f"member-{i}": 40 for i in range(50)}, steps=HALF, maxUnavailable="25%")
    assert len(controller.status.model_dump_json(by_alias=True, exclude_defaults=True)) < 100_000
    assert sum(fleet.updated().values()) == 1000


def test_49_a_decision_for_fifty_clusters_changes_nothing_when_nothing_changed() -> None:
    fleet, controller = released({f"member-{i}": 40 for i in range(50)}, steps=HALF, maxUnavailable="25%")
    before = len(controller.writes)
    for _ in range(3):
        controller.step()
    assert len(controller.writes) == before
    assert advance(controller.rollout, fleet.target(), controller.now).status == controller.status


def test_a_target_that_is_not_there_stalls_the_rollout_until_it_is() -> None:
    _, controller = canary()
    decision = advance(controller.rollout, None, controller.now)
    stalled = {condition.type: condition for condition in decision.status.conditions}["Stalled"]
    assert (stalled.status, stalled.reason) == ("True", "TargetNotFound")


def test_the_younger_of_two_rollouts_of_a_target_writes_nothing_and_refuses_commands() -> None:
    fleet, controller = canary()
    fleet.release(V2)
    controller.give("1", "promote")
    decision = advance(controller.rollout, fleet.target(), controller.now, rival="older")
    assert decision.write is None
    assert "UnitedRollout older has the target" in decision.status.message
    assert decision.status.answers[0].message == decision.status.message
    assert not decision.status.commands


def test_a_rollout_that_is_created_in_mid_canary_lowers_nothing_beyond_its_first_step() -> None:
    fleet, controller = canary()
    fleet.release(V2)
    fleet.partitions = {"a": 2, "b": 2, "c": 2}
    while fleet.tick():
        pass
    created = type(controller)(fleet)
    assert fleet.updated() == {"a": 2, "b": 0, "c": 0}
    assert (created.status.stable_revision, created.status.step) == ("v1", 1)


def test_a_paused_target_holds_the_run() -> None:
    fleet, controller = canary()
    fleet.paused = True
    fleet.release(V2)
    controller.settle()
    assert controller.status.phase == "Paused"
    assert sum(fleet.updated().values()) == 0


def test_a_promotion_updates_everything_within_the_budget() -> None:
    fleet, controller = released()
    controller.give("1", "promote")
    controller.settle()
    assert controller.status.phase == "Healthy"
    assert controller.worst == 1
    assert fleet.current == V2


def test_a_skipped_step_waits_for_its_pods_and_for_nothing_else() -> None:
    fleet, controller = released(steps=[{"replicas": 1, "bake": "1h", "pause": {}}, {"replicas": "50%", "pause": {}}])
    controller.give("1", "skip")
    controller.settle()
    assert sum(fleet.updated().values()) == 4
    assert controller.status.step == 2


def test_undo_goes_back_to_the_stable_revision_before_the_present_one() -> None:
    fleet, controller = at_half(rollbackWindow=1)
    controller.approve()
    controller.give("1", "undo")
    controller.settle()
    assert fleet.template == fleet.current == "v1"
    assert controller.status.stable_revision == "v1"


def test_undo_without_history_is_refused() -> None:
    _, controller = canary()
    controller.give("1", "undo")
    controller.settle()
    assert controller.answer("1").message == "there is no earlier stable revision in the history"


def test_clusters_are_updated_one_after_the_other_where_a_step_says_so() -> None:
    fleet, controller = canary(
        steps=[{"replicas": "100%", "maxConcurrentClusters": 1}], maxUnavailable=8, distribution="LargestFirst"
    )
    fleet.release(V2)
    opened = []
    for _ in range(60):
        controller.step()
        fleet.tick()
        open_ = [name for name, pods in fleet.pods.items() if any(not pod.ready for pod in pods)]
        assert len(open_) <= 1
        opened += [name for name in open_ if name not in opened]
    assert opened == ["a", "b", "c"]
    assert controller.status.phase == "Healthy"


def test_one_pod_everywhere_then_one_cluster_then_the_rest() -> None:
    steps = [
        {"wave": {}, "replicas": 1, "pause": {}},
        {"wave": {"subsets": ["b"]}, "replicas": "100%", "pause": {}},
        {"replicas": "100%", "pause": {}},
    ]
    fleet, controller = released(steps=steps)
    assert fleet.updated() == {"a": 1, "b": 1, "c": 1}
    controller.approve()
    assert fleet.updated() == {"a": 1, "b": 2, "c": 1}
    controller.approve()
    assert fleet.updated() == {"a": 4, "b": 2, "c": 2}


def test_a_wave_of_an_unknown_subset_stalls_the_run_with_the_path_of_the_field() -> None:
    fleet, controller = canary(steps=[{"wave": {"subsets": ["b", "x"]}, "replicas": 1}])
    fleet.release(V2)
    controller.settle()
    assert controller.status.message.startswith("spec.steps[0].wave.subsets[1]: ")
    assert controller.status.message.endswith("(there is no x)")
    assert sum(fleet.updated().values()) == 0


def test_steps_that_fall_stall_the_rollout_with_the_path_of_the_field() -> None:
    _, controller = canary(steps=[{"replicas": "50%"}, {"replicas": "20%"}])
    assert controller.status.message.startswith("spec.steps[1].replicas: must not be less than in an earlier step")


def test_a_target_without_a_stable_revision_is_pending_and_its_templates_are_held() -> None:
    fleet, controller = canary()
    fleet.current = ""
    fresh = type(controller).__new__(type(controller))
    fresh.__dict__ |= controller.__dict__
    fresh.rollout = controller.rollout.model_copy(update={"status": type(controller.status)()})
    decision = advance(fresh.rollout, replace(fleet.target(), default_partition=0), controller.now)
    assert decision.status.phase == "Pending"
    assert decision.write is not None
    assert decision.write.default == "100%"


def test_pods_that_may_be_restarted_use_up_the_budget_before_their_cluster_restarts_them() -> None:
    fleet, controller = canary(steps=[{"replicas": "100%"}], maxUnavailable=2)
    fleet.release(V2)
    for _ in range(10):
        controller.step()
    assert sum(fleet.sizes[name] - fleet.held(name) for name in fleet.sizes) == 2


def test_the_deadline_is_measured_from_the_last_pod_that_became_ready() -> None:
    fleet, controller = canary(steps=[{"replicas": 2, "pause": {}}], progressDeadline="5m", maxUnavailable=2)
    fleet.bad.add(V2)
    fleet.release(V2)
    controller.settle()
    controller.wait(200)
    fleet.pods["a"][-1].ready = True
    controller.settle()
    controller.wait(200)
    assert controller.status.phase == "Progressing"
    controller.wait(100)
    assert controller.status.phase == "Degraded"


def test_a_failure_of_very_many_words_is_cut_and_does_not_stop_the_rollout() -> None:
    """The API server refuses a status with a text that is too long."""
    fleet, controller = canary({f"member-{i}": 1 for i in range(200)}, steps=[{"replicas": "100%"}], maxUnavailable=200)
    fleet.bad.add(V2)
    fleet.release(V2)
    controller.settle()
    controller.wait(600)
    assert controller.status.phase == "Degraded"
    assert len(controller.status.failure.message) == 1024
