"""Gates of steps: what their results mean for a run, in examples and for random results."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.rollout.fleet import EPOCH, V2
from tests.unit.rollout.gates.kit import PROMETHEUS, Gated, GatedFleet, gated
from uniteddeployment_api.v1alpha1.gates import RolloutGateStatus
from uniteddeployment_rollout.gates.probe import Measured, Outcome, Probe
from uniteddeployment_rollout.gates.resolve import Gate
from uniteddeployment_rollout.gates.rows import FINAL, record

PER_SUBSET = {**PROMETHEUS, "scope": "Subset"}
WAVE = [{"replicas": "50%", "gates": [{"name": "errors", "prometheus": PER_SUBSET}]}, {"replicas": "100%"}]


def test_35_a_gate_that_passes_lets_the_run_go_on() -> None:
    fleet, controller = gated(["Success"])
    assert controller.status.phase == "Healthy"
    assert sum(fleet.updated().values()) == 8
    assert "GatePassed" in controller.reasons()


def test_35_a_gate_that_fails_rolls_back_if_the_policy_says_so() -> None:
    fleet, controller = gated(["Failure"], onFailure="Rollback")
    assert controller.worst == 1
    assert sum(fleet.updated(V2).values()) == 0
    assert controller.status.history[0].reason == "GateFailed"


def test_35_a_gate_that_fails_stops_the_run_and_retry_measures_again() -> None:
    fleet, controller = gated(["Failure", "Success"])
    assert controller.status.phase == "Degraded"
    assert controller.status.message == "step 1 of 2: gate errors failed: as scripted"
    assert sum(fleet.updated().values()) == 1
    controller.wait(3600)
    assert len(controller.probes) == 1, "a gate that has failed is not measured again"
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.phase == "Healthy"


@pytest.mark.parametrize("verb", ["skip", "promote"])
def test_a_person_may_continue_although_a_gate_has_failed(verb: str) -> None:
    fleet, controller = gated(["Failure"])
    controller.give("1", verb)
    controller.settle()
    assert sum(fleet.updated().values()) == 8


def test_35_an_inconclusive_gate_pauses_the_run_until_it_is_approved() -> None:
    fleet, controller = gated(["Inconclusive"])
    assert controller.status.phase == "Paused"
    assert "errors is inconclusive: as scripted; give the command approve" in controller.status.message
    assert sum(fleet.updated().values()) == 1
    controller.approve()
    assert controller.status.phase == "Healthy"


def test_an_approval_of_an_inconclusive_gate_does_not_end_the_pause_of_the_step_too() -> None:
    """Each of two people who approve at the same time approves the same thing (scenario 37)."""
    fleet = GatedFleet({"a": 4})
    step = {"replicas": 1, "pause": {}, "gates": [{"name": "errors", "prometheus": PROMETHEUS}]}
    controller = Gated(fleet, ["Inconclusive"], steps=[step, {"replicas": "100%"}])
    fleet.release(V2)
    controller.settle()
    controller.give("1", "approve", by="ann")
    controller.give("2", "approve", by="bob")
    controller.settle()
    assert [controller.answer(id_).result for id_ in ("1", "2")] == ["Done", "Refused"]
    assert (controller.status.phase, controller.status.message) == ("Paused", "step 1 of 2: waits for approval")
    controller.approve()
    assert controller.status.phase == "Healthy"


def test_retry_measures_an_inconclusive_gate_again() -> None:
    _, controller = gated(["Inconclusive", "Success"])
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.phase == "Healthy"


def test_35_errors_hold_the_run_up_to_the_limit_in_silence_and_then_as_degraded_until_measuring_works() -> None:
    fleet, controller = gated(["Error", "Error", "Error", "Success"], {"errorLimit": 1, "interval": "10s"})
    assert controller.status.phase == "Progressing"
    controller.wait(10)
    assert controller.status.phase == "Degraded"
    assert controller.status.conditions[2].reason == "GateError"
    assert sum(fleet.updated().values()) == 1
    assert (controller.status.gates[0].errors, controller.status.gates[0].consecutive_errors) == (2, 2)
    controller.wait(10)
    controller.wait(10)
    assert controller.status.phase == "Healthy"


def test_a_gate_that_never_answers_holds_the_run_and_nothing_else() -> None:
    fleet, controller = gated([None])
    controller.wait(86400)
    assert controller.status.phase == "Progressing"
    assert controller.status.step_state == "Measuring"
    assert sum(fleet.updated().values()) == 1


@pytest.mark.parametrize("answer", ["Failure", "Inconclusive", "Wait"])
def test_a_dry_run_gate_records_and_never_stops(answer: Outcome) -> None:
    fleet, controller = gated([answer], {"dryRun": True}, onFailure="Rollback")
    assert sum(fleet.updated().values()) == 8
    assert any("(dry run)" in event.message for event in controller.events)


def test_a_dry_run_gate_that_cannot_be_measured_holds_the_step_only_up_to_the_limit_of_errors() -> None:
    fleet, _ = gated(["Error"], {"dryRun": True, "errorLimit": 0})
    assert sum(fleet.updated().values()) == 8


def test_measurements_are_taken_count_times_at_the_interval_after_the_delay() -> None:
    times = []
    fleet = GatedFleet({"a": 2})
    gate = {"name": "errors", "prometheus": PROMETHEUS, "count": 3, "interval": "20s", "initialDelay": "5s"}

    def answer(_: Probe) -> Outcome:
        times.append(seconds(controller))
        return "Success"

    controller = Gated(fleet, answer, steps=[{"replicas": 1, "bake": "10s", "gates": [gate]}, {"replicas": "100%"}])
    fleet.release(V2)
    controller.settle()
    while controller.status.phase != "Healthy":
        controller.wait(1)
    assert times == [15, 35, 55]


def seconds(controller: Gated) -> float:
    return (controller.now - EPOCH).total_seconds()


def test_each_subset_with_updated_pods_is_measured_with_its_own_names_and_those_that_fail_are_named() -> None:
    fleet = GatedFleet({"a": 4, "b": 2, "c": 2})
    controller = Gated(fleet, lambda probe: "Failure" if probe.id.subset == "b" else "Success", steps=WAVE)
    fleet.release(V2)
    controller.settle()
    assert controller.rows == {("errors", "a"): "Passed", ("errors", "b"): "Failed", ("errors", "c"): "Passed"}
    assert "gate errors failed in b" in controller.status.message
    variables = next(probe.variables for probe in controller.probes if probe.id.subset == "b")
    assert variables == {
        "namespace": "default",
        "name": "web",
        "subset": "b",
        "cluster": "b",
        "revision": "hash-v2",
        "stableRevision": "hash-v1",
    }


def test_for_all_subsets_together_different_values_are_alternatives_of_a_regular_expression() -> None:
    _, controller = gated(["Success"], steps=[{"replicas": "50%", "gates": [{"name": "e", "prometheus": PROMETHEUS}]}])
    assert controller.probes[0].variables["subset"] == "a|b|c"
    assert controller.probes[0].variables["revision"] == "hash-v2"


def test_pods_that_are_not_ready_any_more_discard_what_was_measured() -> None:
    fleet, controller = gated(["Success", None], {"count": 2})
    assert controller.status.gates[0].successes == 1
    fleet.pods["a"][-1].ready = False
    controller.settle()
    assert controller.status.gates[0].successes == 0
    assert controller.status.gate_attempt == 1
    late = controller.probes[0].id
    controller.measured[late] = Measured("Failure")
    controller.wait(60)
    assert controller.status.phase == "Progressing", "a late result of the first attempt counts for nothing"


def test_another_template_discards_what_was_measured() -> None:
    fleet, controller = gated(["Success", None], {"count": 2})
    fleet.release("v3")
    controller.settle()
    assert controller.status.gates[0].number == 0
    assert controller.status.run_count == 2


def test_a_process_that_knows_nothing_repeats_no_measurement_that_is_in_the_status() -> None:
    """Killing it between any two writes changes nothing but time."""
    fleet = GatedFleet({"a": 4})
    gate = {"name": "errors", "prometheus": PROMETHEUS, "count": 3, "interval": "10s"}
    controller = Gated(fleet, ["Success"], steps=[{"replicas": 1, "gates": [gate]}, {"replicas": "100%"}])
    fleet.release(V2)
    for _ in range(200):
        controller.restart()
        controller.step(dies_before_write=True)
        controller.step()
        fleet.tick()
        controller.now += timedelta(seconds=1)
    assert controller.status.phase == "Healthy"
    assert [probe.id.number for probe in controller.probes] == [0, 1, 2]


def test_a_gate_without_a_measurement_uses_the_template_of_its_name_with_arguments() -> None:
    fleet = GatedFleet({"a": 4})
    controller = Gated(fleet, ["Success"], steps=[{"replicas": 1, "gates": [{"name": "errors"}]}])
    fleet.release(V2)
    controller.settle()
    assert controller.status.phase == "Degraded"
    assert "there is no GateTemplate errors" in controller.status.message
    args = [{"name": "job"}, {"name": "most", "default": "0.05"}]
    controller.template("errors", prometheus={**PROMETHEUS, "successCondition": "result < {{args.most}}"}, args=args)
    controller.settle()
    assert "the argument job of GateTemplate errors has no value" in controller.status.message
    gate = {"name": "errors", "args": [{"name": "job", "value": "web"}]}
    controller.edit(steps=[{"replicas": 1, "gates": [gate]}])
    controller.settle()
    assert controller.status.phase == "Healthy"
    assert controller.probes[0].gate.args == {"args.job": "web", "args.most": "0.05"}


def test_restarts_of_updated_pods_fail_the_readiness_gate() -> None:
    fleet, controller = gated([], {"readiness": {}, "count": 2, "interval": "30s"})
    fleet.restarts["a"] = 1
    controller.wait(30)
    assert controller.status.phase == "Degraded"
    assert "containers of updated pods restarted 1 times" in controller.status.message


def test_36_restarts_of_stable_pods_in_the_same_cluster_are_not_blamed_on_the_new_version() -> None:
    fleet, controller = gated([], {"readiness": {}, "count": 2, "interval": "30s"}, onFailure="Rollback")
    fleet.restarts["a"] = 1
    fleet.stable_restarts["a"] = 3
    controller.wait(30)
    assert controller.status.phase == "Paused"
    assert "the new version is not to blame" in controller.status.message


def test_restarts_that_stable_pods_had_long_ago_excuse_nothing() -> None:
    fleet, controller = gated([None], {"readiness": {}, "initialDelay": "1m"})
    fleet.restarts["a"] = 1
    fleet.stable_restarts["a"] = 300
    controller.wait(60)
    assert controller.status.phase == "Degraded"


OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["Success", "Failure", "Inconclusive", "Error", "Wait"])


@settings(deadline=None)
@given(
    outcomes=st.lists(OUTCOMES, max_size=30),
    count=st.integers(1, 6),
    limits=st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)),
    dry_run=st.booleans(),
)
def test_a_gate_passes_only_with_enough_measurements_and_within_its_limits(
    outcomes: list[Outcome], count: int, limits: tuple[int, int, int], dry_run: bool
) -> None:
    gate = Gate("g", count=count, failure_limit=limits[0], inconclusive_limit=limits[1], error_limit=limits[2])
    row = RolloutGateStatus(name="g", dry_run=dry_run)
    for outcome in outcomes:
        if row.state in FINAL:
            break
        row = record(row, gate, Measured(outcome, "1.5"), "2026-01-01T00:00:00Z")
    measured = row.successes + row.failures + row.inconclusive
    assert len(row.values) <= 5
    assert (row.state == "Failed") == (row.failures > limits[0])
    if row.state == "Passed":
        assert measured == count
        assert row.successes >= 1
        assert row.inconclusive <= limits[1]
    if row.state == "Error":
        assert row.consecutive_errors > limits[2]
    if row.state in ("Running", "Error"):
        assert measured < count


def test_of_fifty_clusters_with_two_gates_the_status_is_small() -> None:
    """Status stays under 100 kB for 50 clusters, also if every measurement has a long message."""
    fleet = GatedFleet({f"subset-of-cluster-{number}": 2 for number in range(50)})
    gates = [{"name": name, "prometheus": PER_SUBSET, "count": 9, "failureLimit": 8} for name in ("errors", "latency")]
    controller = Gated(fleet, [Measured("Failure", "1" * 100, "m" * 1000)], steps=[{"replicas": "50%", "gates": gates}])
    fleet.release(V2)
    controller.settle()
    for _ in range(6):
        controller.wait(30)
    assert len(controller.status.gates) == 100
    assert len(controller.status.gates[0].values) == 5
    assert len(controller.status.model_dump_json(by_alias=True, exclude_defaults=True)) < 100_000


def test_a_gate_that_fails_in_one_cluster_takes_that_cluster_back_if_the_policy_says_so() -> None:
    fleet = GatedFleet({"a": 4, "b": 2, "c": 2})
    answers: dict[str, Outcome] = {"a": "Success", "b": "Failure", "c": "Success"}
    controller = Gated(fleet, lambda probe: answers[probe.id.subset], steps=WAVE, onFailure="RollbackCluster")
    fleet.release(V2)
    controller.settle()
    assert controller.status.phase == "Degraded"
    assert controller.status.reverted == ("b",)
    assert "gate errors failed in b" in controller.status.message
    answers["b"] = "Success"
    controller.give("1", "retry")
    controller.settle()
    assert controller.status.phase == "Healthy"


def test_only_errors_in_a_row_count_towards_their_limit() -> None:
    row, gate = RolloutGateStatus(name="g"), Gate("g", count=9, failure_limit=8, error_limit=1)
    for outcome in ("Error", "Success", "Error", "Failure", "Error"):
        row = record(row, gate, Measured(outcome), "2026-01-01T00:00:00Z")
    assert (row.state, row.errors, row.consecutive_errors) == ("Running", 3, 1)
    assert record(row, gate, Measured("Error"), "2026-01-01T00:00:00Z").state == "Error"


def test_an_error_that_waiting_does_not_help_is_reported_at_once() -> None:
    _, controller = gated([Measured("Error", message="the query is not valid", permanent=True)], {"errorLimit": 9})
    assert controller.status.phase == "Degraded"
    assert "gate errors cannot be measured: the query is not valid" in controller.status.message


def test_a_webhook_that_says_wait_is_asked_again_after_the_interval_and_nothing_is_counted() -> None:
    fleet, controller = gated(["Wait", "Wait", "Success"], {"interval": "10s"})
    assert controller.status.step_state == "Measuring"
    controller.wait(9)
    assert len(controller.probes) == 1
    controller.wait(1)
    assert len(controller.probes) == 2
    assert controller.status.gates[0].number == 0
    assert sum(fleet.updated().values()) == 1
    controller.wait(10)
    assert controller.status.phase == "Healthy"


def test_a_gate_that_has_passed_is_not_measured_again_during_the_pause() -> None:
    fleet = GatedFleet({"a": 4})
    gate = {"name": "restarts", "readiness": {}}
    controller = Gated(fleet, [], steps=[{"replicas": 1, "pause": {}, "gates": [gate]}, {"replicas": "100%"}])
    fleet.release(V2)
    controller.settle()
    fleet.restarts["a"] = 5
    controller.wait(300)
    assert (controller.status.phase, controller.rows) == ("Paused", {("restarts", "a"): "Passed"})


def test_a_subset_without_updated_pods_is_not_measured() -> None:
    fleet = GatedFleet({"a": 4, "b": 2})
    gate = {"name": "errors", "prometheus": PER_SUBSET}
    controller = Gated(fleet, [None], steps=[{"replicas": 1, "gates": [gate]}, {"replicas": "100%"}])
    fleet.release(V2)
    controller.settle()
    assert list(controller.rows) == [("errors", "a")]


def test_at_the_last_step_queries_still_have_the_stable_revision_of_the_run() -> None:
    """The UnitedDeployment reports the new revision as the stable one as soon as all pods are ready."""
    fleet = GatedFleet({"a": 2})
    gate = {"name": "errors", "prometheus": PER_SUBSET}
    controller = Gated(fleet, ["Success"], steps=[{"replicas": "100%", "bake": "5s", "gates": [gate]}])
    fleet.release(V2)
    controller.settle()
    assert fleet.current == V2
    controller.wait(5)
    assert controller.status.phase == "Healthy"
    assert controller.probes[0].variables["stableRevision"] == "hash-v1"
