"""The stories of a rollout under their numbers in the list of scenarios: steps, rollbacks, other templates, sizes.

Four, two and two pods in three clusters run v1; the steps are 1 pod, 50 % and 100 %. Stories that need clusters or
requests are in tests/simulation/rollout.
"""

import pytest

from tests.unit.rollout.fleet import STEPS, V2, at_half, canary, released


def test_01_the_first_step_updates_one_pod_of_all_and_waits_for_approval() -> None:
    fleet, controller = released()
    assert fleet.updated() == {"a": 1, "b": 0, "c": 0}
    assert (controller.status.phase, controller.status.step, controller.status.steps) == ("Paused", 1, 3)


def test_02_an_approval_leads_to_half_of_all_pods_and_never_to_more() -> None:
    fleet, controller = released()
    controller.give("1", "approve")
    for _ in range(100):
        controller.step()
        fleet.tick()
        assert sum(fleet.updated().values()) <= 4
    assert fleet.partitions == {"a": 2, "b": 1, "c": 1}


def test_03_after_the_last_step_the_new_revision_is_stable_and_the_next_template_is_held() -> None:
    fleet, controller = at_half()
    controller.approve()
    assert fleet.current == fleet.template == controller.status.stable_revision == V2
    assert controller.status.phase == "Healthy"
    assert (fleet.default, fleet.partitions) == ("100%", {})
    assert controller.status.history[0].outcome == "Completed"


def test_04_a_timed_pause_starts_when_the_last_pod_of_the_step_is_ready() -> None:
    fleet, controller = canary(steps=[{"replicas": 2, "pause": {"duration": "60s"}}, {"replicas": "100%"}])
    fleet.release(V2)
    fleet.bad.add(V2)
    controller.settle()
    controller.wait(50)
    fleet.bad.clear()
    controller.settle()
    assert sum(fleet.updated().values()) == 2
    controller.wait(59)
    assert sum(fleet.updated().values()) == 2
    assert controller.decide().requeue_after == pytest.approx(1)
    controller.wait(1)
    assert sum(fleet.updated().values()) == 8


@pytest.mark.parametrize("dies", range(12))
def test_05_a_controller_that_dies_between_two_writes_ends_in_the_same_state(dies: int) -> None:
    fleet, controller = canary(steps=[{"replicas": "50%", "pause": {"duration": "60s"}}, {"replicas": "100%"}])
    fleet.release(V2)
    for number in range(40):
        controller.step(dies_before_write=number == dies)
        fleet.tick()
    assert sum(fleet.updated().values()) == 4
    controller.wait(60)
    assert fleet.updated() == {"a": 4, "b": 2, "c": 2}
    assert controller.worst <= 1


def test_07_a_template_that_is_written_while_no_controller_runs_updates_nothing() -> None:
    fleet, controller = canary()
    fleet.release(V2)
    while fleet.tick():
        pass
    assert sum(fleet.updated().values()) == 0
    controller.settle()
    assert sum(fleet.updated().values()) == 1


def test_08_a_bad_image_stops_at_one_pod_and_the_message_names_subset_and_reason() -> None:
    fleet, controller = canary(maxUnavailable=3)
    fleet.bad.add(V2)
    fleet.release(V2)
    controller.settle()
    assert fleet.updated() == {"a": 1, "b": 0, "c": 0}
    assert "a: ImagePullBackOff" in controller.status.message
    controller.wait(600)
    assert controller.status.phase == "Degraded"
    assert "a: ImagePullBackOff" in controller.status.message
    assert fleet.updated() == {"a": 1, "b": 0, "c": 0}


def test_09_a_crash_during_the_bake_time_starts_it_again() -> None:
    fleet, controller = released(steps=[{"replicas": 1, "bake": "60s"}, {"replicas": "100%"}])
    assert controller.status.step_state == "Baking"
    controller.wait(40)
    fleet.bad.add(V2)
    fleet.pods["a"][-1].ready = False
    controller.settle()
    assert controller.status.step_state == "Updating"
    controller.wait(30)
    fleet.bad.clear()
    controller.settle()
    controller.wait(59)
    assert sum(fleet.updated().values()) == 1
    controller.wait(1)
    assert sum(fleet.updated().values()) == 8


