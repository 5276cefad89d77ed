"""Plans while a cluster has yet to answer earlier writes (``Observed.writing``)."""

import dataclasses
from typing import Any

from tests.support import planning as make
from uniteddeployment.planning.observed import MemberView, Observed, Reach
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.steps import AddFinalizer, Delete, RemoveFinalizer
from uniteddeployment_api import names

SLOW = "default/member-3"
APP = make.application(make.manifest())


def unanswered(**views: MemberView) -> Observed:
    seen = {name.replace("_", "-"): view for name, view in views.items()}
    return make.observed(seen, revisions=(make.record(APP),), writing=frozenset({SLOW}))


def row(planned: Plan, name: str = "member-3") -> SubsetResult:
    return next(row for row in planned.results if row.name == name)


def condition(planned: Plan, type_: str) -> dict[str, Any]:
    assert planned.status is not None
    found: dict[str, Any] = next(one for one in make.status_of(planned)["conditions"] if one["type"] == type_)
    return found


def complete() -> dict[str, MemberView]:
    """All three members as asked for."""
    sizes = {"member-1": 4, "member-2": 2, "member-3": 2}
    return {
        name.replace("-", "_"): make.view(
            name,
            make.stateful_set(APP, name, replicas=size),
            pods=make.pods(APP, name, [APP.template_hash] * size),
        )
        for name, size in sizes.items()
    }


def test_nothing_is_written_to_a_cluster_before_it_has_answered() -> None:
    """I1, and I10: the others go on."""
    planned = plan(make.subject(APP), unanswered())
    assert set(planned.members) == {"default/member-1", "default/member-2"}
    assert row(planned).message == "waits for default/member-3 to answer"
    assert not row(planned).settled


def test_what_looks_complete_is_not_before_the_last_write_is_answered() -> None:
    """I8: what comes of it is not known."""
    planned = plan(make.subject(APP), unanswered(**complete()))
    assert planned.members == {}
    assert condition(planned, "Ready")["status"] == "False"
    assert condition(planned, "Reconciling")["status"] == "True"
    assert planned.status is not None
    assert make.status_of(planned)["currentRevision"] == "", "no rollout is complete yet"
    answered = plan(make.subject(APP), dataclasses.replace(unanswered(**complete()), writing=frozenset()))
    assert condition(answered, "Ready")["status"] == "True"


def test_a_write_that_was_refused_is_told_while_it_is_tried_again() -> None:
    """I11: the subset does not leave Stalled with each try."""
    seen = dataclasses.replace(unanswered(), errors={"member-3": "no quota"}, stalled=frozenset({"member-3"}))
    planned = plan(make.subject(APP), seen)
    assert (row(planned).message, row(planned).stalled) == ("no quota", True)
    transient = dataclasses.replace(seen, stalled=frozenset())
    assert not row(plan(make.subject(APP), transient)).stalled


def test_an_application_goes_only_when_every_write_is_answered() -> None:
    """I9: the write may create something."""
    going = dataclasses.replace(make.subject(APP), deleting=True)
    planned = plan(going, unanswered())
    assert (planned.after, planned.members) == ((), {})
    assert condition(planned, "Ready")["message"] == "waits for default/member-3 to answer"
    answered = plan(going, dataclasses.replace(unanswered(), writing=frozenset()))
    assert answered.after == (RemoveFinalizer(),)


def test_a_deletion_removes_what_is_in_other_clusters_meanwhile() -> None:
    """I10"""
    going = dataclasses.replace(make.subject(APP), deleting=True)
    planned = plan(going, dataclasses.replace(unanswered(**complete()), orphaning_checked=True))
    assert set(planned.members) == {"default/member-1", "default/member-2"}


def test_a_leftover_in_a_cluster_that_has_yet_to_answer_waits() -> None:
    """I1"""
    old = make.application(make.manifest(shares={"old": 2}))
    leftover = make.view("member-3", make.stateful_set(old, "old", replicas=0))
    both = make.application(make.manifest(shares={"member-1": 4, "member-2": 4}))
    seen = make.observed({"member-3": leftover}, members=("member-1", "member-2"), revisions=(make.record(both),))
    (step,) = plan(make.subject(both), seen).members[SLOW]
    assert isinstance(step, Delete)
    waiting = plan(make.subject(both), dataclasses.replace(seen, writing=frozenset({SLOW})))
    assert SLOW not in waiting.members
    assert condition(waiting, "Reconciling")["status"] == "True"


def test_the_finalizer_is_put_back_while_a_write_is_under_way() -> None:
    """I9: what it creates has to be found when the application is deleted."""
    subject = make.subject(APP, guarded=False)
    away = {f"member_{number}": make.view(f"member-{number}", reach=Reach.OFFLINE) for number in (1, 2)}
    assert names.FINALIZER not in subject.finalizers
    assert plan(subject, unanswered(**away)).before == (AddFinalizer(),)
