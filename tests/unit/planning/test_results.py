"""The state of applications and subsets (I8)."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.results import State, first

SIZES = {"member-1": 4, "member-2": 2, "member-3": 2}
HALF = {"member-1": 2, "member-2": 1, "member-3": 1}


def shown(
    updated: dict[str, int] | None = None, ready: int | None = None, *, reach: str | None = None, **changes: Any
) -> dict[str, Any]:
    """The status of an application with so many updated pods in each subset, which came from app:1."""
    old = make.application(make.manifest())
    app = make.application(make.manifest(**{"image": "app:2", **changes}), generation=2)
    views = {}
    for name, size in SIZES.items():
        new = size if updated is None else updated[name]
        pods = make.pods(app, name, [old.revision_of(name)] * (size - new) + [app.revision_of(name)] * new)
        held = app.model.spec.update_strategy.manual_update.partitions.get(name, 0)
        found = make.stateful_set(
            app, name, replicas=size, partition=of(int, held), ready=size if ready is None else ready
        )
        views[name] = make.view(name, found, pods=pods)
        if name == reach:
            views[name] = replace(views[name], reach=Reach.OFFLINE, detail="no answer")
    seen = make.observed(views, revisions=(make.record(old), make.record(app, 2)))
    before = {"currentRevision": old.revision_name, "updatedRevision": app.revision_name}
    return make.status_of(plan(make.subject(app, status=before), seen))


def words(status: dict[str, Any]) -> tuple[str, str, list[str]]:
    """The reason and the status of Ready, and the state of each subset."""
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    return ready["reason"], ready["status"], [entry["state"] for entry in status["subsetStatuses"]]


def test_every_pod_at_the_updated_revision_is_ready() -> None:
    assert words(shown()) == ("Ready", "True", ["Ready"] * 3)


def test_a_canary_that_partitions_hold_is_held() -> None:
    """Not Ready: the rollout is not finished."""
    assert words(shown(HALF, partitions=HALF)) == ("Held", "True", ["Held"] * 3)


def test_one_subset_that_is_held_makes_the_application_held() -> None:
    updated = {**SIZES, "member-2": 1}
    assert words(shown(updated, partitions={"member-2": 1})) == ("Held", "True", ["Ready", "Held", "Ready"])


def test_pods_that_are_not_ready_are_progressing() -> None:
    assert words(shown(ready=1)) == ("Progressing", "False", ["Progressing"] * 3)


@pytest.mark.parametrize(("ready", "status"), [(None, "True"), (1, "False")])
def test_what_is_paused_says_so_and_whether_it_is_as_asked_for(ready: int | None, status: str) -> None:
    assert words(shown(ready=ready, paused=True)) == ("Paused", status, ["Paused"] * 3)


def test_a_cluster_that_cannot_be_reached_makes_the_application_unknown() -> None:
    """Also while it is paused: what is shown of that cluster is old."""
    for paused in (False, True):
        reason, status, subsets = words(shown(reach="member-2", paused=paused))
        other = "Paused" if paused else "Ready"
        assert (reason, status, subsets) == ("Unknown", "Unknown", [other, "Unknown", other])


def test_replicas_that_have_no_place_are_stalled() -> None:
    bounded = {"member-1": {"replicas": 4}, "member-2": {"replicas": 2}, "member-3": {"replicas": 3}}
    status = shown(shares=bounded, replicas=20)
    assert status["unplacedReplicas"] > 0
    assert words(status)[:2] == ("Stalled", "False")


def test_the_reason_for_replicas_without_a_place_states_their_number_once() -> None:
    bounded = {"member-1": {"maxReplicas": 4}, "member-2": {"maxReplicas": 2}, "member-3": {"maxReplicas": 3}}
    stalled = next(one for one in shown(shares=bounded, replicas=20)["conditions"] if one["type"] == "Stalled")
    assert stalled["message"].startswith("11 of 20 replicas have no place: member-1, member-2, member-3 ")


def test_a_spec_that_is_refused_is_stalled_and_the_condition_stalled_says_why() -> None:
    """I11"""
    subject = replace(make.subject(make.application(make.manifest())), app=None)
    conditions = {one["type"]: one for one in make.status_of(plan(subject, make.observed()))["conditions"]}
    assert conditions["Ready"]["reason"] == "Stalled"
    assert conditions["Stalled"]["reason"] == "InvalidSpec"


@pytest.mark.parametrize(
    ("ready", "changes", "expected"),
    [
        (None, {}, ("Ready", "False")),
        (1, {}, ("Progressing", "True")),
        (1, {"paused": True}, ("Paused", "False")),
        (1, {"reach": "member-2"}, ("Progressing", "True")),
    ],
)
def test_reconciling_speaks_the_same_words(
    ready: int | None, changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    conditions = {one["type"]: one for one in shown(ready=ready, **changes)["conditions"]}
    assert (conditions["Reconciling"]["reason"], conditions["Reconciling"]["status"]) == expected


def test_the_state_of_the_whole_is_the_first_of_its_parts() -> None:
    assert [first([State.READY, one]) for one in State] == list(State)
    assert first([]) is State.READY
