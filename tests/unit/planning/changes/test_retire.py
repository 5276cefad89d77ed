"""Leftover workloads: which may be deleted, through which Cluster, and their entries in the status."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import MemberView, Observed, Reach, Workload
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.steps import Apply, Delete, Release
from uniteddeployment_api import names

OLD = "web-old"


def application(**more: Any) -> Application:
    return make.application(make.manifest(shares={"member-1": 4}, replicas=4, **more))


def settled(app: Application) -> Workload:
    return make.stateful_set(app, "member-1", replicas=4)


def removed(through: str | None, *, ready: int = 1) -> Workload:
    """A workload of a subset that is gone, as it was applied through a Cluster."""
    app = make.application(make.manifest(shares={"old": 1}, replicas=1))
    found = make.stateful_set(app, "old", replicas=1, ready=ready)
    notes = {key: value for key, value in found.metadata.annotations.items() if key != names.ANNOTATION_CLUSTER}
    if through is not None:
        notes[names.ANNOTATION_CLUSTER] = through
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, annotations=notes))


def seen(app: Application, through: str | None, **others: Any) -> Observed:
    pods = make.pods(app, "member-1", [app.template_hash] * 4)
    views = {
        "member-1": make.view("member-1", settled(app), pods=pods),
        "member-2": make.view("member-2", removed(through)),
    }
    return make.observed({**views, **others})


def deletions(result: Plan) -> list[Delete]:
    return [step for steps in result.members.values() for step in steps if isinstance(step, Delete)]


@pytest.mark.parametrize("through", ["default/member-2", "default/renamed-since", None])
def test_it_is_removed_through_the_cluster_that_it_was_applied_through_or_that_took_its_place(
    through: str | None,
) -> None:
    """I14: a Cluster that does not exist any more was renamed; its server is known by another one now."""
    app = application()
    gone = MemberView("default/renamed-since", Reach.UNKNOWN, "there is no Cluster object of this name")
    (step,) = deletions(plan(make.subject(app), seen(app, through, **{"renamed-since": gone})))
    assert (step.cluster, step.name) == ("default/member-2", OLD)


@pytest.mark.parametrize("reach", [Reach.READY, Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED])
def test_it_is_not_removed_through_another_cluster_while_its_own_exists(reach: Reach) -> None:
    """I14: two Clusters may show one server, and each would remove what the other has made."""
    app = application()
    observed = seen(app, "default/member-3", **{"member-3": make.view("member-3", reach=reach)})
    result = plan(make.subject(app), observed)
    assert deletions(result) == []
    (entry,) = make.status_of(result)["leftovers"]
    assert entry["reason"] == "was applied through default/member-3 and is not removed through default/member-2"


def test_the_same_holds_when_the_application_is_deleted() -> None:
    """I14: the deletion says what it waits for. Taking our marks off removes nothing, and needs no such care."""
    app = application()
    observed = replace(seen(app, "default/member-3"), orphaning_checked=True)
    going = replace(make.subject(app), deleting=True)
    result = plan(going, observed)
    assert [step.cluster for step in deletions(result)] == ["default/member-1"]
    message = next(one["message"] for one in make.status_of(result)["conditions"] if one["type"] == "Ready")
    assert f"{OLD} in default/member-2 (was applied through default/member-3" in message
    released = plan(replace(going, keeps_workloads=True), observed)
    assert sum(isinstance(step, Release) for steps in released.members.values() for step in steps) == 2


def test_a_workload_says_through_which_cluster_it_was_applied() -> None:
    """I14: one that was applied through a Cluster of another name gets the new name, without any other change."""
    app = application()
    assert settled(app).applied_through == "default/member-1"
    notes = {**settled(app).metadata.annotations, names.ANNOTATION_CLUSTER: "default/before"}
    other = make.application(make.manifest(shares={"member-1": {"targetCluster": {"name": "before"}}}, replicas=4))
    before = make.stateful_set(other, "member-1", replicas=4)
    assert before.metadata.annotations[names.ANNOTATION_CLUSTER] == notes[names.ANNOTATION_CLUSTER]
    result = plan(make.subject(app), make.observed({"member-1": make.view("member-1", before)}))
    (step,) = result.members["default/member-1"]
    assert (of(Apply, step).create, of(Apply, step).body["metadata"]["uid"]) == (False, before.metadata.uid)
    assert of(Apply, step).body["metadata"]["annotations"][names.ANNOTATION_CLUSTER] == "default/member-1"


def test_what_a_kind_that_cannot_be_read_may_have_left_is_not_forgotten() -> None:
    """I8: the cluster answers, but its objects of that kind are not seen."""
    app = application()
    entry = {"name": "old", "cluster": "default/member-2", "workload": "CloneSet/web-old", "observedReplicas": 3}
    unread = replace(make.view("member-2"), unread={"CloneSet": "its clonesets cannot be read"})
    observed = make.observed({"member-1": make.view("member-1", settled(app)), "member-2": unread})
    result = plan(make.subject(app, status={"subsetStatuses": [entry]}), observed)
    (left,) = make.status_of(result)["leftovers"]
    assert (left["workload"], left["observedReplicas"]) == ("CloneSet/web-old", 3)
    ready = next(one for one in make.status_of(result)["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "Unknown")
    answered = plan(make.subject(app, status=result.status), seen_again(app))
    assert make.status_of(answered)["leftovers"] == []


def seen_again(app: Application) -> Observed:
    return make.observed({"member-1": make.view("member-1", settled(app))})
