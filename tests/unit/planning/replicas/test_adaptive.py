"""Adaptive scheduling: which subsets count as unschedulable, for how long, and what that moves."""

import dataclasses
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.planning import NOW, application, manifest, status_of
from tests.unit.planning.replicas.adaptive_state import Seen, adaptive, ago, condition, pod, snapshot
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Reach, tally
from uniteddeployment.planning.observed.values import later, seconds, since
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.replicas.adaptive import OrdinalOrder, in_order
from uniteddeployment.planning.replicas.divide import Division
from uniteddeployment.planning.replicas.divide import divide as divide_replicas
from uniteddeployment.planning.stored import StoredCondition, StoredStatus

TWO = {"a": {"maxReplicas": 5}, "b": {}}


def divide(app: Application, **seen: Any) -> Division:
    subject, observed = snapshot(app, seen)
    return divide_replicas(subject, app, observed)


def schedulable(result: Division, name: str = "a") -> tuple[str, float | None]:
    return result.conditions[name].status, result.requeue_after


# --- Times and pods ---------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**33), st.integers(-14 * 60, 14 * 60))
def test_times_are_read_as_the_calendar_has_them(expected: int, offset: int) -> None:
    moment = datetime.fromtimestamp(expected, UTC).replace(tzinfo=None)
    sign, size = "-" if offset < 0 else "+", abs(offset)
    assert seconds(f"{moment.isoformat()}Z") == seconds(f"{moment.isoformat()}.123456Z") == expected
    assert seconds(f"{moment.isoformat()}{sign}{size // 60:02}:{size % 60:02}") == expected - offset * 60


@given(st.integers(0, 2**33), st.integers(-(2**30), 2**30))
@example(int(datetime(2000, 2, 29, tzinfo=UTC).timestamp()), 0)
@example(int(datetime(2100, 2, 28, tzinfo=UTC).timestamp()), 86400)
@example(int(datetime(2400, 2, 29, tzinfo=UTC).timestamp()), 0)
def test_times_are_shifted_as_the_calendar_has_them(begun: int, by: int) -> None:
    text = f"{datetime.fromtimestamp(begun, UTC).replace(tzinfo=None).isoformat()}Z"
    assert seconds(later(text, by)) == begun + by
    assert later(later(text, by), -by) == text


def test_what_is_no_time_has_just_begun_and_so_has_the_future() -> None:
    assert since("yesterday", NOW) == since(None, NOW) == since(ago(-3600), NOW) == 0
    assert since(ago(3600), NOW) == 3600


@pytest.mark.parametrize("ahead", [-3600, 0, 3600])
@pytest.mark.parametrize("reserve", [False, True])
def test_the_clock_of_a_cluster_changes_nothing(ahead: int, reserve: bool) -> None:
    """Times of pods are those of the clock of their cluster, and messages have ours."""
    app = adaptive(8, {"a": {"maxReplicas": 4}, "b": {}}, reserve=reserve)

    def found(age: float, ahead: int) -> Division:
        return divide(app, a=Seen(4, waiting=[age, age], ready=[age, age], ahead=ahead), b=Seen(4, ready=[99] * 4))

    for age in (0, 29, 30, 400):
        assert found(age, ahead) == found(age, 0)
    assert found(29, ahead).replicas != found(30, ahead).replicas


def test_only_a_pod_that_the_scheduler_found_no_node_for_is_unscheduled() -> None:
    """Scenario 27: not one that is gated, starts, crashes, is ready, is going away or was never looked at."""
    app = adaptive(9, TWO)
    gone = pod(app, "a", 5, condition("PodScheduled", "False", 99, "Unschedulable"))
    gone = type(gone)(type(gone.metadata)(gone.metadata.name, deletion_timestamp=NOW), gone.status)
    pods = [
        pod(app, "a", 0, condition("PodScheduled", "False", 99, "Unschedulable", "no room")),
        pod(app, "a", 1, condition("PodScheduled", "False", 99, "SchedulingGated")),
        pod(app, "a", 2, condition("PodScheduled", "True", 99), condition("Ready", "False", 99)),
        pod(app, "a", 3, condition("PodScheduled", "True", 99), condition("Ready", "True", 99)),
        pod(app, "a", 4),
        gone,
    ]
    assert tally(pods).unscheduled == ((0, ago(99)),)


# --- How long ---------------------------------------------------------------------------------------------------------


def test_a_pod_that_has_waited_for_less_than_the_critical_time_is_looked_at_again_then() -> None:
    """Scenario 22."""
    assert schedulable(divide(adaptive(2, TWO), a=Seen(2, waiting=[15], ready=[500]), b=Seen())) == ("True", 15)


