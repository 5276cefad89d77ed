"""Disjoint ranges of ordinals."""

import dataclasses
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Observed, Ordinals, Reach, Workload, WorkloadSpec
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.replicas import ordinals
from uniteddeployment.planning.steps import Apply


def application(shares: dict[str, Any], block: int = 10, kind: str = "statefulSetTemplate", **spec: Any) -> Application:
    doc = make.manifest(kind=kind, shares=shares, **spec)
    doc["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": block}
    return make.application(doc)


def status(app: Application, **starts: Any) -> Subject:
    entries = [
        {"name": name.replace("_", "-"), "cluster": f"default/{name.replace('_', '-')}", "ordinalsStart": start}
        | {"replicas": 2, "workload": f"StatefulSet/web-{name}"}
        for name, start in starts.items()
    ]
    return make.subject(app, status={"subsetStatuses": entries})


def starts(subject: Subject, app: Application, seen: Observed | None = None) -> dict[str, int]:
    return {name: one.start for name, one in ordinals.ranges(subject, app, seen or make.observed()).items()}


def running(app: Application, subset: str, start: int, replicas: int) -> Workload:
    found = make.stateful_set(app, subset, replicas=replicas)

    spec = WorkloadSpec(replicas, found.spec.update_strategy, Ordinals(start))
    return msgspec.structs.replace(found, spec=spec)


def test_ranges_follow_each_other_in_the_order_of_the_list() -> None:
    app = application({"member-1": {"maxReplicas": 3}, "member-2": {}, "member-3": {"maxReplicas": 5}})
    found = ordinals.ranges(make.subject(app), app, make.observed())
    assert [(one.start, one.size) for one in found.values()] == [(0, 3), (3, 10), (13, 5)]


@pytest.mark.parametrize("kind", ["deploymentTemplate", "cloneSetTemplate"])
def test_pods_without_ordinals_have_no_ranges(kind: str) -> None:
    app = application({"member-1": {}}, kind=kind)
    assert not ordinals.ranges(make.subject(app), app, make.observed())


def test_shared_ordinals_are_left_as_they_are() -> None:
    app = make.application(make.manifest())
    assert not ordinals.ranges(make.subject(app), app, make.observed())


def test_what_status_has_stays_whatever_the_order() -> None:
    app = application({"member-3": {}, "member-2": {}, "member-1": {}})
    assert starts(status(app, member_1=0, member_2=10), app) == {"member-3": 20, "member-2": 10, "member-1": 0}


def test_a_new_subset_gets_the_first_gap_that_is_large_enough() -> None:
    app = application({"member-1": {}, "member-2": {"maxReplicas": 4}, "member-3": {"maxReplicas": 8}})
    assert starts(status(app, member_1=5), app) == {"member-1": 5, "member-2": 0, "member-3": 15}


def test_the_range_of_a_removed_subset_is_free_only_when_nothing_of_it_runs() -> None:
    old = application({"member-1": {}, "member-2": {}})
    app = application({"member-2": {}, "member-3": {}})
    view = make.view("member-1", running(old, "member-1", 0, 2), reach=Reach.OFFLINE)
    seen = make.observed({"member-1": view})
    assert starts(status(app, member_2=10), app, seen) == {"member-2": 10, "member-3": 20}
    assert starts(status(app, member_2=10), app) == {"member-2": 10, "member-3": 0}
    # Status still speaks of it, and its cluster has not been seen.
    assert starts(status(app, member_1=0, member_2=10), app)["member-3"] == 20


def test_a_subset_that_moves_to_another_cluster_gets_another_range() -> None:
    """No two clusters run a pod of the same ordinal, also while it moves."""
    app = application({"member-1": {"targetCluster": {"name": "member-2"}}})
    assert starts(status(app, member_1=0), app) == {"member-1": 2}


def test_without_status_a_range_is_known_again_by_what_runs() -> None:
    app = application({"member-1": {}, "member-2": {}})
    seen = make.observed({"member-2": make.view("member-2", running(app, "member-2", 30, 2))})
    assert starts(make.subject(app), app, seen) == {"member-1": 0, "member-2": 30}


def test_the_workloads_of_a_united_deployment_that_was_lost_keep_their_ranges() -> None:
    """Their pods would be restarted, and two clusters could run a pod of the same ordinal."""
    lost = "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11"
    app = dataclasses.replace(application({"member-1": {}, "member-2": {}}, block=10), uid=lost)
    document = make.manifest(shares={"member-1": {}, "member-2": {}})
    document["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": 10, "adopt": {"ownerUID": lost}}
    again = make.application(document, uid="uid-of-the-next")
    seen = make.observed({"member-2": make.view("member-2", running(app, "member-2", 10, 2))})
    assert starts(make.subject(again), again, seen) == {"member-1": 0, "member-2": 10}
    seen = make.observed({"member-1": make.view("member-1", running(app, "member-1", 30, 2))})
    assert starts(make.subject(again), again, seen) == {"member-1": 30, "member-2": 0}


