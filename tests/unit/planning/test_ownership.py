"""The owner of a workload, and the takeover from a UnitedDeployment that was lost with its host."""

import dataclasses
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import Pod, Reach, Workload
from uniteddeployment.planning.ownership import Owner
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.steps import Apply, Delete, Reclaim
from uniteddeployment_api import names

LOST = "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11"


def marks(key: str, uid: str) -> dict[str, str]:
    return {names.ANNOTATION_OWNER: key, names.ANNOTATION_OWNER_UID: uid}


@pytest.mark.parametrize(
    ("annotations", "former", "owned"),
    [
        (marks("default/web", "uid-2"), "", True),
        (marks("default/web", "uid-2"), LOST, True),
        (marks("renamed/by-hand", "uid-2"), "", True),
        (marks("default/web", LOST), "", False),
        (marks("default/web", LOST), LOST, True),
        (marks("default/other", LOST), LOST, False),
        (marks("prod/web", LOST), LOST, False),
        (marks("default/web", "uid-3"), LOST, False),
        ({names.ANNOTATION_OWNER_UID: LOST}, LOST, False),
        ({names.ANNOTATION_OWNER: "default/web"}, "", False),
        ({names.ANNOTATION_OWNER: "default/web"}, LOST, False),
        ({}, "", False),
        ({}, LOST, False),
    ],
)
def test_a_workload_is_ours_by_our_uid_or_by_our_key_with_the_lost_uid(
    annotations: dict[str, str], former: str, owned: bool
) -> None:
    """I13"""
    assert Owner("default/web", "uid-2", former).owns(annotations) is owned


def test_another_owner_is_named_with_its_uid_and_no_owner_is_not() -> None:
    owner = Owner("default/web", "uid-2", LOST)
    assert owner.other(marks("prod/web", LOST)) == f"the UnitedDeployment prod/web (uid {LOST})"
    assert owner.other(marks("default/web", LOST)) == ""
    assert owner.other({}) == ""


def application(image: str = "app:2", **more: Any) -> Application:
    document = make.manifest(shares={"member-1": 4}, replicas=4, image=image, **more)
    document["spec"]["topology"]["adopt"] = {"ownerUID": LOST}
    return make.application(document)


def lost_workload(app: Application, **more: Any) -> Workload:
    """The StatefulSet of member-1, as the UnitedDeployment that was lost had applied it."""
    found = make.stateful_set(app, "member-1", replicas=4, **more)
    annotations = {**found.metadata.annotations, **marks("default/web", LOST)}
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, annotations=annotations))


def planned(
    app: Application, *workloads: Any, pods: list[Pod] | tuple[Any, ...] = (), reach: Reach = Reach.READY, **more: Any
) -> Plan:
    view = make.view("member-1", *workloads, pods=list(pods), reach=reach)
    return plan(make.subject(app), make.observed({"member-1": view}, members=("member-1",), **more))


def test_a_workload_is_reclaimed_before_anything_else_is_written_to_it() -> None:
    app = application()
    found = lost_workload(app, generation=3)
    result = planned(app, found, pods=make.pods(app, "member-1", [app.revision_of("member-1")] * 4), generations={})
    first, second = result.members["default/member-1"]
    assert isinstance(first, Reclaim)
    assert (first.name, first.uid) == ("web-member-1", found.metadata.uid)
    assert first.why == f"take over from the lost UnitedDeployment default/web (uid {LOST})"
    assert isinstance(second, Apply)
    assert not second.create


@pytest.mark.parametrize("obstacle", [{"reach": Reach.OFFLINE}, {"writing": frozenset({"default/member-1"})}])
def test_nothing_is_reclaimed_where_nothing_may_be_written(obstacle: dict[str, Any]) -> None:
    app = application()
    assert not planned(app, lost_workload(app), **obstacle).members


def test_a_deletion_needs_no_reclaiming() -> None:
    app = application()
    view = make.view("member-1", lost_workload(app))
    deleting = dataclasses.replace(make.subject(app), deleting=True)
    result = plan(deleting, make.observed({"member-1": view}, members=("member-1",), orphaning_checked=True))
    (step,) = result.members["default/member-1"]
    assert isinstance(step, Delete)


NOT_KNOWN = "the host that knew the stable version was lost"


@pytest.mark.parametrize(
    ("old_pods", "reach", "foreign", "lost"),
    [
        (0, Reach.READY, False, False),
        (0, Reach.READY, True, False),
        (1, Reach.READY, False, True),
        (0, Reach.OFFLINE, False, True),
        (0, Reach.PENDING, False, True),
    ],
)
def test_the_stable_revision_is_unknown_unless_every_pod_is_seen_at_the_target(
    old_pods: int, reach: Reach, foreign: bool, lost: bool
) -> None:
    """I6, I8; I13: workloads of others do not count."""
    app = application(partitions={"member-1": 4})
    target, stable = app.revision_of("member-1"), make.application(make.manifest()).revision_of("member-1")
    pods = make.pods(app, "member-1", [stable] * old_pods + [target] * (4 - old_pods))
    document = make.manifest(
        shares={"member-1": 5, "member-2": 1}, replicas=6, image="app:2", partitions={"member-1": 5}
    )
    document["spec"]["topology"]["adopt"] = {"ownerUID": LOST}
    grown = make.application(document)
    other = make.application(make.manifest(), uid="uid-of-another")
    theirs = make.stateful_set(other, "member-2", replicas=1, revision=stable)
    views = {
        "member-1": make.view("member-1", lost_workload(app), pods=pods),
        "member-2": make.view("member-2", *[theirs] * foreign, reach=reach),
    }
    result = plan(make.subject(grown), make.observed(views, members=("member-1", "member-2"), generations={}))
    row = next(one for one in result.results if one.name == "member-1")
    assert (NOT_KNOWN in row.message) is lost
    assert row.stalled is lost


def test_a_subset_without_workload_gets_no_held_pods_while_others_run_another_revision() -> None:
    """I6"""
    document = make.manifest(
        shares={"member-1": 4, "member-2": 3}, replicas=7, image="app:2", partitions={"member-1": 4, "member-2": 2}
    )
    document["spec"]["topology"]["adopt"] = {"ownerUID": LOST}
    app = make.application(document)
    stable = make.application(make.manifest()).revision_of("member-1")
    view = make.view("member-1", lost_workload(app), pods=make.pods(app, "member-1", [stable] * 4))
    result = plan(make.subject(app), make.observed({"member-1": view}, members=("member-1", "member-2")))
    (step,) = result.members["default/member-2"]
    assert of(Apply, step).body["spec"]["replicas"] == 1
    row = next(one for one in result.results if one.name == "member-2")
    assert NOT_KNOWN in row.message