def test_a_pod_that_has_waited_for_too_long_marks_its_subset() -> None:
    """Scenario 23, and the reason says it in words. Nothing has to be looked at before the mark is stored."""
    result = divide(adaptive(4, TWO), a=Seen(4, waiting=[31, 40], ready=[500, 500]), b=Seen())
    assert schedulable(result) == ("False", None)
    assert result.persist_first
    assert dict(result.desired) == {"a": 2, "b": 2}
    assert result.conditions["a"].last_transition_time == NOW
    assert result.conditions["a"].message == "2 of 4 could not be scheduled in a since 23:59"
    assert result.reasons["a"].endswith("2 of 4 could not be scheduled in a since 23:59")


def test_a_mark_lasts_for_its_time_after_the_pods_have_moved() -> None:
    """Scenarios 23 and 24: 300 s in all, 240 after 60, and the words stay."""
    result = divide(adaptive(4, TWO), a=Seen(2, ready=[500, 500], marked=60), b=Seen(2, ready=[20, 20]))
    assert schedulable(result) == ("False", 240)
    assert not result.persist_first
    assert "minimum" not in result.reasons["a"], "it has no more than it can run"
    condition = StoredCondition("Schedulable", "False", None, ago(60), "Unschedulable", "as before")
    assert result.conditions["a"] == condition


def test_a_mark_ends_when_its_time_is_over_and_everything_runs() -> None:
    """Scenario 25; nothing moves back (I5)."""
    result = divide(adaptive(4, TWO), a=Seen(2, ready=[500, 500], marked=360), b=Seen(2, ready=[20, 20]))
    assert schedulable(result) == ("True", None)
    assert result.conditions["a"].last_transition_time == NOW
    assert dict(result.desired) == {"a": 2, "b": 2}
    waits = divide(adaptive(4, TWO), a=Seen(2, ready=[500], waiting=[10], marked=360), b=Seen(2, ready=[20, 20]))
    assert schedulable(waits) == ("True", 20), "one that has begun to wait may mark it again"


def test_a_mark_stays_as_long_as_a_minimum_waits_and_nothing_is_written_for_it() -> None:
    """OpenKruise lifts the mark and sets it again each time; ours just stays (I3)."""
    app = adaptive(4, {"a": {"minReplicas": 1}, "b": {}})
    result = divide(app, a=Seen(1, waiting=[5000], marked=4000), b=Seen(3, ready=[9, 9, 9]))
    assert schedulable(result) == ("False", None)
    assert result.conditions["a"].last_transition_time == ago(4000)
    assert not result.persist_first
    assert dict(result.desired) == {"a": 1, "b": 3}
    assert result.reasons["a"].startswith("1 are its minimum")


def test_a_subset_that_has_recovered_gets_the_next_pods_and_is_marked_only_if_those_wait_too() -> None:
    """Scenario 28."""
    settled = {"a": Seen(2, ready=[500, 500], marked=360), "b": Seen(2, ready=[20, 20])}
    result = divide(adaptive(6, TWO), **settled)
    assert dict(result.desired) == {"a": 4, "b": 2}
    assert schedulable(divide(adaptive(6, TWO), a=Seen(4, ready=[500, 500], waiting=[1, 1]), b=Seen(2))) == ("True", 29)


# --- What counts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
def test_a_rolling_update_or_a_crash_loop_moves_nothing(kind: str) -> None:
    """Scenario 55: pods that have a node and are not ready, and pods that are missing between two steps."""
    app = adaptive(8, {"a": {"maxReplicas": 5}, "b": {}, "c": {}}, kind=kind)
    for a in (Seen(3, starting=3), Seen(3, ready=[9], starting=1), Seen(3), Seen(3, waiting=[2], ready=[9, 9])):
        for c in (Seen(5, starting=5), Seen(5, ready=[3, 3, 3])):
            result = divide(app, a=a, b=Seen(), c=c)
            assert dict(result.desired) == {"a": 3, "b": 0, "c": 5}
            assert not result.persist_first


def test_a_pod_of_a_surge_that_finds_no_node_moves_nothing() -> None:
    """Four pods for three: the three that were asked for run."""
    result = divide(adaptive(3, TWO), a=Seen(3, waiting=[400], ready=[9, 9, 9]), b=Seen())
    assert schedulable(result) == ("True", None)
    assert dict(result.desired) == {"a": 3, "b": 0}


