"""Scenario 51: whatever users, clusters and crashes do in whatever order, the invariants of a rollout hold.

``python -m tests.bench rollouts`` tries more examples, with other seeds each time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.unit.rollout.machine import PLANS, Rollouts
from uniteddeployment_rollout import budget, commands, failures, pace, runs
from uniteddeployment_rollout.target import Target

# The package has a function of the same name.
advance = import_module("uniteddeployment_rollout.advance")
SUITE = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    # A failure prints its rules. Shrinking takes minutes: do it by hand with Phase.shrink.
    phases=[Phase.generate],
    print_blob=False,
)


def test_51_the_invariants_hold_in_random_histories() -> None:
    run_state_machine_as_test(Rollouts, settings=SUITE)


def test_51_a_plan_that_asks_for_less_changes_nothing_where_nobody_can_see() -> None:
    """The lost cluster may have updated what an earlier plan allowed, so its limit is that of the earlier plan."""
    history = Rollouts()
    history.begin(
        sizes=(3, 5, 2), plan=PLANS[4], most=2, unreachable="Hold", failure="Hold", distribution="Even", released=3
    )
    history.lose(name="c", passes=30)
    history.lose(name="b", passes=9)
    lost = {name: history.fleet.partitions[name] for name in "bc"}
    history.edit(failure="Hold", plan=PLANS[3], passes=30)
    assert {name: history.fleet.partitions[name] for name in "bc"} == lost
    history.teardown()


@dataclass(frozen=True)
class Defect:
    """``put(original)`` takes the place of an attribute."""

    owner: Any
    attribute: str
    put: Callable[[Any], Any]


def _one_more(limit: Any) -> Any:
    return lambda *args: limit(*args) + 1


def _nothing(_: Any) -> Any:
    return lambda *_args, **_options: iter(())


def _without_limit(write: Any) -> Any:
    def without(*args: Any) -> Any:
        result = write(*args)
        return replace(result, max_updated={}) if result else None

    return without


def _without_one_subset(write: Any) -> Any:
    def without(*args: Any) -> Any:
        result = write(*args)
        return replace(result, partitions=dict(list(result.partitions.items())[1:])) if result else None

    return without


def _new_one_is_stable(start: Any) -> Any:
    def started(draft: Any, spec: Any, target: Target) -> None:
        draft.set(stable_revision=target.updated_revision)
        start(draft, spec, target)

    return started


def _counted_again(follow: Any) -> Any:
    def followed(draft: Any, spec: Any, target: Target) -> None:
        follow(draft, spec, target)
        draft.set(run_count=draft.status.run_count + 1)

    return followed


def _approved_again(_: Any) -> Any:
    return lambda draft, *_: draft.set(approved=True)


def _all_clusters(fail: Any) -> Any:
    """It also takes back clusters when the policy is to hold."""

    def failed(draft: Any, spec: Any, target: Target, problem: Any) -> None:
        fail(draft, spec, target, problem)
        if draft.status.rollback is None:
            draft.set(reverted=tuple(target.sizes))

    return failed


def _done_at_once(decide: Any) -> Any:
    def decided(draft: Any, rollout: Any, target: Target) -> Any:
        if target.updated_revision == draft.status.stable_revision:
            runs.rolled_back(draft, target)
        return decide(draft, rollout, target)

    return decided


DEFECTS = {
    "one pod more than the budget is down": Defect(budget, "limit", _one_more),
    "partitions are lowered although something holds the run": Defect(advance, "holds", _nothing),
    "a subset that grows is not limited": Defect(advance, "_write", _without_limit),
    "a partition is missing": Defect(advance, "_write", _without_one_subset),
    "a run forgets the stable revision": Defect(runs, "_start", _new_one_is_stable),
    "a decision differs when it is made again": Defect(runs, "follow", _counted_again),
    "a step is over before its pods are ready": Defect(pace, "reached", lambda _: lambda *_: True),
    "a pause is over at once": Defect(pace, "pause", lambda _: lambda *_: None),
    "a bake time is over at once": Defect(pace, "bake", lambda _: lambda *_: None),
    "a step is approved twice": Defect(commands, "_VERBS", lambda verbs: {**verbs, "approve": _approved_again(None)}),
    "partitions of others are replaced without a retry": Defect(
        failures, "_changed_partition", lambda _: lambda *_: ""
    ),
    "all clusters go back under every policy": Defect(failures, "fail", _all_clusters),
    "a rollback ends before the pods are back": Defect(advance, "_roll_back", _done_at_once),
}


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_51_random_histories_find_a_defect(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories that find nothing prove something only if they would find this."""
    monkeypatch.setattr(defect.owner, defect.attribute, defect.put(getattr(defect.owner, defect.attribute)))
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Rollouts, settings=SUITE)