def test_the_ordinals_of_the_template_say_where_the_first_range_begins() -> None:
    doc = make.manifest(shares={"member-1": {}, "member-2": {}})
    doc["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": 5}
    doc["spec"]["template"]["statefulSetTemplate"]["spec"]["ordinals"] = {"start": 100}
    app = make.application(doc)
    assert starts(make.subject(app), app) == {"member-1": 100, "member-2": 105}


def test_a_range_that_meets_the_next_one_bounds_the_subset_and_says_why() -> None:
    """I4: what finds no place is counted and explained."""
    app = application({"member-1": {"weight": 1}, "member-2": {"weight": 1}}, replicas=8)
    result = plan(status(app, member_1=0, member_2=3), make.observed())
    first = result.results[0]
    assert (first.replicas, first.ordinals_start) == (3, 0)
    assert first.reason == "limited to 3: its ordinals are 0 to 2, where the ordinals of another subset begin"
    assert result.results[1].replicas == 5
    (step,) = result.members["default/member-2"]
    assert of(Apply, step).body["spec"]["ordinals"] == {"start": 3}
    assert make.status_of(result)["subsetStatuses"][1]["ordinalsStart"] == 3


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ((0, 10), (10, 20), False),
        ((10, 20), (0, 10), False),
        ((0, 10), (9, 20), True),
        ((9, 20), (0, 10), True),
        ((0, 30), (10, 20), True),
        ((10, 20), (0, 30), True),
        ((0, 10), (20, 30), False),
    ],
)
def test_ranges_overlap_if_they_have_an_ordinal_in_common(
    one: tuple[int, int], other: tuple[int, int], overlap: bool
) -> None:
    assert ordinals._overlap(one, other) is overlap


@pytest.mark.parametrize(
    ("start", "end", "wanted", "note"),
    [
        (10, 20, 10, "its ordinals are 10 to 19"),
        (10, 15, 10, "its ordinals are 10 to 14, where the ordinals of another subset begin"),
        (10, 11, 10, "its ordinals are 10 to 10, where the ordinals of another subset begin"),
        (10, 10, 10, "it has no range of ordinals"),
    ],
)
def test_a_range_says_where_it_ends_and_why(start: int, end: int, wanted: int, note: str) -> None:
    assert ordinals._range(start, end, wanted) == ordinals.Range(start, end - start, note)


def test_a_subset_of_no_size_takes_one_ordinal() -> None:
    assert ordinals.range_starts({"a": 0, "b": 3, "c": 2}, {}, [], 5) == {"a": 5, "b": 6, "c": 9}
    assert ordinals.range_starts({"a": 0, "b": 3}, {"a": 5}, [], 5) == {"a": 5, "b": 6}
    assert ordinals.range_starts({"a": 3, "b": 2}, {}, [(5, 7), (10, 12)], 5) == {"a": 7, "b": 12}


def test_a_range_ends_where_the_next_one_or_a_running_pod_begins() -> None:
    running = [("a", (0, 4)), ("b", (8, 9)), (None, (6, 7))]
    assert ordinals._end("a", 0, 10, {"a": 0, "b": 7}, running) == 6
    assert ordinals._end("a", 0, 10, {"a": 0, "b": 7}, running[:2]) == 7
    assert ordinals._end("b", 7, 10, {"a": 0, "b": 7}, running) == 17
    assert ordinals._end("a", 0, 5, {"a": 0, "b": 7}, running) == 5


def test_what_ran_in_another_cluster_by_the_status_counts_as_taken() -> None:
    """The cluster may run it still."""
    app = application({"member-1": {}, "member-2": {}})
    entry = {"name": "member-1", "cluster": "default/other", "ordinalsStart": 3, "replicas": 2}
    subject = make.subject(app, status={"subsetStatuses": [entry]})
    assert list(ordinals._running(subject, app, make.observed())) == [(None, (3, 5))]
    for more in ({"replicas": 0}, {"cluster": "default/member-1"}, {"ordinalsStart": None}):
        kept = {key: value for key, value in {**entry, **more}.items() if value is not None}
        subject = make.subject(app, status={"subsetStatuses": [kept]})
        assert list(ordinals._running(subject, app, make.observed())) == []
    subject = make.subject(app, status={"subsetStatuses": [{**entry, "replicas": 0, "observedReplicas": 4}]})
    assert list(ordinals._running(subject, app, make.observed())) == [(None, (3, 7))]
    gone = make.subject(app, status={"subsetStatuses": [{**entry, "name": "gone", "cluster": "default/member-1"}]})
    assert list(ordinals._running(gone, app, make.observed())) == [(None, (3, 5))]