def test_pods_that_are_on_their_way_out_are_not_counted_again() -> None:
    """After the number has fallen the pod that waited is there for a moment; the next must not go, too (I7)."""
    result = divide(adaptive(4, TWO), a=Seen(3, waiting=[40], ready=[9, 9, 9], marked=1), b=Seen(1))
    assert dict(result.desired) == {"a": 3, "b": 1}


def test_a_pod_that_waits_below_one_that_runs_is_not_reached_by_scaling_down() -> None:
    """I7: a StatefulSet loses its highest ordinal, which is ready here."""
    app = adaptive(2, TWO, kind="statefulSetTemplate")
    result = divide(app, a=Seen(2, waiting=[400], ready=[900], first="waiting"), b=Seen())
    assert dict(result.desired) == {"a": 2, "b": 0}
    assert schedulable(result)[0] == "False"
    app = adaptive(4, TWO, kind="statefulSetTemplate")
    result = divide(app, a=Seen(2, waiting=[400], ready=[900], first="waiting", marked=9), b=Seen(0))
    assert dict(result.desired) == {"a": 2, "b": 2}


def test_pods_that_are_made_in_order_wait_with_the_first() -> None:
    """The second of an ordered StatefulSet is not even made; of a parallel one it may be between two steps."""
    app = adaptive(3, TWO, kind="statefulSetTemplate")
    assert dict(divide(app, a=Seen(3, waiting=[40]), b=Seen()).desired) == {"a": 0, "b": 3}
    parallel = adaptive(3, TWO, kind="statefulSetTemplate", podManagementPolicy="Parallel")
    assert dict(divide(parallel, a=Seen(3, waiting=[40]), b=Seen()).desired) == {"a": 3, "b": 0}


@given(st.data(), st.integers(0, 3), st.integers(1, 6), st.booleans())
def test_scaling_down_by_the_removable_pods_removes_none_that_has_a_node(
    data: st.DataObject, first: int, total: int, one_by_one: bool
) -> None:
    """I7: and no more can be removed, unless lower ordinals are missing."""
    ordinals = range(first, first + total)
    existing = data.draw(st.sets(st.sampled_from(ordinals), min_size=1))
    stuck = data.draw(st.sets(st.sampled_from(sorted(existing)), min_size=1))
    found = in_order(sorted(existing), total, frozenset(stuck), OrdinalOrder(first, one_by_one))
    missing = total - len(existing)
    waiting = missing if one_by_one else 0
    assert found.pods == len(stuck) + waiting
    left = total - found.removable
    assert existing - stuck <= set(ordinals[:left])
    if existing == set(ordinals[: len(existing)]) and waiting == missing:
        assert not left or ordinals[left - 1] in existing - stuck


def test_a_member_that_does_not_answer_moves_nothing_and_keeps_its_mark() -> None:
    """I8: what it last said grows old, and decides nothing."""
    lost = {"a": Seen(4, waiting=[400, 400], ready=[9, 9], reach=Reach.OFFLINE), "b": Seen()}
    assert dict(divide(adaptive(4, TWO), **lost).desired) == {"a": 4, "b": 0}
    assert schedulable(divide(adaptive(4, TWO), **lost)) == ("True", None)
    lost["a"].marked = 4000
    assert schedulable(divide(adaptive(5, TWO), **lost)) == ("False", None)
    assert dict(divide(adaptive(5, TWO), **lost).desired) == {"a": 4, "b": 1}


def test_scaling_down_takes_first_what_runs_nowhere() -> None:
    """I7: the pod that has been waiting for a second goes, not one that is ready at the end of the list."""
    app = adaptive(4, {"a": {"maxReplicas": 2}, "b": {"maxReplicas": 2}, "c": {}})
    result = divide(app, a=Seen(2, ready=[9, 9]), b=Seen(1, waiting=[1]), c=Seen(2, ready=[9, 9]))
    assert dict(result.desired) == {"a": 2, "b": 0, "c": 2}
    assert result.persist_first, "the pod is not seen any more once it is gone"


def test_where_nobody_has_room_pods_wait_and_nothing_ready_moves() -> None:
    """I4, I7"""
    app = adaptive(6, TWO)
    result = divide(app, a=Seen(3, ready=[9, 9], waiting=[40]), b=Seen(3, ready=[9, 9], waiting=[40]))
    assert sum(result.replicas.values()) == 6
    assert min(result.replicas.values()) >= 2


def test_with_weights_what_cannot_be_scheduled_is_spread_over_the_others() -> None:
    app = adaptive(6, {"a": {"weight": 1}, "b": {"weight": 1}, "c": {"weight": 1}})
    result = divide(app, a=Seen(2, ready=[9, 9]), b=Seen(2, ready=[9, 9]), c=Seen(2, waiting=[40, 40]))
    assert dict(result.desired) == {"a": 3, "b": 3, "c": 0}


