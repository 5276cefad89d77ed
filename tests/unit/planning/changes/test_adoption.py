"""Adoption: which workloads may be taken over, and how their pods are counted without our labels."""

import copy
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.changes import adoption
from uniteddeployment.planning.kinds import workload
from uniteddeployment.planning.observed import Workload, WorkloadStatus
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.steps import Apply
from uniteddeployment.planning.stored import RevisionCount
from uniteddeployment_api import names


def application(**more: Any) -> Application:
    document = make.manifest(shares={"member-1": 4}, replicas=4, **more)
    document["spec"]["topology"]["subsets"][0]["adopt"] = {"name": "legacy"}
    return make.application(document)


def body(app: Application) -> Mapping[str, Any]:
    revision = app.revision_of("member-1")
    return workload.render(app, app.subsets["member-1"], app.revision_data, revision, adopted="legacy").body


def there(app: Application) -> dict[str, Any]:
    """The existing workload, as its API server shows it."""
    found = copy.deepcopy(dict(body(app)))
    found["metadata"] = {"name": "legacy", "uid": "u"}
    return found


def test_the_first_write_looks_before_it_takes_over() -> None:
    app = application()
    (step,) = plan(make.subject(app), make.observed()).members["default/member-1"]
    assert (step.name, of(Apply, step).adopt, of(Apply, step).create) == ("legacy", True, True)


def test_until_it_is_taken_over_status_shows_no_workload() -> None:
    app = application()
    (entry,) = make.status_of(plan(make.subject(app), make.observed()))["subsetStatuses"]
    assert entry["workload"] == ""


@pytest.mark.parametrize(
    ("had", "name"), [("StatefulSet/legacy", "legacy"), ("StatefulSet/web-member-1", "web-member-1")]
)
def test_a_subset_that_had_a_workload_does_not_adopt_another(had: str, name: str) -> None:
    app = application()
    entry = {"name": "member-1", "cluster": "default/member-1", "workload": had}
    subject = make.subject(app, status={"subsetStatuses": [entry]})
    (step,) = plan(subject, make.observed()).members["default/member-1"]
    assert (step.name, of(Apply, step).adopt) == (name, False)


def test_what_is_the_same_fits() -> None:
    app = application()
    assert adoption.foreign(app.owner, there(app)) == ""
    assert adoption.misfit(body(app), there(app), there(app)) == ""


def test_another_selector_or_pod_template_does_not_fit() -> None:
    app = application()
    found = there(app)
    found["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    assert "selector" in adoption.misfit(body(app), found, there(app))

    def requires(*values: str) -> dict[str, Any]:
        either = {"key": "tier", "operator": "In", "values": list(values)}
        ours = there(app)
        ours["spec"]["selector"] = {**ours["spec"]["selector"], "matchExpressions": [either]}
        return ours

    assert adoption.misfit(requires("a", "b"), requires("b", "a"), requires("b", "a")) == ""
    assert "selector" in adoption.misfit(requires("a", "b"), requires("a", "c"), requires("a", "c"))
    tried = there(app)
    tried["spec"]["template"]["spec"]["containers"][0]["env"] = []
    problem = adoption.misfit(body(app), there(app), tried)
    assert "spec.template.spec.containers[0].env" in problem


def test_other_ordinals_do_not_fit() -> None:
    app = application()
    tried = there(app)
    tried["spec"] = {**tried["spec"], "ordinals": {"start": 10}}
    assert "begin at 0, and the subset's at 10" in adoption.misfit(body(app), there(app), tried)


def test_what_is_ours_already_is_not_foreign() -> None:
    """I9: a crash after the write."""
    app = application()
    found = there(app)
    found["metadata"]["annotations"] = {names.ANNOTATION_OWNER_UID: app.uid}
    assert adoption.foreign(app.owner, found) == ""
    found["metadata"]["deletionTimestamp"] = make.NOW
    assert adoption.foreign(app.owner, found) == "it is being deleted"


def taken(app: Application, *, revision: str | None = None, partition: int = 0, **status: Any) -> Workload:
    """The adopted StatefulSet after our write."""
    found = make.stateful_set(app, "member-1", replicas=4, partition=partition, revision=revision)
    metadata = msgspec.structs.replace(found.metadata, name="legacy")
    values = {"observed_generation": 1, "replicas": 4, "ready_replicas": 4, "updated_replicas": 4} | status
    return msgspec.structs.replace(found, metadata=metadata, status=WorkloadStatus(**values))


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        ({}, (4, 4)),
        ({"updated_replicas": 2}, (2, 2)),
        ({"updated_replicas": 2, "ready_replicas": 3}, (2, 1)),
        ({"updated_replicas": 1, "ready_replicas": 2}, (1, 0)),
        ({"observed_generation": 0}, (0, 0)),
    ],
)
def test_its_pods_are_counted_by_its_own_status_and_never_too_many_as_ready(
    status: dict[str, Any], counts: tuple[int, int]
) -> None:
    """I8: an unready pod may be an updated one."""
    app = application()
    seen = make.observed({"member-1": make.view("member-1", taken(app, **status))})
    row = plan(make.subject(app), seen).results[0]
    assert (row.counts.updated, row.counts.updated_ready) == counts
    assert row.revisions == ((RevisionCount(app.revision_of("member-1"), *counts),) if counts[0] else ())


def test_in_mid_canary_the_rest_of_its_pods_count_as_the_stable_revision() -> None:
    old, new = application(), application(image="app:2", partitions={"member-1": 3})
    found = taken(new, revision=new.revision_of("member-1"), partition=3, updated_replicas=1)
    seen = make.observed({"member-1": make.view("member-1", found)}, revisions=(make.record(old),))
    row = plan(make.subject(new, status={"currentRevision": old.revision_name}), seen).results[0]
    assert set(row.revisions) == {RevisionCount(old.template_hash, 3, 3), RevisionCount(new.template_hash, 1, 1)}
