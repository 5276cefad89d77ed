"""How the pods of a workload with a partition are counted, and how its progress is told."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.planning.kinds.progress import counts_of, grows, progress
from uniteddeployment.planning.observed import NO_PODS, PodTally, Workload, WorkloadStatus, tally
from uniteddeployment.planning.results import Counts

APP = make.application(make.manifest(shares={"member-1": 4}, replicas=4))
NEW, OLD = APP.revision_of("member-1"), "oldoldold1"


def workload(revision: str = NEW, *, generation: int = 1, at_one: bool = True, **status: Any) -> Workload:
    given: dict[str, Any] = {
        "observed_generation": generation,
        "replicas": 4,
        "ready_replicas": 4,
        "updated_replicas": 3,
        "current_revision": "cr-1" if at_one else "cr-0",
        "update_revision": "cr-1",
    }
    found = make.stateful_set(APP, "member-1", replicas=4, revision=revision)
    return msgspec.structs.replace(found, status=WorkloadStatus(**(given | status)))


def context(pods: PodTally = NO_PODS, **fields: Any) -> Any:
    given = {"replicas": 4, "covered": 0, "target": NEW, "stable": OLD, "replaces": False, "why_not_ready": " (why)"}
    adopted = fields.pop("adopted", "")
    return SimpleNamespace(**(given | fields), pods=pods, adopted=lambda revision: adopted if revision == NEW else "")


PODS = tally(make.pods(APP, "member-1", [NEW, NEW, OLD]))


@pytest.mark.parametrize(
    ("found", "counts"),
    [
        (workload(), Counts(4, 4, 2, 2)),
        (workload(ready_replicas=1), Counts(4, 1, 2, 1)),
        (workload(observed_generation=0), Counts(3, 3, 2, 2)),
        (None, Counts(3, 3, 2, 2)),
    ],
)
def test_pods_with_our_labels_are_counted_by_them(found: Workload | None, counts: Counts) -> None:
    assert counts_of(context(PODS), found) == counts


@pytest.mark.parametrize("where", [{"adopted": "legacy"}, {"replaces": True}])
@pytest.mark.parametrize(
    ("found", "counts"),
    [
        (workload(), Counts(4, 4, 3, 3)),
        (workload(ready_replicas=2), Counts(4, 2, 3, 1)),
        (workload(ready_replicas=0), Counts(4, 0, 3, 0)),
        (workload(observed_generation=0), Counts(4, 4, 0, 0)),
        (workload(OLD, at_one=False), Counts(4, 4, 1, 1)),
        (workload(OLD, at_one=True), Counts(4, 4, 0, 0)),
        (workload(OLD, at_one=False, observed_generation=0), Counts(4, 4, 0, 0)),
        (workload("another", at_one=False), Counts(4, 4, 0, 0)),
    ],
)
def test_pods_without_our_labels_are_counted_by_the_status(where: Any, found: Workload, counts: Counts) -> None:
    """Of the ready pods, as few as possible are taken for updated ones."""
    assert counts_of(context(PODS, **where), found) == counts
    if "replaces" in where:
        assert counts_of(context(PODS, **where), None) == Counts()


@pytest.mark.parametrize(
    ("counts", "expected", "covered", "text"),
    [
        (Counts(4, 4, 4, 4), 4, 0, ""),
        (Counts(4, 4, 2, 2), 2, 0, ""),
        (Counts(4, 3, 4, 3), 4, 0, "3 of 4 pods ready (why)"),
        (Counts(4, 3, 4, 3), 4, 1, ""),
        (Counts(5, 5, 4, 4), 4, 0, "5 of 4 pods ready (why)"),
        (Counts(3, 3, 3, 3), 3, 1, "3 of 4 pods ready (why)"),
        (Counts(4, 4, 1, 1), 2, 0, "1 of 2 pods updated and ready (why)"),
        (Counts(4, 4, 1, 1), 2, 1, ""),
        (Counts(4, 3, 1, 0), 2, 1, "0 of 2 pods updated and ready (why)"),
    ],
)
def test_progress_names_the_pods_that_are_missing(counts: Counts, expected: int, covered: int, text: str) -> None:
    assert progress(context(covered=covered), workload(), counts, expected) == text
    unseen = workload(observed_generation=0)
    assert progress(context(), unseen, counts, expected) == "until its controller has seen the change"


@pytest.mark.parametrize(
    ("replicas", "found", "more"),
    [
        (5, workload(), True),
        (4, workload(), False),
        (4, workload(replicas=3), True),
        (4, workload(replicas=3, at_one=False), False),
        (4, workload(OLD, replicas=3, at_one=False), True),
        (4, workload(OLD, replicas=3, observed_generation=0), False),
        (3, workload(replicas=3), False),
    ],
)
def test_a_workload_grows_if_its_controller_has_pods_to_create(replicas: int, found: Workload, more: bool) -> None:
    assert grows(context(replicas=replicas), found) is more
