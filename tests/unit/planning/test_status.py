"""The status that a plan gives."""

from typing import Any

import pytest

from tests.support import planning as make
from tests.support.narrowing import present
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.status import Condition, dated, summarize
from uniteddeployment.planning.stored import StoredCondition, StoredStatus

LATER = "2026-01-01T01:00:00Z"
READY = Condition("Ready", "True", "Ready", "8 of 8 pods ready")


def subject(*conditions: Any) -> Subject:
    return make.subject(make.application(make.manifest()), status=StoredStatus(conditions=conditions))


@pytest.mark.parametrize("updated", [0, 1, 4])
def test_the_revision_of_a_subset_is_that_of_its_updated_pods(updated: int) -> None:
    """The field is the target revision, however many pods the partition holds at the stable one."""
    old = make.application(make.manifest())
    app = make.application(make.manifest(image="app:2", partitions={"member-1": 4 - updated}), generation=2)
    revisions = [old.revision_of("member-1")] * (4 - updated) + [app.revision_of("member-1")] * updated
    workload = make.stateful_set(app, "member-1", replicas=4, partition=4 - updated)
    view = make.view("member-1", workload, pods=make.pods(app, "member-1", revisions))
    seen = make.observed({"member-1": view}, revisions=(make.record(old), make.record(app, 2)))
    result = plan(make.subject(app, status={"currentRevision": old.revision_name}), seen)
    assert (
        present(result.status).subset("member-1").revision == app.revision_of("member-1") != old.revision_of("member-1")
    )
    assert present(result.status).subset("member-1").updated_replicas == updated


def test_a_condition_keeps_the_time_of_its_transition_as_long_as_its_status_is_the_same() -> None:
    stored = StoredCondition("Ready", "True", 1, make.NOW, "Held", "another message")
    (kept,) = dated(subject(stored), [READY], LATER)
    assert (kept.last_transition_time, kept.reason) == (make.NOW, "Ready")
    (turned,) = dated(subject(StoredCondition("Ready", "False", 1, make.NOW)), [READY], LATER)
    assert turned.last_transition_time == LATER


@pytest.mark.parametrize("stored", [(), (StoredCondition("Ready", "True"),)])
def test_a_condition_has_a_time_even_if_the_stored_one_has_none(stored: tuple[StoredCondition, ...]) -> None:
    """An API server refuses null as a time, and with it the whole status."""
    (condition,) = dated(subject(*stored), [READY], LATER)
    assert condition.last_transition_time == LATER


def test_a_list_of_leftovers_that_is_stored_is_written_to_become_empty_and_is_not_written_before() -> None:
    app = make.application(make.manifest())
    assert "leftovers" not in make.status_of(plan(make.subject(app), make.observed()))
    stored = {"leftovers": [{"subset": "gone", "cluster": "default/gone", "workload": "StatefulSet/web-gone"}]}
    assert make.status_of(plan(make.subject(app, status=stored), make.observed()))["leftovers"] == []


@pytest.mark.parametrize(("leftovers", "busy"), [("web-old waits for its replacement", "True"), ("", "False")])
def test_a_leftover_alone_keeps_an_application_busy(leftovers: str, busy: str) -> None:
    """It is not as asked for until what was removed from it is gone (I8)."""
    app = make.application(make.manifest())
    _, reconciling, _ = summarize(app, [], leftovers=leftovers, unplaced=0, why_unplaced="", lost=(), writing=False)
    assert (reconciling.status, reconciling.message) == (busy, leftovers)


def test_only_subsets_that_cannot_be_seen_are_listed_as_such() -> None:
    app = make.application(make.manifest(shares={"member-1": 4, "member-2": 4}))
    there = make.view("member-2", make.stateful_set(app, "member-2", replicas=4))
    views = {"member-1": make.view("member-1", reach=Reach.OFFLINE), "member-2": there}
    ready, *_ = make.status_of(plan(make.subject(app), make.observed(views)))["conditions"]
    assert "member-1:" in ready["message"]
    assert "member-2:" not in ready["message"]