def test_the_strategy_fixed_looks_at_no_pod() -> None:
    app = application(manifest(replicas=4, shares=TWO))
    result = divide(app, a=Seen(4, waiting=[400] * 4), b=Seen())
    assert (dict(result.desired), dict(result.conditions), result.requeue_after) == ({"a": 4, "b": 0}, {}, None)


# --- Stand-ins --------------------------------------------------------------------------------------------------------


def reserving(total: int, bounds: dict[str, Any] = TWO, **more: Any) -> Application:
    return adaptive(total, bounds, reserve=True, critical=10, duration=30, **more)


def test_reservation_keeps_its_books_by_what_it_sees() -> None:
    """Scenario 26, with no label on any pod (and so without 29): what was reserved stands in status."""
    two: dict[str, Any] = {"a": {}, "b": {}}
    fresh = divide(reserving(1, two), a=Seen(1, waiting=[1]), b=Seen())
    assert (dict(fresh.reserved), fresh.requeue_after) == ({}, 9)
    running = divide(reserving(1, two), a=Seen(1, ready=[1]), b=Seen())
    assert (dict(running.reserved), running.requeue_after) == ({}, None)
    waiting = divide(reserving(1, two), a=Seen(1, waiting=[13]), b=Seen())
    assert (dict(waiting.reserved), dict(waiting.replicas)) == ({"a": 1}, {"a": 1, "b": 1})
    proving = divide(reserving(1, two), a=Seen(1, ready=[10], marked=60, reserved=1), b=Seen(1, ready=[9]))
    assert (dict(proving.reserved), proving.requeue_after) == ({"a": 1}, 20)
    assert dict(proving.replicas) == {"a": 1, "b": 1}
    released = divide(reserving(1, two), a=Seen(1, ready=[35], marked=60, reserved=1), b=Seen(1, ready=[9]))
    assert (dict(released.reserved), dict(released.replicas)) == ({}, {"a": 1, "b": 0})
    growing = divide(reserving(2, two), a=Seen(1, ready=[35], marked=60), b=Seen())
    assert (dict(growing.reserved), dict(growing.replicas)) == ({"a": 1}, {"a": 2, "b": 1})


def test_a_subset_whose_pods_were_ready_for_long_enough_keeps_its_mark_only_to_grow_with_stand_ins() -> None:
    """The mark is what reserves the next pods until they have a node."""
    two: dict[str, Any] = {"a": {}, "b": {}}
    proven = {"a": Seen(1, ready=[35], marked=60), "b": Seen()}
    good = StoredCondition("Schedulable", "True", None, NOW, "Schedulable", "")
    assert divide(reserving(1, two), **proven).conditions["a"] == good
    assert schedulable(divide(reserving(2, two), **proven)) == ("False", None)


@pytest.mark.parametrize("reach", [Reach.READY, Reach.OFFLINE])
def test_a_subset_with_reserved_pods_gets_no_more(reach: Reach) -> None:
    """I8: nor while its cluster does not answer."""
    seen = {"a": Seen(2, waiting=[40], ready=[500], marked=60, reserved=1, reach=reach), "b": Seen(1, ready=[9])}
    result = divide(reserving(4, {"a": {}, "b": {}}), **seen)
    assert (dict(result.desired), dict(result.reserved)) == ({"a": 2, "b": 3}, {"a": 1})


def test_an_update_in_a_subset_with_reserved_pods_needs_no_more_stand_ins() -> None:
    """OpenKruise takes pods that are slow to update, or held by a partition, for reserved ones."""
    held = Seen(4, waiting=[1, 40], starting=2, marked=60, reserved=2)
    assert dict(divide(reserving(4, {"a": {}, "b": {}}), a=held, b=Seen(2, ready=[9, 9])).reserved) == {"a": 2}


def test_a_subset_that_joins_has_to_prove_itself_before_others_lose_pods() -> None:
    """I7: its pods have stand-ins where they were."""
    app = reserving(2, {"new": {}, "old": {}})
    joined = divide(app, new=Seen(new=True), old=Seen(2, ready=[99, 99]))
    assert dict(joined.desired) == {"new": 2, "old": 2}
    assert dict(joined.reserved) == {"new": 2}
    assert joined.conditions["new"].reason == "New"
    young = Seen(2, ready=[3, 3], marked=5, reserved=2)
    assert dict(divide(app, new=young, old=Seen(2, ready=[99, 99])).desired) == {"new": 2, "old": 2}
    proven = Seen(2, ready=[31, 31], marked=33, reserved=2)
    assert dict(divide(app, new=proven, old=Seen(2, ready=[99, 99])).desired) == {"new": 2, "old": 0}


