"""What a deletion and a cleanup do, in which order, and what they say of each workload that is left."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.planning.changes import retire
from uniteddeployment.planning.changes.retire import Cleanup, Leftover, Leftovers, everything, leftovers
from uniteddeployment.planning.observed import MemberView, Reach, Workload, WorkloadRef
from uniteddeployment.planning.results import Counts, SubsetResult
from uniteddeployment.planning.steps import Delete, Release
from uniteddeployment.planning.stored import StoredLeftover
from uniteddeployment_api import names

APP = make.application(make.manifest(shares={"member-1": 4, "member-2": 4}))
GONE = "2026-01-01T00:00:00Z"


def workload(subset: str = "member-1", *, replicas: int = 2, ready: int | None = None, **meta: Any) -> Workload:
    made = make.stateful_set(APP, "member-1", replicas=replicas, ready=ready)
    labels = {**made.metadata.labels, names.LABEL_SUBSET: subset}
    notes = {**made.metadata.annotations, names.ANNOTATION_CLUSTER: meta.pop("through", None)}
    notes = {key: value for key, value in notes.items() if value is not None} | meta.pop("annotations", {})
    given = {"name": f"web-{subset}", "uid": f"uid-{subset}", "labels": labels, "annotations": notes} | meta
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, **given))


def ref(subset: str, cluster: str = "member-1") -> WorkloadRef:
    return WorkloadRef(f"default/{cluster}", subset, "StatefulSet", f"web-{subset}")


def cleaned(subject: Any = None, **views: MemberView) -> Cleanup:
    observed = make.observed({name.replace("_", "-"): view for name, view in views.items()})
    return everything(subject or make.subject(APP), observed)


def test_a_deletion_deletes_each_workload_and_names_what_is_left() -> None:
    found = cleaned(
        member_1=make.view("member-1", workload("a"), workload("b", deletion_timestamp=GONE)),
        member_2=make.view("member-2", workload("c")),
    )
    assert found.steps == (
        Delete(ref("a"), "uid-a", "the application is being deleted"),
        Delete(ref("c", "member-2"), "uid-c", "the application is being deleted"),
    )
    assert found.waiting == (
        "deleting StatefulSet web-a in default/member-1, StatefulSet web-b in default/member-1, "
        "StatefulSet web-c in default/member-2"
    )
    assert cleaned() == Cleanup((), "")


def test_a_deletion_that_keeps_workloads_releases_each_of_them() -> None:
    """I7"""
    subject = replace(make.subject(APP), orphan=True)
    found = cleaned(subject, member_1=make.view("member-1", workload("a", through="default/member-2")))
    assert found.steps == (Release(ref("a"), "uid-a", "the application is deleted and its workloads stay"),)
    assert found.waiting == "leaving StatefulSet web-a in default/member-1"


def test_a_workload_of_another_cluster_is_not_deleted_and_named_with_the_reason() -> None:
    """I14"""
    found = cleaned(member_1=make.view("member-1", workload("a", through="default/member-2")))
    assert found == Cleanup(
        (),
        "deleting StatefulSet web-a in default/member-1 (was applied through default/member-2 and is not removed "
        "through default/member-1)",
    )


@pytest.mark.parametrize("reach", [Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED])
def test_a_deletion_waits_for_clusters_that_cannot_be_seen(reach: Reach) -> None:
    """I8"""
    found = cleaned(
        member_1=make.view("member-1", workload("a")),
        member_2=make.view("member-2", workload("b"), reach=reach),
        member_3=MemberView("default/member-3", reach),
    )
    assert [step.name for step in found.steps] == ["web-a"]
    assert found.waiting == (
        f"waits for default/member-2 (no answer), default/member-3 ({reach}), where workloads may be left"
    )


@pytest.mark.parametrize(
    ("kind", "status", "waits"),
    [
        ("StatefulSet", {}, True),
        ("CloneSet", {}, False),
        ("CloneSet", {"cluster": "default/member-1", "workload": "CloneSet/x"}, True),
        ("CloneSet", {"cluster": "default/member-2", "workload": "CloneSet/x"}, False),
    ],
)
def test_a_deletion_waits_for_kinds_that_could_not_be_read_and_may_be_there(
    kind: str, status: dict[str, Any], waits: bool
) -> None:
    view = replace(make.view("member-1"), unread={kind: "its lists fail"})
    subject = make.subject(APP, status={"subsetStatuses": [{"name": "a", **status}]} if status else None)
    found = cleaned(subject, member_1=view)
    expected = "waits for default/member-1 (its lists fail), where workloads may be left" if waits else ""
    assert found == Cleanup((), expected)


def test_a_workload_is_left_if_any_cluster_shows_one_of_this_very_application() -> None:
    subject = make.subject(APP)
    assert not retire.any_left(subject, make.observed())
    there = make.observed({"member-1": make.view("member-1", workload())})
    assert retire.any_left(subject, there)
    other = workload(annotations={names.ANNOTATION_OWNER_UID: "another"})
    assert not retire.any_left(subject, make.observed({"member-1": make.view("member-1", other)}))


def result(name: str = "member-1", **fields: Any) -> SubsetResult:
    given: dict[str, Any] = {"reach": Reach.READY, "workload": "", "replicas": 4, "partition": 0, "revision": "r"}
    more = {"counts": Counts(4, 4, 4, 4), "settled": True, "message": "", "desired": 4, "kept": 4}
    return SubsetResult(name=name, cluster=f"default/{name}", **(given | more | fields))


RESULTS = (result(), result("member-2"))


def decided(*results: SubsetResult, status: Any = None, app: Any = APP, **views: Any) -> Leftovers:
    observed = make.observed({name.replace("_", "-"): view for name, view in views.items()})
    return leftovers(make.subject(app, status=status), app, observed, results or RESULTS)


REMOVED = "no longer in the topology, and the others are ready without it"
WAITS = "kept until what replaces it is ready"


def test_a_removed_subset_goes_when_the_others_are_ready_and_stays_otherwise() -> None:
    """I7"""
    view = make.view("member-1", workload("old", ready=1), workload("member-1", replicas=4))
    found = decided(member_1=view)
    assert found.steps == (Delete(ref("old"), "uid-old", REMOVED),)
    assert found.workloads == (Leftover(ref("old"), 2, 1, REMOVED),)
    assert (found.kept, found.unseen) == ("", ())
    waiting = decided(result(kept=1), result("member-2"), member_1=view)
    assert waiting.steps == ()
    assert waiting.workloads == (Leftover(ref("old"), 2, 1, WAITS, kept=True),)
    assert waiting.kept == f"StatefulSet web-old in default/member-1: {WAITS}"


def test_those_with_the_fewest_ready_pods_go_first_as_far_as_the_budget_allows() -> None:
    old = [workload(f"old-{ready}", replicas=3, ready=ready) for ready in (3, 0, 1)]
    found = decided(result(kept=0), result("member-2"), member_1=make.view("member-1", *old))
    assert [step.name for step in found.steps] == ["web-old-0", "web-old-1"]
    assert [(left.ref.name, left.kept) for left in found.workloads] == [
        ("web-old-0", False),
        ("web-old-1", False),
        ("web-old-3", True),
    ]


@pytest.mark.parametrize(
    ("results", "app", "goes"),
    [
        ((result("old", reach=Reach.OFFLINE), *RESULTS), APP, False),
        ((result("old", stalled=True), *RESULTS), APP, False),
        ((result("old"), *RESULTS), APP, True),
        (RESULTS, make.application(make.manifest(shares={"member-1": 4, "member-2": 4}, paused=True)), False),
    ],
)
def test_a_workload_that_nothing_replaces_stays(results: Any, app: Any, goes: bool) -> None:
    view = make.view("member-2", workload("old", replicas=0))
    observed = make.observed({"member-2": view})
    placed = [replace(found, cluster="default/member-3") if found.name == "old" else found for found in results]
    assert bool(leftovers(make.subject(app), app, observed, placed).steps) is goes


def test_what_is_on_its_way_out_or_not_ours_to_remove_is_said() -> None:
    view = make.view(
        "member-1", workload("a", deletion_timestamp=GONE), workload("b", through="default/member-2", replicas=1)
    )
    found = decided(member_1=view)
    assert found.steps == ()
    why = "was applied through default/member-2 and is not removed through default/member-1"
    assert found.workloads == (
        Leftover(ref("a"), 2, 2, "is being deleted"),
        Leftover(ref("b"), 1, 1, why, kept=True),
    )


def test_workloads_that_cannot_be_seen_are_listed_as_they_were_last_seen() -> None:
    """I8"""
    view = make.view("member-1", workload("old"), reach=Reach.OFFLINE)
    found = decided(member_1=view)
    why = "may still run: default/member-1 cannot be seen (no answer)"
    assert found.workloads == (Leftover(ref("old"), 2, 2, why, last_observed=make.NOW, unseen=True),)
    assert found.unseen == (f"StatefulSet web-old in default/member-1 {why}",)
    silent = decided(member_1=replace(view, detail=""))
    assert silent.workloads[0].reason == "may still run: default/member-1 cannot be seen (Offline)"
    refused = decided(member_1=replace(view, reach=Reach.UNKNOWN, detail="another Cluster is used"))
    assert refused.workloads == (
        Leftover(ref("old"), 2, 2, "is left alone: another Cluster is used", last_observed=make.NOW),
    )


def stored(**fields: Any) -> dict[str, Any]:
    entry = {"subset": "old", "cluster": "default/member-1", "workload": "StatefulSet/web-old", "observedReplicas": 3}
    return {"leftovers": [{**entry, "readyReplicas": 1, **fields}]}


def test_workloads_that_only_the_status_knows_are_carried_on_until_their_cluster_is_seen() -> None:
    """I8"""
    silent = MemberView("default/member-1", Reach.PENDING, "no answer")
    why = "may still run: default/member-1 cannot be seen (no answer)"
    carried = Leftover(ref("old"), 3, 1, why, last_observed="before", unseen=True)
    assert decided(status=stored(lastObservedTime="before"), member_1=silent).workloads == (carried,)
    later = replace(silent, last_contact=make.NOW, detail="")
    (found,) = decided(status=stored(lastObservedTime="before"), member_1=later).workloads
    assert (found.last_observed, found.reason) == (make.NOW, "may still run: default/member-1 cannot be seen (Pending)")
    unread = replace(make.view("member-1"), unread={"StatefulSet": "its lists fail"})
    (found,) = decided(status=stored(), member_1=unread).workloads
    assert found.reason == "may still run: default/member-1 cannot be seen (its lists fail)"
    for view in (make.view("member-1"), MemberView("default/member-1", Reach.UNKNOWN)):
        assert decided(status=stored(), member_1=view).workloads == ()
    assert decided(status=stored(workload=""), member_1=silent).workloads == ()
    assert decided(status=stored(cluster="default/other"), member_1=silent).workloads == ()


def test_the_subsets_of_the_status_are_carried_on_unless_they_are_in_place() -> None:
    silent = MemberView("default/member-1", Reach.PENDING, "no answer")

    def names_of(*others: Any, **entry: Any) -> list[str]:
        given = {"name": "member-1", "cluster": "default/member-1", "workload": "StatefulSet/web-member-1"}
        status = {"subsetStatuses": [{**given, **entry}, *others]}
        return [left.ref.name for left in decided(status=status, member_1=silent).workloads]

    assert names_of() == []
    assert names_of({"name": "gone", "cluster": "default/member-1", "workload": "StatefulSet/web-gone"}) == ["web-gone"]
    assert names_of(workload="Deployment/web-x") == ["web-x"]
    assert names_of(name="gone") == ["web-member-1"]


def test_an_entry_of_the_status_has_what_was_seen() -> None:
    assert Leftover(ref("old"), 3, 1, "why", last_observed="t", unseen=True).stored() == StoredLeftover(
        subset="old",
        cluster="default/member-1",
        workload="StatefulSet/web-old",
        observed_replicas=3,
        ready_replicas=1,
        reason="why",
        last_observed_time="t",
    )
    assert Leftover(ref("old"), 3, 1, "why", last_observed="").stored().last_observed_time is None