def test_10_a_passed_deadline_holds_until_a_retry_or_until_the_pods_are_ready() -> None:
    fleet, controller = canary(progressDeadline="5m")
    fleet.bad.add(V2)
    fleet.release(V2)
    controller.settle()
    assert controller.decide().requeue_after == 300
    controller.wait(300)
    assert controller.status.failure.reason == "ProgressDeadlineExceeded"
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.phase == "Progressing"
    controller.wait(300)
    assert controller.status.phase == "Degraded"
    fleet.bad.clear()
    controller.settle()
    assert controller.status.phase == "Paused"


def test_10_a_passed_deadline_rolls_back_if_that_is_the_policy() -> None:
    fleet, controller = canary(onFailure="Rollback")
    fleet.bad.add(V2)
    fleet.release(V2)
    controller.settle()
    controller.wait(600)
    assert fleet.template == "v1"
    assert fleet.updated("v1") == {"a": 4, "b": 2, "c": 2}
    assert controller.status.phase == "Healthy"
    assert (controller.status.history[0].outcome, controller.status.history[0].reason) == (
        "RolledBack",
        "ProgressDeadlineExceeded",
    )


def test_11_an_abort_takes_all_pods_back_to_the_stable_revision() -> None:
    fleet, controller = at_half()
    controller.give("x", "abort")
    controller.settle()
    assert fleet.updated("v1") == {"a": 4, "b": 2, "c": 2}
    assert controller.status.history[0].outcome == "RolledBack"
    assert controller.status.phase == "Healthy"
    assert (fleet.default, fleet.partitions) == ("100%", {})


def test_11_a_revision_that_was_rolled_back_is_not_rolled_out_again_without_a_retry() -> None:
    """A GitOps tool that writes it again must not start a loop."""
    fleet, controller = at_half()
    controller.give("x", "abort")
    controller.settle()
    fleet.release(V2)
    controller.settle()
    assert controller.status.phase == "Degraded"
    assert sum(fleet.updated().values()) == 0
    controller.give("y", "retry")
    controller.settle()
    assert sum(fleet.updated().values()) == 1


@pytest.mark.parametrize("pause", ["spec", "command"])
def test_13_a_rollback_works_while_the_rollout_is_paused(pause: str) -> None:
    fleet, controller = at_half()
    if pause == "spec":
        controller.edit(paused=True)
    else:
        controller.give("p", "pause")
    controller.settle()
    controller.give("x", "abort")
    controller.settle()
    assert fleet.updated("v1") == {"a": 4, "b": 2, "c": 2}


def test_14_the_stable_template_at_the_last_step_is_a_rollback_and_not_a_release() -> None:
    fleet, controller = released(steps=[{"replicas": "100%", "pause": {}}])
    fleet.current = "v1"  # nobody has approved it, so it is not stable for the rollout
    fleet.release("v1")
    controller.settle()
    assert fleet.updated() == {"a": 4, "b": 2, "c": 2}
    assert [run.outcome for run in controller.status.history] == ["RolledBack"]


def test_14_the_stable_template_in_mid_run_is_a_rollback_without_steps() -> None:
    fleet, controller = at_half()
    fleet.release("v1")
    controller.settle()
    assert fleet.updated() == {"a": 4, "b": 2, "c": 2}
    assert [run.outcome for run in controller.status.history] == ["RolledBack"]
    assert controller.status.history[0].reason == "Reverted"


@pytest.mark.parametrize(("back", "phase"), [("abort", "Degraded"), ("template", "Paused")])
def test_14_a_new_template_that_comes_back_during_its_rollback_starts_again_at_step_1(back: str, phase: str) -> None:
    """After an abort it waits for a retry: a GitOps tool may have written it again."""
    fleet, controller = at_half()
    fleet.lose("c")
    if back == "abort":
        controller.give("x", "abort")
    else:
        fleet.release("v1")
    controller.settle()
    assert controller.status.phase == "RollingBack"
    fleet.find("c")
    fleet.release(V2)
    controller.settle()
    assert (controller.status.phase, controller.status.step) == (phase, 1)
    assert fleet.updated(V2) == {"a": 0, "b": 0, "c": 1}, "the pod that was left is the one of step 1"


@pytest.mark.parametrize(("window", "updated"), [(0, 1), (1, 8)])
def test_15_going_back_after_completion_takes_all_steps_and_none_within_the_window(window: int, updated: int) -> None:
    fleet, controller = at_half(rollbackWindow=window)
    controller.approve()
    fleet.release("v1")
    controller.settle()
    assert sum(fleet.updated().values()) == updated
    assert controller.worst == 1