def test_the_first_division_of_an_application_has_no_stand_ins() -> None:
    result = divide(reserving(2), a=Seen(new=True), b=Seen(new=True))
    assert (dict(result.desired), dict(result.reserved)) == ({"a": 2, "b": 0}, {})


def test_status_counts_without_the_pods_that_only_wait() -> None:
    """What an autoscaler divides by is the total that was asked for."""
    app = reserving(2, {"a": {}, "b": {}})
    subject, observed = snapshot(
        app, {"a": Seen(2, waiting=[99, 99], marked=80, reserved=2), "b": Seen(2, ready=[9, 9])}
    )
    status = status_of(plan(subject, observed))
    assert [one["replicas"] - one.get("reservedReplicas", 0) for one in status["subsetStatuses"]] == [0, 2]
    assert status["labelSelector"] == "app=web"


# --- Always -----------------------------------------------------------------------------------------------------------

ages = st.integers(0, 700)
seen = st.builds(
    Seen,
    given=st.integers(0, 5),
    waiting=st.lists(ages, max_size=3),
    ready=st.lists(ages, max_size=4),
    starting=st.integers(0, 2),
    marked=st.none() | ages,
    reserved=st.integers(0, 3),
    reach=st.sampled_from([Reach.READY, Reach.READY, Reach.OFFLINE]),
    first=st.sampled_from(["ready", "waiting"]),
)
bound = st.fixed_dictionaries(
    {}, optional={"minReplicas": st.integers(0, 2), "maxReplicas": st.integers(2, 6)}
) | st.fixed_dictionaries({"weight": st.integers(0, 3)})


def stored(subject: Subject, result: Division) -> Subject:
    subsets = tuple(
        msgspec.structs.replace(
            subject.status.subset(name),
            replicas=replicas,
            desired_replicas=result.desired[name],
            reserved_replicas=result.reserved.get(name, 0),
            conditions=(result.conditions[name],),
        )
        for name, replicas in result.replicas.items()
    )
    return dataclasses.replace(subject, status=StoredStatus(subset_statuses=subsets))


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(
    st.lists(st.tuples(bound, seen), min_size=1, max_size=4),
    st.integers(0, 12),
    st.sampled_from(["statefulSetTemplate", "deploymentTemplate"]),
    st.booleans(),
)
def test_a_decision_that_is_stored_is_the_same_decision_again(
    subsets: list[tuple[dict[str, int], Seen]], total: int, kind: str, reserve: bool
) -> None:
    """I2, I3: what has to be stored before it is acted on comes to rest, while the pods are still as they were.

    A subset of which pods wait is looked at from what it was given, so its numbers may fall on; they never rise again.
    """
    app = adaptive(
        total,
        {f"s{index}": bounds for index, (bounds, _) in enumerate(subsets)},
        kind=kind,
        reserve=reserve and kind == "deploymentTemplate",
    )
    subject, observed = snapshot(app, {f"s{index}": one for index, (_, one) in enumerate(subsets)})
    for _ in range(12):
        result = divide_replicas(subject, app, observed)
        placed = sum(result.desired.values()) - sum(result.covered.values())
        assert placed + result.unplaced == total, "I4"
        if not result.persist_first:
            break
        subject = stored(subject, result)
    else:
        pytest.fail("it does not come to rest")


@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(st.lists(seen, min_size=2, max_size=4), st.sampled_from(["statefulSetTemplate", "deploymentTemplate"]))
def test_no_pod_that_has_a_node_goes_because_another_has_none(subsets: list[Seen], kind: str) -> None:
    """I7: with the total that was given, no subset falls below what runs in it."""
    total = sum(one.given for one in subsets)
    app = adaptive(total, {f"s{index}": {} for index in range(len(subsets))}, kind=kind)
    subject, observed = snapshot(app, {f"s{index}": one for index, one in enumerate(subsets)})
    result = divide_replicas(subject, app, observed)
    for index, one in enumerate(subsets):
        kept = one.pods(app, f"s{index}")
        if kind == "statefulSetTemplate":
            running = max(
                (place + 1 for place, pod in enumerate(kept[: one.given]) if pod.unscheduled_since is None), default=0
            )
        else:
            running = min(one.given, sum(pod.unscheduled_since is None for pod in kept))
        assert result.replicas[f"s{index}"] >= running
