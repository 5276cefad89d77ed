"""What Prometheus reads of rollouts, and the Events that people read."""

import re
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from tests.unit.rollout.fleet import at_half, canary, released
from uniteddeployment.kube.cache import Cache
from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutStatus
from uniteddeployment_rollout import advance, failures
from uniteddeployment_rollout.advance import REFUSALS
from uniteddeployment_rollout.gates import judge
from uniteddeployment_rollout.loop.metrics import RolloutCollector, RolloutMetrics
from uniteddeployment_rollout.loop.objects import RolloutMetadata, StoredRollout
from uniteddeployment_rollout.loop.writes import dumped

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "rollouts.md").read_text()


def scraped(registry: CollectorRegistry) -> dict[str, float]:
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_gauges_show_the_present_state_and_are_gone_with_the_rollout() -> None:
    cache: Cache[StoredRollout] = Cache()
    registry = CollectorRegistry()
    registry.register(RolloutCollector(cache))
    metadata = RolloutMetadata("web", "default", uid="u", resource_version="1")
    cache.merge(StoredRollout(metadata, {}, dumped(at_half()[1].status)))
    labels = '{name="web",namespace="default"}'
    found = scraped(registry)
    assert found['uniteddeployment_rollout_phase{name="web",namespace="default",phase="Paused"}'] == 1
    assert sum(value for name, value in found.items() if "_phase" in name) == 1
    assert found[f"uniteddeployment_rollout_step{labels}"] == 2
    assert found[f"uniteddeployment_rollout_replicas{labels}"] == 8
    assert found[f"uniteddeployment_rollout_updated_ready_replicas{labels}"] == 4
    cache.discard(("default", "web"))
    assert scraped(registry) == {}


def test_every_step_of_a_run_is_measured_the_last_one_included() -> None:
    """Times are those of the status, so a restart in between changes nothing."""
    registry = CollectorRegistry()
    metrics = RolloutMetrics(registry)
    fleet, controller = released(steps=[{"replicas": 1, "pause": {"duration": "20s"}}, {"replicas": "100%"}])
    fleet.bad.add("v2")
    before = controller.status
    for seconds in (20, 40):
        controller.wait(seconds)
        metrics.changed(before, controller.status)
        before = controller.status
        fleet.bad.clear()
    found = scraped(registry)
    name = "uniteddeployment_rollout_step_duration_seconds"
    assert (found[f"{name}_count"], found[f"{name}_sum"]) == (2, 60)
    assert found['uniteddeployment_rollout_run_duration_seconds_sum{outcome="Completed"}'] == 60
    metrics.changed(before, UnitedRolloutStatus())
    assert scraped(registry) == found


def test_a_step_of_a_run_that_is_rolled_back_is_not_measured() -> None:
    registry = CollectorRegistry()
    metrics = RolloutMetrics(registry)
    _, controller = at_half()
    before = controller.status
    controller.give("1", "abort")
    controller.settle()
    metrics.changed(before, controller.status)
    found = scraped(registry)
    assert found["uniteddeployment_rollout_step_duration_seconds_count"] == 0
    assert found['uniteddeployment_rollout_runs_total{outcome="RolledBack"}'] == 1


def test_a_stalled_subset_is_one_event_with_its_name_and_reason() -> None:
    fleet, controller = released()
    fleet.states["a"] = "Stalled"
    controller.settle()
    controller.settle()
    stalled = [event for event in controller.events if event.reason == "SubsetStalled"]
    assert [(event.type, event.message) for event in stalled] == [
        ("Warning", "step 1 of 3: subset a is stalled: "),
    ]


def test_a_failure_with_an_event_of_its_own_has_no_second_one() -> None:
    fleet, controller = canary()
    fleet.bad.add("v2")
    fleet.release("v2")
    controller.settle()
    controller.wait(3600)
    warnings = [event for event in controller.events if event.type == "Warning"]
    assert [event.reason for event in warnings] == ["ProgressDeadlineExceeded"]
    assert "a: ImagePullBackOff: 1" in warnings[0].message


def test_a_rollout_that_cannot_work_says_why_in_an_event() -> None:
    _, controller = canary()
    decision = advance(controller.rollout, None, controller.now)
    assert [event.reason for event in decision.events] == ["TargetNotFound"]


def test_the_page_lists_every_event_and_every_metric() -> None:
    sources = [path.read_text() for path in (ROOT / "rollout").rglob("*.py")]
    events = {reason for text in sources for reason in re.findall(r'\bevent\(\s*"(\w+)"', text)}
    events |= {reason for reason, _ in judge._EVENTS.values()} | {failures.PROGRESS_DEADLINE, failures.DRIFT}
    events |= {failures.MEMBER_DRIFT, *REFUSALS}
    assert len(events) > 16
    assert [reason for reason in sorted(events) if f"`{reason}`" not in PAGE] == []
    registry = CollectorRegistry()
    RolloutMetrics(registry)
    registry.register(RolloutCollector(Cache()))
    names = {metric.name.removeprefix("uniteddeployment_rollout") for metric in registry.collect()}
    assert [name for name in sorted(names) if name not in PAGE] == []
