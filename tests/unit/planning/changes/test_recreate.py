"""Recreation: only of refused changes, only on request, one subset at a time."""

import dataclasses
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of, present
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.changes.recreate import applied
from uniteddeployment.planning.observed import MemberView, Observed, Reach, Refusal
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.steps import Apply, Delete, MemberStep, Scale
from uniteddeployment_api import names

NUMBERS = {"member-1": 4, "member-2": 2, "member-3": 2}


def views(app: Application, **changes: Any) -> dict[str, MemberView]:
    shown = {}
    for name, number in NUMBERS.items():
        found = make.stateful_set(app, name, replicas=number)
        pods = make.pods(app, name, [app.revision_of(name)] * number)
        shown[name] = make.view(name, found, pods=pods)
    return shown | changes


def refused(app: Application, seen: Observed, **more: Any) -> dict[tuple[str, str, str], Refusal]:
    """What the plan would write, as refused by every API server."""
    steps = [step for steps in plan(make.subject(app), seen).members.values() for step in steps]
    return {step.ref.key: Refusal(applied(of(Apply, step).body), **more) for step in steps}


def asked(app: Application, annotation: str = names.RECREATE) -> Subject:
    annotations = {names.ANNOTATION_RECREATE: annotation} if annotation else {}
    return dataclasses.replace(make.subject(app), annotations=annotations)


def case(**final: Any) -> tuple[Application, Application, Observed]:
    old = make.application(make.manifest())
    document = make.manifest()
    document["spec"]["template"]["statefulSetTemplate"]["spec"]["serviceName"] = "other"
    new = make.application(document, generation=2)
    seen = make.observed(views(old), revisions=(make.record(old),))
    errors = dict.fromkeys(NUMBERS, "refused: updates to statefulset spec are forbidden")
    seen = dataclasses.replace(seen, refused=refused(new, seen, **final), errors=errors, stalled=frozenset(NUMBERS))
    return old, new, seen


def steps(result: Plan) -> list[MemberStep]:
    return [step for steps in result.members.values() for step in steps]


@pytest.mark.parametrize("annotation", ["", "false"])
def test_without_the_annotation_it_is_tried_again_and_the_message_tells_the_way_out(annotation: str) -> None:
    """I11"""
    _, new, seen = case()
    result = plan(asked(new, annotation), seen)
    assert all(isinstance(step, Apply) for step in steps(result))
    assert all(row.stalled and names.ANNOTATION_RECREATE in row.message for row in result.results)


def test_the_first_is_deleted_without_its_pods_and_the_others_wait() -> None:
    """I7"""
    _, new, seen = case()
    result = plan(asked(new), seen)
    (step,) = steps(result)
    assert isinstance(step, Delete)
    assert (step.subset, step.orphan, step.uid) == ("member-1", True, "uid-web-member-1")
    assert present(step.successor)["spec"]["serviceName"] == "other"
    assert "uid" not in present(step.successor)["metadata"]
    assert [row.message for row in result.results[1:]] == ["waits to be recreated until member-1 is ready"] * 2
    assert not any(row.stalled or row.settled for row in result.results)


def test_nothing_is_deleted_while_another_subset_is_not_ready() -> None:
    """I7"""
    _, new, seen = case()
    fresh = make.stateful_set(new, "member-1", replicas=4, ready=3)
    shown = make.view("member-1", fresh, pods=make.pods(new, "member-1", [new.template_hash] * 4))
    seen = dataclasses.replace(
        seen, members={**seen.members, "default/member-1": shown}, errors={}, stalled=frozenset()
    )
    result = plan(asked(new), seen)
    assert not steps(result)
    assert result.results[1].message == "waits to be recreated until member-1 is ready"


def test_an_unreachable_member_holds_nobody_up() -> None:
    """I10"""
    old, new, seen = case()
    lost = make.view("member-1", *views(old)["member-1"].workloads, reach=Reach.OFFLINE)
    result = plan(asked(new), dataclasses.replace(seen, members={**seen.members, "default/member-1": lost}))
    (step,) = steps(result)
    assert step.subset == "member-2"


def test_another_change_than_the_refused_one_is_simply_tried() -> None:
    _, _, seen = case()
    document = make.manifest(image="app:2")
    result = plan(asked(make.application(document, generation=3)), seen)
    assert all(isinstance(step, Apply) for step in steps(result))


def test_a_successor_that_was_refused_as_well_stays_told() -> None:
    _, new, seen = case(final=True)
    result = plan(asked(new), seen)
    assert all(row.stalled and row.message.startswith("refused") for row in result.results)


def test_what_comes_back_in_mid_canary_holds_every_pod_that_runs() -> None:
    """I6: the pods are there, and the StatefulSet is not yet."""
    old = make.application(make.manifest())
    new = make.application(make.manifest(image="app:2", partitions={"member-1": 2}), generation=2)
    running = make.pods(new, "member-1", [old.template_hash] * 2 + [new.template_hash] * 2)
    seen = make.observed(
        views(old, **{"member-1": make.view("member-1", pods=running)}),
        revisions=(make.record(old),),
        templates={old.revision_name: old.revision_data},
    )
    subject = make.subject(new, status={"currentRevision": old.revision_name})
    result = plan(subject, seen)
    (step,) = result.members["default/member-1"]
    assert of(Apply, step).body["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"
    assert of(Apply, step).body["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 4
    counts = result.results[0].counts
    assert (counts.observed, counts.ready, counts.updated_ready) == (4, 4, 2)


@pytest.mark.parametrize("annotation", ["", names.RECREATE])
@pytest.mark.parametrize("final", [False, True])
def test_the_number_of_pods_follows_whatever_is_refused(annotation: str, final: bool) -> None:
    """I11: the application goes on."""
    _, _, seen = case(final=final)
    document = make.manifest(replicas=4)
    document["spec"]["template"]["statefulSetTemplate"]["spec"]["serviceName"] = "other"
    result = plan(asked(make.application(document, generation=3), annotation), seen)
    scales = {step.subset: step.replicas for step in steps(result) if isinstance(step, Scale)}
    assert scales == {"member-1": 2, "member-2": 1, "member-3": 1}
    assert all(isinstance(written[0], Scale) for written in result.members.values())


def test_in_mid_update_a_refused_workload_gets_no_more_pods() -> None:
    """I6: which revision they would get is not known."""
    old, _, seen = case()
    status = make.stateful_set(old, "member-1", replicas=4).status
    status = msgspec.structs.replace(status, update_revision="another")
    found = make.stateful_set(old, "member-1", replicas=4, status=status)
    document = make.manifest(replicas=16)
    document["spec"]["template"]["statefulSetTemplate"]["spec"]["serviceName"] = "other"
    view = make.view("member-1", found, pods=make.pods(old, "member-1", [old.template_hash] * 4))
    seen = dataclasses.replace(seen, members={**seen.members, "default/member-1": view})
    result = plan(asked(make.application(document, generation=3)), seen)
    assert {step.subset for step in steps(result) if isinstance(step, Scale)} == {"member-2", "member-3"}