@pytest.mark.parametrize("ticks", [0, 20])
def test_16_another_template_in_mid_run_starts_again_at_step_1_and_keeps_the_stable_revision(ticks: int) -> None:
    fleet, controller = at_half()
    fleet.release("v3")
    for _ in range(ticks):
        fleet.tick()  # the clusters may be faster than the rollout controller
    controller.settle()
    assert controller.status.stable_revision == "v1"
    assert controller.status.update_revision == "v3"
    assert controller.status.step == 1
    assert [run.outcome for run in controller.status.history] == ["Superseded"]
    assert sum(fleet.updated("v1").values()) >= 4, "no stable pod was given up"
    assert sum(fleet.updated("v3").values()) == 1, "not one pod more than step 1 asks for"


def test_17_a_new_generation_without_a_new_revision_starts_no_run() -> None:
    fleet, controller = canary()
    fleet.changed()
    controller.settle()
    assert controller.status.phase == "Healthy"
    assert controller.status.run_count == 0


def test_18_edited_pauses_apply_to_the_present_run() -> None:
    fleet, controller = released()
    controller.edit(steps=[{"replicas": 1, "pause": {"duration": "60s"}}, *STEPS[1:]])
    controller.settle()
    assert controller.status.step == 1
    controller.wait(60)
    assert sum(fleet.updated().values()) == 4


def test_19_steps_that_get_smaller_take_no_updated_pod_back() -> None:
    fleet, controller = at_half()
    controller.edit(steps=[{"replicas": 1}, {"replicas": 2, "pause": {}}, {"replicas": "100%"}])
    controller.settle()
    assert fleet.updated() == {"a": 2, "b": 1, "c": 1}
    assert fleet.partitions == {"a": 2, "b": 1, "c": 1}
    assert controller.status.step == 2


def test_19_steps_that_are_removed_leave_the_run_at_the_last_one() -> None:
    _, controller = at_half()
    controller.edit(steps=[{"replicas": "60%", "pause": {}}, {"replicas": "100%", "pause": {}}])
    controller.settle()
    assert (controller.status.step, controller.status.steps) == (2, 2)


def test_20_a_subset_that_grows_gets_its_share_of_the_new_total() -> None:
    fleet, controller = at_half()
    fleet.scale(a=8)
    controller.settle()
    assert sum(controller.status.subsets[i].target_replicas for i in range(3)) == 6
    assert fleet.updated() == {"a": 4, "b": 1, "c": 1}
    assert controller.status.updated_replicas == 6


def test_21_a_subset_that_loses_its_canary_by_scaling_gets_it_back() -> None:
    fleet, controller = at_half()
    fleet.scale(a=2)
    controller.settle()
    assert sum(fleet.updated().values()) == 3, "half of six pods"
    assert controller.status.phase == "Paused"
    assert controller.status.step == 2


def test_22_scaling_to_zero_and_back_keeps_the_stable_revision_and_the_step() -> None:
    fleet, controller = at_half()
    fleet.scale(a=0, b=0, c=0)
    controller.settle()
    assert (controller.status.stable_revision, controller.status.step) == ("v1", 2)
    fleet.scale(a=4, b=2, c=2)
    controller.settle()
    assert sum(fleet.updated().values()) == 4
    assert controller.status.step == 2


def test_23_an_autoscaler_that_flaps_restarts_no_step_and_costs_one_write_per_size() -> None:
    fleet, controller = canary({"a": 8}, steps=STEPS[1:], maxUnavailable=12)
    fleet.release(V2)
    controller.settle()
    for _ in range(4):
        for size in (12, 8):
            before = len(controller.writes)
            fleet.scale(a=size)
            controller.settle()
            assert fleet.updated()["a"] == size // 2
            assert controller.status.step == 1
            assert len(controller.writes) <= before + 1


def test_24_a_subset_that_is_added_comes_up_at_the_stable_revision_and_joins() -> None:
    fleet, controller = at_half()
    fleet.sizes["d"], fleet.pods["d"] = 4, []
    fleet.changed()
    for _ in range(8):
        fleet.tick()
    assert fleet.updated()["d"] == 0
    controller.settle()
    assert sum(fleet.updated().values()) == 6
    assert "d" in fleet.partitions


def test_25_a_subset_that_is_removed_leaves_the_counts_and_the_run_goes_on() -> None:
    fleet, controller = at_half()
    del fleet.sizes["c"], fleet.pods["c"], fleet.partitions["c"]
    fleet.changed()
    controller.settle()
    assert [row.name for row in controller.status.subsets] == ["a", "b"]
    controller.approve()
    assert controller.status.phase == "Healthy"
