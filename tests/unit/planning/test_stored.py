"""The stored status is decoded piece by piece, whoever wrote it, and written only if it would change."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import planning as make
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.stored import (
    NO_STATUS,
    RevisionCount,
    StoredCondition,
    StoredLeftover,
    StoredStatus,
    StoredSubset,
    differs,
    read_status,
    to_document,
)

FULL: dict[str, Any] = {
    "observedGeneration": 3,
    "replicas": 4,
    "readyReplicas": 3,
    "updatedReplicas": 2,
    "updatedReadyReplicas": 1,
    "unplacedReplicas": 0,
    "currentRevision": "web-old",
    "updatedRevision": "web-new",
    "labelSelector": "app=web",
    "conditions": [
        {
            "type": "Ready",
            "status": "False",
            "observedGeneration": 3,
            "lastTransitionTime": make.NOW,
            "reason": "Progressing",
            "message": "3 of 4 pods ready",
        }
    ],
    "subsetStatuses": [
        {
            "name": "member-1",
            "cluster": "default/member-1",
            "state": "Progressing",
            "workload": "StatefulSet/web-member-1",
            "replicas": 4,
            "observedReplicas": 4,
            "readyReplicas": 3,
            "updatedReplicas": 2,
            "updatedReadyReplicas": 1,
            "partition": 2,
            "revision": "new",
            "reason": "3 of 4 pods ready",
            "observedGeneration": 7,
            "ordinalsStart": 0,
            "reservedReplicas": 1,
            "conditions": [
                {"type": "Schedulable", "status": "True", "lastTransitionTime": make.NOW, "reason": "x", "message": ""}
            ],
            "stableRevision": "old",
            "revisions": [{"revision": "new", "replicas": 2, "readyReplicas": 1, "restarts": 3}],
            "lastObservedTime": make.NOW,
        }
    ],
    "leftovers": [
        {
            "subset": "b",
            "cluster": "",
            "workload": "StatefulSet/web-b",
            "observedReplicas": 1,
            "readyReplicas": 1,
            "reason": "kept",
            "lastObservedTime": make.NOW,
        }
    ],
}


def test_what_we_have_written_is_read_and_written_back_unchanged() -> None:
    status = read_status(FULL)
    assert to_document(status) == FULL
    assert not differs(status, FULL)


def test_optional_fields_that_say_nothing_are_not_written_and_zeros_are() -> None:
    document = to_document(StoredStatus(replicas=0, subset_statuses=(StoredSubset(name="a"),), leftovers=()))
    assert set(document) == {"replicas", "subsetStatuses", "leftovers"}
    (entry,) = document["subsetStatuses"]
    assert entry["replicas"] == entry["partition"] == 0
    assert entry["workload"] == ""
    assert entry.keys().isdisjoint(
        {"ordinalsStart", "reservedReplicas", "conditions", "stableRevision", "revisions", "lastObservedTime"}
    )
    assert (
        to_document(StoredStatus(subset_statuses=(StoredSubset(name="a", ordinals_start=0),)))["subsetStatuses"][0][
            "ordinalsStart"
        ]
        == 0
    )


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (None, NO_STATUS),
        ([], NO_STATUS),
        ("x", NO_STATUS),
        ({"unknown": 1}, NO_STATUS),
        ({"replicas": "4", "readyReplicas": 3}, StoredStatus(ready_replicas=3)),
        ({"replicas": -1, "readyReplicas": 2**31, "updatedReplicas": True}, NO_STATUS),
        ({"currentRevision": None, "updatedRevision": {}}, NO_STATUS),
        ({"subsetStatuses": {"name": "a"}}, NO_STATUS),
        ({"subsetStatuses": [5, {}, {"name": 5}, None]}, StoredStatus(subset_statuses=())),
        (
            {"subsetStatuses": [{"name": "a", "replicas": 3, "partition": "x", "ordinalsStart": -1}]},
            StoredStatus(subset_statuses=(StoredSubset(name="a", replicas=3),)),
        ),
        (
            {"subsetStatuses": [{"name": "a", "revisions": [{"revision": "r", "replicas": []}, {"replicas": 1}]}]},
            StoredStatus(subset_statuses=(StoredSubset(name="a", revisions=(RevisionCount("r"),)),)),
        ),
        (
            {"conditions": [{"type": "Ready"}, {"type": "Ready", "status": "True", "message": 5}, {"status": "True"}]},
            StoredStatus(conditions=(StoredCondition("Ready", "True"),)),
        ),
        (
            {"leftovers": [{"cluster": "c"}, {"subset": "b", "workload": 5}]},
            StoredStatus(leftovers=(StoredLeftover(subset="b"),)),
        ),
    ],
)
def test_what_cannot_be_decoded_is_absent_and_the_rest_counts(document: Any, expected: StoredStatus) -> None:
    assert read_status(document) == expected


@pytest.mark.parametrize(
    ("change", "differing"),
    [
        ({"readyReplicas": 4}, True),
        ({"leftovers": []}, True),
        ({"subsetStatuses": [FULL["subsetStatuses"][0] | {"unknown": 1}]}, True),
        ({"subsetStatuses": [*FULL["subsetStatuses"], {"name": "b"}]}, True),
        # Merging leaves a field alone that is not in the status, so writing it again would change nothing.
        ({"unknown": 1}, False),
    ],
)
def test_a_status_differs_if_writing_it_would_change_what_is_stored(change: dict[str, Any], differing: bool) -> None:
    """I3"""
    assert differs(read_status(FULL), FULL | change) is differing


@pytest.mark.parametrize("missing", sorted(FULL))
def test_a_field_that_is_not_stored_yet_is_a_difference(missing: str) -> None:
    stored = {field: value for field, value in FULL.items() if field != missing}
    assert differs(read_status(FULL), stored)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.just(10**30) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FULL, *FULL["subsetStatuses"][0], "subset"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def mutated(value: Any) -> Any:
    """The full status with any part of it replaced by any JSON."""
    if isinstance(value, dict):
        return st.fixed_dictionaries({key: JSON | mutated(item) | st.just(item) for key, item in value.items()})
    if isinstance(value, list):
        return st.tuples(*(mutated(item) for item in value)).map(list)
    return st.just(value)


def application(topology: str) -> Any:
    kind = "statefulSetTemplate" if topology == "Disjoint" else "deploymentTemplate"
    document = make.manifest(kind=kind, shares={"member-1": {"maxReplicas": 6}, "member-2": {"maxReplicas": 9}})
    if topology == "Disjoint":
        document["spec"]["topology"]["ordinals"] = "Disjoint"
    elif topology == "Adaptive":
        document["spec"]["topology"]["scheduleStrategy"] = {"type": "Adaptive"}
    return make.application(document)


APPLICATIONS = [application(topology) for topology in ("Plain", "Adaptive", "Disjoint")]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    document=JSON | mutated(FULL),
    app=st.sampled_from(APPLICATIONS),
    spec=st.sampled_from(["readable", "readable", "unreadable", "deleting"]),
)
def test_whatever_a_status_holds_there_is_a_plan(document: Any, app: Any, spec: str) -> None:
    """I11: anybody with the right to write the status can write anything into it."""
    subject = make.subject(app, status=document if isinstance(document, dict) else {})
    if spec != "readable":
        subject = replace(subject, app=None) if spec == "unreadable" else replace(subject, deleting=True)
    made = plan(subject, make.observed())
    if made.status is not None:
        msgspec.json.encode(to_document(made.status))
