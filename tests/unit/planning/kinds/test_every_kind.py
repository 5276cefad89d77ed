"""All kinds of workloads: their declarations, writes and counts, and clusters that do not serve them."""

import dataclasses
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of, present
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.kinds import KINDS, kind_of, workload
from uniteddeployment.planning.observed import (
    MemberView,
    Ordinals,
    Reach,
    UpdateStrategy,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.steps import Apply, Delete, MemberStep, Scale
from uniteddeployment.planning.stored import StoredStatus
from uniteddeployment_api import names

HALF = {"member-1": 2, "member-2": 1, "member-3": 1}
SIZES = {"member-1": 4, "member-2": 2, "member-3": 2}
KRUISE = ["cloneSetTemplate", "advancedStatefulSetTemplate"]


def complete(kind: str, **changes: Any) -> tuple[Application, dict[str, MemberView], StoredStatus]:
    """An application of a kind that is complete, what its clusters show of it, and its status."""
    app = make.application(make.manifest(kind=kind, **changes))
    views = {name: shown(app, name, [app.revision_of(name)] * size) for name, size in SIZES.items()}
    seen = make.observed(views, revisions=(make.record(app),))
    return app, views, present(plan(make.subject(app), seen).status)


def shown(
    app: Application,
    subset: str,
    revisions: list[str],
    *,
    partition: int = 0,
    of: Application | None = None,
    **view: Any,
) -> MemberView:
    """A cluster with a workload that has pods at those revisions."""
    found = make.stateful_set(of or app, subset, replicas=len(revisions), partition=partition)
    return make.view(subset, found, pods=make.pods(app, subset, revisions), **view)


def the_step(result: Plan, member: str = "member-1") -> MemberStep:
    (step,) = result.members[f"default/{member}"]
    return step


def test_every_template_of_the_api_has_a_kind_and_every_kind_a_name_of_its_own() -> None:
    fields = {kind.template for kind in KINDS}
    for field in fields:
        assert kind_of(make.application(make.manifest(kind=field)).model).template == field
    assert len({kind.name for kind in KINDS}) == len(KINDS) == len(fields)
    assert len({(kind.group, kind.plural) for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("kind", "api_version", "object_kind", "name"),
    [
        ("cloneSetTemplate", "apps.kruise.io/v1alpha1", "CloneSet", "web-member-1"),
        ("advancedStatefulSetTemplate", "apps.kruise.io/v1beta1", "StatefulSet", "web-member-1-asts"),
        ("statefulSetTemplate", "apps/v1", "StatefulSet", "web-member-1"),
    ],
)
def test_the_object_is_of_the_kind_that_was_declared(kind: str, api_version: str, object_kind: str, name: str) -> None:
    step = the_step(plan(make.subject(make.application(make.manifest(kind=kind))), make.observed()))
    assert isinstance(step, Apply)
    assert (step.body["apiVersion"], step.body["kind"], step.name) == (api_version, object_kind, name)


@pytest.mark.parametrize("kind", KRUISE)
def test_the_partition_stands_where_the_kind_has_it_and_in_the_same_write_as_the_template(kind: str) -> None:
    """I6"""
    app, views, status = complete(kind)
    new = make.application(make.manifest(kind=kind, image="app:2", partitions=HALF), generation=2)
    seen = make.observed(views, revisions=(make.record(app),))
    step = of(Apply, the_step(plan(make.subject(new, status=status), seen)))
    strategy = step.body["spec"]["updateStrategy"]
    assert (strategy if kind == "cloneSetTemplate" else strategy["rollingUpdate"])["partition"] == 2
    assert step.body["spec"]["template"]["spec"]["containers"][0]["image"] == "app:2"


@pytest.mark.parametrize("kind", KRUISE)
def test_only_the_number_of_replicas_is_changed_by_the_scale_subresource(kind: str) -> None:
    app, views, status = complete(kind)
    more = make.application(make.manifest(kind=kind, replicas=16), generation=2)
    result = plan(make.subject(more, status=status), make.observed(views, revisions=(make.record(app),)))
    step = the_step(result)
    assert isinstance(step, Scale)
    assert (step.kind, step.replicas) == (more.kind, 8)


@pytest.mark.parametrize("kind", KRUISE)
def test_a_subset_that_joins_in_mid_canary_is_shown_the_stable_revision_first(kind: str) -> None:
    """I6: their controllers, too, know nothing but the first template that they see."""
    app, views, status = complete(kind)
    del views["member-3"]
    new = make.application(make.manifest(kind=kind, image="app:2", partitions=HALF), generation=2)
    templates = {app.revision_name: app.revision_data}
    seen = make.observed(views, revisions=(make.record(app),), templates=templates)
    step = of(Apply, the_step(plan(make.subject(new, status=status), seen), "member-3"))
    assert step.body["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"


def test_a_cloneset_updates_what_is_left_of_a_canary_that_was_given_up_before_what_is_stable() -> None:
    app, views, status = complete("cloneSetTemplate")
    new = make.application(make.manifest(kind="cloneSetTemplate", image="app:3", partitions=HALF), generation=2)
    seen = make.observed(views, revisions=(make.record(app),))
    step = of(Apply, the_step(plan(make.subject(new, status=status), seen)))
    (term,) = step.body["spec"]["updateStrategy"]["priorityStrategy"]["weightPriority"]
    wanted = {"key": names.LABEL_REVISION, "operator": "NotIn", "values": [app.template_hash]}
    assert term == {"weight": 100, "matchSelector": {"matchExpressions": [wanted]}}


def test_a_priority_of_the_users_own_is_left_as_it_is() -> None:
    own = {"orderPriority": [{"orderedKey": "place"}]}
    document = make.manifest(kind="cloneSetTemplate")
    document["spec"]["template"]["cloneSetTemplate"]["spec"]["updateStrategy"] = {"priorityStrategy": own}
    app = make.application(document)
    rendered = workload.render(app, app.subsets["member-1"], app.revision_data, app.template_hash)
    body = workload.with_numbers(rendered, replicas=1, partition=1, stable="old")
    assert body["spec"]["updateStrategy"] == {"type": "ReCreate", "priorityStrategy": own, "partition": 1}


@pytest.mark.parametrize(
    ("strategy", "held"),
    [
        ({"partition": 3}, 3),
        ({"partition": "25%"}, 3),
        ({"partition": "100%"}, 10),
        ({"partition": "?"}, 0),
        ({"type": "InPlaceIfPossible"}, 0),
        ({"rollingUpdate": {"partition": 4}}, 4),
        ({}, 0),
        (None, 0),
    ],
)
def test_a_partition_is_read_wherever_and_however_a_kind_writes_it(strategy: dict[str, Any] | None, held: int) -> None:
    raw = {"metadata": {"name": "w"}, "spec": {"replicas": 10, **({"updateStrategy": strategy} if strategy else {})}}
    assert msgspec.json.decode(msgspec.json.encode(raw), type=Workload).partition == held


@pytest.mark.parametrize(("first", "ordinals"), [(0, [0, 2, 5, 6]), (2, [2, 5, 6, 7])])
def test_an_advanced_statefulset_counts_its_pods_past_reserved_ordinals(first: int, ordinals: list[int]) -> None:
    """I6: canaries below the partition count, by their place and not by their ordinal."""
    document = make.manifest(kind="advancedStatefulSetTemplate", image="app:2", partitions={"member-1": 2})
    spec = document["spec"]["template"]["advancedStatefulSetTemplate"]["spec"]
    spec["reserveOrdinals"] = [1, "3-4", "9-2147483647", "?"]
    app = make.application(document, generation=2)
    old = make.application(make.manifest(kind="advancedStatefulSetTemplate"))
    status = complete("advancedStatefulSetTemplate")[2]

    def partition(*updated: int) -> list[int]:
        status_now = WorkloadStatus(
            1, replicas=4, updated_replicas=len(updated), current_revision="o", update_revision="n"
        )
        found = make.stateful_set(app, "member-1", replicas=4, partition=4, status=status_now)
        given = msgspec.structs.replace(found.spec, ordinals=Ordinals(first))
        found = msgspec.structs.replace(found, spec=given)
        pods = make.pods(app, "member-1", [old.template_hash] * 8)
        pods = [
            msgspec.structs.replace(
                pod,
                metadata=msgspec.structs.replace(
                    pod.metadata,
                    labels={**pod.metadata.labels, names.LABEL_REVISION: app.template_hash},
                ),
            )
            if pod.ordinal in updated
            else pod
            for pod in pods
            if pod.ordinal in ordinals
        ]
        seen = make.observed({"member-1": make.view("member-1", found, pods=pods)}, revisions=(make.record(old),))
        steps = plan(make.subject(app, status=status), seen).members.get("default/member-1", ())
        return [of(Apply, step).body["spec"]["updateStrategy"]["rollingUpdate"]["partition"] for step in steps]

    assert partition() == [2]
    assert partition(*ordinals[2:]) == [2], "the last two places"
    assert partition(ordinals[1]) == [3], "the second place is below the partition"


def test_any_pods_may_stay_old_where_updates_have_no_order() -> None:
    document = make.manifest(kind="advancedStatefulSetTemplate", image="app:2", partitions={"member-1": 2})
    spec = document["spec"]["template"]["advancedStatefulSetTemplate"]["spec"]
    spec["updateStrategy"] = {"rollingUpdate": {"unorderedUpdate": {}}}
    app = make.application(document, generation=2)
    old, _, status = complete("advancedStatefulSetTemplate")
    view = shown(app, "member-1", [app.template_hash, *[old.template_hash] * 3], partition=4)
    seen = make.observed({"member-1": view}, revisions=(make.record(old),))
    step = of(Apply, the_step(plan(make.subject(app, status=status), seen)))
    assert step.body["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 2


@pytest.mark.parametrize("kind", KRUISE)
def test_a_cluster_that_does_not_serve_a_kind_stalls_its_subset_alone(kind: str) -> None:
    """I10"""
    app = make.application(make.manifest(kind=kind))
    view = dataclasses.replace(make.view("member-2"), unserved={app.kind: "does not serve it"})
    result = plan(make.subject(app), make.observed({"member-2": view}))
    assert result.members.keys() == {"default/member-1", "default/member-3"}
    (row,) = [row for row in result.results if row.name == "member-2"]
    assert row.stalled
    assert row.message == "default/member-2 does not serve it"
    (condition,) = row.conditions
    assert (condition.type, condition.status, condition.reason) == ("Served", "False", "KindNotServed")
    assert condition.message == row.message
    later = dataclasses.replace(make.observed({"member-2": view}), now="2026-01-01T00:05:00Z")
    stored = make.subject(app, status=result.status)
    replanned = plan(stored, later)
    assert not [event for event in replanned.events if event.type == "Warning"], "the first plan has warned already"
    (again,) = [row for row in replanned.results if row.name == "member-2"]
    assert again.conditions == row.conditions, "it was not served all the time"


@pytest.mark.parametrize("kind", KRUISE)
def test_a_kind_that_could_not_be_read_is_unknown_and_not_gone(kind: str) -> None:
    """I7, I8, I9: nothing is made a second time and nothing is removed, and counts are the last ones."""
    app, views, status = complete(kind)
    views["member-2"] = dataclasses.replace(make.view("member-2"), unread={app.kind: "no answer"})
    seen = make.observed(views, revisions=(make.record(app),))
    result = plan(make.subject(app, status=status), seen)
    assert not result.members
    (row,) = [row for row in result.results if row.name == "member-2"]
    assert (row.reach, row.counts.ready) == (Reach.PENDING, 2)
    going = dataclasses.replace(make.subject(app, status=status), deleting=True)
    assert not plan(going, seen).after


def test_a_kind_that_could_not_be_read_holds_up_the_deletion_of_nobody_else() -> None:
    app = make.application(make.manifest())
    views = {name: dataclasses.replace(make.view(name), unread={"CloneSet": "forbidden"}) for name in SIZES}
    going = dataclasses.replace(make.subject(app), deleting=True)
    assert plan(going, make.observed(views)).after


def test_pods_of_the_kind_that_is_replaced_are_not_taken_for_those_of_the_new() -> None:
    """I7: they have the same labels, and the old workload would be removed for them."""
    old, views, status = complete("statefulSetTemplate")
    document = make.manifest(kind="cloneSetTemplate")
    document["spec"]["topology"]["maxUnavailable"] = 0
    new = make.application(document, generation=2)
    result = plan(make.subject(new, status=status), make.observed(views, revisions=(make.record(old),)))
    steps = [step for steps in result.members.values() for step in steps]
    assert not [step for step in steps if isinstance(step, Delete)]
    assert all(row.counts.ready == 0 for row in result.results)


def test_an_old_kind_goes_when_the_new_one_is_ready() -> None:
    old, views, status = complete("statefulSetTemplate")
    new = make.application(make.manifest(kind="advancedStatefulSetTemplate"), generation=2)
    both = {}
    for name, view in views.items():
        made = make.stateful_set(new, name, replicas=SIZES[name])
        both[name] = dataclasses.replace(view, workloads=(*view.workloads, made))
    result = plan(make.subject(new, status=status), make.observed(both, revisions=(make.record(old),)))
    steps = [step for steps in result.members.values() for step in steps]
    assert {(type(step), step.kind, step.name) for step in steps} == {
        (Delete, "StatefulSet", f"web-{name}") for name in SIZES
    }


def test_a_cloneset_brought_back_from_zero_in_mid_canary_is_shown_the_stable_revision_first() -> None:
    """I6: like a StatefulSet, it takes the newest revision for the current one when it has no pods."""
    app, _, status = complete("cloneSetTemplate")
    new = make.application(make.manifest(kind="cloneSetTemplate", image="app:2", partitions=HALF), generation=2)
    found = make.stateful_set(new, "member-1", replicas=0)
    empty = msgspec.structs.replace(
        found,
        spec=WorkloadSpec(0, UpdateStrategy("ReCreate", None, 2)),
        status=WorkloadStatus(observed_generation=1, current_revision="new", update_revision="new"),
    )
    templates = {app.revision_name: app.revision_data}
    seen = make.observed({"member-1": make.view("member-1", empty)}, revisions=(make.record(app),), templates=templates)
    step = of(Apply, the_step(plan(make.subject(new, status=status), seen)))
    assert step.body["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"
    assert step.body["spec"]["replicas"] == 0
