"""The whole plan: its writes and its status."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import MemberView, Observed, Reach
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.steps import (
    AddFinalizer,
    Apply,
    CheckOrphaning,
    CreateRevision,
    Delete,
    NoteOrphaning,
    Release,
    RemoveFinalizer,
    Scale,
)
from uniteddeployment.planning.stored import NO_STATUS
from uniteddeployment_api import names

KINDS = ["statefulSetTemplate", "deploymentTemplate"]


def conditions(status: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status["conditions"]}


def replicas(result: Plan) -> dict[str, int]:
    return {
        step.subset: of(Apply, step).body["spec"]["replicas"] for steps in result.members.values() for step in steps
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_application_is_made_in_every_member_and_its_template_kept_on_the_host(kind: str) -> None:
    """I4, I9: the finalizer is written before anything else."""
    app = make.application(make.manifest(kind=kind))
    result = plan(make.subject(app, guarded=False), make.observed())
    assert result.before == (AddFinalizer(),)
    assert replicas(result) == {"member-1": 4, "member-2": 2, "member-3": 2}
    assert [type(step) for step in result.host] == [CreateRevision]
    assert all(isinstance(step, Apply) and step.create for steps in result.members.values() for step in steps)
    assert conditions(make.status_of(result)) == {"Ready": "False", "Reconciling": "True", "Stalled": "False"}


def settled(
    kind: str = "statefulSetTemplate", **changes: Any
) -> tuple[Application, dict[str, MemberView], Observed, dict[str, Any]]:
    """An application that is complete, with what the clusters show of it."""
    app = make.application(make.manifest(kind=kind, **changes))
    views = {}
    for name, number in {"member-1": 4, "member-2": 2, "member-3": 2}.items():
        if kind == "statefulSetTemplate":
            found = make.stateful_set(app, name, replicas=number)
            shown = make.pods(app, name, [app.revision_of(name)] * number)
        else:
            found, shown = make.deployment(app, name, app.revision_of(name), replicas=number), []
        views[name] = make.view(name, found, pods=shown)
    seen = make.observed(views, revisions=(make.record(app),))
    status = make.status_of(plan(make.subject(app), seen))
    return app, views, seen, status


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_settled_costs_no_write(kind: str) -> None:
    """I3: not even a status."""
    app, _, seen, status = settled(kind)
    result = plan(make.subject(app, status=status), seen)
    assert not result.writes
    assert make.status_of(result) == status
    assert conditions(status) == {"Ready": "True", "Reconciling": "False", "Stalled": "False"}
    assert status["currentRevision"] == status["updatedRevision"] == app.revision_name
    assert status["readyReplicas"] == status["updatedReadyReplicas"] == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_rollout_is_planned_again_when_status_has_its_revision(kind: str) -> None:
    """Only then may the former stable revision be deleted from the history. What is settled is not planned again."""
    app, _, seen, status = settled(kind)
    former = {**status, "currentRevision": "web-former"}
    assert plan(make.subject(app, status=former), seen).requeue_after == 0
    assert plan(make.subject(app, status=status), seen).requeue_after is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_inputs_give_the_same_plan(kind: str) -> None:
    """I2"""
    app = make.application(make.manifest(kind=kind))
    assert plan(make.subject(app), make.observed()) == plan(make.subject(app), make.observed())


def test_a_new_image_is_written_together_with_the_partition_that_holds_it() -> None:
    """I6: there is no moment at which the new template stands without its partition."""
    app, views, _, status = settled()
    new = make.application(
        make.manifest(image="app:2", partitions={"member-1": 2, "member-2": 1, "member-3": 1}), generation=2
    )
    result = plan(make.subject(new, status=status), make.observed(views, revisions=(make.record(app),)))
    steps = {step.subset: step for steps in result.members.values() for step in steps}
    for name, held in {"member-1": 2, "member-2": 1, "member-3": 1}.items():
        spec = of(Apply, steps[name]).body["spec"]
        assert spec["updateStrategy"]["rollingUpdate"]["partition"] == held
        assert spec["template"]["spec"]["containers"][0]["image"] == "app:2"
    assert make.status_of(result)["currentRevision"] == app.revision_name
    assert make.status_of(result)["updatedRevision"] == new.revision_name


def test_the_revision_of_a_subset_in_status_is_that_of_its_updated_pods() -> None:
    """Also while a partition holds all its pods at the old one, which ``revisions`` shows (as documented)."""
    app, views, _, status = settled()
    partitions = {"member-1": "100%", "member-2": "100%", "member-3": "100%"}
    new = make.application(make.manifest(image="app:2", partitions=partitions), generation=2)
    result = plan(make.subject(new, status=status), make.observed(views, revisions=(make.record(app),)))
    for entry in make.status_of(result)["subsetStatuses"]:
        assert entry["revision"] == new.revision_of(entry["name"])
        assert [shown["revision"] for shown in entry["revisions"]] == [app.revision_of(entry["name"])]


def test_a_subset_that_joins_in_mid_canary_starts_at_the_stable_revision() -> None:
    """I6: a partition does not hold the first pods of a StatefulSet."""
    app, views, _, status = settled()
    new = make.application(
        make.manifest(
            image="app:2",
            replicas=10,
            shares={"member-1": "40%", "member-2": "20%", "member-3": "20%", "late": "20%"},
            partitions={"member-1": 2, "late": 1},
        ),
        generation=2,
    )
    members = (*make.MEMBERS, "late")
    asked = plan(make.subject(new, status=status), make.observed(views, members=members, revisions=(make.record(app),)))
    assert asked.missing == {app.revision_name}
    seen = make.observed(
        views, members=members, revisions=(make.record(app),), templates={app.revision_name: app.revision_data}
    )
    (step,) = plan(make.subject(new, status=status), seen).members["default/late"]
    assert of(Apply, step).body["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"
    assert of(Apply, step).body["metadata"]["labels"][names.LABEL_REVISION] == app.template_hash


def test_a_member_that_does_not_answer_keeps_its_last_counts_and_gets_no_writes() -> None:
    """I7, I8: unknown is not zero and not success."""
    app, views, _, status = settled()
    shown = make.pods(app, "member-2", [app.template_hash] * 2)
    lost = make.view("member-2", *views["member-2"].workloads, pods=shown, reach=Reach.OFFLINE)
    new = make.application(make.manifest(image="app:2"), generation=2)
    seen = make.observed({**views, "member-2": lost}, revisions=(make.record(app),))
    result = plan(make.subject(new, status=status), seen)
    assert "default/member-2" not in result.members
    entry = next(one for one in make.status_of(result)["subsetStatuses"] if one["name"] == "member-2")
    assert entry["readyReplicas"] == 2
    assert entry["lastObservedTime"] == make.NOW
    assert conditions(make.status_of(result))["Ready"] == "Unknown"
    assert make.status_of(result)["currentRevision"] == app.revision_name


def test_a_member_never_seen_since_the_start_shows_what_status_had() -> None:
    """I8"""
    app, views, _, status = settled()
    unseen = make.view("member-2", reach=Reach.PENDING)
    result = plan(
        make.subject(app, status=status), make.observed({**views, "member-2": unseen}, revisions=(make.record(app),))
    )
    entry = next(one for one in make.status_of(result)["subsetStatuses"] if one["name"] == "member-2")
    assert (entry["readyReplicas"], entry["workload"]) == (2, "StatefulSet/web-member-2")
    assert not result.members


def test_an_unknown_cluster_stalls_its_subset_and_nothing_else() -> None:
    """I10, I11"""
    app = make.application(make.manifest())
    seen = make.observed({"member-3": make.view("member-3", reach=Reach.UNKNOWN)})
    result = plan(make.subject(app), seen)
    assert set(result.members) == {"default/member-1", "default/member-2"}
    assert conditions(make.status_of(result))["Stalled"] == "True"


def test_scaling_alone_goes_through_the_scale_subresource() -> None:
    """The cheap way, when nothing else changes."""
    app, views, _, status = settled()
    more = make.application(make.manifest(replicas=12), generation=2)
    result = plan(make.subject(more, status=status), make.observed(views, revisions=(make.record(app),)))
    steps = [step for steps in result.members.values() for step in steps]
    assert {(step.subset, of(Scale, step).replicas) for step in steps} == {
        ("member-1", 6),
        ("member-2", 3),
        ("member-3", 3),
    }
    assert all(isinstance(step, Scale) for step in steps)


def test_a_workload_that_somebody_edited_is_put_back() -> None:
    """Its generation is not the one that our write got."""
    app, _, _, status = settled()
    edited = make.stateful_set(app, "member-1", replicas=4, generation=2)
    seen = make.observed(
        {"member-1": make.view("member-1", edited, pods=make.pods(app, "member-1", [app.template_hash] * 4))},
        revisions=(make.record(app),),
        generations={("default/member-1", "StatefulSet", "web-member-1"): 1},
    )
    (step,) = plan(make.subject(app, status=status), seen).members["default/member-1"]
    assert "somebody else" in step.why
    assert of(Apply, step).body["metadata"]["uid"] == edited.metadata.uid


def test_deleting_removes_the_workloads_everywhere_and_then_the_finalizer() -> None:
    """What is in an unreachable member is waited for."""
    app, _, seen, status = settled()
    going = make.subject(app, status=status)
    going = replace(going, deleting=True)
    result = plan(going, replace(seen, orphaning_checked=True))
    assert all(isinstance(step, Delete) for steps in result.members.values() for step in steps)
    assert len(result.members) == 3
    assert not result.after
    lost = make.observed({"member-1": make.view("member-1", reach=Reach.OFFLINE)})
    assert not plan(going, lost).after
    assert plan(going, make.observed()).after == (RemoveFinalizer(),)


def test_nothing_is_deleted_before_the_revisions_were_read_since_the_deletion() -> None:
    """I7: the cache may be older than ``--cascade=orphan``, which shows in the revisions for good."""
    app, _, seen, status = settled()
    going = replace(make.subject(app, status=status), deleting=True)
    first = plan(going, seen)
    assert (first.before, first.members) == ((CheckOrphaning(),), {})
    orphaned = replace(seen, revisions=tuple(replace(one, owned=False) for one in seen.revisions))
    for checked in (True, False):
        kept = plan(going, replace(orphaned, orphaning_checked=checked))
        assert kept.before == (NoteOrphaning(),)
        assert all(isinstance(step, Release) for steps in kept.members.values() for step in steps)
        assert len(kept.members) == 3


def test_what_the_spec_keeps_needs_no_note_on_the_object() -> None:
    """I7: spec.deletionPolicy says it now and after a restart."""
    app, _, seen, status = settled()
    going = replace(make.subject(app, status=status), deleting=True, keeps_workloads=True)
    result = plan(going, seen)
    assert result.before == ()
    assert all(isinstance(step, Release) for steps in result.members.values() for step in steps)


def test_a_removed_subset_goes_when_the_others_are_ready() -> None:
    """I7: not before."""
    app, views, _, status = settled()
    document = make.manifest(shares={"member-1": "50%", "member-2": None})
    document["spec"]["topology"]["maxUnavailable"] = 0
    fewer = make.application(document, generation=2)
    seen = make.observed(views, revisions=(make.record(app),))
    result = plan(make.subject(fewer, status=status), seen)
    assert "default/member-3" not in result.members
    grown = make.stateful_set(fewer, "member-2", replicas=4)
    views = {
        **views,
        "member-2": make.view("member-2", grown, pods=make.pods(app, "member-2", [app.template_hash] * 4)),
    }
    result = plan(make.subject(fewer, status=status), make.observed(views, revisions=(make.record(app),)))
    (step,) = result.members["default/member-3"]
    assert isinstance(step, Delete)


def test_paused_changes_nothing_but_status() -> None:
    app, views, _, status = settled()
    new = make.application(make.manifest(image="app:2", paused=True), generation=2)
    result = plan(make.subject(new, status=status), make.observed(views, revisions=(make.record(app),)))
    assert not result.writes
    assert make.status_of(result)["updatedRevision"] == new.revision_name


def test_a_workload_of_somebody_else_is_never_written_to() -> None:
    """I13: same labels, another owner."""
    app, views, _, status = settled()
    other = make.application(make.manifest(), uid="uid-of-another-host")
    foreign = make.stateful_set(other, "member-1", replicas=9)
    result = plan(
        make.subject(app, status=status), make.observed({**views, "member-1": make.view("member-1", foreign)})
    )
    assert "default/member-1" not in result.members
    assert "belongs to the UnitedDeployment default/web (uid uid-of-another-host)" in result.results[0].message
    assert result.results[0].stalled


def test_the_finalizer_comes_back_also_when_the_spec_cannot_be_read() -> None:
    """I11: what runs keeps running, and has to be found when the application is deleted."""
    app = make.application(make.manifest())
    entry = {"name": "member-1", "cluster": "default/member-1", "workload": "StatefulSet/web-member-1"}
    guarded = make.subject(app, status={"subsetStatuses": [entry]})
    unreadable = replace(guarded, app=None, finalizers=())
    assert plan(unreadable, make.observed()).before == (AddFinalizer(),)
    assert plan(replace(unreadable, status=NO_STATUS), make.observed()).before == ()
    assert plan(replace(guarded, app=None), make.observed()).before == ()


def test_replicas_that_are_left_to_others_are_those_of_our_own_workload() -> None:
    """I13: the size of a workload of another application with the same name, and so the same labels, does not count."""
    app, views, seen, status = settled()
    foreign = make.stateful_set(replace(app, uid="uid-of-another"), "member-1", replicas=7)
    view = replace(views["member-1"], workloads=(foreign,))
    subject = replace(
        make.subject(app, status=status), annotations={names.ANNOTATION_IGNORE_DIFFERENCES: "spec.replicas"}
    )
    result = plan(subject, replace(seen, members={**seen.members, "default/member-1": view}))
    assert [row.replicas for row in result.results] == [4, 2, 2]
